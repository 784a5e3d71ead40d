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
    """

    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    expect: "Callable[[Unit, Values, Groups], Expected] | None" = None
    words: WordsOf = field(default=column_words)
    any_order: bool = False

    @property
    def name(self) -> str:
        """No other unit has it."""
        return "\0".join(self.names)

    @property
    def text(self) -> str:
        """For reports."""
        return ",".join(self.names)
