"""The proof of rows that leave the postpone bucket of a partition for its real buckets.

Rows are seen as they leave the waiting files, with the buckets they are given. The number of each is worked out again:
rows of a bucket count on from what the bucket holds, in the order in which they are read. A writer's buffer becomes one
sorted run, with one row of each key, so what is expected of the rows of a run is worked out from the records that it is
made of; where each run ends is all that is believed of the writer.

- Every waiting file is read once, and as many rows of it as its manifest entry says.
- Rows are left out where later files have their key, by the proof's own reading of these, and no others.
- The rows written are those expected, with their kinds and numbers, and so are those of the changelog, unmerged.
- Each row that reaches an encoder is of the bucket that its file is for.
- Files are of level 0, of the buckets of this task, and hold what manifests say: `files`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof import files as rules
from maintenance.compaction.proof.findings import Findings, Timer
from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.compaction.proof.observer import WrittenRows
from maintenance.compaction.proof.records import ProofRecords, RecordOrigin, batch_of, grouped
from maintenance.compaction.proof.results import (
    Comparison,
    Gathered,
    ProofRules,
    ResultObserver,
    compared_units,
    due_rows,
)
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.superseded import key_hashes, keys_only
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.read.data_file import DataFileReader
from maintenance.types.row_hash import Digest, total
from maintenance.write.buckets import buckets_of
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.sequence import sequence_numbers

_BATCH_ROWS = 1 << 17
ReadAgain = Callable[[int, DataFileMeta], DataFileReader]


class LaterKeys:
    """The keys of files that came into their buckets later, as the proof reads them itself: once, when it needs them.

    Args: `files`: one or more, each with how many of those that wait are older.
    """

    def __init__(self, files: Sequence[tuple[int, DataFileReader]], schema: TableSchema) -> None:
        self._files, self._schema = files, schema

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Hashes of the keys, ascending, and up to which waiting file each is later."""
        hashes, after = list[np.ndarray](), list[np.ndarray]()
        for older, reader in self._files:
            for rows in keys_only(reader, self._schema).batches(_BATCH_ROWS):
                hashes.append(key_hashes(rows, self._schema.trimmed_primary_keys))
                after.append(np.full(rows.num_rows, older))
        every, ends = np.concatenate(hashes), np.concatenate(after)
        order = np.lexsort((ends, every))
        every, ends = every[order], ends[order]
        last = np.append(every[1:] != every[:-1], True)
        return every[last], ends[last]

    def misjudged(self, rows: pa.Table, place: int, superseded: np.ndarray) -> int:
        """How many rows of the waiting file at `place` are wrongly left out or wrongly kept."""
        hashes, after = self._ends
        own = key_hashes(rows, self._schema.trimmed_primary_keys)
        at = np.minimum(np.searchsorted(hashes, own), len(hashes) - 1)
        due = (hashes[at] == own) & (after[at] > place)
        return int(np.count_nonzero(due != superseded))


@dataclass(frozen=True, slots=True)
class Moved:
    """What is to be moved.

    Attributes:
        files: those that wait, in the order in which they are read.
        sequences: largest sequence number in each real bucket.
        share, shares: only buckets whose number, divided by `shares`, leaves `share`.
        start: how many files that wait come before these.
        later: rows of these keys are left out; None = none are.
    """

    partition: bytes
    files: Sequence[DataFileMeta]
    sequences: Mapping[int, int]
    share: int
    shares: int
    start: int = 0
    later: LaterKeys | None = None


@dataclass(slots=True)
class _Run:
    """Records of the sorted runs of all buckets with the same place among their bucket's, and rows made of them."""

    records: ProofRecords
    gathered: Gathered = field(default_factory=Gathered)


class _Data(ResultObserver):
    """Rows of the data files of a bucket."""

    def __init__(self, proof: "PostponeProof", bucket: int, hashing: Hashing, *, digests: bool) -> None:
        super().__init__(proof.rules, hashing, proof.timer, digests=digests)
        self._proof, self._bucket = proof, bucket
        self.strays = 0

    def wrote(self, name: str, rows: pa.Table) -> None:
        with self._timer:
            self.strays += self._proof.strays(rows, self._bucket)
            super().wrote(name, rows)


class _Changes(WrittenRows):
    """Rows of the changelog files of a bucket."""

    def __init__(self, proof: "PostponeProof", bucket: int, hashing: Hashing) -> None:
        super().__init__(hashing, ordered=False)
        self._proof, self._bucket = proof, bucket
        self.strays = 0

    def wrote(self, name: str, rows: pa.Table) -> None:
        with self._proof.timer:
            self.strays += self._proof.strays(rows, self._bucket)
            super().wrote(name, rows)


