"""The proof of the compaction of one bucket of a table with primary key.

What is compared: records as they leave their files, and rows as they reach the encoders of the new ones. Between the
two lie windows, merge, changelog, rolling of files: none of it is believed.

- Every file is read once, and as many rows of it as its manifest entry says, without those that are deleted.
- The rows written are those that `expected` makes of the records read: their digests are the same.
- The changelog turns the state before into the state after: its additions without its retractions are the rows after
  without the rows before, as digests of keys and values; as many -U as +U.
- As many older records are marked as deleted as were found.
- Rules of levels, key ranges and bytes: `files`.

Not looked at: whether reading files and looking up older records is right.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from maintenance.compaction.lookup_levels import LookupLevels, OlderRecords
from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.compaction.proof import files as rules
from maintenance.compaction.proof.expected import Unit, expect_unit, is_row_engine, picked_rows, units_of
from maintenance.compaction.proof.hashing import KEYS, ROWS, VALUES, HashedRows, Hashing
from maintenance.compaction.proof.records import Groups, Origin, Records, batch_of, grouped
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.proof.witness import Witness
from maintenance.format.data_file import DataFileMeta
from maintenance.format.system_fields import VALUE_KIND
from maintenance.merge.ordered import RecordOrder
from maintenance.options import table as table_options
from maintenance.read.data_file import DataFileReader
from maintenance.types.row_hash import Digest, combined, mixed
from maintenance.types.row_kind import KIND_TEXTS, RowKind, is_retract
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage

_U64 = np.uint64


class Findings(Exception):  # noqa: N818 - no error of the family
    """What a proof has found to be wrong. Not for users: who proves turns it into an error of the family."""

    def __init__(self, wrong: Sequence[str], expected: Digest, given: Digest) -> None:
        super().__init__(wrong, expected, given)
        self.wrong, self.expected, self.given = tuple(wrong), expected, given


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """A reader of a file that tells of the rows it yields. Only what reading runs needs."""

    reader: DataFileReader
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
    seen: Callable[[pa.Table, list[OlderRecords]], None] = lambda keys, found: None

    def find(self, keys: pa.Table) -> list[OlderRecords]:
        found = LookupLevels.find(self, keys)
        self.seen(keys, found)
        return found


class _Output(Witness):
    """Rows of data files; what is wanted of them besides."""

    def __init__(self, proof: "BucketProof", hashing: Hashing, *, digests: bool) -> None:
        super().__init__(hashing, ordered=True, digests=digests)
        self._proof = proof
        self.values = Digest()
        self.keys: list[np.ndarray] = []
        self.cells: dict[str, list[np.ndarray]] = {}

    def wrote(self, name: str, rows: pa.Table) -> None:
        with self._proof.timed():
            super().wrote(name, rows)

    def gather(self, rows: HashedRows) -> None:
        if self._proof.proves_values:
            self.values += Digest.of(rows.of(VALUES)[~is_retract(rows.kinds)])
        if not self._proof.units:
            return
        self.keys.append(rows.of(KEYS))
        for name, hashes in self._proof.cells_of(rows).items():
            self.cells.setdefault(name, []).append(hashes)


class _Changes(Witness):
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


class Timer:
    """Adds up processor time of this thread."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._since = 0.0

    def __enter__(self) -> None:
        if not self._depth:
            self._since = time.thread_time()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.thread_time() - self._since


