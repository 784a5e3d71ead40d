"""Rewrite the files of one partition of an append table in an order of their rows.

A small partition is read, sorted and written by one task (`rewrite_sorted`). A larger one is cut into ranges of the
order, each about a file; where, follows from a sample of the order's columns. Some tasks read the files, each once, and
send each range's rows to the task that writes it (`split_ranges`, `write_range`). No task holds more than the rows of
one range. Source: data section 2.10.
"""

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from maintenance.compaction.append import AppendCompactionTask
from maintenance.compaction.order.orders import SortedBy
from maintenance.compaction.order.ranges import divided, range_keys
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.proof.stream import StreamProof, wrong_rows
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.merge.sort_words import sort_order
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.row_selection import RowSelection
from maintenance.read.small_files import batches_of_files
from maintenance.read.split_read import partition_values
from maintenance.types.data_type import DataField
from maintenance.types.row_hash import Digest, total
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter

_BATCH_ROWS = 1 << 17
_SAMPLE_ROWS = 1 << 12
# What a task reads is gathered until the part of each range is about as large, but no more than can be held.
_PART_BYTES = 512 << 10
_GATHERED_BYTES = 32 << 20
# Of a table among those of rows that only tells the digest of all of them.
_DIGEST = b"digest"


@dataclass(frozen=True, slots=True)
class SortTask(AppendCompactionTask):
    """A partition, or some files of one, to be brought into an order: `by`."""

    by: SortedBy = field(kw_only=True)

    @property
    def rows(self) -> int:
        """In its files, deleted ones with them."""
        return sum(file.row_count for file in self.compaction.files)

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.file_size for file in self.compaction.files)


