"""How the feed cuts its stream: complete, with late and repeated batches, and the same every time."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from maintenance.fs.file_io import FileIO
from maintenance.operations.ingestion.landing import LandedBatch, LandingFolder, landed_batches, still_to_commit
from paimon_maintenance.demo.feed import FLIGHT_ROUNDS, Delivery, Round, deliver, deliveries
from paimon_maintenance.demo.flights import change_stream

T = TypeVar("T")
# The hour of the flight HA 51 that the report follows.
HONOLULU = datetime(2013, 7, 11, 14, tzinfo=UTC)
ROUNDS = (Round(datetime(2020, 1, 2, tzinfo=UTC), 8), Round(datetime(2020, 1, 3, tzinfo=UTC), 4))


def an_hour_by_minutes(hours: int) -> pa.Table:
    start = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp() * 1000)
    times = pa.array([start + 60_000 * minute for minute in range(60 * hours)], pa.timestamp("ms", "UTC"))
    return pa.table({"time": times, "number": pa.array(range(60 * hours))})


@pytest.fixture
def stream() -> pa.Table:
    return an_hour_by_minutes(48)


def flat(lists: Iterable[list[T]]) -> list[T]:
    return list(chain.from_iterable(lists))


def first_deliveries(delivered: list[list[Delivery]]) -> list[Delivery]:
    seen: dict[int, Delivery] = {}
    for delivery in flat(delivered):
        seen.setdefault(delivery.batch, delivery)
    return list(seen.values())


def test_each_event_is_in_exactly_one_batch(stream: pa.Table) -> None:
    delivered = deliveries(stream, "time", ROUNDS)
    numbers = flat(delivery.rows["number"].to_pylist() for delivery in first_deliveries(delivered))
    assert sorted(numbers) == stream["number"].to_pylist()


def test_a_round_holds_the_events_before_its_end(stream: pa.Table) -> None:
    first, second = deliveries(stream, "time", ROUNDS)
    assert {number for delivery in first for number in delivery.rows["number"].to_pylist()} == set(range(24 * 60))
    assert min(number for delivery in second for number in delivery.rows["number"].to_pylist()) == 24 * 60


def test_orders_and_batch_numbers_grow_without_gaps(stream: pa.Table) -> None:
    delivered = deliveries(stream, "time", ROUNDS)
    assert [delivery.order for delivery in flat(delivered)] == list(range(1, len(flat(delivered)) + 1))
    first = [delivery.batch for delivery in first_deliveries(delivered)]
    assert first == list(range(1, len(first) + 1))


def test_some_batches_come_again_and_are_the_same(stream: pa.Table) -> None:
    for a_round in deliveries(stream, "time", ROUNDS):
        times = Counter(delivery.batch for delivery in a_round)
        assert max(times.values()) == 2
        for batch in (batch for batch, count in times.items() if count == 2):
            one, other = (delivery.rows for delivery in a_round if delivery.batch == batch)
            assert one.equals(other)


def test_some_events_come_late(stream: pa.Table) -> None:
    for a_round in deliveries(stream, "time", ROUNDS):
        rows = [delivery.rows["number"].to_pylist() for delivery in a_round]
        late = [after for before, after in zip(rows, rows[1:], strict=False) if after and max(before) > min(after)]
        assert late


def test_the_feed_is_the_same_every_time(stream: pa.Table) -> None:
    for one, other in zip(
        flat(deliveries(stream, "time", ROUNDS)), flat(deliveries(stream, "time", ROUNDS)), strict=True
    ):
        assert (one.order, one.batch) == (other.order, other.batch)
        assert one.rows.equals(other.rows)


def test_the_flight_to_honolulu_lives_through_three_rounds() -> None:
    delivered = deliveries(change_stream(), "event_time", FLIGHT_ROUNDS)
    life = [
        {
            row["status"]
            for delivery in a_round
            for row in delivery.rows.filter(
                (pc.field("flight") == 51)
                & (pc.field("carrier") == "HA")
                & (pc.field("time_hour") == pa.scalar(HONOLULU, pa.timestamp("ms", "UTC")))
            ).to_pylist()
        }
        for a_round in delivered
    ]
    assert life == [{"scheduled"}, {"departed"}, {"arrived"}, set()]


def test_delivered_files_are_found_in_order(stream: pa.Table, tmp_path: Path) -> None:
    first, second = deliveries(stream, "time", ROUNDS)
    deliver(second, tmp_path)
    deliver(first, tmp_path)
    landed = landed_batches(FileIO(), LandingFolder(str(tmp_path), "feed"))
    assert [(batch.delivery, batch.identifier) for batch in landed] == [(d.order, d.batch) for d in first + second]
    assert pq.read_table(landed[0].path).equals(first[0].rows)


def test_ingestion_goes_on_after_the_last_committed_batch() -> None:
    landed = [LandedBatch(order, batch, "") for order, batch in enumerate([1, 2, 1, 3, 2, 4, 3], 1)]
    assert [batch.identifier for batch in still_to_commit(landed, None)] == [1, 2, 1, 3, 2, 4, 3]
    assert [batch.identifier for batch in still_to_commit(landed, 2)] == [3, 2, 4, 3]
    assert still_to_commit(landed, 4) == []
