"""What the demo launches, and what it prints."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import project_of_environment as project
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.demo.console import Maintained
from paimon_maintenance.demo.report import Change, Measured, RoundResult, changelog_report, table_report
from paimon_maintenance.demo.run import FLIGHTS, HONOLULU, ROUTE_DAY, WEATHER, changes_after, run_config


@pytest.mark.parametrize("identifier", [FLIGHTS, WEATHER, ROUTE_DAY])
def test_the_runs_config_is_one_that_the_launchpad_takes(identifier: str) -> None:
    job = build_definitions(project()).resolve_job_def(keys.job("maintain", identifier))
    dg.validate_run_config(job, run_config(identifier, 1))


def test_a_tables_report_shows_each_run_before_and_after() -> None:
    before = Measured(files=1234, sorted_runs_max=5, sorted_runs_mean=3.25, size=6_600_000, snapshots=20, seconds=0.5)
    after = Measured(files=14, sorted_runs_max=1, sorted_runs_mean=1.0, size=900, snapshots=10, seconds=0.125)
    result = RoundResult(before, after, Maintained(3, 4), batches=20, repeated=4, rows=1000, seconds=30.4)
    lines = [line.split() for line in table_report("db.t", "a = 1", [result, result])]
    assert ["files", "1,234", "14", "1,234", "14"] in lines
    assert ["sorted", "runs,", "most", "5", "1", "5", "1"] in lines
    assert ["size", "6.6", "MB", "0.9", "kB", "6.6", "MB", "0.9", "kB"] in lines
    assert ["snapshots", "20", "10", "20", "10"] in lines
    assert lines[-1][0] == "40"


def test_a_flights_changes_are_readable() -> None:
    moment = datetime(2013, 7, 11, 13, 51, tzinfo=UTC)
    row = {"rowkind": "+U", "status": "departed", "event_time": moment, "dep_delay": -9, "arr_delay": None}
    (*_, line) = changelog_report("a flight", [Change(29, {**row, "tailnum": "N1"})])
    assert line.split() == ["29", "+U", "departed", "2013-07-11", "13:51", "-9", "min", "-", "N1"]


def test_a_subscriber_reads_what_is_new_of_one_flight(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("demo")
    keys_of_flights = ["month", "time_hour", "carrier", "flight"]
    columns = [
        ("month", "INT NOT NULL"),
        ("time_hour", "TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL"),
        ("carrier", "STRING NOT NULL"),
        ("flight", "INT NOT NULL"),
        ("status", "STRING"),
    ]
    options = {"bucket": "1", "changelog-producer": "full-compaction"}
    catalog.create_table(FLIGHTS, Schema(columns, keys_of_flights, ["month"], options))
    table = catalog.get_table(FLIGHTS)
    assert isinstance(table, CatalogTable)

    def fly(status: str) -> None:
        hour = pa.array([datetime(2013, 7, 11, 14, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC"))
        flight = pa.array([51, 52], pa.int32())
        month = pa.array([7, 7], pa.int32())
        values = {"month": month, "time_hour": hour, "carrier": ["HA", "HA"], "flight": flight, "status": [status] * 2}
        table.write_arrow(pa.table(values))
        compact(None, table, full=True)

    def shown(changes: list[Change]) -> list[tuple[int, str, str]]:
        return [(change.snapshot_id, change.row["rowkind"], change.row["status"]) for change in changes]

    fly("scheduled")
    first, seen = changes_after(catalog, FLIGHTS, HONOLULU, 0)
    assert (shown(first), seen) == ([(2, "+I", "scheduled")], 2)
    fly("departed")
    second, seen = changes_after(catalog, FLIGHTS, HONOLULU, seen)
    assert (shown(second), seen) == ([(4, "-U", "scheduled"), (4, "+U", "departed")], 4)
    assert changes_after(catalog, FLIGHTS, HONOLULU, seen) == ([], 4)
