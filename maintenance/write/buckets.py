"""Spread rows over partitions and buckets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.bucket.fixed import assign_buckets
from maintenance.errors import UnsupportedError
from maintenance.format.binary_row import EMPTY_ROW, serialize_row
from maintenance.merge.sort_words import sort_order, sort_words
from maintenance.options import table as table_options
from maintenance.types.values import values_of_arrow
from maintenance.write.context import WriteContext
from maintenance.write.rows import contiguous


@dataclass(frozen=True, slots=True)
class BucketRows:
    """Rows of one bucket, in the order they came. `partition`: serialized partition row."""

    partition: bytes
    bucket: int
    rows: pa.Table


def check_bucket_mode(context: WriteContext) -> None:
    """Refuse bucket modes that cannot be written yet. Raises: UnsupportedError."""
    if context.total_buckets == -2 or (context.has_primary_key and context.total_buckets == -1):
        raise UnsupportedError(
            f"option 'bucket' = '{context.total_buckets}' with a primary key is not supported yet",
            f"table {context.name}",
            "Use a fixed number of buckets.",
        )


def buckets_of(rows: pa.Table, context: WriteContext) -> np.ndarray:
    """The bucket of each row, int32, shape (n,). An unaware append table has bucket 0 alone."""
    if context.total_buckets == -1:
        return np.zeros(rows.num_rows, np.int32)
    function = table_options.BUCKET_FUNCTION_TYPE.of(context.options)
    return assign_buckets(rows, context.schema.bucket_fields, context.total_buckets, function)


def split_by_bucket(rows: pa.Table, buckets: np.ndarray, context: WriteContext) -> Iterator[BucketRows]:
    """Rows of each (partition, bucket). `buckets`: as `buckets_of` returns."""
    if not rows.num_rows:
        return
    fields = context.schema.partition_fields
    columns = contiguous(rows, [field.name for field in fields])
    words = sort_words([*columns, pa.array(buckets)])
    order = sort_order(words)
    changed = np.zeros(len(order), bool)
    changed[0] = True
    for word in words:
        changed[1:] |= word[order][1:] != word[order][:-1]
    starts = np.flatnonzero(changed)
    ordered = rows.take(pa.array(order)) if len(starts) > 1 else rows
    for start, end in zip(starts, np.append(starts[1:], len(order)), strict=True):
        first = int(order[start])
        values = [values_of_arrow(column.slice(first, 1))[0] for column in columns]
        partition = serialize_row(values, [field.type for field in fields]) if fields else EMPTY_ROW
        yield BucketRows(partition, int(buckets[first]), ordered.slice(start, end - start))
