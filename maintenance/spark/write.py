"""Write a DataFrame into the buckets of a table; commit messages come back to the driver.

With a primary key (or with fixed buckets) rows are first given their bucket, then brought together by partition and
bucket, in the order in which the DataFrame holds them, so that of two records of one key the later one wins. They
travel packed (`packed_rows`), unless keys move from one partition to another. Rows of an unaware append table are
written where they are.
"""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maintenance.bucket.dynamic import Assigner, assigner_of
from maintenance.bucket.postpone import waits
from maintenance.errors import DataError
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.cross_partition import placed_frame, placed_rows
from maintenance.spark.exchange import is_large_row, limited_by_rows, part_bytes, with_small_rows
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.packed_rows import RowRoutes, larger_parts, packed_frame, repacked_frame, unpacked
from maintenance.spark.release import arrow_of
from maintenance.spark.sail import is_sail
from maintenance.spark.tasks import TaskError, in_task, portable
from maintenance.write.buckets import BucketRows, buckets_of, check_bucket_mode, has_dynamic_buckets, moves_keys
from maintenance.write.context import WriteContext
from maintenance.write.hash_index import BucketAssigner, key_hashes, owns_buckets_alone
from maintenance.write.message import CommitMessage
from maintenance.write.postpone import (
    PartitionSize,
    needs_sizes,
    partition_sizes,
    postponed_buckets,
    with_buckets,
    with_numbers,
)
from maintenance.write.table_write import TableWrite, write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_Task = Callable[[Iterator[pa.RecordBatch], FrameWrite, TableWrite], None]

# Writers of rows that wait in the postpone bucket, for each partition.
_WAITING_WRITERS = 8


def write_frame(frame: "DataFrame", write: FrameWrite) -> "list[CommitMessage | TaskError]":
    """What the tasks wrote, or why they could not."""
    check_bucket_mode(write.context)
    if write.row_kind_column is not None and write.row_kind_column not in frame.columns:
        raise DataError(
            f"there is no row kind column '{write.row_kind_column}'",
            f"table {write.context.name}",
            f"Columns are {', '.join(frame.columns)}.",
        )
    if is_sail(frame.sparkSession) and _routes(write.context):
        return _collected(frame, write)
    small = with_small_rows(frame) if _routes(write.context) else None
    if small is not None:
        try:
            with limited_by_rows(frame.sparkSession):
                return _written(small, write)
        except Exception as error:
            # Every row is looked at before the first one reaches a writer, so nothing is there to clear up.
            if not is_large_row(error):
                raise
    return _written(frame, write)


def _written(frame: "DataFrame", write: FrameWrite) -> "list[CommitMessage | TaskError]":
    if needs_sizes(write.context):
        write = replace(write, state=with_numbers(write.state, _partition_sizes(frame, write), write.context))
    task: _Task = _write
    if moves_keys(write.context):
        frame = placed_frame(frame, write, _assigners(frame, write.context.model))
    elif has_dynamic_buckets(write.context):
        frame, task = _given_buckets(frame, write)
    elif write.context.model.bucket != -1:
        frame, task = _brought_together(frame, write), _write_packed

    @in_task
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        data = [pickle.dumps(outcome) for outcome in _guarded(task, batches, write)]
        yield pa.RecordBatch.from_arrays([pa.array(data, pa.binary())], names=["outcome"])

    with ended_with_caller(frame.sparkSession):
        return [pickle.loads(bytes(row[0])) for row in frame.mapInArrow(run, "outcome binary").collect()]


def _routes(context: WriteContext) -> bool:
    """Whether rows have to come together by their buckets, in the order of the DataFrame."""
    return moves_keys(context) or has_dynamic_buckets(context) or context.model.bucket != -1


def _collected(frame: "DataFrame", write: FrameWrite) -> "list[CommitMessage | TaskError]":
    """Written by this process: Sail keeps no order of rows on their way from one task to another."""
    rows = arrow_of(frame)
    try:
        return list(write_rows(write.context, write.state, write.conformed(rows)))
    except Exception as error:  # noqa: BLE001 - as of a task
        return [TaskError(portable(error))]


def _brought_together(frame: "DataFrame", write: FrameWrite) -> "DataFrame":
    def buckets(rows: pa.Table) -> np.ndarray:
        return _buckets(rows, write)

    tasks = None
    if not write.context.schema.partition_keys and not write.context.model.is_postponed:
        # Buckets round robin, so that no task gets more of them than another.
        tasks = min(_shuffle_partitions(frame), write.context.total_buckets)
    return packed_frame(frame, write, RowRoutes(buckets, tasks, part_bytes(frame.sparkSession)))


