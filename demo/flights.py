"""The flights as a change stream, the way an airport's operational database would send it.

Each flight is a row that lives through up to three events. Each tells its part of the row, and leaves the others null:

- *scheduled*, an insert (+I): the day's schedule is published at 23:00 UTC, the early evening before;
- *departed*, an update (+U), at the scheduled departure plus the delay;
- *arrived*, an update (+U), when the clock at the destination shows the recorded arrival time. The 458 flights that
  departed without a recorded arrival were diverted and never arrived: they stay *departed*. 717 more did arrive after a
  diversion; for them the source has no arrival delay and no air time, and both stay null.

The 8,255 flights that never departed are *cancelled* instead, an update (+U) at their scheduled departure.

So 336,776 rows are left in the end, each put together from its events in whatever order they came. Within a flight the
events' times strictly increase, also across midnight, time zones and daylight saving: every time is an instant,
computed from an instant and a duration.
"""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa

from paimon_maintenance.demo import nycflights

ROW_KIND = "_row_kind"
KEY = ("time_hour", "carrier", "flight")

_INSTANT = pa.timestamp("ms", "UTC")
_WALL_CLOCK = pa.timestamp("ms")

SCHEMA = pa.schema(
    [
        pa.field("month", pa.int32(), nullable=False),
        pa.field("time_hour", _INSTANT, nullable=False),
        pa.field("carrier", pa.string(), nullable=False),
        pa.field("flight", pa.int32(), nullable=False),
        pa.field("event_time", _INSTANT, nullable=False),
        pa.field("status", pa.string()),
        pa.field("scheduled_at", _INSTANT),
        pa.field("flight_date", pa.date32()),
        pa.field("origin", pa.string()),
        pa.field("dest", pa.string()),
        pa.field("sched_dep", _WALL_CLOCK),
        pa.field("departed_at", _INSTANT),
        pa.field("arrived_at", _INSTANT),
        pa.field("dep_delay", pa.int16()),
        pa.field("arr_delay", pa.int16()),
        pa.field("air_time", pa.int16()),
        pa.field("delayed", pa.bool_()),
        pa.field("tailnum", pa.string()),
        pa.field("seats", pa.int16()),
        pa.field("distance", pa.int32()),
        pa.field("distance_km", pa.decimal128(7, 1)),
        pa.field("seat_miles", pa.int64()),
        pa.field("speed", pa.float64()),
        pa.field(ROW_KIND, pa.string(), nullable=False),
    ]
)
"""The columns of the stream: those of the table demo.flights, then the row kind as a short string."""

_PARTS = {
    "scheduled": ("scheduled_at", "flight_date", "origin", "dest", "sched_dep", "distance", "distance_km"),
    "departed": ("departed_at", "dep_delay", "delayed", "tailnum", "seats", "seat_miles"),
    "arrived": ("arrived_at", "arr_delay", "air_time", "speed"),
    "cancelled": (),
}
_OF_EVERY_EVENT = ("month", *KEY, "event_time", "status", ROW_KIND)


def _with_times(flights: pd.DataFrame) -> pd.DataFrame:
    """Add the instants of a flight's life: ``scheduled_at``, ``sched_dep_at``, ``departed_at``, ``arrived_at``."""
    dates = pd.to_datetime(flights[["year", "month", "day"]])
    sched_dep_at = flights.time_hour + pd.to_timedelta(flights.minute, unit="min")
    departed_at = sched_dep_at + pd.to_timedelta(flights.dep_delay, unit="min")
    return flights.assign(
        flight_date=dates,
        scheduled_at=dates.dt.tz_localize("UTC") - pd.Timedelta(hours=1),
        sched_dep_at=sched_dep_at,
        sched_dep=sched_dep_at.dt.tz_convert(nycflights.NEW_YORK).dt.tz_localize(None),
        departed_at=departed_at,
        arrived_at=departed_at + _time_on_the_way(departed_at, flights),
    )


