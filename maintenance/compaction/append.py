"""Compaction of append tables: put small files together, in order, rows unchanged.

Source: data section 2.9, Java `AppendCompactCoordinator` (unaware bucket) and `BucketedAppendCompactManager`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from maintenance.compaction.joined import joined_rows, of_same_rows
from maintenance.compaction.order.orders import SortedBy
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.proof.stream import StreamProof
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.metadata.manifests import DeletionFile
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.row_selection import RowSelection
from maintenance.read.small_files import batches_of_files
from maintenance.read.split_read import partition_values
from maintenance.write.apart import blobs_apart, without_vector_files
from maintenance.write.columns import in_one_file
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter

_OPEN_FILE_COST = 4 << 20
_BATCH_ROWS = 1 << 17
# A full compaction of a bucket whose rows have an order rewrites no fewer.
_FULL_FILES = 3


@dataclass(frozen=True, slots=True)
class AppendCompaction:
    """Files of one bucket to put together, in the order they are read, without the rows that are deleted.

    Attributes:
        deletions: locations of the deletion vectors of the files, by name.
        deleted: vectors in their place, for the files that have one there.
        source: what the new files say of where they come from.
        joins: several files have the columns of the same rows, and become one file with all of them.
        by: the order that their rows come into; None = as they are.
        output_level: of the new files. Only tables that are clustered have levels, see `clustering`.
        left_out: the columns, by id, that stay in files apart from the rows.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    files: Sequence[DataFileMeta]
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    deleted: Mapping[str, DeletionVector] = field(default_factory=dict)
    source: FileSource = FileSource.COMPACT
    joins: bool = False
    by: SortedBy | None = None
    output_level: int = 0
    left_out: frozenset[int] = frozenset()

    @property
    def input_files(self) -> Sequence[DataFileMeta]:
        return self.files

    @property
    def gone(self) -> dict[str, int | None]:
        """How many rows of files are deleted, by name; None where an old index does not say."""
        counts = {name: deletion.range.cardinality for name, deletion in self.deletions.items()}
        return counts | {name: vector.cardinality for name, vector in self.deleted.items()}


@dataclass(frozen=True, slots=True)
class AppendCompactionTask:
    """One such group with what reading and writing it needs.

    Attributes:
        proof: how what is written is proved before anybody commits it.
        snapshot_id: of the snapshot that it was planned on.
    """

    write: WriteContext
    read: ReadContext
    compaction: AppendCompaction
    proof: ProofSettings = field(default_factory=ProofSettings)
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """What deletion vectors say of the files of a bucket.

    Attributes: `holders`: the index file of each data file that has a vector; `counts`: deleted rows of those, None
        where an old index does not say; `ratio`: the share of deleted rows from which on a file is rewritten.
    """

    holders: Mapping[str, str]
    counts: Mapping[str, int | None]
    ratio: float

    def many(self, file: DataFileMeta) -> bool:
        """Whether enough rows of a file are deleted to rewrite it whatever its size."""
        if file.file_name not in self.holders:
            return False
        count = self.counts[file.file_name]
        return count is None or count > file.row_count * self.ratio


def pack_with_deletions(
    files: Sequence[DataFileMeta],
    deleted: DeletedRows,
    *,
    target_size: int,
    small_ratio: float,
    min_files: int,
    all_leftovers: bool = False,
) -> list[tuple[DataFileMeta, ...]]:
    """Groups of files of an unaware bucket with deletion vectors that are worth rewriting.

    Small files, and those with many deleted rows. Files whose vectors share an index file stay together, and are
    rewritten even if there is only one; the others as in `pack_small_files`, which has the arguments.
    """
    chosen = [file for file in files if file.file_size < small_ratio * target_size or deleted.many(file)]
    shared: dict[str, list[DataFileMeta]] = {}
    for file in chosen:
        if file.file_name in deleted.holders:
            shared.setdefault(deleted.holders[file.file_name], []).append(file)
    groups: list[tuple[DataFileMeta, ...]] = []
    current: list[DataFileMeta] = []
    for members in sorted(shared.values(), key=lambda group: sum(file.file_size for file in group)):
        current += members
        if len(current) > 1 and sum(file.file_size + _OPEN_FILE_COST for file in current) >= 2 * target_size:
            groups.append(tuple(current))
            current = []
    if current:
        groups.append(tuple(current))
    rest = [file for file in chosen if file.file_name not in deleted.holders]
    return groups + pack_small_files(
        rest, target_size=target_size, small_ratio=small_ratio, min_files=min_files, all_leftovers=all_leftovers
    )


def pack_small_files(
    files: Sequence[DataFileMeta], *, target_size: int, small_ratio: float, min_files: int, all_leftovers: bool = False
) -> list[tuple[DataFileMeta, ...]]:
    """Groups of small files of an unaware bucket worth rewriting.

    Args:
        target_size: bytes of a good file.
        small_ratio: a file below this share of it is small.
        min_files: a rest that does not fill two files is rewritten from this number on.
        all_leftovers: rewrite a rest of two files already (a full compaction).
    """
    small = sorted((f for f in files if f.file_size < small_ratio * target_size), key=lambda f: f.file_size)
    sizes = np.array([file.file_size for file in small], np.int64)
    spans = pack_sizes(sizes, target_size=target_size, min_files=2 if all_leftovers else min_files)
    return [tuple(small[start:stop]) for start, stop in spans]