@dataclass(frozen=True, slots=True)
class _Bucket:
    """Sees what is written to one bucket."""

    proof: "PostponeProof"
    number: int
    data: _Data
    changelog: _Changes

    def flushed(self) -> None:
        self.proof.ends_run(self.number)


class PostponeProof:
    """Watches the move of waiting rows, and judges it in the end. `write`: with the number of real buckets."""

    def __init__(self, settings: ProofSettings, write: WriteContext, moved: Moved) -> None:
        self._settings, self._write, self._moved = settings, write, moved
        self.rules = ProofRules(write)
        self.timer = Timer()
        self._hashing = self.rules.hashing(settings, moved.files, shares=moved.shares)
        self._of_records = self.rules.hashing_of_records(self._hashing)
        self._logs = write.model.changelog_producer == "input"
        self._digests = self.rules.by_row or settings.mode == ProofMode.FULL
        self._read: dict[str, int] = {}
        self._taken = np.zeros(write.total_buckets, np.int64)
        self._first = np.array([moved.sequences.get(bucket, -1) + 1 for bucket in range(write.total_buckets)])
        # The place of the sorted run that each bucket is at.
        self._at_run = np.zeros(write.total_buckets, np.int64)
        self._runs: list[_Run] = []
        self._buckets: dict[int, _Bucket] = {}
        self._arrived = Digest()
        self._places = {file.file_name: place for place, file in enumerate(moved.files, moved.start)}
        self._misjudged = 0

    # What is read and written

    def bucket(self, partition: bytes, bucket: int) -> _Bucket:
        """The observer of the files of a bucket."""
        del partition
        data = _Data(self, bucket, self._hashing, digests=self._digests)
        self._buckets[bucket] = _Bucket(self, bucket, data, _Changes(self, bucket, self._hashing))
        self._follow(bucket)
        return self._buckets[bucket]

    def ends_run(self, bucket: int) -> None:
        """What comes now to this bucket is another sorted run."""
        self._at_run[bucket] += 1
        self._follow(bucket)

    def _follow(self, bucket: int) -> None:
        self._buckets[bucket].data.gathered = self._run(int(self._at_run[bucket])).gathered

    def _run(self, number: int) -> _Run:
        while len(self._runs) <= number:
            self._runs.append(_Run(ProofRecords(self.rules.order, 0)))
        return self._runs[number]

    def strays(self, rows: pa.Table, bucket: int) -> int:
        """How many rows are of another bucket."""
        return int(np.count_nonzero(buckets_of(rows, self._write) != bucket))

    def reads(
        self, file: DataFileMeta, rows: pa.Table, buckets: np.ndarray, superseded: np.ndarray | None = None
    ) -> None:
        """Rows as they are read, before anybody has them, the buckets they are to go to, and which are left out."""
        with self.timer:
            self._read[file.file_name] = self._read.get(file.file_name, 0) + rows.num_rows
            if superseded is not None:
                assert self._moved.later is not None
                place = self._places[file.file_name]
                self._misjudged += self._moved.later.misjudged(rows, place, superseded)
                rows, buckets = rows.filter(pa.array(~superseded)), buckets[~superseded]
            mine = buckets % self._moved.shares == self._moved.share
            if not mine.all():
                rows, buckets = rows.filter(pa.array(mine)), buckets[mine]
            if rows.num_rows:
                self._note(self._numbered(rows, buckets), self._at_run[buckets])

    def _numbered(self, rows: pa.Table, buckets: np.ndarray) -> pa.Table:
        # 16-bit integers get a radix sort.
        few = len(self._taken) <= np.iinfo(np.int16).max
        order = np.argsort(buckets.astype(np.int16) if few else buckets, kind="stable")
        counts = np.bincount(buckets, minlength=len(self._taken))
        place = np.empty(len(buckets), np.int64)
        place[order] = np.arange(len(buckets)) - np.repeat(np.cumsum(counts) - counts, counts)
        counted = self._first[buckets] + self._taken[buckets] + place
        self._taken += counts
        numbers = sequence_numbers(rows, self._write, counted)
        at = rows.column_names.index(SEQUENCE_NUMBER.name)
        return rows.set_column(at, SEQUENCE_NUMBER.name, pa.array(numbers))

    def _note(self, rows: pa.Table, runs: np.ndarray) -> None:
        hashed = HashedRows(rows, self._of_records)
        chosen = hashed.in_sample
        if chosen is not None:
            hashed, runs = hashed.only(chosen), runs[chosen]
        if not len(runs):
            return
        hashes = (*self.rules.wanted, *((ROWS,) if self._logs and not self.rules.by_row else ()))
        numbers = [int(runs[0])] if runs.min() == runs.max() else np.unique(runs).tolist()
        for number in numbers:
            part = hashed if len(numbers) == 1 else hashed.only(np.flatnonzero(runs == number))
            batch = batch_of(part, RecordOrigin(0, 0), hashes, self.rules.columns)
            if self._logs:
                self._arrived += Digest.of(batch.hashes[ROWS])
            self._run(number).records.add(batch)

    # The judgement

    def check(self, messages: Sequence[CommitMessage], read_again: ReadAgain) -> ProofResult:
        """Raises: Findings: something is wrong."""
        with self.timer:
            rows = self._compared()
            arrived = total(bucket.changelog.digest for bucket in self._buckets.values())
            wrong = [*self._wrong_reads(), *self._wrong_messages(messages), *self._wrong_buckets()]
            if rows.expected != rows.given:
                wrong.insert(
                    0, f"the rows of the real buckets differ from what is expected of the waiting rows{rows.where}"
                )
            if self._misjudged:
                wrong.append(f"{self._misjudged} rows are wrongly left out or kept beside later rows of their keys")
            if self._logs and arrived != self._arrived:
                wrong.append(f"the changelog is not the rows that waited: expected {self._arrived}, given {arrived}")
            read_back = 0
            for message in [] if wrong else messages:
                checked = self._read_back(message, read_again, self._settings.read_back - read_back)
                read_back, wrong = read_back + checked[0], wrong + checked[1]
        if wrong:
            raise Findings(wrong, rows.expected, rows.given)
        return ProofResult(
            ProofMode.SAMPLED if self._hashing.shift else ProofMode.FULL,
            1 << self._hashing.shift,
            int(self._taken.sum()),
            sum(bucket.data.rows for bucket in self._buckets.values()),
            rows.given,
            rows.by_key,
            rows.counted,
            read_back,
            self.timer.seconds,
        )

    def _compared(self) -> Comparison:
        given = total(bucket.data.digest for bucket in self._buckets.values())
        comparison = Comparison(Digest(), given if self.rules.by_row else Digest())
        for run in self._runs:
            run.records.settle()
            groups = grouped(run.records)
            if self.rules.by_row:
                due, _ = due_rows(self.rules, run.records, groups)
                comparison += Comparison(due, Digest())
            else:
                comparison += compared_units(self.rules, run.records, groups, run.gathered)
        return comparison

    def _wrong_reads(self) -> Iterator[str]:
        for file in self._moved.files:
            rows_read = self._read.get(file.file_name, 0)
            if rows_read != file.row_count:
                yield f"{rows_read} rows of {file.file_name} were read, and it holds {file.row_count}"

    def _wrong_messages(self, messages: Sequence[CommitMessage]) -> Iterator[str]:
        moved, schema = self._moved, self._write.schema
        numbers = [message.bucket for message in messages]
        written = {number for number, bucket in self._buckets.items() if bucket.data.rows}
        for number in sorted(written ^ set(numbers)):
            yield f"bucket {number} was {'written to, and is not' if number in written else 'not, and is'} committed"
        for message in messages:
            number = message.bucket
            if (
                numbers.count(number) > 1
                or number % moved.shares != moved.share
                or message.partition != moved.partition
            ):
                yield f"bucket {number} is committed twice, or does not belong to this partition and task"
            if message.total_buckets != self._write.total_buckets or message.compact_before or message.new_files:
                yield f"the commit of bucket {number} has more than new files of a compaction"
            if number not in self._buckets:
                continue
            bucket = self._buckets[number]
            yield from rules.written_files(message.compact_after, bucket.data, schema)
            yield from rules.written_files(message.compact_changelog, bucket.changelog, schema) if self._logs else ()
            for file in message.compact_after:
                if file.level:
                    yield f"{file.file_name} is on level {file.level}, but moved rows must be on level 0"

    def _wrong_buckets(self) -> Iterator[str]:
        for number, bucket in sorted(self._buckets.items()):
            strays = bucket.data.strays + bucket.changelog.strays
            if strays:
                yield f"{strays} rows of other buckets were written to bucket {number}"

    def _read_back(self, message: CommitMessage, read_again: ReadAgain, budget: int) -> tuple[int, list[str]]:
        read, wrong = 0, list[str]()
        whole, bucket = self._settings.mode == ProofMode.FULL, self._buckets[message.bucket]
        pairs = ((bucket.data, message.compact_after), (bucket.changelog, message.compact_changelog))
        for observer, files in pairs:
            readers = {file.file_name: read_again(message.bucket, file) for file in files}
            limit = observer.rows if whole else max(0, budget - read)
            count, wrong_files = rules.ReadBack(self._hashing, readers, limit, whole).check(observer)
            read, wrong = read + count, wrong + wrong_files
        return read, wrong
