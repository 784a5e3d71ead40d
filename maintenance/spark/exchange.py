"""Two steps of tasks with an exchange of rows between them: senders send tables, receivers get them.

Tables travel as Arrow bytes, so Spark moves few large values. A receiver gets tables in the order of the senders, and
those of one sender in the order in which they were sent. An error of a sender reaches each of its receivers, and is
returned instead of their results.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from maintenance.options.option import memory_size
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.sail import is_sail
from maintenance.spark.tasks import TaskError, in_task, payload_frame, portable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

P = TypeVar("P")
Q = TypeVar("Q")
R = TypeVar("R")

RECEIVER, PLACE = "receiver", "place"
_SCHEMA = pa.schema({RECEIVER: pa.int32(), PLACE: pa.int64(), "rows": pa.binary(), "error": pa.binary()})
_DDL = "receiver int, place bigint, rows binary, error binary"
_PLACES = 1 << 32
# Larger values are a burden to the heap of the JVM, which copies them some times and keeps them apart from others.
PART_BYTES = 1 << 20
# Without a limit of its bytes (before Spark 4.1 there is none) a batch of Arrow has a number of rows, and may not reach
# 2 GiB. Where that number is usual, parts are as small as is worth while.
_NO_LIMIT = 1 << 30
_BATCH_BYTES = 1 << 28
_LEAST_PART_BYTES = 1 << 14
_BYTES_KEY = "spark.sql.execution.arrow.maxBytesPerBatch"
_RECORDS_KEY = "spark.sql.execution.arrow.maxRecordsPerBatch"
# With a limit of bytes Spark adds the sizes of all columns up after each row, which takes longer than to convert it.
_ROWS_OF_BATCH = 1 << 11
_ANY_BYTES = str(2**31 - 1)
# So many bytes of texts times the rows of a batch are far below the 2 GiB that a column of a batch can have.
_SMALL_ROW = 1 << 18
_LARGE_ROW = "paimon-maintenance: a row for batches of limited bytes"
_UNMEASURED = frozenset({"binary", "variant", "array", "map", "struct", "udt", "geography", "geometry"})
# What sessions had before batches were limited by rows, and how many of their writes run.
_LIMITED: "dict[SparkSession, tuple[dict[str, str | None], int]]" = {}
_LOCK = Lock()
_IPC = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(frozen=True, slots=True)
class Sender(Generic[P]):
    """A task of the first step. `receivers`: numbers of those it may send to."""

    payload: P
    receivers: range


def part_bytes(spark: "SparkSession", most: int = PART_BYTES) -> int:
    """How many bytes one value may have, so that a batch of Arrow stays small."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        limit = memory_size(str(spark.conf.get(_BYTES_KEY)).removesuffix("b") or "0")
    except (PySparkException, Py4JJavaError, ValueError):  # the last but one where Spark 3.5 knows no such setting
        limit = _NO_LIMIT
    if limit < _NO_LIMIT:
        return most
    records = int(spark.conf.get(_RECORDS_KEY, "10000") or 10000)
    return min(most, max(_LEAST_PART_BYTES, _BATCH_BYTES // max(1, records)))


@contextmanager
def limited_by_rows(spark: "SparkSession") -> Iterator[None]:
    """While it lasts, batches of rows that go to Python have a limit of rows instead of bytes."""
    with _LOCK:
        before, writes = _LIMITED.get(spark, ({}, 0))
        if not writes:
            before = {key: spark.conf.get(key, None) for key in (_BYTES_KEY, _RECORDS_KEY)}
            records = int(before[_RECORDS_KEY] or 0)
            spark.conf.set(_BYTES_KEY, _ANY_BYTES)
            spark.conf.set(_RECORDS_KEY, str(records if 0 < records < _ROWS_OF_BATCH else _ROWS_OF_BATCH))
        _LIMITED[spark] = (before, writes + 1)
    try:
        yield
    finally:
        with _LOCK:
            before, writes = _LIMITED.pop(spark)
            if writes > 1:
                _LIMITED[spark] = (before, writes - 1)
            else:
                with suppress(Exception):  # a Spark that is lost: what happened before is what has to be reported
                    _put_back(spark, before)


def _put_back(spark: "SparkSession", settings: "dict[str, str | None]") -> None:
    for key, value in settings.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


def with_small_rows(frame: "DataFrame") -> "DataFrame | None":
    """The same frame, which fails at a row whose texts are large: `is_large_row` tells that error.

    None where a limit of rows does not suit: the session has its own limit of bytes, or rows have columns that are not
    measured as easily as texts are.
    """
    from pyspark.sql import functions

    spark = frame.sparkSession
    if is_sail(spark) or (spark not in _LIMITED and spark.conf.get(_BYTES_KEY, None) is not None):
        return None
    if any(field.dataType.typeName() in _UNMEASURED for field in frame.schema):
        return None
    texts = [field.name.replace("`", "``") for field in frame.schema if field.dataType.typeName() == "string"]
    if not texts:
        return frame
    lengths = [functions.coalesce(functions.octet_length(f"`{name}`"), functions.lit(0)) for name in texts]
    length = sum(lengths[1:], lengths[0])
    refused = functions.raise_error(functions.lit(_LARGE_ROW)).cast("boolean")
    return frame.where(functions.when(length > _SMALL_ROW, refused).otherwise(functions.lit(True)))


def is_large_row(error: Exception) -> bool:
    """Whether a frame of `with_small_rows` failed at a large row."""
    return _LARGE_ROW in str(error)


def serialized(rows: pa.Table) -> bytes:
    """Rows with their schema, compressed: that takes less time than the JVM does for the bytes that it saves."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_IPC) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def deserialized(content: bytes) -> pa.Table:
    """Rows out of `serialized`. The bytes are copied: inside a batch they are not aligned."""
    return pa.ipc.open_stream(pa.py_buffer(content), options=_READ).read_all()


def pieces(rows: pa.Table, size: int, most_bytes: int) -> Iterator[pa.Table]:
    """Rows in slices of at most about so many bytes. `size`: bytes of all of them."""
    step = max(1, -(-rows.num_rows // max(1, -(-size // most_bytes))))
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def record(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    """One row."""
    arrays = [pa.array([value], field.type) for value, field in zip(values, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def run_exchange(
    spark: "SparkSession",
    send: Callable[[P], Iterator[tuple[int, pa.Table]]],
    senders: Sequence[Sender[P]],
    receive: Callable[[Q, Iterator[pa.Table]], R],
    receivers: Sequence[Q],
) -> "list[R | TaskError]":
    """What the receivers made of the rows, in their order.

    Args: `send`: tables, each with the number of its receiver; `receive`: gets a receiver and its tables. Both are
        importable.
    """
    sending, payloads_of = payload_frame(spark, [pickle.dumps(sender) for sender in senders])
    receiving = [pickle.dumps(receiver) for receiver in receivers]
    most = part_bytes(spark)

    @in_task
    def sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index, sender in payloads_of(batch):
                yield from _sent(send, pickle.loads(sender), index * _PLACES, most)

    @in_task
    def received(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, parts in groupby(_parts(batches), key=lambda part: part[0]):
            outcome = _received(receive, pickle.loads(receiving[number]), parts)
            data = pa.array([pickle.dumps((number, outcome))], pa.binary())
            yield pa.RecordBatch.from_arrays([data], names=["outcome"])

    rows = _to_receivers(sending.mapInArrow(sent, _DDL), len(receivers))
    with ended_with_caller(spark):
        outcomes = rows.mapInArrow(received, "outcome binary").collect()
    by_number: dict[int, R | TaskError] = dict(pickle.loads(bytes(row[0])) for row in outcomes)
    # Nothing was sent to the others.
    return [
        by_number[number] if number in by_number else _received(receive, receiver, iter(()))
        for number, receiver in enumerate(receivers)
    ]


def _to_receivers(frame: "DataFrame", count: int) -> "DataFrame":
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(count, RECEIVER)
    # Before Spark 4.1 a partition may have several: then they come one after the other.
    return frame.repartition(count, RECEIVER).sortWithinPartitions(RECEIVER)


def _sent(
    send: Callable[[P], Iterator[tuple[int, pa.Table]]], sender: Sender[P], place: int, most_bytes: int
) -> Iterator[pa.RecordBatch]:
    try:
        for receiver, rows in send(sender.payload):
            for piece in pieces(rows, rows.nbytes, most_bytes):
                yield record(_SCHEMA, receiver, place, serialized(piece), None)
                place += 1
    except Exception as error:  # noqa: BLE001 - the edge of a task: the caller decides what an error means
        data = pickle.dumps(portable(error))
        for receiver in sender.receivers:
            yield record(_SCHEMA, receiver, place, None, data)


_Part = tuple[int, int, bytes | None, bytes | None]


def _parts(batches: Iterator[pa.RecordBatch]) -> Iterator[_Part]:
    for batch in batches:
        for values in zip(*batch.columns, strict=True):
            receiver, place, rows, error = (value.as_py() for value in values)
            yield receiver, place, rows, error


def _received(receive: Callable[[Q, Iterator[pa.Table]], R], receiver: Q, parts: Iterator[_Part]) -> "R | TaskError":
    try:
        return receive(receiver, _tables(parts))
    except Exception as error:  # noqa: BLE001 - the edge of a task
        return TaskError(portable(error))


def _tables(parts: Iterator[_Part]) -> Iterator[pa.Table]:
    """The tables in the order of their places. Here they are brought into it: Spark would copy all of them for that."""
    by_place: dict[int, pa.Table] = {}
    for _, place, rows, error in parts:
        if error is not None:
            raised: Exception = pickle.loads(error)
            raise raised
        assert rows is not None
        by_place[place] = deserialized(rows)
    for place in sorted(by_place):
        yield by_place.pop(place)
