"""The rows that records become, twice: as digests of what is expected, and of what reaches the encoders.

Engines that take one record whole have a digest of rows. In the others each unit of a row (see `expected`) is bound to
its key in a *cell*, so that what is not known of one column says nothing of the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.expected import expect_unit, is_row_engine, picked_rows, units_of
from maintenance.compaction.proof.findings import Timer
from maintenance.compaction.proof.hashing import KEYS, ROWS, HashedRows, Hashing
from maintenance.compaction.proof.observer import WrittenRows
from maintenance.compaction.proof.records import Groups, ProofRecords
from maintenance.compaction.proof.settings import ProofSettings
from maintenance.compaction.proof.unit import Unit
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.ordered import RecordOrder
from maintenance.types.row_hash import Digest, column_words, combined, mixed
from maintenance.types.row_kind import RowKind
from maintenance.write.context import WriteContext

_U64 = np.uint64
_HASH_BYTES = 8
# How many times larger than their file values of no fixed width may be in memory.
_UNPACKED = 4


class ProofRules:
    """What a table's rows are made of, and how they are hashed.

    Attributes:
        units: of a row; empty where one record is taken whole (`by_row`).
        columns: whose values are needed as they are, to put records in order and to work out units.
        wanted: hashes of each record, without its key's.
    """

    def __init__(self, write: WriteContext) -> None:
        self.options, self.schema = write.model, write.schema
        self.by_row = is_row_engine(self.options)
        self.units: tuple[Unit, ...] = () if self.by_row else units_of(self.schema, self.options)
        sequence = self.options.sequence_field
        descending = self.options.sequence_field_sort_order == "descending"
        self.order = RecordOrder(tuple(self.schema.trimmed_primary_keys), sequence, descending)
        self.columns = tuple(dict.fromkeys([*sequence, *(name for unit in self.units for name in unit.columns)]))
        self.names = tuple(column.name for column in write.row_fields)
        self.wanted = (ROWS,) if self.by_row else (VALUE_KIND.name, *(unit.name for unit in self.units))
        self._places = {name: place for place, name in enumerate((*self.names, *(unit.name for unit in self.units)))}

    def hashing(
        self,
        settings: ProofSettings,
        files: Sequence[DataFileMeta],
        *,
        shares: int = 1,
        compared: tuple[str, ...] = (),
        further: int = 0,
    ) -> Hashing:
        """How the records of files are hashed.

        Args: `shares`: tasks that the records are divided between; `further`: further hashes held for each record.
        """
        rows = sum(file.row_count for file in files)
        # A record takes its key, its number, and a hash for each thing; sorting takes about three more.
        weight = 5 + (sum(unit.weight for unit in self.units) or 1) + further + len(self.columns)
        types = [self.schema.field(name).type for name in self.columns]
        if any(kind.is_nested or kind.is_string or kind.is_bytes for kind in types):
            weight += sum(file.file_size for file in files) * _UNPACKED // max(1, rows * _HASH_BYTES)
        units = {unit.name: unit.names for unit in self.units}
        words = {unit.name: unit.words for unit in self.units if unit.words is not column_words}
        return Hashing(self.names, self.order.key, compared, settings.shift(-(-rows // shares), weight), units, words)

    def hashing_of_records(self, hashing: Hashing) -> Hashing:
        """How records are hashed when they are read: without the words that are made late."""
        late = {unit.name for unit in self.units if unit.late}
        return replace(hashing, words={name: words for name, words in hashing.words.items() if name not in late})

    def cells_of(self, rows: HashedRows) -> dict[str, np.ndarray]:
        """The hash of each unit of rows with its key; and of kind and sequence number."""
        cells = {}
        rows.hash(KEYS, *self.wanted)
        keys = rows.of(KEYS)
        for unit in self.units:
            cells[unit.name] = self._cell(keys, rows.of(unit.name), unit.name)
        cells[VALUE_KIND.name] = _system_cell(keys, rows.of(VALUE_KIND.name), rows.numbers)
        return cells

    def text_of(self, name: str) -> str:
        """What a unit is called in reports."""
        return next((unit.text for unit in self.units if unit.name == name), name)

    def _cell(self, keys: np.ndarray, hashes: np.ndarray, name: str) -> np.ndarray:
        return mixed(combined([keys, hashes], (0, 1 + self._places[name])))

    def expected_cells(
        self, records: ProofRecords, groups: Groups, lone_as_is: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray | None]]:
        """Of each unit, and of kind and number: its name, the cell of each key, and whether it is known (None = all).

        `lone_as_is`: keys whose only record is the row as is.
        """
        keys = groups.keys
        if not len(groups.order):
            return
        for unit in self.units:
            of_unit = expect_unit(unit, records, groups, lone_as_is)
            yield unit.name, self._cell(keys, of_unit.hashes, unit.name), of_unit.proved
        numbers = records.numbers[groups.newest]
        kinds = np.where(lone_as_is, records.hashes(VALUE_KIND.name)[groups.newest], _U64(RowKind.INSERT))
        yield VALUE_KIND.name, _system_cell(keys, kinds, numbers), None


def _system_cell(keys: np.ndarray, kinds: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    return mixed(combined([keys, kinds, numbers.view(_U64)], (0, 1, 2)))


@dataclass(slots=True)
class Gathered:
    """What reached the encoders, where rows have units. `keys`: of the rows; `cells`: by unit; both in parts."""

    keys: list[np.ndarray] = field(default_factory=list)
    cells: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add(self, rows: HashedRows, rules: ProofRules) -> None:
        self.keys.append(rows.of(KEYS))
        for name, hashes in rules.cells_of(rows).items():
            self.cells.setdefault(name, []).append(hashes)

    def cells_named(self, name: str) -> np.ndarray:
        return np.concatenate(self.cells[name]) if name in self.cells else np.zeros(0, _U64)

    @property
    def all_keys(self) -> np.ndarray:
        return np.concatenate(self.keys) if self.keys else np.zeros(0, _U64)


class ResultObserver(WrittenRows):
    """Sees the rows of data files. `gathered`: what is known of their units."""

    def __init__(self, rules: ProofRules, hashing: Hashing, timer: Timer, *, digests: bool) -> None:
        super().__init__(hashing, ordered=True, digests=digests)
        self._rules, self._timer = rules, timer
        self.gathered = Gathered()
        # Asked for together with the rows' own hashes.
        self.wants = (*((KEYS,) if rules.units else ()), *rules.wanted)

    def wrote(self, name: str, rows: pa.Table) -> None:
        with self._timer:
            super().wrote(name, rows)

    def gather(self, rows: HashedRows) -> None:
        if self._rules.units:
            self.gathered.add(rows, self._rules)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows that must be there, and rows that are.

    Attributes:
        where: what is wrong, as far as it is known; empty where nothing is.
        by_key: columns of which not all keys are proved by value.
        counted: keys of which nothing is known but that they may be there.
    """

    expected: Digest
    given: Digest
    where: str = ""
    by_key: tuple[str, ...] = ()
    counted: int = 0

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(
            self.expected + other.expected,
            self.given + other.given,
            self.where or other.where,
            tuple(dict.fromkeys([*self.by_key, *other.by_key])),
            self.counted + other.counted,
        )


