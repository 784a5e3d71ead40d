"""The history table: in a database of its own, and small without anybody's care."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from maintenance.catalog import open_catalog
from maintenance.operations.history import (
    HistoryEntry,
    history_table,
    read_histories,
    read_history,
    write_history,
)

TABLE = history_table("_maintenance")


def test_many_runs_leave_few_files_and_snapshots(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    for number in range(45):
        entry = HistoryEntry(
            datetime.now(UTC), f"db.t{number % 2}", "compact", run_id=str(number), seconds=float(number)
        )
        write_history(catalog, TABLE, [entry])
    assert catalog.list_databases() == ["_maintenance"]
    table = catalog.get_table(TABLE)
    assert table.to_arrow().num_rows == 45
    assert len(table.snapshots.list_ids()) <= 40
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert len(table.manifests.live_entries(snapshot)) < 20
    newest = read_history(catalog, TABLE, "db.t1")
    assert [row["run_id"] for row in newest[:2]] == ["43", "41"]


def test_the_last_runs_of_every_table_are_read_at_once(tmp_path: Path) -> None:
    catalog, now = open_catalog({"warehouse": str(tmp_path)}), datetime.now(UTC)
    assert read_histories(catalog, TABLE, now) == {}
    ages = {"db.old": [timedelta(days=40)], "db.t": [timedelta(hours=1), timedelta()], "db.u": [timedelta(hours=2)]}
    entries = [
        HistoryEntry(now - age, name, f"{number}")
        for name, histories in ages.items()
        for number, age in enumerate(histories)
    ]
    write_history(catalog, TABLE, entries)
    histories = read_histories(catalog, TABLE, now - timedelta(days=30))
    assert {name: [row["operation"] for row in rows] for name, rows in histories.items()} == {
        "db.t": ["1", "0"],
        "db.u": ["0"],
    }
