"""What maintenance of tables costs and saves: what the history has, what is stored, and both as money."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import Catalog, open_catalog
from maintenance.cli.main import run
from maintenance.operations.fleet.fleet_costs import fleet_costs
from maintenance.operations.fleet.plan_fleet import plan_fleet
from maintenance.operations.fleet.settings import FleetSettings, Prices
from maintenance.operations.history import FAILED, HistoryEntry, history_table, write_history
from maintenance.operations.operation import Run
from maintenance.sql import Session

HISTORY = history_table("_maintenance")


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A table with four files, of which each commit adds one."""
    session = Session({"warehouse": str(tmp_path / "lake")})
    session.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('compaction.min.file-num' = '2')")
    for value in range(4):
        session.sql(f"INSERT INTO t VALUES ({value})")
    return open_catalog({"warehouse": str(tmp_path / "lake")})


def test_a_month_of_work_is_added_up_and_has_a_price(catalog: Catalog) -> None:
    now = datetime.now(UTC)
    entries = [
        HistoryEntry(now, "default.t", "compact", seconds=3600.0, input_bytes=10, files_before=9, files_after=2,
                     details={"core_seconds": 7200.0, "requests": 500_000}),
        HistoryEntry(now, "default.t", "expire_snapshots", seconds=1800.0, details={"deleted_bytes": 1 << 31}),
        HistoryEntry(now, "default.t", "compact", FAILED),
        HistoryEntry(now - timedelta(days=31), "default.t", "compact", seconds=9.0),
    ]  # fmt: skip
    write_history(catalog, HISTORY, entries)
    prices = Prices(gb_month=0.02, million_requests=4.0, core_hour=0.1, currency="EUR")
    (table,) = fleet_costs(catalog, settings=FleetSettings(prices=prices)).tables
    assert (table.work.runs, table.work.failed, table.work.files_less) == (3, 1, 7)
    assert (table.work.seconds, table.work.core_seconds, table.work.requests) == (5400.0, 9000.0, 500_000)
    assert table.spent(prices) == pytest.approx(0.1 * 2.5 + 4.0 * 0.5)
    assert table.saved(prices) == pytest.approx(0.04)
    assert table.following is not None
    assert (table.following.operation, table.following.gain.files) == ("compact", 3)


def test_stored_bytes_are_told_by_who_holds_them(catalog: Catalog) -> None:
    before = fleet_costs(catalog, orphans=True).tables[0]
    plan_fleet(None, catalog)
    table = catalog.get_table("default.t")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    live = sum(entry.file.file_size for entry in table.manifests.live_entries(snapshot))
    after = fleet_costs(catalog, orphans=True, run=Run(warehouse=catalog.options["warehouse"])).tables[0]
    assert (before.retained, before.orphans, before.binned) == (0, 0, None)
    assert (after.live, after.retained, after.binned) == (live, before.live, 0)


def test_the_work_within_a_budget_records_what_it_used(catalog: Catalog) -> None:
    plan_fleet(None, catalog)
    (table,) = fleet_costs(catalog).tables
    assert table.work.core_seconds > 0
    assert table.work.requests is not None
    assert table.work.requests > 5
    assert (table.work.read_bytes, table.work.written_bytes) == (table.retained, table.live)


def test_work_counts_however_much_of_it_there_is(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maintenance.operations.history._ROWS_AT_ONCE", 7)
    monkeypatch.setattr("maintenance.operations.history._ROWS_OF_ALL", 5)
    write_history(catalog, HISTORY, [HistoryEntry(datetime.now(UTC), "default.t", "tag", seconds=1.0)] * 30)
    (table,) = fleet_costs(catalog).tables
    assert table.work.runs == 30


def test_paimonctl_goes_by_the_prices_of_tables_yaml(
    catalog: Catalog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_history(catalog, HISTORY, [HistoryEntry(datetime.now(UTC), "default.t", "compact", seconds=7200.0)])
    path = tmp_path / "tables.yaml"
    path.write_text(
        f"warehouse: {tmp_path}/lake\npatterns: [{{ pattern: '*.*' }}]\ncosts: {{ core_hour: 0.5, currency: EUR }}\n"
    )
    assert run(["--tables", str(path), "costs", "--json"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["spent"], row["currency"], row["runs"]) == (1.0, "EUR", 1)
