"""How long it takes to judge, plan and rank the work on many tables, from their metadata alone.

python -m benchmarks.fleet [tables]
"""

import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from maintenance.catalog import open_catalog
from maintenance.operations.fleet.plan_fleet import plan_fleet
from maintenance.operations.fleet.settings import Budget, FleetSettings
from maintenance.operations.history import HistoryEntry, history_table, write_history
from maintenance.sql import Session

_TABLES = 1000
_KINDS = {
    "append": "'compaction.min.file-num' = '4'",
    "key": "'primary-key' = 'a', 'bucket' = '2', 'num-sorted-run.compaction-trigger' = '3', 'write-only' = 'true'",
}
_COMMITS = 12


def main(arguments: list[str]) -> None:
    count = int(arguments[0]) if arguments else _TABLES
    with tempfile.TemporaryDirectory(prefix="paimon-fleet-") as folder:
        lake = Path(folder) / "lake"
        _tables(lake, count)
        catalog = open_catalog({"warehouse": str(lake)})
        now = datetime.now(UTC)
        past = [
            HistoryEntry(now - timedelta(days=day), f"default.t{number}", "compact", seconds=1.0 + number % 7)
            for number in range(count)
            for day in (2, 3, 4)
        ]
        write_history(catalog, history_table("_maintenance"), past)
        for turn in ("first", "second"):
            started, worked = time.perf_counter(), time.process_time()
            report = plan_fleet(None, catalog, settings=FleetSettings(Budget(seconds=600)), dry_run=True)
            took, of_processor = time.perf_counter() - started, time.process_time() - worked
            print(f"{turn}: {took:.2f} s, {of_processor:.2f} s of processor. {report.summary}")


def _tables(lake: Path, count: int) -> None:
    """Tables of two kinds, copies of one another: their files and snapshots are real."""
    session = Session({"warehouse": str(lake)})
    for kind, options in _KINDS.items():
        session.sql(f"CREATE TABLE {kind} (a INT, b STRING) TBLPROPERTIES ({options})")
        for value in range(_COMMITS):
            session.sql(f"INSERT INTO {kind} VALUES ({value}, 'x'), ({value + 1}, 'y')")
    for number in range(count):
        kind = list(_KINDS)[number % len(_KINDS)]
        shutil.copytree(lake / f"default.db/{kind}", lake / f"default.db/t{number}")
    for kind in _KINDS:
        shutil.rmtree(lake / f"default.db/{kind}")


if __name__ == "__main__":
    main(sys.argv[1:])
