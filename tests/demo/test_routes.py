"""Routes and days: what the changes of the flights make of them."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest

from maintenance.catalog import Schema, open_catalog
from paimon_maintenance.demo.flights import ROW_KIND
from paimon_maintenance.demo.routes import READ, all_aircraft, expected, found, records, same
from tests.tables import get_table

DAY = dt.date(2013, 1, 1)
OPTIONS = {
    "bucket": "1",
    "merge-engine": "aggregation",
    "fields.default-aggregate-function": "sum",
    **{
        f"fields.{column}.{option}": value
        for column, function in (("delay_max", "max"), ("aircraft", "rbm32"), ("carriers", "listagg"))
        for option, value in (("aggregate-function", function), ("ignore-retract", "true"))
    },
    "fields.carriers.distinct": "true",
}
COLUMNS = (
    ("origin", "CHAR(3) NOT NULL"),
    ("dest", "CHAR(3) NOT NULL"),
    ("flight_date", "DATE NOT NULL"),
    *((name, "BIGINT") for name in ("flights", "cancellations", "delay_sum")),
    ("delay_max", "SMALLINT"),
    ("aircraft", "BYTES"),
    ("carriers", "STRING"),
)


def changes(*rows: tuple[str, str, int | None, str | None, str]) -> pa.Table:
    """(kind, status, delay, tail number, carrier) of flights from JFK to LAX."""
    kinds, statuses, delays, tails, carriers = zip(*rows, strict=True)
    columns = {
        "rowkind": pa.array(kinds),
        "origin": pa.array(["JFK"] * len(rows)),
        "dest": pa.array(["LAX"] * len(rows)),
        "flight_date": pa.array([DAY] * len(rows), pa.date32()),
        "status": pa.array(statuses),
        "dep_delay": pa.array(delays, pa.int16()),
        "tailnum": pa.array(tails, pa.string()),
        "carrier": pa.array(carriers),
    }
    return pa.table({name: columns[name] for name in READ})


def test_departures_and_cancellations_are_added_up_by_route_and_day(tmp_path: object) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(COLUMNS, ["origin", "dest", "flight_date"], options=OPTIONS))
    scheduled = [("+I", "scheduled", None, None, carrier) for carrier in ("AA", "AA", "B6")]
    first = changes(*scheduled)
    second = changes(
        ("-U", "scheduled", None, None, "AA"),
        ("+U", "departed", 7, "N0EGMQ", "AA"),
        ("-U", "scheduled", None, None, "B6"),
        ("+U", "cancelled", None, None, "B6"),
    )
    third = changes(("-U", "departed", 7, "N0EGMQ", "AA"), ("+U", "arrived", 7, "N0EGMQ", "AA"))
    for part in (first, second, third):
        rows = records(part, all_aircraft())
        table = get_table(str(tmp_path))
        table.write_arrow(rows.drop_columns([ROW_KIND]), rows[ROW_KIND].combine_chunks())
    (row,) = found(get_table(str(tmp_path)).to_arrow()).to_dict("records")
    assert row == {
        "origin": "JFK",
        "dest": "LAX",
        "flight_date": DAY,
        "flights": 2,
        "cancellations": 1,
        "delay_sum": 7,
        "delay_max": 7,
        "aircraft": 1,
        "carriers": "AA,B6",
    }


def test_what_is_expected_covers_every_flight() -> None:
    rows = expected()
    assert rows.flights.sum() + rows.cancellations.sum() == 336_776
    assert rows.cancellations.sum() == 8_255


@pytest.mark.parametrize(("other", "equal"), [([1.0, None], True), ([1.0, 2.0], False), ([None, 1.0], False)])
def test_frames_with_nulls_compare(other: list[float | None], equal: bool) -> None:
    assert same(pd.DataFrame({"a": [1, None]}), pd.DataFrame({"a": other})) is equal
    assert not same(pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1, 1]}))
