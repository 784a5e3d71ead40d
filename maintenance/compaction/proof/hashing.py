"""How the rows of a table are hashed for a proof: keys, whole rows, the values a changelog compares, single columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.types.row_hash import HashOf, WordsOf, row_hashes

# Units are named by their columns, and no column has a zero in its name.
KEYS, ROWS, VALUES = "\0keys", "\0rows", "\0values"


@dataclass(frozen=True, slots=True)
class Hashing:
    """The columns that count.

    Attributes:
        names: all columns of a row, sequence number and kind among them with a primary key.
        key: the trimmed primary key; empty without one.
        compared: columns whose change makes a changelog; the key is always there.
        deduplicated: what Paimon takes for no change makes none.
        shift: bits of a key's hash that must be zero for its rows to be proved.
        units: names of columns that are hashed together, by name of unit.
        words: how the words of units of a single column are made, where it is not as those of any column.
    """

    names: tuple[str, ...]
    key: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    shift: int = 0
    units: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    words: Mapping[str, WordsOf] = field(default_factory=dict)
    deduplicated: bool = False

    def of(self, kind: str) -> HashOf:
        """What is to be hashed for `KEYS`, `ROWS`, `VALUES`, or a unit's name."""
        if kind == KEYS:
            return self._of(self.key)
        if kind == ROWS:
            return self._of(self.names)
        if kind == VALUES:
            kept = {*self.key, *self.compared}
            values = self._of([name for name in self.names if name in kept])
            return replace(values, of_changes=self.deduplicated)
        names = self.units.get(kind, (kind,))
        if len(names) == 1:
            return HashOf(names, words=self.words.get(kind))
        return HashOf(names, tuple(range(len(names))))

    def _of(self, names: Sequence[str]) -> HashOf:
        return HashOf(tuple(names), tuple(map(self.names.index, names)))


@dataclass(slots=True)
class HashedRows:
    """Some rows and their hashes."""

    rows: pa.Table
    hashing: Hashing
    _computed: dict[str, np.ndarray] = field(default_factory=dict)

    def hash(self, *names: str) -> "HashedRows":
        """Make hashes, all at once. `names`: see `Hashing.of`."""
        missing = {name: self.hashing.of(name) for name in names if name not in self._computed}
        if missing:
            self._computed.update(row_hashes(self.rows, missing))
        return self

    def of(self, name: str) -> np.ndarray:
        """The hash of each row. uint64, shape (n,)."""
        return self.hash(name)._computed[name]

    @property
    def kinds(self) -> np.ndarray:
        return np.asarray(self.rows.column(VALUE_KIND.name).to_numpy())

    @property
    def numbers(self) -> np.ndarray:
        """Sequence numbers."""
        return np.asarray(self.rows.column(SEQUENCE_NUMBER.name).to_numpy())

    @property
    def in_sample(self) -> np.ndarray | None:
        """Numbers of the rows whose keys are proved, ascending; None = all are."""
        if not self.hashing.shift or not self.hashing.key:
            return None
        return np.flatnonzero((self.of(KEYS) & np.uint64((1 << self.hashing.shift) - 1)) == 0)

    def sampled(self) -> "HashedRows":
        """Those whose keys are proved; their hashes are known as far as they are here."""
        chosen = self.in_sample
        return self if chosen is None else self.only(chosen)

    def only(self, chosen: np.ndarray) -> "HashedRows":
        """Rows of these numbers, which ascend; their hashes are known as far as they are here."""
        if len(chosen) == self.rows.num_rows:
            return self
        hashes_by_name = {name: hashes[chosen] for name, hashes in self._computed.items()}
        return HashedRows(self.rows.take(pa.array(chosen)), self.hashing, hashes_by_name)