class BucketProof:
    """Watches one compaction, and judges it in the end.

    Args: `compared`: columns whose change makes a changelog, None = all; `reader`: of a new file.
    """

    def __init__(
        self,
        settings: ProofSettings,
        write: WriteContext,
        plan: BucketCompaction,
        *,
        compared: tuple[str, ...] | None,
        newest_wins: bool,
    ) -> None:
        self._settings, self._write, self._plan = settings, write, plan
        options, schema = write.options, write.schema
        self._first_row = table_options.MERGE_ENGINE.of(options) == "first-row"
        # Older records of which only the keys are read.
        self._only_keys = self._first_row or newest_wins
        self._by_row = is_row_engine(options)
        self.units: tuple[Unit, ...] = () if self._by_row else units_of(schema, options)
        # A compaction that looks up has another form of changelog with first-row: the rows of new keys, as they are.
        self._rows_of_new_keys = plan.changelog and plan.looks_up and self._first_row
        self.proves_values = plan.changelog and not self._rows_of_new_keys
        sequence = table_options.SEQUENCE_FIELD.of(options)
        descending = table_options.SEQUENCE_FIELD_SORT_ORDER.of(options) == "descending"
        key = tuple(schema.trimmed_primary_keys)
        self._columns = tuple(dict.fromkeys([*sequence, *(name for unit in self.units for name in unit.columns)]))
        # A record takes its key, its number, and a hash for each thing; sorting takes about three more.
        weight = 5 + (len(self.units) * 2 or 1) + self.proves_values + len(self._columns)
        rows = sum(file.row_count for file in plan.input_files)
        names = tuple(field.name for field in write.row_fields)
        self._hashing = Hashing(
            names,
            key,
            tuple(schema.field_names) if compared is None else compared,
            settings.shift(rows, weight),
            {unit.name: unit.names for unit in self.units},
        )
        # Records whose values are needed as they are, and those of a sample, are gathered piece by piece.
        together = not self._columns and not self._hashing.shift
        self._records = Records(RecordOrder(key, sequence, descending), rows if together else 0)
        self._wanted = (
            *((ROWS,) if self._by_row else (VALUE_KIND.name, *(unit.name for unit in self.units))),
            *((VALUES,) if self.proves_values else ()),
        )
        self._places = {name: place for place, name in enumerate((*names, *(unit.name for unit in self.units)))}
        digests = self._by_row or settings.mode == ProofMode.FULL
        self.output = _Output(self, self._hashing, digests=digests)
        self.changes = _Changes(self, self._hashing)
        # Asked for together with the rows' own hashes.
        self.output.wants = self.changes.wants = (*((KEYS,) if self.units else ()), *self._wanted)
        self._read: dict[str, int] = {}
        self._found = 0
        self._timer = Timer()

    def timed(self) -> Timer:
        return self._timer

    # What is read

    def watched(self, reader: DataFileReader, run: int, *, written: bool, merged: bool) -> WatchedFile:
        """The reader, whose rows are noted."""
        name, origin = reader.file.file_name, Origin(run, reader.file.level, written, merged=merged)
        self._read.setdefault(name, 0)
        place = self._records.place(reader.file.row_count, origin)
        wanted = {what: self._hashing.of(what) for what in (KEYS, *self._wanted)}

        def seen(rows: pa.Table) -> None:
            with self._timer:
                self._read[name] += rows.num_rows
                if place is None or not place.add(rows, wanted):
                    self._note(HashedRows(rows, self._hashing).sampled(), origin)

        return WatchedFile(reader, seen)

    def watched_levels(self, levels: LookupLevels) -> LookupLevels:
        """The levels above, whose records that are found are noted."""
        return _WatchedLevels(levels.readers, levels.key_fields, self._note_older)

    def _note_older(self, keys: pa.Table, found: list[OlderRecords]) -> None:
        with self._timer:
            asked = pa.array(HashedRows(keys, self._hashing).of(KEYS))
            for number, part in enumerate(found):
                wanted = pc.is_in(pa.array(HashedRows(part.rows, self._hashing).of(KEYS)), value_set=asked)
                self._found += wanted.true_count
                held = HashedRows(part.rows.filter(wanted), self._hashing)
                origin = Origin((1 << 32) + number, part.level, older=True, merged=True)
                if self._first_row or not self._only_keys:
                    self._note(held.sampled(), origin)

    def _note(self, rows: HashedRows, origin: Origin) -> None:
        if not rows.rows.num_rows:
            return
        if origin.older and self._only_keys:
            batch = batch_of(rows, origin, (), ())
            batch.hashes.update(dict.fromkeys(self._wanted, np.zeros(rows.rows.num_rows, _U64)))
            self._records.add(batch)
            return
        self._records.add(batch_of(rows, origin, self._wanted, self._columns))

    # What is written

    def cells_of(self, rows: HashedRows) -> dict[str, np.ndarray]:
        """The hash of each unit of rows with its key; and of kind and sequence number."""
        cells = {}
        rows.hash(KEYS, *self._wanted)
        keys = rows.of(KEYS)
        for unit in self.units:
            cells[unit.name] = self._cell(keys, rows.of(unit.name), unit.name)
        cells[VALUE_KIND.name] = self._system_cell(keys, rows.of(VALUE_KIND.name), rows.numbers.view(_U64))
        return cells

    def _cell(self, keys: np.ndarray, hashes: np.ndarray, name: str) -> np.ndarray:
        return mixed(combined([keys, hashes], (0, 1 + self._places[name])))

    def _system_cell(self, keys: np.ndarray, kinds: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return mixed(combined([keys, kinds, numbers], (0, 1, 2)))

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
            expected, given, by_key, counted = self._rows(judged)
            wrong = list(self._wrong_counts(deleted))
            if expected != given:
                wrong.insert(0, f"the rows of the new files are not what merging must give{judged.where}")
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
                for witness, new in ((self.output, written), (self.changes, message.compact_changelog)):
                    limit = self._settings.read_back_rows(witness.rows)
                    readers = {file.file_name: read_again(file) for file in new}
                    count, found = rules.ReadBack(self._hashing, readers, limit, whole).check(witness)
                    read_back, wrong = read_back + count, wrong + found
        if wrong:
            raise Findings(wrong, expected, given)
        return ProofResult(
            ProofMode.SAMPLED if self._hashing.shift else ProofMode.FULL,
            1 << self._hashing.shift,
            sum(self._read.values()),
            self.output.rows,
            given,
            by_key,
            counted,
            read_back,
            self._timer.seconds,
        )

    def _lifted(self, message: CommitMessage) -> set[str]:
        return {file.file_name for file in message.compact_before}

    def _wrong_counts(self, deleted: Mapping[str, BitMap]) -> Iterator[str]:
        written = [file for step in self._plan.steps if isinstance(step, RewriteStep) for file in step.files]
        deleted_rows = {name: deletion.range.cardinality for name, deletion in self._plan.deletions.items()}
        yield from wrong_counts(written, self._read, deleted_rows)
        marked = sum(map(len, deleted.values()))
        if self._plan.marks and marked != self._found:
            yield f"{self._found} older records were found, and {marked} are marked as deleted"

    def _rows(self, judged: "_Judgement") -> tuple[Digest, Digest, tuple[str, ...], int]:
        """Digests of what must be there and of what is; columns proved by key; keys proved by nothing."""
        if not self._by_row:
            return self._units(judged)
        groups = judged.groups
        if self._first_row and judged.older is not None:
            there_already = groups.any(judged.older)
            groups = groups.of_keys(~there_already)
        picked = picked_rows(self._write.options, self._records, groups)
        kept = np.ones(len(picked), bool) if judged.unwritten is None else ~groups.any(judged.unwritten)
        retract = self._records.retract
        if self._plan.drop_deletes and retract is not None:
            kept &= ~retract[picked]
        hashes = self._records.hashes(ROWS)
        judged.picked = (groups, picked)
        return Digest.of(hashes[picked if kept.all() else picked[kept]]), self.output.digest, (), 0

    def _units(self, judged: "_Judgement") -> tuple[Digest, Digest, tuple[str, ...], int]:
        groups, records = judged.groups, self._records
        given_keys = np.concatenate(self.output.keys) if self.output.keys else np.zeros(0, _U64)
        if judged.unwritten is not None:
            groups = groups.of_keys(~groups.any(judged.unwritten))
        lone = groups.counts == 1
        flags = records.flags(lambda origin: origin.merged)
        merged = np.zeros(len(groups.starts), bool) if flags is None else groups.any(flags)
        retract = records.retract
        unknown = np.zeros(len(groups.starts), bool) if retract is None else groups.any(retract) & (~lone | merged)
        gone = np.zeros(len(groups.starts), bool)
        if self._plan.drop_deletes and retract is not None:
            gone = ~unknown & groups.any(retract)
        keys = groups.keys
        place = _Places(keys, given_keys)
        # Keys whose row is there, or may be there.
        certain, possible = ~unknown & ~gone, ~gone
        expected = Digest.of(keys[certain | (unknown & (not self._plan.drop_deletes))])
        given = Digest.of(given_keys if not self._plan.drop_deletes else given_keys[~place.among(unknown)])
        if not place.all_among(possible):
            judged.where += ", which hold keys that are not to be there"
        by_key: list[str] = []
        for name, hashes, proved in self._expected_cells(groups, lone & ~merged):
            sure = certain if proved is None else certain & proved
            if proved is not None and not proved[~unknown].all():
                by_key.append(name)
            due = Digest.of(hashes[sure])
            cells = np.concatenate(self.output.cells[name]) if name in self.output.cells else np.zeros(0, _U64)
            found = Digest.of(cells if sure.all() else cells[place.among(sure)])
            if due != found:
                judged.where += f", column {name}"
            expected, given = expected + replace(due, rows=0), given + replace(found, rows=0)
        return expected, given, tuple(by_key), int(unknown.sum())

    def _expected_cells(
        self, groups: Groups, lone_as_is: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray | None]]:
        records, keys = self._records, groups.keys
        if not len(groups.order):
            return
        for unit in self.units:
            found = expect_unit(unit, records, groups, lone_as_is)
            yield unit.name, self._cell(keys, found.hashes, unit.name), found.proved
        numbers = records.numbers[groups.newest]
        kinds = np.where(lone_as_is, records.hashes(VALUE_KIND.name)[groups.newest], _U64(RowKind.INSERT))
        yield VALUE_KIND.name, self._system_cell(keys, kinds, numbers.view(_U64)), None

    def _wrong_changelog(self, judged: "_Judgement") -> Iterator[str]:
        if not self._plan.changelog:
            return
        if self._rows_of_new_keys:
            groups, picked = judged.picked
            new = ~groups.any(self._records.levels > 0)
            due, found = Digest.of(self._records.hashes(ROWS)[picked[new]]), self.changes.digest
        else:
            counts = self.changes.kinds
            if counts[RowKind.UPDATE_BEFORE] != counts[RowKind.UPDATE_AFTER]:
                yield f"the changelog has {counts[1]} -U and {counts[2]} +U"
            lifted = self._values_of_lifted(judged)
            if lifted is None:
                return
            due, found = self.output.values + lifted - self._values_before(judged), self.changes.values
        if due != found:
            yield f"the changelog does not tell what changed: expected {due}, given {found}"

    def _values_before(self, judged: "_Judgement") -> Digest:
        """What stood before, of all keys."""
        levels, values = self._records.levels, self._records.hashes(VALUES)
        retract = self._records.retract
        chosen = judged.lowest_above_0 if self._plan.looks_up else levels == self._plan.max_level
        return Digest.of(values[chosen if retract is None else chosen & ~retract])

    def _values_of_lifted(self, judged: "_Judgement") -> Digest | None:
        """What stands after of keys whose file is only lifted; None where that is not known."""
        if judged.unwritten is None:
            return Digest()
        groups = judged.groups.of_keys(judged.groups.any(judged.unwritten))
        if self.units and self._plan.looks_up:
            return None
        picked = picked_rows(self._write.options, self._records, groups) if self._by_row else groups.newest
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
        where: what is wrong with the rows.
        picked: the record of each key, where one is taken whole.
    """

    def __init__(self, records: Records, *, looks_up: bool, covers: bool) -> None:
        records.settle()
        self.where = ""
        self.groups = grouped(records)
        self.picked = (self.groups, self.groups.order)
        self.older = records.flags(lambda origin: origin.older)
        self.unwritten = records.flags(lambda origin: not origin.written and not origin.older)
        if looks_up:
            levels, groups = records.levels, self.groups
            above = np.where(levels > 0, levels, np.iinfo(np.int64).max)
            lowest = np.empty(len(levels), np.int64)
            if len(levels):
                found = np.minimum.reduceat(above[groups.order], groups.starts)
                lowest[groups.order] = np.repeat(found, groups.counts)
            self.lowest_above_0 = (levels > 0) & (levels == lowest)
            if covers:
                self.groups = groups.only((levels <= 0) | self.lowest_above_0)


class _Places:
    """Where the keys of rows lie among sorted keys. `keys`: ascending; `given`: of rows."""

    def __init__(self, keys: np.ndarray, given: np.ndarray) -> None:
        self._keys, self._given = keys, given
        self._at: np.ndarray | None = None

    def among(self, flags: np.ndarray) -> np.ndarray:
        """Whether the key of each row is one of those with the flag."""
        if not len(self._keys):
            return np.zeros(len(self._given), bool)
        if self._at is None:
            self._at = np.minimum(np.searchsorted(self._keys, self._given), len(self._keys) - 1)
            self._known = self._keys[self._at] == self._given
        return self._known & flags[self._at]

    def all_among(self, flags: np.ndarray) -> bool:
        """Whether the keys of all rows have the flag; True without a look where the digests of keys tell."""
        return bool(flags.all()) or bool(self.among(flags).all())


def wrong_counts(
    files: Sequence[DataFileMeta], read: Mapping[str, int], deleted: Mapping[str, int | None]
) -> Iterator[str]:
    """Files of which other numbers of rows were read than manifests say. `deleted`: rows by file; None = unknown."""
    for file in files:
        gone = deleted.get(file.file_name, 0)
        if gone is not None and read.get(file.file_name) != file.row_count - gone:
            found = read.get(file.file_name, 0)
            yield f"{found} rows of {file.file_name} were read, and it holds {file.row_count - gone}"
