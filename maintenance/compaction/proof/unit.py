"""Units of a row: columns that are proved on their own, and what is known of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.records import Groups
from maintenance.types.row_hash import WordsOf, column_words


class Values(Protocol):
    """Records, as far as what becomes of a column depends on them. By record number."""

    def hashes(self, name: str) -> np.ndarray: ...

    def column(self, name: str) -> pa.Array: ...


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of one unit. Shapes (k,).

    Attributes:
        hashes: of the unit's values in each key's row.
        proved: whether they are known; None = all.
    """

    hashes: np.ndarray
    proved: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Columns of a row that come from the same record.

    Attributes:
        names: the columns whose values are hashed together.
        columns: those whose values are needed as they are.
        expect: what merging several records gives; None = not known.
        words: how the values of a single column are hashed, where it is not as those of any.
        any_order: the order of the records does not count.
        late: the words of records are made when the rows are known; until then they are hashed as any column. For
            words that cost much, where only a key's only record needs them.
        weight: what working it out takes for each record, in hashes of one.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    expect: "Callable[[Unit, Values, Groups], Expected] | None" = None
    words: WordsOf = field(default=column_words)
    any_order: bool = False
    late: bool = False
    weight: int = 2

    def hashes_of(self, records: Values, at: np.ndarray) -> np.ndarray:
        """Of the unit's values in these records. `at`: record numbers, shape (k,)."""
        if not self.late:
            return np.asarray(records.hashes(self.name)[at])
        return self.words(records.column(self.names[0]).take(pa.array(at)))

    @property
    def name(self) -> str:
        """No other unit has it."""
        return "\0".join(self.names)

    @property
    def text(self) -> str:
        """For reports."""
        return ",".join(self.names)
