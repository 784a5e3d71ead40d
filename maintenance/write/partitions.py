"""Which rows are of which partition."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.merge.sort_words import changes, sort_order, sort_words
from maintenance.types.values import values_of_arrow
from maintenance.write.context import WriteContext
from maintenance.write.rows import contiguous


def by_partition(
    rows: pa.Table, context: WriteContext, further: Sequence[pa.Array] = ()
) -> Iterator[tuple[bytes, np.ndarray]]:
    """Serialized partition and numbers of its rows, int64, ascending; `further`: columns to tell rows apart by, too."""
    if not rows.num_rows:
        return
    fields = context.schema.partition_fields
    columns = contiguous(rows, [field.name for field in fields])
    if not columns and not further:
        yield EMPTY_ROW, np.arange(rows.num_rows)
        return
    words = sort_words([*columns, *further])
    order = sort_order(words)
    starts = np.flatnonzero(changes(words, order))
    for start, end in zip(starts, np.append(starts[1:], len(order)), strict=True):
        first = int(order[start])
        values = [values_of_arrow(column.slice(first, 1))[0] for column in columns]
        partition = serialize_row(values, [field.type for field in fields]) if fields else EMPTY_ROW
        yield partition, order[start:end]
