"""Rows sent from tasks to others: in Spark's tasks, in this process, and there through a file."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.errors import DataError
from maintenance.spark.exchange import PART_BYTES, Sender, limited_by_rows, part_bytes, run_exchange, with_small_rows
from maintenance.spark.local_exchange import exchange_here
from maintenance.spark.tasks import TaskError

RECEIVERS = 3
Exchange = Callable[..., list[object]]


def send(number: int) -> Iterator[tuple[int, pa.Table]]:
    """A thousand rows, those of a receiver in turns; sender 4 fails, after it has sent some."""
    for turn in range(5):
        for receiver in range(RECEIVERS):
            yield receiver, pa.table({"sender": [number] * 70, "turn": [turn] * 70, "to": [receiver] * 70})
        if number == 4:
            raise DataError("four", "a sender", "Take another one.")


def receive(receiver: int, tables: Iterator[pa.Table]) -> list[tuple[int, ...]]:
    """The rows in the order they come in."""
    collected = []
    for table in tables:
        assert set(table.column("to").to_pylist()) == {receiver}
        collected += list(zip(*(table.column(name).to_pylist() for name in ("sender", "turn")), strict=True))
    return collected


@pytest.fixture(params=["spark", "here", "spilled", "half spilled"])
def exchange(request: pytest.FixtureRequest) -> Exchange:
    if request.param == "spark":
        session: SparkSession = request.getfixturevalue("spark")
        return partial(run_exchange, session)
    return partial(exchange_here, held_bytes={"here": 1 << 30, "spilled": 0, "half spilled": 9000}[request.param])


def test_receivers_get_rows_in_the_order_they_were_sent(exchange: Exchange) -> None:
    senders = [Sender(number, range(RECEIVERS)) for number in (3, 1, 2)]
    wanted = [(number, turn) for number in (3, 1, 2) for turn in range(5) for _ in range(70)]
    # To the last one nothing is sent.
    assert exchange(send, senders, receive, range(RECEIVERS + 1)) == [*[wanted] * RECEIVERS, []]


def test_an_error_of_a_sender_is_one_of_its_receivers_alone(exchange: Exchange) -> None:
    senders = [Sender(1, range(RECEIVERS)), Sender(4, range(1, RECEIVERS))]
    first, *others = exchange(send, senders, lenient, range(RECEIVERS))
    assert isinstance(first, list)
    assert [str(actual.error) for actual in others if isinstance(actual, TaskError)] == [
        "four (a sender). Take another one."
    ] * 2


def lenient(receiver: int, tables: Iterator[pa.Table]) -> int | list[int]:
    """As `receive`, whatever the receiver."""
    return [table.num_rows for table in tables]


def test_what_is_on_its_way_takes_no_more_memory_than_it_may() -> None:
    """64 senders of a MiB each may keep 8 MiB; what two threads work on comes on top of it."""
    before, lock, most = pa.total_allocated_bytes(), threading.Lock(), [0]

    def note() -> None:
        with lock:
            most[0] = max(most[0], pa.total_allocated_bytes() - before)

    def sends(number: int) -> Iterator[tuple[int, pa.Table]]:
        made = pa.array(np.arange(1 << 17) + number)
        note()
        # Copied into the memory that is counted.
        yield number % 2, pa.table({"n": pa.concat_arrays([made, made.slice(0, 0)])})
        note()

    def receives(receiver: int, tables: Iterator[pa.Table]) -> int:
        rows = 0
        for table in tables:
            rows += table.num_rows
            note()
        return rows

    senders = [Sender(number, range(2)) for number in range(64)]
    assert exchange_here(sends, senders, receives, range(2), held_bytes=8 << 20) == [1 << 22] * 2
    assert 8 << 20 <= most[0] < 24 << 20


@pytest.mark.not_on_sail("rows are exchanged in this process")
def test_parts_are_smaller_where_batches_have_no_limit_of_bytes(spark: SparkSession) -> None:
    key = "spark.sql.execution.arrow.{}PerBatch"
    before = {name: str(spark.conf.get(key.format(name))) for name in ("maxBytes", "maxRecords")}
    try:
        for size, records, expected in (
            ("64mb", 65536, PART_BYTES),
            ("2147483647", 2048, 1 << 17),
            ("2147483647", 100, PART_BYTES),
            ("2147483647", 65536, 1 << 14),
        ):
            spark.conf.set(key.format("maxBytes"), size)
            spark.conf.set(key.format("maxRecords"), str(records))
            assert part_bytes(spark) == expected
        sent = run_exchange(spark, send, [Sender(n, range(RECEIVERS)) for n in range(3)], receive, range(RECEIVERS))
        assert all(isinstance(rows, list) and len(rows) == 3 * 5 * 70 for rows in sent)
    finally:
        for name, value in before.items():
            spark.conf.set(key.format(name), value)


@pytest.mark.not_on_sail("its batches are its own")
def test_batches_have_a_number_of_rows_until_the_last_write_ends(spark: SparkSession) -> None:
    keys = [f"spark.sql.execution.arrow.max{what}PerBatch" for what in ("Bytes", "Records")]
    before = [spark.conf.get(key, None) for key in keys]
    numbers = spark.range(0, 5000, 1, 1)

    def sizes() -> list[int]:
        return [row[0] for row in numbers.mapInArrow(_size, "size long").collect()]

    with limited_by_rows(spark):
        with limited_by_rows(spark):
            assert sizes() == [2048, 2048, 904]
        assert sizes() == [2048, 2048, 904]
    assert [spark.conf.get(key, None) for key in keys] == before


@pytest.mark.not_on_sail("its batches are its own")
def test_a_limit_of_bytes_that_is_set_is_kept(spark: SparkSession) -> None:
    key = "spark.sql.execution.arrow.maxBytesPerBatch"
    numbers = spark.range(10)
    spark.conf.unset(key)
    assert with_small_rows(numbers) is not None
    spark.conf.set(key, "1000000")
    try:
        assert with_small_rows(numbers) is None
    finally:
        spark.conf.unset(key)
    assert with_small_rows(numbers.selectExpr("cast('a' as binary) as bytes")) is None


def _size(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"size": [batch.num_rows]})
