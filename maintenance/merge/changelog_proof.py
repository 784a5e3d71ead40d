"""Whether changes turn one state into another, key by key.

The records of a key are put in order: the row it had before, its changes as they came, the row it has in the end. If
the changes are complete, additions and retractions alternate, the final row counts as the last retraction, and each
retraction has the values that the row had. So a key is right if its records are pairs of an addition and a retraction
of the same values; the first record that breaks this says what is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa

from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.ordered import KeyGroups
from maintenance.merge.same_rows import same_values, unchanged_values
from maintenance.types.row_kind import is_retract


class Break(StrEnum):
    """What is wrong with a key."""

    NOTHING_TO_RETRACT = "a retraction of a row that is not there"
    THERE_ALREADY = "an addition to a key that has a row already"
    OTHER_VALUES = "a retraction with other values than the row has"
    NOT_MADE = "the row is in the table, and no change made it"
    OTHER_ROW = "the row in the table has other values than the changes leave"
    NOT_THERE = "the changes leave a row that is not in the table"


@dataclass(frozen=True, slots=True)
class BrokenKey:
    """`record`: number of the record that breaks the chain."""

    record: int
    what: Break


def broken_keys(
    rows: pa.Table, groups: KeyGroups, end: np.ndarray, compared: Sequence[str], *, deduplicated: bool = False
) -> list[BrokenKey]:
    """The keys whose records are not such pairs, in key order, each with the first record that breaks them.

    Args: `rows`: n > 0 records, those of the end of any kind of addition; `groups`: in the order in which they came;
        `end`: True for records of the state in the end, shape (n,); `compared`: columns whose values must be the same;
        `deduplicated`: changes in which Paimon sees none, as from 0.0 to -0.0, are not among them.
    """
    order, starts = groups.order, groups.starts
    of_end = end[order]
    retract = is_retract(rows.column(VALUE_KIND.name).to_numpy())[order] | of_end
    counts = np.diff(starts, append=len(order))
    position = np.arange(len(order)) - np.repeat(starts, counts)
    odd = position % 2 == 1
    # 0 is right; the codes are those of `_BREAKS`.
    codes = np.zeros(len(order), np.int8)
    codes[retract & ~odd] = 1
    codes[~retract & odd] = 2
    pairs = np.flatnonzero(retract & odd)
    codes[pairs[~_same(rows, order[pairs - 1], order[pairs], compared, deduplicated=deduplicated)]] = 3
    last = starts + counts - 1
    # A key whose records end with an addition, all of them right so far.
    left_over = (counts % 2 == 1) & ~retract[last]
    codes[last[left_over & (codes[last] == 0)]] = 4
    wrong = np.flatnonzero(codes)
    key = np.searchsorted(starts, wrong, side="right") - 1
    first = wrong[np.unique(key, return_index=True)[1]]
    return [BrokenKey(int(order[at]), _BREAKS[int(codes[at]), bool(of_end[at])]) for at in first]


_BREAKS = {
    (1, False): Break.NOTHING_TO_RETRACT,
    (2, False): Break.THERE_ALREADY,
    (3, False): Break.OTHER_VALUES,
    (4, False): Break.NOT_THERE,
    (1, True): Break.NOT_MADE,
    (3, True): Break.OTHER_ROW,
}


def _same(
    rows: pa.Table, left: np.ndarray, right: np.ndarray, compared: Sequence[str], *, deduplicated: bool
) -> np.ndarray:
    same = np.ones(len(left), bool)
    if len(left):
        for name in compared:
            column = rows.column(name).combine_chunks()
            pair = column.take(pa.array(left)), column.take(pa.array(right))
            equal = same_values(*pair, maps_in_order=False)
            same &= equal | unchanged_values(*pair) if deduplicated else equal
    return same
