"""Writing tables with postponed buckets: rows wait, or go to real buckets of which each partition has its own number.

Rows that wait are stored as they came, unsorted and unmerged, in Avro files. The names of one writer's files
begin with the same prefix, so that their rows can be kept in order when they move to real buckets. Source: Java
`PostponeBucketFileStoreWrite`.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.bucket.postpone import PostponeOptions, waits
from maintenance.errors import UnsupportedError
from maintenance.format.data_formats import data_format
from maintenance.names import FILE_BYTES, check_new_name
from maintenance.options import table as table_options
from maintenance.write.buckets import buckets_of
from maintenance.write.context import WriteContext
from maintenance.write.partitions import by_partition
from maintenance.write.settings import file_settings
from maintenance.write.state import BucketNumbers, WriteState

_MAX_WRITER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PartitionSize:
    """Rows of a batch that are of one partition, and their bytes in memory."""

    rows: int
    size: int


def waiting_context(context: WriteContext, user: str) -> WriteContext:
    """The table as a writer of waiting rows sees it: Avro, no statistics, file names of a writer of its own.

    With a column that Avro cannot hold the files are as those of any writer.
    Raises: OptionError: no file can be named after that user.
    """
    prefix = context.model.data_file_prefix
    number = random.randrange(_MAX_WRITER)
    around = FILE_BYTES + len(f"{prefix}-u--s-{_MAX_WRITER}-w-".encode())
    check_new_name(user, "the commit user of rows that wait", f"table {context.name}", around=around)
    name = {table_options.DATA_FILE_PREFIX.key: f"{prefix}-u-{user}-s-{number}-w-"}
    dropped = (table_options.FILE_FORMAT_PER_LEVEL.key, table_options.METADATA_STATS_MODE_PER_LEVEL.key)
    kept = {key: value for key, value in context.options.items() if key not in dropped}
    avro = {table_options.FILE_FORMAT.key: "avro", table_options.METADATA_STATS_MODE.key: "none"}
    waiting = replace(context, options={**kept, **avro, **name})
    try:
        settings = file_settings(context.schema, waiting.model, level=0)
        data_format("avro", f"table {context.name}").prepare_writer(context.file_fields, settings)
    except UnsupportedError:
        return replace(context, options={**context.options, **name})
    return waiting


def with_buckets(context: WriteContext, count: int) -> WriteContext:
    """The table as the writers of a partition with that many buckets see it."""
    return replace(context, options={**context.options, table_options.BUCKET.key: str(count)})


def partition_sizes(rows: pa.Table, context: WriteContext) -> Iterator[tuple[bytes, PartitionSize]]:
    """How much of `rows`, as `conform` returns them, is of each partition."""
    width = rows.nbytes / max(1, rows.num_rows)
    for partition, chosen in by_partition(rows, context):
        yield partition, PartitionSize(len(chosen), int(width * len(chosen)))


def number_of(partition: bytes, numbers: BucketNumbers, context: WriteContext) -> int:
    """How many buckets a partition has. `numbers`: of those not as new partitions by default have them."""
    number = numbers.get(partition) or PostponeOptions.of(context.model).default_buckets
    assert number is not None
    return number


def needs_sizes(context: WriteContext) -> bool:
    """Whether the number of buckets of a new partition depends on how much is written to it."""
    postponed = context.model.is_postponed and not waits(context.model)
    return postponed and PostponeOptions.of(context.model).settled is None


def with_numbers(state: WriteState, sizes: Mapping[bytes, PartitionSize], context: WriteContext) -> WriteState:
    """The state, knowing the number of buckets of the partitions that are new too. `sizes`: of what is written."""
    options = PostponeOptions.of(context.model)
    new = {p: options.buckets_for(size.rows, size.size) for p, size in sizes.items()}
    return replace(state, bucket_numbers={**new, **state.bucket_numbers})


def postponed_buckets(rows: pa.Table, context: WriteContext, numbers: BucketNumbers | None) -> np.ndarray:
    """The bucket of each row, int32, shape (n,). `numbers`: of buckets of every partition; None = all rows wait."""
    buckets = np.full(rows.num_rows, table_options.POSTPONE_BUCKET, np.int32)
    if numbers is None:
        return buckets
    for partition, chosen in by_partition(rows, context):
        of_partition = rows if len(chosen) == rows.num_rows else rows.take(pa.array(chosen))
        buckets[chosen] = buckets_of(of_partition, with_buckets(context, number_of(partition, numbers, context)))
    return buckets
