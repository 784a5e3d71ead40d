"""What is otherwise in one merged state than in an earlier one, key by key. Source: Java `IncrementalDiffSplitRead`.

| before | after          | result                               |
|--------|----------------|--------------------------------------|
| –      | any            | after                                |
| row    | –              | -D with the values of before         |
| any    | the same       | nothing                              |
| any    | another        | after                                |

A record counts with its kind: a row and a retraction of the same values differ. Where deletions are not wanted,
retractions are no part of either side and no -D comes out.
"""

import numpy as np
import pyarrow as pa

from maintenance.merge.ordered import RecordOrder, group_by_key
from maintenance.merge.same_rows import same_values
from maintenance.types.row_kind import RowKind, is_retract

_KIND = "_VALUE_KIND"


def difference(before: pa.Table, after: pa.Table, order: RecordOrder, compared: tuple[str, ...]) -> pa.Table:
    """Records of the keys that differ, in key order, `_VALUE_KIND` among their columns.

    Args: `before`, `after`: one record for each key, with the columns of the key, `compared` and `_VALUE_KIND`; they
        hold retractions if deletions are wanted. `compared`: the columns whose values make a change.
    """
    if not before.num_rows and not after.num_rows:
        return after
    rows = pa.concat_tables([before, after]).combine_chunks()
    groups = group_by_key(rows, RecordOrder(order.key, sequence_number=order.sequence_number))
    ends = np.append(groups.starts[1:], len(groups.order))
    single = ends - groups.starts == 1
    # One record of each side at most: the smaller number is that of before.
    first = np.minimum(groups.order[groups.starts], groups.order[ends - 1])
    last = np.maximum(groups.order[groups.starts], groups.order[ends - 1])
    gone = single & (first < before.num_rows)
    kinds = rows.column(_KIND).to_numpy()
    pairs = np.flatnonzero(~single)
    changed = np.ones(len(single), bool)
    changed[pairs] = ~_same(rows, first[pairs], last[pairs], compared)
    changed[gone] = ~is_retract(kinds[first[gone]])
    result = rows.take(pa.array(last[changed]))
    new_kinds = np.where(gone[changed], np.int8(RowKind.DELETE), kinds[last[changed]])
    position = result.schema.get_field_index(_KIND)
    return result.set_column(position, result.schema.field(position), pa.array(new_kinds, pa.int8()))


def _same(rows: pa.Table, first: np.ndarray, last: np.ndarray, compared: tuple[str, ...]) -> np.ndarray:
    kinds = rows.column(_KIND).to_numpy()
    same: np.ndarray = is_retract(kinds[first]) == is_retract(kinds[last])
    for name in compared:
        column = rows.column(name)
        left, right = (column.take(pa.array(numbers)).combine_chunks() for numbers in (first, last))
        same = same & same_values(left, right)
    return same
