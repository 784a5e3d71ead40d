"""Two steps of tasks with an exchange of rows between them: senders send tables, receivers get them.

Tables travel as Arrow bytes, so Spark moves few large values. A receiver gets tables in the order of the senders, and
those of one sender in the order in which they were sent. An error of a sender reaches each of its receivers, and is
returned instead of their results.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from maintenance.options.option import memory_size
from maintenance.spark.cancellation import ended_with_caller
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
PART_BYTES = 1 << 19
# Without a limit of its bytes (before Spark 4.1 there is none) a batch of Arrow has a number of rows, and may not reach
# 2 GiB. Where that number is usual, parts are as small as is worth while.
_NO_LIMIT = 1 << 30
_BATCH_BYTES = 1 << 28
_LEAST_PART_BYTES = 1 << 14
_IPC = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


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
        limit = memory_size(str(spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch")).removesuffix("b") or "0")
    except (PySparkException, Py4JJavaError, ValueError):  # the last but one where Spark 3.5 knows no such setting
        limit = _NO_LIMIT
    if limit < _NO_LIMIT:
        return most
    records = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch", "10000") or 10000)
    return min(most, max(_LEAST_PART_BYTES, _BATCH_BYTES // max(1, records)))


def serialized(rows: pa.Table) -> bytes:
    """Rows with their schema, compressed: that takes less time than the JVM does for the bytes that it saves."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_IPC) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def deserialized(content: bytes) -> pa.Table:
    """Rows out of `serialized`. The bytes are copied: inside a batch they are not aligned."""
    return pa.ipc.open_stream(pa.py_buffer(content)).read_all()


def pieces(rows: pa.Table, most_bytes: int) -> Iterator[pa.Table]:
    """Rows in slices of at most about this many bytes."""
    step = max(1, -(-rows.num_rows // max(1, -(-rows.nbytes // most_bytes))))
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
            for piece in pieces(rows, most_bytes):
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
