"""The records that a rewrite has read, as hashes, grouped by key without the merge's sort.

Records are noted when they are read from their files, run by run; the windows of the merge are not visible here. They
are sorted by the hashes of their keys: that is not the order of keys, but shows which records belong together. Inside a
key they come from the oldest to the newest: by user sequence, then sequence number, then run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.compaction.proof.hashing import KEYS, HashedRows
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.merge.ordered import RecordOrder
from maintenance.types.integer_order import sorted_integers
from maintenance.types.row_hash import BLOCK_ROWS, HashOf, order_codes, row_hashes
from maintenance.types.row_kind import is_retract

_U64 = np.uint64
NUMBERS = "\0numbers"


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """Where records come from.

    Attributes:
        run: older runs first; only decides where sequences are the same.
        level: of their file.
        written: what becomes of their keys is written; else only their changelog is.
        older: they were looked up above the output, and stay where they are.
        merged: a key's only record is merged as well, as where older records are looked up.
    """

    run: int
    level: int
    written: bool = True
    older: bool = False
    merged: bool = False


@dataclass(slots=True)
class OriginBatch:
    """Records of one origin. Shapes (n,).

    Attributes:
        retract: which are retractions; None if none is.
        hashes: by what they are hashes of, `KEYS` among them.
        columns: values that are needed as they are.
    """

    origin: RecordOrigin
    numbers: np.ndarray
    retract: np.ndarray | None
    hashes: dict[str, np.ndarray]
    columns: dict[str, pa.Array]

    @property
    def keys(self) -> np.ndarray:
        return self.hashes[KEYS]


def batch_of(rows: HashedRows, origin: RecordOrigin, hashes: Sequence[str], columns: Sequence[str]) -> OriginBatch:
    """The batch of these rows."""
    rows.hash(KEYS, *hashes)
    retract = is_retract(rows.kinds)
    values = {name: _contiguous(rows.rows.column(name)) for name in columns}
    by_name = {kind: rows.of(kind) for kind in (KEYS, *hashes)}
    return OriginBatch(origin, rows.numbers, retract if retract.any() else None, by_name, values)


class Place:
    """Room for the records of one file, contiguous, so that they need not be copied. `count`: filled so far."""

    def __init__(self, records: "ProofRecords", start: int, rows: int, origin: RecordOrigin) -> None:
        self.start, self.rows, self.origin = start, rows, origin
        self._records = records
        self.count = 0

    def add(self, rows: pa.Table, hashes: Mapping[str, HashOf]) -> bool:
        """Hash records into the room. Returns False where there is not enough of it."""
        if self.count + rows.num_rows > self.rows:
            return False
        self._records.put(self.start + self.count, rows, hashes)
        self.count += rows.num_rows
        return True


class ProofRecords:
    """The records of all reads as arrays. Shapes (n,).

    Args: `order`: how a table's records of one key are ordered; `capacity`: of the room for files that are read whole.
    """

    def __init__(self, order: RecordOrder, capacity: int) -> None:
        self._order = order
        self._capacity = capacity
        self._rooms: dict[str, np.ndarray] = {}
        self._retract: np.ndarray | None = None
        self._places: list[Place] = []
        self._batches: list[OriginBatch] = []
        # Rows with room that are not hashed yet, and where it is: those of small files are hashed together.
        self._waiting: list[tuple[int, pa.Table]] = []
        self._waiting_rows = 0
        self._hashes: Mapping[str, HashOf] = {}

    # While files are read

    def place(self, rows: int, origin: RecordOrigin) -> Place | None:
        """Room for a file of this many rows, behind that of files asked for before; None if there is none left."""
        start = self._places[-1].start + self._places[-1].rows if self._places else 0
        if start + rows > self._capacity:
            return None
        self._places.append(Place(self, start, rows, origin))
        return self._places[-1]

    def room(self, name: str) -> np.ndarray:
        if name not in self._rooms:
            self._rooms[name] = np.empty(self._capacity, np.int64 if name == NUMBERS else _U64)
        return self._rooms[name]

    def put(self, start: int, rows: pa.Table, hashes: Mapping[str, HashOf]) -> None:
        """Hash records into the room from `start` on. `hashes`: the same for all records."""
        self._hashes = hashes
        self._waiting.append((start, rows))
        self._waiting_rows += rows.num_rows
        if self._waiting_rows >= BLOCK_ROWS:
            self._hash_waiting()

    def _hash_waiting(self) -> None:
        waiting, self._waiting, self._waiting_rows = self._waiting, [], 0
        if not waiting:
            return
        rows = pa.concat_tables([rows for _, rows in waiting])
        at: slice | np.ndarray
        if len(waiting) == 1:
            [(start, _)] = waiting
            at = slice(start, start + rows.num_rows)
            row_hashes(rows, self._hashes, {name: self.room(name)[at] for name in self._hashes})
        else:
            at = np.concatenate([np.arange(start, start + rows.num_rows) for start, rows in waiting])
            for name, hashes in row_hashes(rows.combine_chunks(), self._hashes).items():
                self.room(name)[at] = hashes
        self.room(NUMBERS)[at] = rows.column(SEQUENCE_NUMBER.name).to_numpy()
        retract = is_retract(rows.column(VALUE_KIND.name).to_numpy())
        if retract.any():
            if self._retract is None:
                self._retract = np.zeros(self._capacity, bool)
            self._retract[at] = retract

    def add(self, batch: OriginBatch) -> None:
        """Records that have no place."""
        if len(batch.keys):
            self._batches.append(batch)

    def settle(self) -> None:
        """Put all records in order of their runs, once all are there."""
        self._hash_waiting()
        if self._batches or any(place.count < place.rows for place in self._places):
            placed = [self._as_batch(place) for place in self._places if place.count]
            self._batches = sorted([*placed, *self._batches], key=lambda batch: batch.origin.run)
            self._places, self._rooms, self._retract = [], {}, None

    def _as_batch(self, place: Place) -> OriginBatch:
        at = slice(place.start, place.start + place.count)
        hashes = {name: room[at] for name, room in self._rooms.items() if name != NUMBERS}
        retract = None if self._retract is None else self._retract[at]
        return OriginBatch(place.origin, self._rooms[NUMBERS][at], retract, hashes, {})

    # Afterwards

    @property
    def keys(self) -> np.ndarray:
        return self.hashes(KEYS)

    @property
    def numbers(self) -> np.ndarray:
        """Sequence numbers."""
        if self._places:
            return self._rooms[NUMBERS][: len(self)]
        return _joined([batch.numbers for batch in self._batches], np.int64)

    @property
    def retract(self) -> np.ndarray | None:
        """Which records are retractions; None if there is none."""
        if self._places:
            return None if self._retract is None else self._retract[: len(self)]
        if all(batch.retract is None for batch in self._batches):
            return None
        return _joined([np.zeros(len(b.keys), bool) if b.retract is None else b.retract for b in self._batches], bool)

    def __len__(self) -> int:
        return sum(count for _, count in self._origins)

    @property
    def _origins(self) -> list[tuple[RecordOrigin, int]]:
        if self._places:
            return [(place.origin, place.count) for place in self._places]
        return [(batch.origin, len(batch.keys)) for batch in self._batches]

    def flags(self, flag_of: Callable[[RecordOrigin], bool]) -> np.ndarray | None:
        """For which records something holds; None if for none."""
        if not any(flag_of(origin) for origin, _ in self._origins):
            return None
        return self._of_origins(flag_of, bool)

    @property
    def levels(self) -> np.ndarray:
        return self._of_origins(lambda origin: origin.level, np.int64)

    def _of_origins(self, value_of: Callable[[RecordOrigin], int], kind: type) -> np.ndarray:
        values: np.ndarray = np.array([value_of(origin) for origin, _ in self._origins], kind)
        return np.repeat(values, [count for _, count in self._origins])

    def hashes(self, name: str) -> np.ndarray:
        if self._places:
            return self._rooms[name][: len(self)]
        return _joined([batch.hashes[name] for batch in self._batches], _U64)

    def column(self, name: str) -> pa.Array:
        return pa.concat_arrays([batch.columns[name] for batch in self._batches])

    def ages(self) -> list[np.ndarray]:
        """Numbers that grow from the oldest record of a key to the newest, the first ones first."""
        ages: list[np.ndarray] = []
        for name in self._order.sequence_fields:
            column = self.column(name)
            codes = ranks(column)
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            # Null is the oldest either way.
            ages += [valid, np.where(valid, ~codes if self._order.descending else codes, 0)]
        return [*ages, self.numbers]


def ranks(column: pa.Array) -> np.ndarray:
    """Numbers that sort as the values do. int64, shape (n,); anything for null."""
    codes = order_codes(column)
    if codes is None:
        codes = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    return codes


@dataclass(frozen=True, slots=True)
class Groups:
    """Records by key, oldest first.

    Attributes:
        order: int64, shape (n,): record numbers.
        starts: int64, shape (k,): first position in `order` of each key.
        hashes: uint64: of the key of each record, by record number; those of the groups ascend.
    """

    order: np.ndarray
    starts: np.ndarray
    hashes: np.ndarray

    @property
    def keys(self) -> np.ndarray:
        """The keys' hashes, ascending. uint64, shape (k,)."""
        return np.asarray(self.hashes[self.oldest])

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.starts, append=len(self.order))

    @property
    def newest(self) -> np.ndarray:
        """Record numbers."""
        if not len(self.order):
            return self.order
        return np.asarray(self.order[np.append(self.starts[1:], len(self.order)) - 1])

    @property
    def oldest(self) -> np.ndarray:
        return np.asarray(self.order[self.starts])

    def any(self, flags: np.ndarray) -> np.ndarray:
        """Whether any record of each key has the flag. `flags`: by record number."""
        return np.logical_or.reduceat(flags[self.order], self.starts) if len(self.order) else np.zeros(0, bool)

    def last(self, flags: np.ndarray) -> np.ndarray:
        """Record number of each key's newest record with the flag, -1 if there is none. `flags`: by record number."""
        if not len(self.order):
            return self.order
        at = np.maximum.reduceat(np.where(flags[self.order], np.arange(len(self.order)), -1), self.starts)
        return np.where(at >= 0, self.order[at], -1)

    def first(self, flags: np.ndarray) -> np.ndarray:
        """The same of the oldest one."""
        if not len(self.order):
            return self.order
        behind = len(self.order)
        at = np.minimum.reduceat(np.where(flags[self.order], np.arange(behind), behind), self.starts)
        return np.where(at < behind, self.order[np.minimum(at, behind - 1)], -1)

    def only(self, kept: np.ndarray) -> "Groups":
        """Without records, and without keys that are left with none. `kept`: by record number."""
        flags = kept[self.order]
        if flags.all():
            return self
        counts = np.add.reduceat(flags.astype(np.int64), self.starts)
        counts = counts[counts > 0]
        return Groups(self.order[flags], np.cumsum(counts) - counts, self.hashes)

    def of_keys(self, kept: np.ndarray) -> "Groups":
        """Of some keys alone. bool, shape (k,)."""
        if kept.all():
            return self
        counts = self.counts
        order, chosen = self.order[np.repeat(kept, counts)], counts[kept]
        return Groups(order, np.cumsum(chosen) - chosen, self.hashes)


