"""The work on all tables within one budget: what is chosen, what is left out and why, and what is recorded."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree

import pytest

from maintenance.catalog import Catalog, open_catalog
from maintenance.cli.main import run
from maintenance.errors import OptionError
from maintenance.operations.databases.each_table import TableChoice
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.fleet.plan_fleet import LATER, NOW, FleetReport, PlanFleet, plan_fleet
from maintenance.operations.fleet.settings import Budget, FleetSettings, Weights
from maintenance.operations.history import HistoryEntry, history_table, read_history, write_history
from maintenance.operations.operation import Run
from maintenance.sql import Session

HISTORY = history_table("_maintenance")


OPTIONS = "'compaction.min.file-num' = '2', 'manifest.merge-min-count' = '2'"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten tables; the n-th has n + 1 files."""
    path = tmp_path_factory.mktemp("made") / "lake"
    session = Session({"warehouse": str(path)})
    for number in range(1, 11):
        session.sql(f"CREATE TABLE t{number:02} (a INT) TBLPROPERTIES ({OPTIONS})")
        for value in range(number + 1):
            session.sql(f"INSERT INTO t{number:02} VALUES ({value})")
    return path


@pytest.fixture
def lake(made: Path, tmp_path: Path) -> str:
    return str(copytree(made, tmp_path / "lake"))


@pytest.fixture
def catalog(lake: str) -> Catalog:
    return open_catalog({"warehouse": lake})


def learnt(catalog: Catalog, seconds: float, *names: str) -> None:
    """Compactions of tables took so long, some days ago."""
    at = datetime.now(UTC) - timedelta(days=8)
    write_history(catalog, HISTORY, [HistoryEntry(at, name, "compact", seconds=seconds) for name in names])


def tables(report: FleetReport, decision: str) -> list[str]:
    return [line.table for line in report.lines if line.decision == decision]


def test_a_budget_for_three_of_ten_takes_the_three_best_and_explains_the_others(catalog: Catalog) -> None:
    learnt(catalog, 10.0, *(f"default.t{number:02}" for number in range(1, 11)))
    settings = FleetSettings(Budget(seconds=30))
    report = plan_fleet(None, catalog, settings=settings, dry_run=True)
    assert tables(report, NOW) == ["default.t10", "default.t09", "default.t08"]
    assert tables(report, LATER) == [f"default.t{number:02}" for number in (7, 6, 5, 4, 3, 2, 1)]
    assert [line.gain.files for line in report.lines] == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert report.left_out[0].reason == (
        "others that come first take the budget of this day: this one gains 0.70 in a second"
    )
    days = [(line.turn - report.begins).days for line in report.left_out if line.turn is not None]
    assert days == [1, 1, 1, 2, 2, 2, 3]
    assert {line.expected.basis for line in report.lines} == {"1 run of this table and 10 runs of tables like it"}
    assert read_history(catalog, HISTORY, "default.t10")[0]["seconds"] == 10.0, "a dry run does nothing"


def test_one_that_starved_comes_first(catalog: Catalog) -> None:
    learnt(catalog, 10.0, *(f"default.t{number:02}" for number in range(1, 11)))
    session = Session({"warehouse": catalog.options["warehouse"]})
    session.sql(f"CREATE TABLE u (a INT) TBLPROPERTIES ({OPTIONS})")
    later = Run(now=datetime.now(UTC) + timedelta(days=20))
    settings = FleetSettings(Budget(seconds=30))
    for value in range(20):
        session.sql(f"INSERT INTO u VALUES ({value})")
    now = plan_fleet(None, catalog, settings=settings, dry_run=True)
    assert tables(now, NOW)[0] == "default.u"
    aged = plan_fleet(None, catalog, settings=settings, dry_run=True, run=later)
    assert tables(aged, NOW)[0] == "default.t01", "the oldest first, whatever it brings"
    assert set(tables(aged, NOW)[1:]) == {"default.t10", "default.u"}


def test_the_actions_are_operations_of_their_own_that_are_recorded_and_spend_the_budget(catalog: Catalog) -> None:
    choice = TableChoice(tables=r"default\.t0[123]")
    report = plan_fleet(None, catalog, choice, settings=FleetSettings(Budget(seconds=3600)))
    assert [line.outcome for line in report.chosen] == ["done"] * 3
    assert all(line.took is not None for line in report.chosen)
    for name in ("default.t01", "default.t02", "default.t03"):
        entry = read_history(catalog, HISTORY, name)[0]
        assert (entry["operation"], entry["files_after"]) == ("compact", 1)
        assert json.loads(entry["details"])["reason"] == "budget of all tables"
    again = plan_fleet(None, catalog, choice, settings=FleetSettings(Budget(seconds=3600)), dry_run=True)
    assert again.lines == ()
    assert again.spent_seconds == pytest.approx(sum(line.took or 0 for line in report.chosen))
    spent = FleetSettings(Budget(seconds=again.spent_seconds / 2))
    left = plan_fleet(None, catalog, settings=spent, dry_run=True)
    assert not left.chosen
    assert left.left_out[0].reason.startswith("the budget of this day is spent")


