"""Spread rows over partitions and buckets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.bucket.fixed import assign_buckets
from maintenance.errors import BucketNumberError, UnsupportedError
from maintenance.metadata.paths import TablePaths
from maintenance.threads import map_in_threads
from maintenance.write.context import WriteContext
from maintenance.write.partitions import by_partition


@dataclass(frozen=True, slots=True)
class BucketRows:
    """Rows of one bucket, in the order they came.

    `partition`: serialized partition row; `bytes`: about so many, since Arrow takes long to add them up exactly.
    """

    partition: bytes
    bucket: int
    rows: pa.Table
    bytes: int


def check_bucket_mode(context: WriteContext) -> None:
    """Refuse what would leave a key in two partitions. Raises: UnsupportedError."""
    deletes = context.model.merge_engine == "deduplicate"
    if moves_keys(context) and deletes and context.model.ignores_deletes:
        raise UnsupportedError(
            "option 'ignore-delete' where keys move from one partition to another",
            f"table {context.name}",
            "Unset it: a key that moves is deleted where it was.",
        )


def moves_keys(context: WriteContext) -> bool:
    """Whether keys may change their partition, so that where each one is must be known."""
    return context.schema.is_cross_partition and context.total_buckets == -1


def has_dynamic_buckets(context: WriteContext) -> bool:
    """Whether each new key is given a bucket that it keeps, which HASH index files remember."""
    return context.has_primary_key and context.total_buckets == -1 and not moves_keys(context)


# To move or to write so few takes no longer than to start threads for it.
FEW_ROWS = 10_000


def buckets_of(rows: pa.Table, context: WriteContext) -> np.ndarray:
    """The bucket of each row, int32, shape (n,). An unaware append table has bucket 0 alone."""
    if context.total_buckets == -1:
        return np.zeros(rows.num_rows, np.int32)
    function = context.model.bucket_function_type
    return assign_buckets(rows, context.schema.bucket_fields, context.total_buckets, function)


def split_by_bucket(
    rows: pa.Table, buckets: np.ndarray, context: WriteContext, size: int | None = None
) -> Iterator[BucketRows]:
    """Rows of each (partition, bucket). `buckets`: as `buckets_of` returns; `size`: bytes of all rows, if known."""
    one_bucket = len(buckets) and buckets.min() == buckets.max()
    groups = list(by_partition(rows, context, () if one_bucket else [pa.array(buckets)]))
    ordered = rows
    if len(groups) > 1:
        ordered = _taken(rows, pa.array(np.concatenate([chosen for _, chosen in groups])), context.threads)
    start, width = 0, (rows.nbytes if size is None else size) / max(1, rows.num_rows)
    for partition, chosen in groups:
        part = ordered.slice(start, len(chosen))
        yield BucketRows(partition, int(buckets[chosen[0]]), part, int(width * len(chosen)))
        start += len(chosen)


def _taken(rows: pa.Table, numbers: pa.Array, threads: int) -> pa.Table:
    """Rows by their numbers, column by column in threads."""
    if threads == 1 or len(numbers) <= FEW_ROWS:
        return rows.take(numbers)
    columns = map_in_threads(lambda column: column.take(numbers), rows.columns, threads)
    return pa.Table.from_arrays(columns, schema=rows.schema)


RESCALE = "Open the table again; if that is its new number of buckets, overwrite the partition to rescale it."


def other_number(paths: TablePaths, partition: bytes, current: str, new: str) -> str:
    """That a partition has another number of buckets than what is written to it."""
    named = paths.partition(partition)
    place = f"partition {named}" if named else "the table"
    return f"{place} has {current} buckets, and is written with {new}"


def check_bucket_number(context: WriteContext, partition: bytes, current: int | None) -> None:
    """Refuse fixed buckets in a partition that has `current` buckets, None if it is new. Raises: BucketNumberError.

    The commit looks again, at the state at that time; to look here saves the work.
    """
    if current is not None and 0 < context.total_buckets != current:
        reason = other_number(context.paths, partition, str(current), str(context.total_buckets))
        raise BucketNumberError(reason, f"table {context.name}", RESCALE)