def pack_sizes(sizes: npt.NDArray[np.int64], *, target_size: int, min_files: int) -> list[tuple[int, int]]:
    """From where to where each group of small files goes that is worth rewriting.

    Args: `sizes`: of the files, ascending; `min_files`: a rest that does not fill two files is rewritten from this
        number on, and from two in any case.
    """
    weights = np.cumsum(sizes + _OPEN_FILE_COST)
    spans = []
    start = before = 0
    while start < len(sizes):
        filled = int(np.searchsorted(weights, before + 2 * target_size)) + 1
        stop = max(start + 2, filled)
        if stop > len(sizes):
            if len(sizes) - start >= max(2, min_files):
                spans.append((start, len(sizes)))
            break
        spans.append((start, stop))
        start, before = stop, int(weights[stop - 1])
    return spans


def pack_in_order(
    files: Sequence[DataFileMeta],
    *,
    target_size: int,
    small_ratio: float,
    min_files: int,
    full: bool,
    deletes: bool = False,
    with_vectors: Collection[str] = (),
) -> list[tuple[DataFileMeta, ...]]:
    """At most one group of neighbouring files of a bucketed append table, which keeps the order of its rows.

    A full compaction of fewer than three files goes by the same rule as any other.

    Args:
        target_size, small_ratio: as of `pack_small_files`, for full compactions.
        min_files: neighbours of less than two target sizes are rewritten from this number on.
        deletes: the table has deletion vectors, and a full compaction puts any number of its files together.
        with_vectors: names of files with deleted rows, all of which a full compaction rewrites.
    """
    ordered = sorted(files, key=lambda f: f.min_sequence_number)
    if full and (deletes or with_vectors or len(ordered) >= _FULL_FILES):
        return _all_in_order(ordered, small_ratio * target_size, deletes=deletes, with_vectors=with_vectors)
    window: list[DataFileMeta] = []
    for file in ordered:
        window.append(file)
        if len(window) >= min_files:
            return [tuple(window)]
        while sum(f.file_size for f in window) >= 2 * target_size:
            window.pop(0)
    return []


def _all_in_order(
    ordered: Sequence[DataFileMeta], small_size: float, *, deletes: bool, with_vectors: Collection[str]
) -> list[tuple[DataFileMeta, ...]]:
    """All files from the first small one on, or the first with deleted rows, if that is worth it."""
    kept = (n for n, f in enumerate(ordered) if f.file_size < small_size or f.file_name in with_vectors)
    rest = tuple(ordered[next(kept, len(ordered)) :])
    if any(file.file_name in with_vectors for file in rest):
        return [rest]
    if deletes:
        return [rest] if len(rest) > 1 else []
    small = sum(file.file_size < small_size for file in rest)
    return [rest] if len(rest) >= _FULL_FILES and small > len(rest) - small else []


def rewrite_append(task: AppendCompactionTask) -> CommitMessage:
    """Rewrite one group of files. On an error nothing of what was written stays in the bucket.

    Raises: ProofError: the rows written are not those read; the new files are in quarantine.
    """
    return proved_append(task)[0]


def proved_append(task: AppendCompactionTask) -> tuple[CommitMessage, ProofResult]:
    """The same, with the proof."""
    # Made once, of those of this group.
    files = tuple(task.compaction.files)
    task = replace(task, compaction=replace(task.compaction, files=files))
    plan = task.compaction
    ordered = sorted(files, key=lambda f: f.min_sequence_number)
    if plan.joins:
        task = _joining(task)
    write = task.write
    place = FilePlace(plan.partition, plan.bucket, source=plan.source)
    proof = None if task.proof.mode == ProofMode.OFF else StreamProof(task.proof, write, files, plan.gone)
    writer = RollingFileWriter(
        write,
        place,
        FileNames.of(task.write),
        min_sequence_number=min(f.min_sequence_number for f in ordered),
        observer=None if proof is None else proof.output,
    )
    try:
        for rows in _joined(task) if plan.joins else _read(task, ordered):
            if proof is not None:
                proof.reads(rows)
            writer.write(rows)
        written = writer.close()
        if plan.joins:
            written = tuple(of_same_rows(file, files) for file in written)
        message = CommitMessage(
            plan.partition, plan.bucket, plan.total_buckets, compact_before=files, compact_after=written
        )
        return message, ProofResult() if proof is None else proof.check(message, partial(_reader, task))
    except Findings as findings:
        raise refuse(task.write, message, findings, subject="compaction", snapshot_id=task.snapshot_id) from None
    except BaseException:
        writer.abort()
        raise


def _joining(task: AppendCompactionTask) -> AppendCompactionTask:
    """The task with the columns of the one file that it writes: all that are not apart from the rows."""
    write = in_one_file(without_vector_files(task.write))
    blobs = blobs_apart(write)
    kept = tuple(f for f in write.columns if f.id not in task.compaction.left_out and f not in blobs)
    if len(kept) < len(write.columns):
        write = replace(write, write_cols=tuple(field.name for field in kept))
    read = replace(task.read, fields=tuple(field for field in task.read.fields if field in kept))
    return replace(task, write=write, read=read)


def _joined(task: AppendCompactionTask) -> Iterator[pa.Table]:
    plan = task.compaction
    return joined_rows(task.read, task.write.paths, plan.partition, plan.bucket, plan.files)


def _read(task: AppendCompactionTask, files: Sequence[DataFileMeta]) -> Iterator[pa.Table]:
    deletions, deleted = task.compaction.deletions, task.compaction.deleted
    readers = [
        replace(_reader(task, file), rows=RowSelection(deletions.get(file.file_name), deleted.get(file.file_name)))
        for file in files
    ]
    return batches_of_files(readers, _BATCH_ROWS)


def _reader(task: AppendCompactionTask, file: DataFileMeta) -> DataFileReader:
    plan = task.compaction
    path = task.write.paths.data_file(plan.partition, plan.bucket, file)
    return DataFileReader(task.read, path, file, partition_values(task.write.schema, plan.partition))
