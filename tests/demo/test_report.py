"""What the demo launches, and what it prints."""

from datetime import UTC, datetime

import dagster as dg
import pytest

from assets import keys
from definitions import build_definitions, project
from demo.changelog import Change
from demo.report import Measured, RoundResult, changelog_report, table_report
from demo.run import FLIGHTS, WEATHER, run_config


@pytest.mark.parametrize("identifier", [FLIGHTS, WEATHER])
def test_the_runs_config_is_one_that_the_launchpad_takes(identifier: str) -> None:
    job = build_definitions(project()).resolve_job_def(keys.job("maintain", identifier))
    dg.validate_run_config(job, run_config(identifier, 1))


def test_a_tables_report_shows_each_run_before_and_after() -> None:
    before = Measured(files=1234, sorted_runs_max=5, sorted_runs_mean=3.25, size=6_600_000, snapshots=20, seconds=0.5)
    after = Measured(files=14, sorted_runs_max=1, sorted_runs_mean=1.0, size=900, snapshots=10, seconds=0.125)
    result = RoundResult(before, after, batches=20, repeated=4, rows=1000, seconds=30.4)
    lines = [line.split() for line in table_report("db.t", "a = 1", [result, result])]
    assert ["files", "1,234", "14", "1,234", "14"] in lines
    assert ["sorted", "runs,", "most", "5", "1", "5", "1"] in lines
    assert ["size", "6.6", "MB", "0.9", "kB", "6.6", "MB", "0.9", "kB"] in lines
    assert ["snapshots", "20", "10", "20", "10"] in lines
    assert lines[-1][0] == "40"


def test_a_flights_changes_are_readable() -> None:
    row = {"status": "departed", "event_time": datetime(2013, 7, 11, 13, 51, tzinfo=UTC), "dep_delay": -9}
    (*_, line) = changelog_report("a flight", [Change(29, "+U", {**row, "arr_delay": None, "tailnum": "N1"})])
    assert line.split() == ["29", "+U", "departed", "2013-07-11", "13:51", "-9", "min", "-", "N1"]
