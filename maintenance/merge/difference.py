"""The difference between two merged states, key by key. Source: Java `IncrementalDiffSplitRead`.

| before | after          | result                               |
|--------|----------------|--------------------------------------|
| –      | any            | after                                |
| row    | –              | -D with the values of before         |
| any    | the same       | nothing                              |
| any    | another        | after                                |

A record counts with its kind: a row and a retraction of the same values differ. If deletions are not
needed, retractions are not part of either side and there is no -D in the result.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.merge.ordered import RUN_COLUMN, KeyGroups
from maintenance.merge.same_rows import same_values
from maintenance.types.row_kind import RowKind, is_retract

_KIND = "_VALUE_KIND"


def difference(rows: pa.Table, groups: KeyGroups, compared: Sequence[str], *, maps_in_order: bool = True) -> pa.Table:
    """Records of the keys that differ, in key order, `_VALUE_KIND` among their columns.

    Args: `rows`: one record of each side for each key, at most, with columns contiguous; `_RUN` is 0 for before and 1
        for after; retractions are there if deletions are wanted. `groups`: the keys. `compared`: the columns whose
        values make a change. `maps_in_order`: another order of a map's entries makes one, too.
    """
    after = rows.column(RUN_COLUMN).to_numpy() == 1
    ends = np.append(groups.starts[1:], len(groups.order))
    single = ends - groups.starts == 1
    one, other = groups.order[groups.starts], groups.order[ends - 1]
    last = np.where(after[one], one, other)
    first = np.where(after[one], other, one)
    gone = single & ~after[one]
    kinds = rows.column(_KIND).to_numpy()
    pairs = np.flatnonzero(~single)
    changed = np.ones(len(single), bool)
    changed[pairs] = ~_same(rows, first[pairs], last[pairs], compared, maps_in_order=maps_in_order)
    changed[gone] = ~is_retract(kinds[first[gone]])
    result = rows.take(pa.array(last[changed]))
    new_kinds = np.where(gone[changed], np.int8(RowKind.DELETE), kinds[last[changed]])
    position = result.schema.get_field_index(_KIND)
    return result.set_column(position, result.schema.field(position), pa.array(new_kinds, pa.int8()))


def _same(
    rows: pa.Table, first: np.ndarray, last: np.ndarray, compared: Sequence[str], *, maps_in_order: bool
) -> np.ndarray:
    kinds = rows.column(_KIND).to_numpy()
    same: np.ndarray = is_retract(kinds[first]) == is_retract(kinds[last])
    for name in compared:
        column = rows.column(name)
        left, right = (column.take(pa.array(numbers)).combine_chunks() for numbers in (first, last))
        same = same & same_values(left, right, maps_in_order=maps_in_order)
    return same