def due_rows(
    rules: ProofRules,
    records: ProofRecords,
    groups: Groups,
    *,
    left_out: np.ndarray | None = None,
    drop_deletes: bool = False,
) -> tuple[Digest, np.ndarray]:
    """The digest of the rows of an engine that takes records whole, and the record of each key, shape (k,).

    Args: `left_out`: keys of which nothing is written, shape (k,); `drop_deletes`: retractions are not written.
    """
    picked = picked_rows(rules.options, records, groups)
    kept = np.ones(len(picked), bool) if left_out is None else ~left_out
    retract = records.retract
    if drop_deletes and retract is not None:
        kept &= ~retract[picked]
    hashes = records.hashes(ROWS)
    return Digest.of(hashes[picked if kept.all() else picked[kept]]), picked


def compared_units(
    rules: ProofRules, records: ProofRecords, groups: Groups, gathered: Gathered, *, drop_deletes: bool = False
) -> Comparison:
    """Keys, and what is known of their units. `groups`: keys whose rows are written."""
    given_keys = gathered.all_keys
    lone = groups.counts == 1
    flags = records.flags(lambda origin: origin.merged)
    merged = np.zeros(len(groups.starts), bool) if flags is None else groups.any(flags)
    retract = records.retract
    unknown = np.zeros(len(groups.starts), bool) if retract is None else groups.any(retract) & (~lone | merged)
    gone = np.zeros(len(groups.starts), bool)
    if drop_deletes and retract is not None:
        gone = ~unknown & groups.any(retract)
    keys = groups.keys
    place = Places(keys, given_keys)
    # Keys whose row is there, or may be there.
    certain, possible = ~unknown & ~gone, ~gone
    expected = Digest.of(keys[certain | (unknown & (not drop_deletes))])
    given = Digest.of(given_keys if not drop_deletes else given_keys[~place.among(unknown)])
    where = "" if place.all_among(possible) else ", which have unexpected keys"
    by_key: list[str] = []
    for name, hashes, proved in rules.expected_cells(records, groups, lone & ~merged):
        sure = certain if proved is None else certain & proved
        if proved is not None and not proved[~unknown].all():
            by_key.append(rules.text_of(name))
        due = Digest.of(hashes[sure])
        cells = gathered.cells_named(name)
        actual = Digest.of(cells if sure.all() else cells[place.among(sure)])
        if due != actual:
            where += f", column {rules.text_of(name)}"
        expected, given = expected + replace(due, rows=0), given + replace(actual, rows=0)
    return Comparison(expected, given, where, tuple(by_key), int(unknown.sum()))


class Places:
    """Positions of the keys of rows among sorted keys. `keys`: ascending; `given`: of rows."""

    def __init__(self, keys: np.ndarray, given: np.ndarray) -> None:
        self._keys, self._given = keys, given
        self._at: np.ndarray | None = None

    def among(self, flags: np.ndarray) -> np.ndarray:
        """Whether the key of each row is one of those with the flag."""
        if not len(self._keys):
            return np.zeros(len(self._given), bool)
        if self._at is None:
            self._at = np.minimum(np.searchsorted(self._keys, self._given), len(self._keys) - 1)
            self._is_present = self._keys[self._at] == self._given
        return np.asarray(self._is_present & flags[self._at])

    def all_among(self, flags: np.ndarray) -> bool:
        """Whether the keys of all rows have the flag; True without a look where the digests of keys tell."""
        return bool(flags.all()) or bool(self.among(flags).all())
