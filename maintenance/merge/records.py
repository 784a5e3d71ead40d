"""Merge the keys that have several records.

A key with a single record never gets here: the record is its row, even a retraction. Source: Java
`ReducerMergeFunctionWrapper`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.merge.aggregates.aggregate import Reduced
from maintenance.merge.inputs import Inputs
from maintenance.merge.ordered import KeyGroups
from maintenance.types.row_kind import is_retract


@dataclass(frozen=True)
class Records:
    """Records of k keys, by key and then age.

    Attributes:
        rows: the records and others, in any order; columns contiguous.
        order: int64, shape (n,): row numbers of the records, in order.
        starts: int64, shape (k,): first position in `order` of each key, ascending; 0 first.
    """

    rows: pa.Table
    order: np.ndarray
    starts: np.ndarray

    def column(self, name: str) -> pa.Array:
        return contiguous(self.rows.column(name))

    def inputs(self, name: str, ops: np.ndarray | None = None) -> Inputs:
        """All records as inputs of one column."""
        return Inputs(self.column(name), self.order, self.starts, ops)

    @cached_property
    def kinds(self) -> np.ndarray:
        """Row kinds in order. int8, shape (n,)."""
        return np.asarray(self.column(VALUE_KIND.name).to_numpy()[self.order])

    @cached_property
    def retract(self) -> np.ndarray:
        return is_retract(self.kinds)

    @cached_property
    def ends(self) -> np.ndarray:
        return np.append(self.starts[1:], len(self.order))

    @cached_property
    def counts(self) -> np.ndarray:
        return np.asarray(self.ends - self.starts)


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows of k keys.

    Attributes:
        kinds: int8, shape (k,).
        numbered_by: the records that give them their sequence numbers.
        columns: values by column.
    """

    kinds: np.ndarray
    numbered_by: np.ndarray
    columns: Mapping[str, Reduced]


def contiguous(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def merge_several(
    rows: pa.Table,
    groups: KeyGroups,
    names: Iterable[str],
    merge: Callable[[Records], Merged],
    *,
    lone_too: bool = False,
) -> pa.Table:
    """One record for each key: the lone ones as they are, the others merged.

    Args: `rows`: n > 0 records; `names`: of the columns that are not system columns; `lone_too`: merge all.
    """
    counts = np.diff(groups.starts, append=len(groups.order))
    several = np.ones(len(counts), bool) if lone_too else counts > 1
    alone = groups.order[groups.starts]
    if not several.any():
        return rows.select([SEQUENCE_NUMBER.name, VALUE_KIND.name, *names]).take(pa.array(alone))
    order, starts = groups.order, groups.starts
    if not several.all():
        order = order[np.repeat(several, counts)]
        starts = np.append(0, np.cumsum(counts[several])[:-1])
    merged = merge(Records(rows, order, starts))
    put = _Placing(alone, several)
    kinds = contiguous(rows.column(VALUE_KIND.name)).to_numpy()[alone]
    kinds[several] = merged.kinds
    numbers = put.records(contiguous(rows.column(SEQUENCE_NUMBER.name)), merged.numbered_by)
    columns = [numbers, pa.array(kinds, pa.int8())]
    for name in names:
        merged_column = merged.columns[name]
        column = contiguous(rows.column(name))
        columns.append(
            put.values(column, merged_column)
            if isinstance(merged_column, pa.Array)
            else put.records(column, merged_column)
        )
    return pa.Table.from_arrays(columns, names=[SEQUENCE_NUMBER.name, VALUE_KIND.name, *names])


class _Placing:
    """Puts the values of merged keys among those of lone records. `alone`: first record of each key."""

    def __init__(self, alone: np.ndarray, several: np.ndarray) -> None:
        self._alone = alone
        self._several = several
        self._all_several = bool(several.all())
        # Columns often take their values from the same records: these are put into place once.
        self._placed: dict[int, tuple[np.ndarray, pa.Array]] = {}

    def records(self, column: pa.Array, numbers: np.ndarray) -> pa.Array:
        placed = self._placed.get(id(numbers))
        if placed is None:
            at = numbers
            if not self._all_several:
                at = self._alone.copy()
                at[self._several] = numbers
            missing = at < 0
            placed = (numbers, pa.array(at, mask=missing) if missing.any() else pa.array(at))
            self._placed[id(numbers)] = placed
        return column.take(placed[1])

    def values(self, column: pa.Array, merged: pa.Array) -> pa.Array:
        if self._all_several:
            return merged
        lone = self._alone[~self._several]
        at = np.empty(len(self._several), np.int64)
        at[~self._several] = np.arange(len(lone))
        at[self._several] = len(lone) + np.arange(len(merged))
        return pa.concat_arrays([column.take(pa.array(lone)), merged]).take(pa.array(at))
