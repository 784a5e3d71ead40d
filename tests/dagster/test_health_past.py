"""The health of tables over time: kept by the sensor without a run, bounded, with a line and a date."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.monitor.score import MEASURES, Part
from maintenance.operations.compaction.compact import compact
from maintenance.project.config import Project, TableConfig
from maintenance.project.policies import HealthPolicy
from paimon_maintenance.assets.checks.health_past import HealthPast, Point, past_of
from tests.dagster.conftest import checks_of, evaluate
from tests.small_tables import put, small_table

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def point(before: timedelta, runs: float) -> Point:
    return Point(NOW - before, {"score": 90, "sorted_runs": runs})


def past(*points: Point) -> HealthPast:
    found = HealthPast()
    for one in points:
        found = found.with_point(one)
    return found


@given(st.lists(st.integers(0, 200 * 24 * 60), min_size=1, max_size=400))
def test_the_points_are_bounded_and_the_newest_is_there(minutes: list[int]) -> None:
    ordered = sorted(minutes, reverse=True)
    found = past(*(point(timedelta(minutes=minute), minute) for minute in ordered))
    newest = NOW - timedelta(minutes=ordered[-1])
    assert found.points[-1].at == newest
    assert len(found.points) <= 24 * 6 + 7 * 12 + 90 + 3
    assert all(newest - one.at <= timedelta(days=90) for one in found.points)
    assert [one.at for one in found.points] == sorted({one.at for one in found.points})
    assert HealthPast.parse(found.serialize()) == found


def test_a_year_of_ticks_is_kept_in_little_space() -> None:
    found = HealthPast()
    values = dict.fromkeys(("score", *MEASURES), 123456.789)
    for tick in range(20_000):
        found = HealthPast((*found.points, Point(NOW + tick * timedelta(minutes=5), values)))
        if tick % 500 == 0:
            found = found.with_point(found.points[-1])
    assert len(found.with_point(found.points[-1]).serialize()) < 64 * 1024


def test_what_rises_has_a_date_at_which_it_is_at_its_target() -> None:
    hourly = past(*(point(timedelta(hours=hours), 10 - hours) for hours in range(9, -1, -1)))
    runs = Part(MEASURES["sorted_runs"], 10, 30)
    assert hourly.reaches(runs, NOW) == pytest.approx(NOW + timedelta(hours=20), abs=timedelta(seconds=1))
    assert hourly.reaches(Part(MEASURES["small_files"], 1, 9), NOW) is None, "nothing is known of it"
    falling = past(*(point(timedelta(hours=hours), hours) for hours in range(9, -1, -1)))
    assert falling.reaches(runs, NOW) is None
    assert hourly.reaches(Part(MEASURES["sorted_runs"], 31, 30), NOW) is None, "it is there already"
    assert past(point(timedelta(hours=2), 1), point(timedelta(0), 9)).reaches(runs, NOW) is None, (
        "two points are no line"
    )


def test_what_makes_no_sense_counts_as_nothing() -> None:
    for text in (None, "", "?", "[]", '{"names": ["score"], "points": [[1, 2, 3]]}'):
        assert HealthPast.parse(text) == HealthPast()


def test_the_sensor_keeps_the_health_of_each_table_and_its_page_has_the_score(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    table = small_table(tmp_path)
    for number in range(3):
        put(table, {number: "a"})
    config = TableConfig(identifier="db.t", health=HealthPolicy(targets={"sorted_runs": 1}))
    project = Project(warehouse=str(tmp_path), history=None, tables=(config,))
    data = evaluate(project, instance, "check_radar")
    (seen,) = past_of(instance, ["db.t"])["db.t"].points
    assert seen.values["sorted_runs"] == 2
    (page,) = [e for e in data.asset_events if e.asset_key.path == ["db", "t"] and "health score" in e.metadata]
    assert page.metadata["health score"].value == seen.values["score"] < 100
    (worst, *_) = page.metadata["parts of the health"].records
    assert (worst.data["part"], worst.data["target"], worst.data["state"]) == (
        "sorted_runs",
        "1 sorted runs",
        "over target",
    )
    (fleet,) = [e for e in data.asset_events if "fleet" in (e.metadata or {})]
    assert fleet.metadata["fleet"].records[0].data["health"] == str(page.metadata["health score"].value)


def test_targets_of_parts_that_there_are_not_are_refused() -> None:
    with pytest.raises(ValueError, match="'sorted_run' is no part of the health: invisible_seconds, sorted_runs"):
        HealthPolicy(targets={"sorted_run": 1})
    with pytest.raises(ValueError, match="the target of 'sorted_runs' is below 0"):
        HealthPolicy(targets={"sorted_runs": -1})


@pytest.mark.parametrize("options", [{"deletion-vectors.enabled": "true"}, {"merge-engine": "first-row"}])
def test_one_commit_that_is_not_visible_makes_a_table_due_at_once_and_a_check_says_so(
    tmp_path: Path, instance: dg.DagsterInstance, options: dict[str, str]
) -> None:
    table = small_table(tmp_path, options)
    project = Project(warehouse=str(tmp_path), history=None, tables=(TableConfig(identifier="db.t"),))
    put(table, {1: "a"})
    data = evaluate(project, instance, "latest_snapshots")
    (request,) = data.run_requests
    assert request.job_name == "compact_db_t"
    assert "1 committed row in 1 file is invisible to batch reads" in request.tags["paimon/reason"]
    radar = evaluate(project, instance, "check_radar")
    (red,) = [check for check in checks_of(radar) if check.check_name == "rows_visible"]
    assert not red.passed
    assert "1 committed row in 1 file is invisible to batch reads until a compaction" in str(red.description)
    # Once it has been compacted, a later commit makes it due at once, too.
    compact(None, table)
    seen = evaluate(project, instance, "latest_snapshots", data.cursor)
    assert not seen.run_requests
    green = evaluate(project, instance, "check_radar", radar.cursor)
    assert [check.passed for check in checks_of(green) if check.check_name == "rows_visible"] == [True]
    put(table, {2: "b"})
    assert len(evaluate(project, instance, "latest_snapshots", seen.cursor).run_requests) == 1
    assert "1 committed row" in table_due(project, instance)


def table_due(project: Project, instance: dg.DagsterInstance) -> str:
    """What the check of what is due says."""
    data = evaluate(project, instance, "check_radar")
    (check,) = [check for check in checks_of(data) if check.check_name == "nothing_due"]
    return str(check.description)
