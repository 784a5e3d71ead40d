"""The orders by the names that procedure `compact` gives them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.hilbert import hilbert_words
from maintenance.compaction.order.linear import linear_ranges, linear_words
from maintenance.compaction.order.zorder import zorder_words
from maintenance.write.rows import contiguous

Words = Callable[[Sequence[pa.Array], int], list[np.ndarray]]


@dataclass(frozen=True, slots=True)
class Order:
    """An order of rows.

    Attributes:
        words: of rows, to sort those of one call by: most significant first, uint64, shape (n,).
        ranges: the same, but holding beyond one call; rows that differ there differ in `words` in the same way.
        min_columns: that it needs.
    """

    words: Words
    ranges: Words
    min_columns: int = 1


ORDERS: Mapping[str, Order] = {
    "order": Order(linear_words, linear_ranges),
    "zorder": Order(zorder_words, zorder_words),
    "hilbert": Order(hilbert_words, hilbert_words, min_columns=2),
}


@dataclass(frozen=True, slots=True)
class SortedBy:
    """An order of the rows of a table. `text_bytes`: of texts that count in a Z-order."""

    strategy: str
    columns: tuple[str, ...]
    text_bytes: int = 8

    def words(self, rows: pa.Table) -> list[np.ndarray]:
        """See `Order.words`. `rows`: n > 0."""
        return ORDERS[self.strategy].words(contiguous(rows, self.columns), self.text_bytes)

    def ranges(self, rows: pa.Table) -> list[np.ndarray]:
        """See `Order.ranges`. `rows`: n > 0."""
        return ORDERS[self.strategy].ranges(contiguous(rows, self.columns), self.text_bytes)