def _time_on_the_way(departed_at: pd.Series, flights: pd.DataFrame) -> pd.Series:
    """Durations from departure to arrival: what the clock at the destination moved on, always less than a day."""
    zones = flights.dest.map(nycflights.airports().set_index("faa").tzone)
    zones = zones.fillna("America/Puerto_Rico")  # the airports that the package lacks lie there and on St. Thomas
    arrival_minutes = flights.arr_time // 100 * 60 + flights.arr_time % 100
    minutes = pd.Series(float("nan"), index=flights.index)
    for zone, rows in zones.groupby(zones).groups.items():
        clock = departed_at[rows].dt.tz_convert(zone)
        minutes[rows] = (arrival_minutes[rows] - clock.dt.hour * 60 - clock.dt.minute) % (24 * 60)
    return pd.to_timedelta(minutes, unit="min")


def _with_measures(flights: pd.DataFrame) -> pd.DataFrame:
    seats = flights.tailnum.map(nycflights.planes().set_index("tailnum").seats)
    return flights.assign(
        delayed=(flights.dep_delay > 15).where(flights.dep_delay.notna()),
        seats=seats,
        seat_miles=seats * flights.distance,
        distance_km=(flights.distance * 1.609344).round(1),
        speed=flights.distance / (flights.air_time / 60),
    )


def _event(flights: pd.DataFrame, status: str, time: str) -> pd.DataFrame:
    """One event for each of the flights; what it does not tell is null."""
    known = {*_OF_EVERY_EVENT, *_PARTS[status]}
    silent = dict.fromkeys(name for name in SCHEMA.names if name not in known)
    kind = "+I" if status == "scheduled" else "+U"
    return flights.assign(**silent, **{ROW_KIND: kind, "status": status, "event_time": flights[time]})


@cache
def _lives() -> pd.DataFrame:
    """All flights with the instants of their lives and their measures; not to be changed."""
    return _with_measures(_with_times(nycflights.flights()))


def change_stream() -> pa.Table:
    """All events of all flights in the order they happened, with columns SCHEMA."""
    flights = _lives()
    departed, arrived = flights.dep_time.notna(), flights.arr_time.notna()
    events = (
        _event(flights, "scheduled", "scheduled_at"),
        _event(flights[~departed], "cancelled", "sched_dep_at"),
        _event(flights[departed], "departed", "departed_at"),
        _event(flights[arrived], "arrived", "arrived_at"),
    )
    stream = pa.concat_tables(_to_arrow(event) for event in events)
    return stream.sort_by([("event_time", "ascending"), *((name, "ascending") for name in KEY)])


@cache
def final_rows() -> pa.Table:
    """The flights as they stand in the end, straight from the source, by key. Columns as of SCHEMA, no row kind."""
    flights = _lives().copy()
    departed, arrived = flights.dep_time.notna(), flights.arr_time.notna()
    status = np.select([arrived, departed], ["arrived", "departed"], "cancelled")
    last = flights.arrived_at.where(arrived, flights.departed_at.where(departed, flights.sched_dep_at))
    for part, known in (("departed", departed), ("arrived", arrived)):
        names = [name for name in _PARTS[part] if name in flights]
        flights[names] = flights[names].where(known)
    rows = _to_arrow(flights.assign(status=status, event_time=last, **{ROW_KIND: "+I"}))
    return rows.drop_columns([ROW_KIND]).sort_by([(name, "ascending") for name in KEY])


def _to_arrow(events: pd.DataFrame) -> pa.Table:
    return pa.table([_column(events[field.name], field) for field in SCHEMA], schema=SCHEMA)


def _column(values: pd.Series, field: pa.Field) -> pa.ChunkedArray:
    """`values` in the type of `field`; pandas holds whole numbers as floats where some are missing."""
    array = pa.Array.from_pandas(values)
    if pa.types.is_decimal(field.type):
        array = array.cast(pa.float64())
    return pa.chunked_array([array]).cast(field.type)
