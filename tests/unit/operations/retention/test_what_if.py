"""What other retention would delete is what the expiry then deletes."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    delete_tag,
    expire_snapshots,
    expire_tags,
    reset_consumer,
    what_if,
)
from maintenance.sql import Session
from tests.models.reachable import files_on_disk
from tests.small_tables import put, set_commit_time, small_table, table_in

NOW = datetime(2024, 5, 14, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def bytes_on_disk(table: CatalogTable) -> int:
    """Of all files but the hints."""
    paths = [Path(path) for path in files_on_disk(table)]
    return sum(path.stat().st_size for path in paths if path.name not in ("EARLIEST", "LATEST"))


def at_hours_ago(table: CatalogTable, hours: float) -> None:
    latest = table.snapshots.latest_id()
    assert latest is not None
    set_commit_time(table, latest, int((NOW - hours * HOUR).timestamp() * 1000))


def history(folder: Path, seed: int) -> CatalogTable:
    """Writes and compactions of the last day, with tags, a branch and a consumer."""
    dice = random.Random(seed)
    table = small_table(folder, {"changelog-producer": dice.choice(["none", "input"]), "bucket": "1"})
    for hours in range(24, 0, -2):
        put(table, {dice.randint(0, 9): f"{hours}" * 50 for _ in range(4)})
        at_hours_ago(table, hours)
        if dice.random() < 0.3:
            compact(None, table, full=True)
            at_hours_ago(table, hours - 0.5)
    latest = table.snapshots.latest_id() or 0
    for name in ("a", "b"):
        retained = dice.choice([None, 2 * HOUR])
        create_tag(table, name, snapshot_id=dice.randint(1, latest), time_retained=retained, now=NOW - 3 * HOUR)
    create_branch(table, "other", snapshot_id=dice.randint(1, latest))
    reset_consumer(table, "job", dice.randint(1, latest))
    return table


@pytest.mark.parametrize("seed", range(6))
def test_predicted_bytes_are_the_freed_bytes(tmp_path: Path, seed: int) -> None:
    table = history(tmp_path, seed)
    options = {
        "snapshot.num-retained.min": "1",
        "snapshot.time-retained": ["1 h", "5 h", "10 h"][seed % 3],
        "consumer.expiration-time": "30 d",
    }
    removed = ["a"] if seed % 2 else []
    report = what_if(table, options, without_tags=removed, ahead=[timedelta(0), 6 * HOUR], now=NOW)
    at_once, later = report.losses
    assert files_on_disk(table) == files_on_disk(table_in(tmp_path))
    before, used = files_on_disk(table), bytes_on_disk(table)
    tried = table.copy(options)
    delete_tag(tried, *removed)
    expire_tags(tried, now=NOW)
    assert expire_snapshots(tried, now=NOW).expired == at_once.snapshots
    assert used - bytes_on_disk(table) == at_once.bytes > 0
    gone = {str(path) for path in before} - {str(path) for path in files_on_disk(table)}
    assert {path.removeprefix("file://") for path in report.paths} >= {p for p in gone if "EARLIEST" not in p}
    expire_tags(tried, now=NOW + 6 * HOUR)
    expire_snapshots(tried, now=NOW + 6 * HOUR)
    assert used - bytes_on_disk(table) == later.bytes >= at_once.bytes


def test_consumers_that_are_gone_hold_nothing(tmp_path: Path) -> None:
    table = history(tmp_path, 3)
    reset_consumer(table, "job", 1)
    options = {"snapshot.num-retained.min": "1"}
    assert what_if(table, options, now=NOW).losses[0].snapshots == ()
    without = what_if(table, options, without_consumers=["job"], now=NOW).losses[0]
    assert without.snapshots[0] == 1
    assert without.lost_from == NOW - 24 * HOUR
    assert without.lost_to is not None
    with pytest.raises(NotFoundError, match="'nobody' does not exist"):
        what_if(table, without_tags=["nobody"])
    with pytest.raises(NotFoundError, match="'nobody' does not exist"):
        what_if(table, without_consumers=["nobody"])


def test_a_day_ahead_more_is_gone(tmp_path: Path) -> None:
    table = history(tmp_path, 4)
    options = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "12 h"}
    losses = what_if(table, options, without_consumers=["job"], now=NOW).losses
    assert [loss.moment - NOW for loss in losses] == [timedelta(days=days) for days in (0, 1, 7, 30)]
    assert len(losses[0].snapshots) < len(losses[1].snapshots) == len(losses[2].snapshots)
    assert losses[0].bytes < losses[1].bytes


def test_it_is_a_procedure(tmp_path: Path) -> None:
    table = history(tmp_path, 5)
    session = Session({"warehouse": str(tmp_path)})
    shown = session.sql(
        "CALL sys.what_if(table => 'db.t', options => 'snapshot.num-retained.min=1,snapshot.num-retained.max=2', "
        "without_consumers => 'job')"
    ).to_arrow()
    assert shown.column("snapshots").to_pylist()[0] == (table.snapshots.latest_id() or 0) - 1
    assert shown.column_names == [
        "moment", "snapshots", "tags", "files", "bytes", "lost_from", "lost_to", "kept_tags"
    ]  # fmt: skip
