"""A lake to look at in the console: tables in every state, with levels, partitions, tags, writers and a history."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import OPERATION as COMPACT
from maintenance.operations.compaction.compact import compact
from maintenance.operations.history import FAILED, HistoryEntry, history_table, write_history
from maintenance.operations.refs.create_tag import create_tag
from tests.tables import create_table, get_table, keyed, open_warehouse

TABLES = """\
warehouse: {lake}
alerts: {{url: "http://127.0.0.1:3000"}}
patterns:
  - pattern: "db.*"
    owners: ["team:lake"]
    retention: {{keep_at_least: 3}}
tables:
  - identifier: db.orders
    description: Orders by day, as the shops send them.
    owners: ["ann@example.com"]
    compaction: {{trigger: 5}}
    writers: {{shops: the stream of the shops, backfill: the nightly backfill}}
  - {{identifier: db.later, columns: {{v: STRING}}}}
"""


def build(folder: Path) -> Path:
    """The lake and its tables.yaml, whose path is returned."""
    lake = folder / "lake"
    orders = _orders(lake)
    table = create_table(lake, name="db.customers")
    for number in range(3):
        table.write_arrow(keyed({number: "a", number + 1: "b"}), commit_user="crm", commit_identifier=number)
    compact(None, table, full=True)
    clicks = create_table(lake, (("v", "STRING"),), (), name="db.clicks_of_all_shops_and_of_the_app")
    for _ in range(4):
        clicks.write_arrow(pa.table({"v": ["click"] * 500}))
    broken = create_table(lake, name="db.broken")
    broken.write_arrow(keyed({1: "a"}))
    Path(broken.paths.snapshot(1)).write_bytes(b"{")
    write_past(lake)
    COMPACT.dry_run(get_table(lake, "db.customers"), full=True).store(orders.file_io, str(lake))
    COMPACT.dry_run(get_table(lake, "db.orders"), full=True).store(orders.file_io, str(lake))
    path = folder / "tables.yaml"
    path.write_text(TABLES.format(lake=lake))
    return path


def _orders(lake: Path) -> CatalogTable:
    fields = (("day", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
    table = create_table(lake, fields, ("day", "id"), {"bucket": "2"}, partition_keys=("day",), name="db.orders")
    for number in range(14):
        days = range(1, 13) if number < 2 else range(1 + number % 3, 13, 3 + number % 4)
        rows = [(day, key) for day in days for key in range(20 * (number % 5 + 1))]
        values = pa.table(
            {
                "day": pa.array([day for day, _ in rows], pa.int32()),
                "id": pa.array([key for _, key in rows], pa.int32()),
                "v": [f"value {number} {key}" * 5 for _, key in rows],
            }
        )
        table.write_arrow(values, commit_user="backfill" if number in (6, 9) else "shops", commit_identifier=number)
        if number == 4:
            compact(None, table, full=True)
            create_tag(table, "month-end")
    table.consumers.record("dashboard", 9)
    return get_table(lake, "db.orders")


def write_past(lake: Path, database: str = "db") -> None:
    """A history of operations on three tables of a database, of which one has failed."""
    now = datetime.now(UTC)
    entries = [
        HistoryEntry(
            now - timedelta(days=days, hours=1), f"{database}.orders", "compact", run_id=f"82242f5{days}-6c1b",
            seconds=4.2 + days, files_before=60 - days, files_after=24,
            bytes_before=(9 - days) << 20, bytes_after=(8 - days) << 20,
            details={"reason": "sensor latest_snapshots", "proof": "every row was compared"},
        )
        for days in range(6)
    ]  # fmt: skip
    freed = {"deleted_bytes": 5 << 20, "reason": "schedule daily_expiry"}
    entries.append(
        HistoryEntry(now - timedelta(hours=2), f"{database}.customers", "expire_snapshots", seconds=0.4, details=freed)
    )
    lost = {"found": "manifest-1 is missing\nNext step: Run fsck, then roll back.", "reason": "schedule daily_expiry"}
    broken, at = f"{database}.broken", now - timedelta(hours=2)
    entries.append(HistoryEntry(at, broken, "expire_snapshots", FAILED, "1b0f1c2d-1", details=lost))
    write_history(open_warehouse(lake), history_table("_maintenance"), entries)
