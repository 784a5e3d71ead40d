"""The change stream of the flights: its events, their order, and where it leads."""

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paimon_maintenance.demo import nycflights
from paimon_maintenance.demo.flights import KEY, ROW_KIND, SCHEMA, change_stream, final_rows
from paimon_maintenance.demo.routes import same

FLIGHTS, CANCELLED, NEVER_ARRIVED = 336_776, 8_255, 458


@pytest.fixture(scope="module")
def stream() -> pa.Table:
    return change_stream()


def counts(stream: pa.Table, column: str) -> dict[str, int]:
    grouped = stream.group_by(column).aggregate([([], "count_all")])
    return dict(zip(grouped[column].to_pylist(), grouped["count_all"].to_pylist(), strict=True))


def test_every_flight_has_its_events(stream: pa.Table) -> None:
    departed = FLIGHTS - CANCELLED
    expected = {"scheduled": FLIGHTS, "cancelled": CANCELLED, "departed": departed, "arrived": departed - NEVER_ARRIVED}
    assert counts(stream, "status") == expected
    assert counts(stream, ROW_KIND) == {"+I": FLIGHTS, "+U": 2 * departed - NEVER_ARRIVED + CANCELLED}
    assert stream.schema == SCHEMA


def test_key_columns_are_never_null(stream: pa.Table) -> None:
    assert [name for name in SCHEMA.names if not SCHEMA.field(name).nullable and stream[name].null_count] == []


def test_events_are_in_order_as_a_whole_and_within_each_flight(stream: pa.Table) -> None:
    assert stream["event_time"].to_pandas().is_monotonic_increasing
    events = stream.select([*KEY, "event_time", "status"]).to_pandas()
    rank = events.status.map({"scheduled": 0, "departed": 1, "cancelled": 1, "arrived": 2})
    by_life = events.assign(rank=rank).sort_values([*KEY, "rank"], kind="stable")
    same_flight = (by_life[list(KEY)] == by_life[list(KEY)].shift()).all(axis=1)
    assert (by_life.event_time.diff()[same_flight] > pd.Timedelta(0)).all()


def test_time_on_the_way_contains_the_time_in_the_air() -> None:
    rows = final_rows()
    arrived = rows.filter(pc.equal(rows["status"], "arrived")).to_pandas()
    on_the_way = (arrived.arrived_at - arrived.departed_at) / pd.Timedelta(minutes=1)
    assert (on_the_way[arrived.air_time.notna()] > arrived.air_time.dropna()).all()
    assert on_the_way.max() < 24 * 60


def test_the_clock_at_the_gate_shows_the_recorded_departure(stream: pa.Table) -> None:
    source = nycflights.flights().dropna(subset="dep_time").set_index(list(KEY)).sort_index()
    departed = stream.filter(pc.equal(stream["status"], "departed")).to_pandas().set_index(list(KEY)).sort_index()
    clock = departed.departed_at.dt.tz_convert(nycflights.NEW_YORK)
    assert ((clock.dt.hour * 100 + clock.dt.minute).to_numpy() == source.dep_time.to_numpy() % 2400).all()


@pytest.mark.slow
def test_the_final_rows_are_the_flights_of_the_source() -> None:
    final = final_rows().to_pandas().set_index(list(KEY))
    source = nycflights.flights().set_index(list(KEY)).sort_index()
    assert len(final) == FLIGHTS
    assert (final.index == source.index).all()
    final, source = final.reset_index(drop=True), source.reset_index(drop=True)
    for column in ("month", "origin", "dest", "dep_delay", "distance"):
        same = (final[column] == source[column]) | (final[column].isna() & source[column].isna())
        assert same.all(), column
    assert (final.flight_date.astype(str) == pd.to_datetime(source[["year", "month", "day"]]).dt.strftime("%F")).all()
    departed = source.dep_time.notna()
    assert (final.tailnum[departed] == source.tailnum[departed]).all()
    assert final.tailnum[~departed].isna().all()
    assert (final.delayed[departed] == (source.dep_delay[departed] > 15)).all()
    assert ((final.status == "arrived") == source.arr_time.notna()).all()
    assert ((final.status == "cancelled") == ~departed).all()


def test_the_events_of_a_flight_tell_its_final_row(stream: pa.Table) -> None:
    """Each column has one event that tells it, but for the time and the status, of which the newest count."""
    frame = stream.drop_columns([ROW_KIND]).to_pandas()
    reported = frame.groupby(list(KEY), sort=True).last().reset_index()
    final = final_rows().to_pandas()
    assert same(reported[list(final.columns)], final)