def grouped(records: ProofRecords) -> Groups:
    """The records by key and age."""
    keys = records.keys
    count = len(keys)
    if not count:
        return Groups(np.zeros(0, np.int64), np.zeros(0, np.int64), keys)
    bits = max(1, (count - 1).bit_length())
    low = _U64((1 << bits) - 1)
    # The record's number rides in the low bits of its key's hash: values sort several times faster than places.
    packed = keys & ~low
    for start in range(0, count, BLOCK_ROWS):
        part = packed[start : start + BLOCK_ROWS]
        part |= np.arange(start, start + len(part), dtype=_U64)
    packed = sorted_integers(packed)
    new = np.ones(count, bool)
    new[1:] = (packed[1:] ^ packed[:-1]) > low
    order = (packed & low).view(np.int64)
    inside = np.flatnonzero(~new)
    if (keys[order[inside]] != keys[order[inside - 1]]).any():
        # Different keys whose hashes only differ in the bits that made room.
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        new[1:] = ordered[1:] != ordered[:-1]
        inside = np.flatnonzero(~new)
    if len(inside):
        order = _by_age(order, new, inside, records.ages())
    return Groups(order, np.flatnonzero(new), keys)


def _by_age(order: np.ndarray, new: np.ndarray, inside: np.ndarray, ages: Sequence[np.ndarray]) -> np.ndarray:
    """The order, every key's records by age; it is that already where runs are older throughout.

    Args: `new`: where a key begins; `inside`: where none does.
    """
    before, after = order[inside - 1], order[inside]
    wrong = np.zeros(len(inside), bool)
    same = np.ones(len(inside), bool)
    for age in ages:
        left, right = age[before], age[after]
        wrong |= same & (left > right)
        same &= left == right
    if not wrong.any():
        return order
    group = np.cumsum(new) - 1
    chosen = np.zeros(int(group[-1]) + 1, bool)
    chosen[group[inside[wrong]]] = True
    places = np.flatnonzero(chosen[group])
    records = order[places]
    words = [records, *(age[records] for age in reversed(ages)), group[places]]
    order = order.copy()
    order[places] = records[np.lexsort(words)]
    return order


def _joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
