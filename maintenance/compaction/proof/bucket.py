"""The proof of the compaction of one bucket of a table with primary key.

What is compared: records as they leave their files, and rows as they reach the encoders of the new ones. What is
between the two (windows, merge, changelog, rolling of files) is not trusted.

- Every file is read once, and as many rows of it as its manifest entry says, without those that are deleted.
- The rows written are those that `expected` makes of the records read: their digests are the same.
- The changelog turns the state before into the state after: its additions without its retractions are the rows after
  without the rows before, as digests of keys and values; as many -U as +U.
- As many older records are marked as deleted as were found.
- Rules of levels, key ranges and bytes: `files`.

Not looked at: whether reading files and looking up older records is right.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from maintenance.compaction.lookup_levels import LookupLevels, OlderRecords
from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.compaction.proof import files as rules
from maintenance.compaction.proof.expected import picked_rows
from maintenance.compaction.proof.findings import Findings, Timer
from maintenance.compaction.proof.hashing import KEYS, ROWS, VALUES, HashedRows, Hashing
from maintenance.compaction.proof.observer import WrittenRows
from maintenance.compaction.proof.records import Groups, ProofRecords, RecordOrigin, batch_of, grouped
from maintenance.compaction.proof.results import (
    Comparison,
    Places,
    ProofRules,
    ResultObserver,
    compared_units,
    due_rows,
)
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.record_expiry import LivingRows, RecordExpiry
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.read.data_file import DataFileReader
from maintenance.read.run import ReadsFile
from maintenance.types.row_hash import Digest
from maintenance.types.row_kind import KIND_TEXTS, RowKind, is_retract
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage

_U64 = np.uint64


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """A reader of a file that tells of the rows it yields. Only what reading runs needs."""

    reader: ReadsFile
    seen: Callable[[pa.Table], None]

    @property
    def file(self) -> DataFileMeta:
        return self.reader.file

    def read(self) -> pa.Table:
        rows = self.reader.read()
        self.seen(rows)
        return rows

    def batches(self, batch_rows: int) -> Iterator[pa.Table]:
        for rows in self.reader.batches(batch_rows):
            self.seen(rows)
            yield rows


@dataclass(frozen=True, slots=True)
class _WatchedLevels(LookupLevels):
    seen: Callable[[pa.Table, list[OlderRecords]], None] = lambda keys, older: None

    def find(self, keys: pa.Table) -> list[OlderRecords]:
        older = LookupLevels.find(self, keys)
        self.seen(keys, older)
        return older


class _Output(ResultObserver):
    """The rows of the new data files, and the hashes that the proof needs of them."""

    def __init__(self, proof: "BucketProof", rules: ProofRules, hashing: Hashing, *, digests: bool) -> None:
        super().__init__(rules, hashing, proof.timed(), digests=digests)
        self._proof = proof
        self._digest = Digest()
        # Where only some keys count: of each row, with its key.
        self._values: list[tuple[np.ndarray, np.ndarray]] = []

    def gather(self, rows: HashedRows) -> None:
        if self._proof.proves_values:
            added = ~is_retract(rows.kinds)
            values = rows.of(VALUES)[added]
            if self._proof.lone_rows_change:
                self._values.append((rows.of(KEYS)[added], values))
            else:
                self._digest += Digest.of(values)
        super().gather(rows)

    def values(self, touched: Groups | None) -> Digest:
        """Of the rows that are not retractions. `touched`: only those of these keys, None = of all."""
        if touched is None:
            return self._digest
        digest = Digest()
        for keys, values in self._values:
            digest += Digest.of(values[Places(touched.keys, keys).among(np.ones(len(touched.starts), bool))])
        return digest


class _Changes(WrittenRows):
    """Rows of changelog files."""

    def __init__(self, proof: "BucketProof", hashing: Hashing) -> None:
        super().__init__(hashing, ordered=False)
        self._proof = proof
        self.values = Digest()
        self.kinds = np.zeros(len(KIND_TEXTS), np.int64)

    def wrote(self, name: str, rows: pa.Table) -> None:
        with self._proof.timed():
            super().wrote(name, rows)

    def gather(self, rows: HashedRows) -> None:
        kinds = rows.kinds
        self.kinds += np.bincount(kinds, minlength=len(KIND_TEXTS))
        if self._proof.proves_values:
            retract, values = is_retract(kinds), rows.of(VALUES)
            self.values += Digest.of(values[~retract]) - Digest.of(values[retract])


class BucketProof:
    """Watches one compaction, and judges it in the end.

    Args: `compared`: columns whose change makes a changelog, None = all; `whole`: each file is read whole, not a range
        of its keys.
    """

    def __init__(
        self,
        settings: ProofSettings,
        write: WriteContext,
        plan: BucketCompaction,
        *,
        compared: tuple[str, ...] | None,
        newest_wins: bool,
        whole: bool = True,
    ) -> None:
        self._whole = whole
        self._settings, self._write, self._plan = settings, write, plan
        self._timer = Timer()
        self._rules = rules = ProofRules(write)
        self._first_row = write.model.merge_engine == "first-row"
        # Older records of which only the keys are read.
        self._only_keys = self._first_row or newest_wins
        # A compaction that looks up has another form of changelog with first-row: the rows of new keys, as they are.
        self._rows_of_new_keys = plan.changelog and plan.looks_up and self._first_row
        self.proves_values = plan.changelog and not self._rows_of_new_keys
        # Merged on its own, a record from above level 0 may change, and makes no changelog.
        self.lone_rows_change = plan.looks_up and not rules.by_row
        rows = sum(file.row_count for file in plan.input_files)
        columns = tuple(write.schema.field_names) if compared is None else compared
        hashing = rules.hashing(settings, plan.input_files, compared=columns, further=int(self.proves_values))
        self._hashing = replace(hashing, deduplicated=compared is not None)
        self._of_records = rules.hashing_of_records(self._hashing)
        # Records whose values are needed as they are, and those of a sample, are gathered piece by piece.
        together = not rules.columns and not self._hashing.shift
        self._records = ProofRecords(rules.order, rows if together else 0)
        self._wanted = (*rules.wanted, *((VALUES,) if self.proves_values else ()))
        self._hashes = {kind: self._of_records.of(kind) for kind in (KEYS, *self._wanted)}
        digests = rules.by_row or settings.mode == ProofMode.FULL
        self.output = _Output(self, rules, self._hashing, digests=digests)
        self.changes = _Changes(self, self._hashing)
        # Asked for together with the rows' own hashes.
        self.output.wants = self.changes.wants = (*((KEYS,) if rules.units else ()), *self._wanted)
        self._read: dict[str, int] = {}
        self._found = 0

    def timed(self) -> Timer:
        return self._timer

    @property
    def rows_read(self) -> Mapping[str, int]:
        """Of each file, by name."""
        return self._read

    # What is read

    def watched(
        self, reader: ReadsFile, run: int, expiry: RecordExpiry | None, *, written: bool, merged: bool
    ) -> WatchedFile:
        """The reader, whose rows are counted, and those that are not past their time noted."""
        name, origin = reader.file.file_name, RecordOrigin(run, reader.file.level, written, merged=merged)
        self._read.setdefault(name, 0)
        place = self._records.place(reader.file.row_count, origin)

        def counted(rows: pa.Table) -> None:
            self._read[name] += rows.num_rows

        def seen(rows: pa.Table) -> None:
            with self._timer:
                if place is None or not place.add(rows, self._hashes):
                    self._note(HashedRows(rows, self._of_records).sampled(), origin)

        whole = WatchedFile(reader, counted)
        return WatchedFile(whole if expiry is None else LivingRows(whole, expiry), seen)

    def watched_levels(self, levels: LookupLevels) -> LookupLevels:
        """The levels above, whose records that are found are noted."""
        return _WatchedLevels(levels.readers, levels.key_fields, levels.expiry, levels.by_key, self._note_older)

    def _note_older(self, keys: pa.Table, older: list[OlderRecords]) -> None:
        with self._timer:
            key_hashes = pa.array(HashedRows(keys, self._hashing).of(KEYS))
            for number, part in enumerate(older):
                matches = self._of_keys(part.rows, key_hashes)
                self._found += matches.true_count
                if part.expired is not None:
                    self._found += self._of_keys(part.expired, key_hashes).true_count
                held = HashedRows(part.rows.filter(matches), self._of_records)
                origin = RecordOrigin((1 << 32) + number, part.level, older=True, merged=True)
                if self._first_row or not self._only_keys:
                    self._note(held.sampled(), origin)

    def _of_keys(self, rows: pa.Table, key_hashes: pa.Array) -> pa.BooleanArray:
        """Which rows have one of the keys."""
        return pc.is_in(pa.array(HashedRows(rows, self._hashing).of(KEYS)), value_set=key_hashes)

    def _note(self, rows: HashedRows, origin: RecordOrigin) -> None:
        if not rows.rows.num_rows:
            return
        if origin.older and self._only_keys:
            batch = batch_of(rows, origin, (), ())
            batch.hashes.update(dict.fromkeys(self._wanted, np.zeros(rows.rows.num_rows, _U64)))
            self._records.add(batch)
            return
        self._records.add(batch_of(rows, origin, self._wanted, self._rules.columns))

    # The judgement

    def check(
        self,
        message: CommitMessage,
        deleted: Mapping[str, BitMap],
        read_again: Callable[[DataFileMeta], DataFileReader],
    ) -> ProofResult:
        """Raises: Findings: something is wrong."""
        with self._timer:
            judged = _Judgement(self._records, looks_up=self._plan.looks_up, covers=not self._first_row)
            rows = self._rows(judged)
            wrong = list(self._wrong_counts(deleted))
            if rows.expected != rows.given:
                wrong.insert(0, f"the rows of the new files differ from the expected merge result{rows.where}")
            wrong += self._wrong_changelog(judged)
            written = [file for file in message.compact_after if file.file_name not in self._lifted(message)]
            schema = self._write.schema
            wrong += rules.replaced_files(self._plan.input_files, message)
            wrong += rules.written_files(written, self.output, schema)
            wrong += (
                rules.written_files(message.compact_changelog, self.changes, schema) if self._plan.changelog else ()
            )
            wrong += rules.levels(self._plan, message, self.output, schema)
            read_back = 0
            if not wrong:
                whole = self._settings.mode == ProofMode.FULL
                for observer, new in ((self.output, written), (self.changes, message.compact_changelog)):
                    limit = self._settings.read_back_rows(observer.rows)
                    readers = {file.file_name: read_again(file) for file in new}
                    count, wrong_files = rules.ReadBack(self._hashing, readers, limit, whole).check(observer)
                    read_back, wrong = read_back + count, wrong + wrong_files
        if wrong:
            raise Findings(wrong, rows.expected, rows.given)
        return ProofResult(
            ProofMode.SAMPLED if self._hashing.shift else ProofMode.FULL,
            1 << self._hashing.shift,
            sum(self._read.values()),
            self.output.rows,
            rows.given,
            rows.by_key,
            rows.counted,
            read_back,
            self._timer.seconds,
        )

    def _lifted(self, message: CommitMessage) -> set[str]:
        return {file.file_name for file in message.compact_before}

    def _wrong_counts(self, deleted: Mapping[str, BitMap]) -> Iterator[str]:
        written = [file for step in self._plan.steps if isinstance(step, RewriteStep) for file in step.files]
        deleted_rows = {name: deletion.range.cardinality for name, deletion in self._plan.deletions.items()}
        if self._whole:
            yield from wrong_counts(written, self._read, deleted_rows)
        marked = sum(map(len, deleted.values()))
        if self._plan.marks and marked != self._found:
            yield f"{self._found} older records were found, and {marked} are marked as deleted"

    def _rows(self, judged: "_Judgement") -> Comparison:
        records, groups, drops = self._records, judged.groups, self._plan.drop_deletes
        if self._first_row and judged.older is not None:
            groups = groups.of_keys(~groups.any(judged.older))
        unwritten = None if judged.unwritten is None else groups.any(judged.unwritten)
        if not self._rules.by_row:
            written = groups if unwritten is None else groups.of_keys(~unwritten)
            return compared_units(self._rules, records, written, self.output.gathered, drop_deletes=drops)
        due, picked = due_rows(self._rules, records, groups, left_out=unwritten, drop_deletes=drops)
        judged.picked = (groups, picked)
        return Comparison(due, self.output.digest)

    def _wrong_changelog(self, judged: "_Judgement") -> Iterator[str]:
        if not self._plan.changelog:
            return
        if self._rows_of_new_keys:
            groups, picked = judged.picked
            new = ~groups.any(self._records.levels > 0)
            due, logged = Digest.of(self._records.hashes(ROWS)[picked[new]]), self.changes.digest
        else:
            counts = self.changes.kinds
            if counts[RowKind.UPDATE_BEFORE] != counts[RowKind.UPDATE_AFTER]:
                yield f"the changelog has {counts[1]} -U and {counts[2]} +U"
            lifted = self._values_of_lifted(judged)
            if lifted is None:
                return
            touched = judged.groups.of_keys(judged.groups.any(self._records.levels <= 0))
            after = self.output.values(touched if self.lone_rows_change else None)
            due, logged = after + lifted - self._values_before(judged), self.changes.values
        if due != logged:
            yield f"the changelog does not match the changes: expected {due}, given {logged}"

    def _values_before(self, judged: "_Judgement") -> Digest:
        """What stood before, of all keys."""
        levels, values = self._records.levels, self._records.hashes(VALUES)
        retract = self._records.retract
        chosen = judged.lowest_above_0 if self._plan.looks_up else levels == self._plan.max_level
        if self.lone_rows_change:
            touched = np.zeros(len(levels), bool)
            groups = judged.groups
            touched[groups.order] = np.repeat(groups.any(levels <= 0), groups.counts)
            chosen = chosen & touched
        return Digest.of(values[chosen if retract is None else chosen & ~retract])

    def _values_of_lifted(self, judged: "_Judgement") -> Digest | None:
        """The state after of keys whose file is only lifted; None where that is not known."""
        if judged.unwritten is None:
            return Digest()
        groups = judged.groups.of_keys(judged.groups.any(judged.unwritten))
        if self._rules.units and self._plan.looks_up:
            return None
        by_row = self._rules.by_row
        picked = picked_rows(self._write.model, self._records, groups) if by_row else groups.newest
        retract = self._records.retract
        kept = picked if retract is None else picked[~retract[picked]]
        return Digest.of(self._records.hashes(VALUES)[kept])


class _Judgement:
    """The records by key, and what is known of them.

    Attributes:
        groups: without records that lower levels cover, where compactions look up.
        older: which records were looked up; None if none was.
        unwritten: which records are of files that are only lifted; None if none is.
        lowest_above_0: which records are those of the lowest level above 0 of their key.
        picked: the record of each key, where one is taken whole.
    """

    def __init__(self, records: ProofRecords, *, looks_up: bool, covers: bool) -> None:
        records.settle()
        self.groups = grouped(records)
        self.picked = (self.groups, self.groups.order)
        self.older = records.flags(lambda origin: origin.older)
        self.unwritten = records.flags(lambda origin: not origin.written and not origin.older)
        if looks_up:
            levels, groups = records.levels, self.groups
            above = np.where(levels > 0, levels, np.iinfo(np.int64).max)
            lowest = np.empty(len(levels), np.int64)
            if len(levels):
                lowest_of_key = np.minimum.reduceat(above[groups.order], groups.starts)
                lowest[groups.order] = np.repeat(lowest_of_key, groups.counts)
            self.lowest_above_0 = (levels > 0) & (levels == lowest)
            if covers:
                self.groups = groups.only((levels <= 0) | self.lowest_above_0)


def wrong_counts(
    files: Sequence[DataFileMeta], read: Mapping[str, int], deleted: Mapping[str, int | None]
) -> Iterator[str]:
    """Files of which other numbers of rows were read than manifests say. `deleted`: rows by file; None = unknown."""
    for file in files:
        gone = deleted.get(file.file_name, 0)
        if gone is not None and read.get(file.file_name) != file.row_count - gone:
            rows_read = read.get(file.file_name, 0)
            yield f"{rows_read} rows of {file.file_name} were read, and it holds {file.row_count - gone}"
