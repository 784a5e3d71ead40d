"""Rows on their way to the writer of their bucket: packed as Arrow bytes, so that Spark moves few large values.

A row of a DataFrame is converted from Spark's form to Arrow's once. The rows of a task are conformed and divided by
partition and bucket; each part becomes one row of `_SCHEMA`. The shuffle carries these, and the writer's task gets
whole parts back. Parts are ordered by the task they come from and their number there, which is the order of the
DataFrame's rows. An invalid row is sent as its error, so that the driver sees the error and not a failed task.
"""

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from maintenance.errors import PaimonError
from maintenance.spark.exchange import deserialized, pieces, serialized
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.tasks import in_task
from maintenance.write.buckets import BucketRows, split_by_bucket

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

T = TypeVar("T")

PARTITION, BUCKET, PLACE, TASK = "partition", "bucket", "place", "task"
_SCHEMA = pa.schema(
    {
        PARTITION: pa.binary(),
        BUCKET: pa.int32(),
        TASK: pa.int32(),
        PLACE: pa.int64(),
        "rows": pa.binary(),
        "error": pa.binary(),
    }
)
_DDL = "partition binary, bucket int, task int, place bigint, rows binary, error binary"
# Gathered before it is divided: parts are the larger the more there is.
_GATHERED_BYTES = 32 << 20
_PLACES_PER_TASK = 1 << 32
_NO_BUCKET = -1

Buckets = Callable[[pa.Table], np.ndarray]
Placer = Callable[[], Callable[[BucketRows], np.ndarray]]
"""Makes what gives the rows of a part, which come in their order, their buckets, int32."""


@dataclass(frozen=True, slots=True)
class RowRoutes:
    """Which rows go together.

    Attributes:
        buckets: of rows as writers take them, int32; those of one bucket and partition come to one task in their order.
        tasks: how many there are; None = Spark decides, by partition and bucket.
        part_bytes: a part is at most about as large.
    """

    buckets: Buckets
    tasks: int | None
    part_bytes: int


def packed_frame(frame: "DataFrame", write: FrameWrite, routes: RowRoutes) -> "DataFrame":
    """The parts of a DataFrame's rows, each bucket's in one task and in order."""

    @in_task
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        place = (context.partitionId() if context is not None else 0) * _PLACES_PER_TASK
        try:
            for few in _gathered(batches, lambda batch: int(batch.get_total_buffer_size())):
                rows = pa.Table.from_batches(few).combine_chunks()
                # All parts in one batch: what a batch costs on its way is more than what a small part does.
                parts = split_by_bucket(*_bucketed(rows, write, routes), write.context)
                packed = [values for part in parts for values in _pieces(part, routes)]
                if packed:
                    yield _batch([(*where, place + n, rows, None) for n, (*where, rows) in enumerate(packed)])
                    place += len(packed)
        except PaimonError as error:
            yield _batch([_of_error(place, error)])

    return _exchanged(frame.mapInArrow(pack, _DDL), routes.tasks)


def repacked_frame(packed: "DataFrame", write: FrameWrite, placer: Placer, tasks: int | None) -> "DataFrame":
    """The same rows by other buckets, each of these in one task. Parts keep their places, so rows keep their order.

    Args: `packed`: of `packed_frame`; `placer`: made anew in each task; `tasks`: as of `RowRoutes`.
    """

    @in_task
    def repack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        buckets = placer()
        for batch in batches:
            packed: list[tuple[Any, ...]] = []
            for place, part in _parts(batch):
                try:
                    if isinstance(part, PaimonError):
                        raise part
                    parts = split_by_bucket(part.rows, buckets(part), write.context, part.bytes)
                    packed += [
                        (*where, place, rows, None)
                        for *where, rows in (_packed(each, each.rows, tasks) for each in parts)
                    ]
                except PaimonError as error:
                    yield _batch([*packed, _of_error(place, error)])
                    return
            if packed:
                yield _batch(packed)

    return _exchanged(packed.mapInArrow(repack, _DDL), tasks)


def _exchanged(packed: "DataFrame", tasks: int | None) -> "DataFrame":
    if tasks is not None and hasattr(packed, "repartitionById"):
        packed = packed.repartitionById(tasks, TASK)
    else:
        packed = packed.repartition(PARTITION, BUCKET)
    return packed.sortWithinPartitions(PLACE)


def unpacked(batches: Iterator[pa.RecordBatch]) -> Iterator[BucketRows]:
    """The parts that come to a task. Raises: PaimonError: what another task found wrong with the rows."""
    for batch in batches:
        for _, part in _parts(batch):
            if isinstance(part, PaimonError):
                raise part
            yield part


def larger_parts(parts: Iterator[BucketRows]) -> Iterator[BucketRows]:
    """The same rows in larger parts: those of one bucket that follow one another are put together, of any partition.

    A part's partition is that of its first rows.
    """
    for _, group in groupby(parts, key=lambda part: part.bucket):
        for few in _gathered(group, lambda part: part.bytes):
            rows = pa.concat_tables([part.rows for part in few])
            yield replace(few[0], rows=rows, bytes=sum(part.bytes for part in few))


def _parts(batch: pa.RecordBatch) -> "Iterator[tuple[int, BucketRows | PaimonError]]":
    """The parts of a batch, or what another task found wrong with the rows, each with its place."""
    columns = (batch.column(name) for name in (PARTITION, BUCKET, PLACE, "rows", "error"))
    for partition, bucket, place, rows, error in zip(*columns, strict=True):
        if error.is_valid:
            original: PaimonError = pickle.loads(error.as_py())
            yield place.as_py(), original
        else:
            part = deserialized(rows.as_py())
            yield place.as_py(), BucketRows(partition.as_py(), bucket.as_py(), part, part.get_total_buffer_size())


def _gathered(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in lists that have about as many bytes as are worth while."""
    waiting: list[T] = []
    size = 0
    for item in items:
        waiting.append(item)
        size += size_of(item)
        if size >= _GATHERED_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _bucketed(rows: pa.Table, write: FrameWrite, routes: RowRoutes) -> tuple[pa.Table, np.ndarray]:
    conformed = write.conformed(rows).combine_chunks()
    return conformed, routes.buckets(conformed)


def _pieces(part: BucketRows, routes: RowRoutes) -> Iterator[tuple[bytes, int, int, bytes]]:
    """The pieces of a part, packed."""
    for piece in pieces(part.rows, part.bytes, routes.part_bytes):
        yield _packed(part, piece, routes.tasks)


def _packed(part: BucketRows, rows: pa.Table, tasks: int | None) -> tuple[bytes, int, int, bytes]:
    """Partition, bucket, task and rows. `rows`: all of the part or some."""
    task = 0 if tasks is None else (part.bucket + zlib.crc32(part.partition)) % tasks
    return part.partition, part.bucket, task, serialized(rows)


def _of_error(place: int, error: PaimonError) -> tuple[Any, ...]:
    return b"", _NO_BUCKET, 0, place, None, pickle.dumps(error)


def _batch(packed: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*packed, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