def test_expiry_goes_by_the_retention_that_is_set(catalog: Catalog) -> None:
    choice = TableChoice(tables=r"default\.t03")
    plan_fleet(None, catalog, choice)
    keeps = FleetSettings(retention=lambda _: RetentionChoice(retain_max=2, retain_min=1))
    (line,) = plan_fleet(None, catalog, choice, settings=keeps).lines
    assert (line.operation, line.outcome) == ("expire_snapshots", "done")
    assert line.gain.files == 0
    table = catalog.get_table("default.t03")
    assert len(table.snapshots.list_ids()) == 2
    assert json.loads(read_history(catalog, HISTORY, "default.t03")[0]["details"])["deleted_bytes"] >= 0


def test_partitions_are_actions_of_their_own(catalog: Catalog) -> None:
    session = Session({"warehouse": catalog.options["warehouse"]})
    options = "'bucket' = '1', 'primary-key' = 'a,p', 'num-sorted-run.compaction-trigger' = '2', 'write-only' = 'true'"
    session.sql(f"CREATE TABLE k (a INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ({options})")
    for value in range(4):
        session.sql(f"INSERT INTO k VALUES ({value}, 'x')")
    session.sql("INSERT INTO k VALUES (1, 'y')")
    session.sql("INSERT INTO k VALUES (2, 'y')")
    weighed = FleetSettings(Budget(seconds=5), Weights(runs=3))
    report = plan_fleet(None, catalog, TableChoice(tables=r"default\.k"), settings=weighed)
    assert [(line.scope, line.gain.runs, line.outcome) for line in report.lines] == [
        ("p=x", 3, "done"),
        ("p=y", 1, "done"),
    ]
    assert [line.value for line in report.lines] == [12.0, 4.0]


def test_outside_of_the_windows_nothing_is_done(catalog: Catalog) -> None:
    now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
    settings = FleetSettings(Budget(windows=("22:00-06:00",)))
    report = plan_fleet(None, catalog, settings=settings, run=Run(now=now))
    assert not report.chosen
    assert {line.turn for line in report.lines} == {datetime(2026, 3, 2, 22, tzinfo=UTC)}
    assert "outside of the windows" in report.lines[0].reason


def test_a_table_that_cannot_be_read_does_not_keep_the_others_waiting(catalog: Catalog, lake: str) -> None:
    for path in (Path(lake) / "default.db/t10/snapshot").glob("snapshot-*"):
        path.write_text("{}")
    report = plan_fleet(None, catalog, dry_run=True)
    assert tables(report, "unread") == ["default.t10"]
    assert len(report.chosen) == 9


def test_paimonctl_goes_by_the_budget_of_tables_yaml(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tables.yaml"
    text = f"warehouse: {lake}\npatterns: [{{ pattern: '*.*' }}]\nfleet:\n  budget: {{ seconds: 5, bytes: 1 gb }}\n"
    path.write_text(text)
    assert run(["--tables", str(path), "fleet", "--dry-run", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["table"] for line in lines if line["decision"] == "now"] == ["default.t10", "default.t09"]
    path.write_text(text.replace("seconds", "minutes"))
    assert run(["--tables", str(path), "fleet", "--dry-run"]) != 0
    assert "'minutes' is not a budget: there are seconds, bytes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "request_", [PlanFleet(bytes="much"), PlanFleet(windows=["noon"]), PlanFleet(windows=["25:00-26:00"])]
)
def test_a_budget_that_is_none_is_refused(request_: PlanFleet, catalog: Catalog) -> None:
    with pytest.raises(OptionError, match=r"expected a memory size|is not a window"):
        request_.checked()


@pytest.mark.parametrize(("reason", "owed"), [("budget of all tables", 20.0), ("sensor", 0.0)])
def test_what_plans_took_beyond_the_budget_yesterday_is_taken_off_today(
    catalog: Catalog, reason: str, owed: float
) -> None:
    learnt(catalog, 10.0, *(f"default.t{number:02}" for number in range(1, 11)))
    now, budget = datetime.now(UTC), Budget(seconds=30)
    at, details = budget.begins(now) - timedelta(hours=1), {"reason": reason}
    entry = HistoryEntry(at, "default.t01", "compact_manifest", seconds=50, details=details)
    write_history(catalog, HISTORY, [entry])
    report = plan_fleet(None, catalog, settings=FleetSettings(budget), dry_run=True, run=Run(now=now))
    assert (report.spent_seconds, report.owed.seconds) == (0.0, owed)
    assert len(report.chosen) == (1 if owed else 3)


@pytest.mark.parametrize(
    "options",
    [
        "'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
        "'bucket' = '-2', 'postpone.batch-write-fixed-bucket' = 'false'",
    ],
)
def test_rows_that_nobody_sees_come_first_after_one_commit(catalog: Catalog, options: str) -> None:
    session = Session({"warehouse": catalog.options["warehouse"]})
    session.sql(f"CREATE TABLE unseen (a INT) TBLPROPERTIES ('primary-key' = 'a', 'write-only' = 'true', {options})")
    session.sql("INSERT INTO unseen VALUES (1), (2)")
    weights = Weights(files=1, bytes=0, runs=0)
    report = plan_fleet(None, catalog, settings=FleetSettings(Budget(seconds=2), weights), dry_run=True)
    assert tables(report, NOW) == ["default.unseen"]
    assert report.chosen[0].reason.startswith(("2 rows cannot be seen", "2 committed rows cannot be seen"))
    assert len(report.left_out) == 10