@dataclass(frozen=True, slots=True)
class SampleTask:
    """Some files of a partition, to look at one row in every `step`."""

    task: SortTask
    step: int

    @classmethod
    def of(cls, task: SortTask, bytes_at_once: int) -> "list[SampleTask]":
        """For parts of a partition, so that there is a sample of it in all."""
        step = max(1, task.rows // _SAMPLE_ROWS)
        return [cls(part, step) for part in split_files(task, bytes_at_once)]


def sample(sampling: SampleTask) -> np.ndarray:
    """Range keys of some rows of each file, evenly; bytes, shape (n,)."""
    task = sampling.task
    names = set(task.by.columns)
    fields: tuple[DataField, ...] = tuple(field for field in task.read.fields if field.name in names)
    keys, skipped = [np.empty(0, "S8")], 0
    for rows in _batches(replace(task, read=replace(task.read, fields=fields))):
        places = np.arange(-skipped % sampling.step, rows.num_rows, sampling.step)
        skipped += rows.num_rows
        if len(places):
            keys.append(range_keys(task.by.ranges(rows.take(pa.array(places)))))
    return np.concatenate(keys)


@dataclass(frozen=True, slots=True)
class SplitTask:
    """Some files of a partition, whose rows are sent to the writers of ranges.

    Attributes: `bounds`: where the ranges are cut, ascending; `first_range`: number of the writer of the first range.
    """

    task: SortTask
    bounds: tuple[bytes, ...]
    first_range: int


@dataclass(frozen=True, slots=True)
class RangeTask:
    """A range to write. `place`: of its files; `lowest`: sequence number of its first row; the rest: of `SortTask`."""

    write: WriteContext
    read: ReadContext
    place: FilePlace
    by: SortedBy
    lowest: int
    proof: ProofSettings = field(default_factory=ProofSettings)
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenRange:
    """What became of one range.

    Attributes:
        read: the digest of rows that were read, as far as this range has received it.
        proof: that the files hold what was written; None without a proof. Whether these are the rows of the range is
            checked for all ranges together, see `check_ranges`.
    """

    files: tuple[DataFileMeta, ...]
    read: Digest
    proof: ProofResult | None


def split_files(task: SortTask, bytes_at_once: int) -> list[SortTask]:
    """The task in parts of about this many bytes of files, in the order of the files."""
    parts: list[list[DataFileMeta]] = []
    room = 0
    for file in _in_order(task):
        if room < file.file_size or not parts:
            parts.append([])
            room = bytes_at_once
        parts[-1].append(file)
        room -= file.file_size
    return [replace(task, compaction=replace(task.compaction, files=tuple(part))) for part in parts]


def split_ranges(split: SplitTask) -> Iterator[tuple[int, pa.Table]]:
    """Rows with the number of their range's writer; those of a range in the order of the files.

    The writer of the first range receives the digest of all rows.
    """
    reading = _Reading(split.task)
    for rows in _gathered(reading.rows(), min(_GATHERED_BYTES, _PART_BYTES * (len(split.bounds) + 1))):
        for number, part in divided(rows, split.task.by, split.bounds):
            yield split.first_range + number, part
    for table in reading.digest_row():
        yield split.first_range, table


def _gathered(batches: Iterator[pa.Table], least_bytes: int) -> Iterator[pa.Table]:
    """Tables put together until they have this many bytes, which are worth dividing."""
    waiting: list[pa.Table] = []
    size = 0
    for rows in batches:
        if rows.num_rows:
            waiting.append(rows)
            size += rows.nbytes
        if size >= least_bytes:
            size = 0
            yield _joined(waiting)
    if waiting:
        yield _joined(waiting)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Tables as one with contiguous columns. Empties the list, so that nobody keeps them."""
    joined = pa.concat_tables(tables)
    tables.clear()
    return joined.combine_chunks()


class _Reading:
    """Reads the rows of a task, and tells their digest in the end, as a table among those of rows."""

    def __init__(self, task: SortTask) -> None:
        self._task = task
        self._proves = task.proof.mode != ProofMode.OFF
        self._digest = Digest()
        self._some: pa.Table | None = None

    def rows(self) -> Iterator[pa.Table]:
        names = tuple(field.name for field in self._task.write.row_fields)
        for rows in _batches(self._task):
            if self._proves and rows.num_rows:
                self._digest += Digest.of(HashedRows(rows, Hashing(names)).of(ROWS))
                self._some = rows.slice(0, 1)
            yield rows

    def digest_row(self) -> Iterator[pa.Table]:
        """One row that only carries the digest; nothing where there were no rows."""
        if self._some is not None:
            yield self._some.replace_schema_metadata({_DIGEST: pickle.dumps(self._digest)})


def write_range(task: RangeTask, tables: Iterator[pa.Table]) -> WrittenRange:
    """Write the rows of one range in order. On an error nothing of what was written stays in the bucket.

    Raises: ProofError: the files do not hold what was written; they are in quarantine.
    """
    proof = None if task.proof.mode == ProofMode.OFF else StreamProof(task.proof, task.write, (), {})
    writer = RollingFileWriter(
        task.write,
        task.place,
        FileNames.of(task.write),
        min_sequence_number=task.lowest,
        observer=None if proof is None else proof.output,
    )
    try:
        rows, read = _taken(tables)
        if rows is not None:
            for part in _ordered(rows, task.by):
                writer.write(part)
        written = writer.close()
        message = CommitMessage(task.place.partition, task.place.bucket, -1, compact_after=written)
        if proof is None:
            return WrittenRange(written, read, None)
        result = proof.check(message, partial(_reader, task), expected=proof.output.digest)
        return WrittenRange(written, read, replace(result, rows_in=read.rows))
    except Findings as findings:
        raise refuse(task.write, message, findings, subject="sorting", snapshot_id=task.snapshot_id) from None
    except BaseException:
        writer.abort()
        raise


def check_ranges(task: SortTask, ranges: Sequence[WrittenRange]) -> None:
    """Check that all rows of a partition are in its ranges, once. `ranges`: all of them.

    Raises: ProofError: they are not; the new files of all ranges are in quarantine.
    """
    if any(written_range.proof is None for written_range in ranges):
        return
    read = total(written_range.read for written_range in ranges)
    written = total(written_range.proof.digest for written_range in ranges if written_range.proof is not None)
    wrong = list(wrong_rows(task.compaction.files, task.compaction.gone, read.rows))
    if written != read:
        wrong.append("the rows of the new files are not those read")
    if wrong:
        message = replacement(task, tuple(file for written_range in ranges for file in written_range.files))
        findings = Findings(wrong, read, written)
        raise refuse(task.write, message, findings, subject="sorting", snapshot_id=task.snapshot_id)


def range_task(task: SortTask) -> RangeTask:
    """What writing a range of the task's partition needs."""
    plan = task.compaction
    place = FilePlace(plan.partition, plan.bucket, plan.output_level, plan.source)
    lowest = min(file.min_sequence_number for file in plan.files)
    return RangeTask(task.write, task.read, place, task.by, lowest, task.proof, task.snapshot_id)


def replacement(task: SortTask, written: tuple[DataFileMeta, ...], *, first: bool = True) -> CommitMessage:
    """The message of a range. `first`: of its partition; the message says that the files go."""
    plan = task.compaction
    before = tuple(plan.files) if first else ()
    return CommitMessage(plan.partition, plan.bucket, plan.total_buckets, compact_before=before, compact_after=written)


def rewrite_sorted(task: SortTask) -> WrittenRange:
    """Rewrite a partition as one range. Raises: as `write_range`."""
    reading = _Reading(task)
    return write_range(range_task(task), chain(reading.rows(), reading.digest_row()))


def _taken(tables: Iterator[pa.Table]) -> tuple[pa.Table | None, Digest]:
    """All rows as one table, None without any, and the digest that came with it."""
    rows: list[pa.Table] = []
    read = Digest()
    for table in tables:
        digest = (table.schema.metadata or {}).get(_DIGEST)
        if digest is not None:
            read += pickle.loads(digest)
        elif table.num_rows:
            rows.append(table)
    return (_joined(rows) if rows else None), read


def _ordered(rows: pa.Table, by: SortedBy) -> Iterator[pa.Table]:
    """The rows in order, some at a time: all of them once more would take as much memory again."""
    order = sort_order(by.words(rows))
    for start in range(0, len(order), _BATCH_ROWS):
        yield rows.take(pa.array(order[start : start + _BATCH_ROWS]))


def _in_order(task: SortTask) -> list[DataFileMeta]:
    return sorted(task.compaction.files, key=lambda file: file.min_sequence_number)


def _batches(task: SortTask) -> Iterator[pa.Table]:
    """The rows that are there, file by file."""
    plan = task.compaction
    values = partition_values(task.write.schema, plan.partition)
    readers = [
        DataFileReader(
            task.read,
            task.write.paths.data_file(plan.partition, plan.bucket, file),
            file,
            values,
            rows=RowSelection(plan.deletions.get(file.file_name)),
        )
        for file in _in_order(task)
    ]
    return batches_of_files(readers, _BATCH_ROWS)


def _reader(task: RangeTask, file: DataFileMeta) -> DataFileReader:
    path = task.write.paths.data_file(task.place.partition, task.place.bucket, file)
    return DataFileReader(task.read, path, file, partition_values(task.write.schema, task.place.partition))
