"""Some rows of a table, or of several, by whichever of Arrow's ways is quicker for each column."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

# Of texts positions are quicker than a mask only where less than this share of the rows is chosen.
_MOST_KEPT = 0.8


def chosen_rows(table: pa.Table, chosen: np.ndarray) -> pa.Table:
    """The rows for which `chosen` (bool, shape (n,)) is true, in their order; the table itself if that is all."""
    if chosen.all():
        return table
    mask = pa.array(chosen)
    numbers = np.flatnonzero(chosen)
    positions = pa.array(numbers.astype(np.int32) if len(chosen) < 1 << 31 else numbers)
    few = len(numbers) < _MOST_KEPT * len(chosen)
    columns = [
        column.take(positions) if column.num_chunks == 1 and _by_position(column.type, few) else column.filter(mask)
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def in_order(parts: Sequence[pa.Table], places: Sequence[np.ndarray]) -> pa.Table:
    """The rows of tables put together. `places`: for each table, where its rows stand in the result, ascending."""
    if len(parts) == 1:
        return parts[0]
    order = np.empty(sum(map(len, places)), np.int64)
    order[np.concatenate(places)] = np.arange(len(order))
    return pa.concat_tables(parts).take(pa.array(order))


def _by_position(column_type: pa.DataType, few: bool) -> bool:
    fixed = pa.types.is_primitive(column_type) or pa.types.is_decimal(column_type)
    texts = pa.types.is_string(column_type) or pa.types.is_binary(column_type)
    return fixed or (few and texts)