def _buckets(keys: pa.Table, write: FrameWrite) -> np.ndarray:
    """The bucket of each row, int32; of rows that wait, the writer that all records of a key go to."""
    options = write.context.model
    if not options.is_postponed:
        return buckets_of(keys, write.context)
    if waits(options):
        return buckets_of(keys, with_buckets(write.context, _WAITING_WRITERS))
    return postponed_buckets(keys, write.context, write.state.bucket_numbers)


def _partition_sizes(frame: "DataFrame", write: FrameWrite) -> dict[bytes, PartitionSize]:
    """How much is written to each partition: a pass over the data, which the number of buckets may need."""

    @in_task
    def measure(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sizes = list(partition_sizes(write.keys_of(pa.Table.from_batches([batch])), write.context))
            columns = [[p for p, _ in sizes], [size.rows for _, size in sizes], [size.size for _, size in sizes]]
            types = (pa.binary(), pa.int64(), pa.int64())
            arrays = [pa.array(column, data_type) for column, data_type in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=["partition", "rows", "size"])

    measured = frame.mapInArrow(measure, "partition binary, rows long, size long").groupBy("partition").sum()
    with ended_with_caller(frame.sparkSession):
        return {bytes(row[0]): PartitionSize(row[1], row[2]) for row in measured.collect()}


def _given_buckets(frame: "DataFrame", write: FrameWrite) -> "tuple[DataFrame, _Task]":
    """Rows of dynamic buckets, and how they are written.

    They come to the assigner that knows their key, and from it to the writer of the bucket that it gives them. Where no
    other assigner can give out its buckets, it writes them itself.
    Assigners get them in a fixed order, so that a task that runs again gives every key the same bucket.
    """
    tasks = _shuffle_partitions(frame)
    count = _assigners(frame, write.context.model)
    is_whole = not write.context.schema.partition_keys

    def numbers(rows: pa.Table) -> np.ndarray:
        return assigner_of(key_hashes(rows, write.context), count)

    routes = RowRoutes(numbers, count if is_whole else None, part_bytes(frame.sparkSession))
    packed = packed_frame(frame, write, routes)
    if count >= tasks and owns_buckets_alone(write.context, write.state.hash_files or {}, count):
        return packed, partial(_write_assigned, count=count)
    placer = partial(_assignment, write, count)
    return repacked_frame(packed, write, placer, tasks if is_whole else None), _write_packed


def _assignment(write: FrameWrite, count: int) -> Callable[[BucketRows], np.ndarray]:
    """What gives the rows of a part their buckets, int32. A part's own bucket is the number of its assigner."""
    assigners: dict[int, BucketAssigner] = {}

    def buckets(part: BucketRows) -> np.ndarray:
        if part.bucket not in assigners:
            state = (write.context, write.state.hash_files or {}, Assigner(part.bucket, count))
            assigners[part.bucket] = BucketAssigner(*state)
        return assigners[part.bucket].assign(part.rows)

    return buckets


def _assigners(frame: "DataFrame", options: TableModel) -> int:
    """How many assigners work side by side. Source: option `dynamic-bucket.assigner-parallelism` and kin."""
    parallelism = table_options.DYNAMIC_BUCKET_ASSIGNER_PARALLELISM.of(options)
    if parallelism is None:
        parallelism = _shuffle_partitions(frame)
    most = options.dynamic_bucket_max_buckets
    initial = table_options.DYNAMIC_BUCKET_INITIAL_BUCKETS.of(options) or parallelism
    return max(1, min(parallelism, initial, most if most > 0 else parallelism))


def _shuffle_partitions(frame: "DataFrame") -> int:
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "1") or 1)


def _guarded(task: _Task, batches: Iterator[pa.RecordBatch], write: FrameWrite) -> "list[CommitMessage | TaskError]":
    """Write what a task gets. An error comes back as a value: the driver deletes what the other tasks wrote."""
    writer = TableWrite(write.context, write.state)
    try:
        task(batches, write, writer)
        return list(writer.finish())
    except Exception as error:  # noqa: BLE001 - the edge of a task
        writer.abort()
        return [TaskError(portable(error))]


def _write_packed(batches: Iterator[pa.RecordBatch], write: FrameWrite, writer: TableWrite) -> None:
    postponed = write.context.model.is_postponed
    for part in unpacked(batches):
        if postponed:
            # What a part has is the number of its writer.
            writer.write(part.rows)
        else:
            writer.write_bucket(part)


def _write_assigned(batches: Iterator[pa.RecordBatch], write: FrameWrite, writer: TableWrite, count: int) -> None:
    buckets = _assignment(write, count)
    for part in larger_parts(unpacked(batches)):
        writer.write(part.rows, buckets(part), part.bytes)


def _write(batches: Iterator[pa.RecordBatch], write: FrameWrite, writer: TableWrite) -> None:
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        if moves_keys(write.context):
            writer.write(*placed_rows(rows, write))
        else:
            writer.write(write.conformed(rows))
