"""Tags of periods that are over: the state at their end, and a refusal where it is no longer known."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import NotFoundError
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.period_tags import Period, state_at, tag_period

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 5, at noon of March 2, 3, 3 (an hour later), 5 and 7."""
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("v", "INT")], options={"bucket": "-1"}))
    opened = catalog.get_table("db.t")
    assert isinstance(opened, CatalogTable)
    for hours in (24, 48, 49, 96, 144):
        opened.write_arrow(pa.table({"v": pa.array([hours], pa.int32())}))
        path = Path(opened.paths.snapshot(opened.snapshots.latest_id() or 0))
        moment = NOON + timedelta(hours=hours)
        path.write_text(json.dumps({**json.loads(path.read_text()), "timeMillis": int(moment.timestamp() * 1000)}))
    fresh = catalog.get_table("db.t")
    assert isinstance(fresh, CatalogTable)
    return fresh


def state(table: CatalogTable, hours: float) -> int | None:
    snapshot = state_at(table, NOON + timedelta(hours=hours))
    return None if snapshot is None else snapshot.id


def test_the_state_at_a_moment_is_the_last_snapshot_until_then(table: CatalogTable) -> None:
    assert [state(table, hours) for hours in (0, 23.9, 24, 30, 48.5, 49, 95, 96, 500)] == [
        None, None, 1, 1, 2, 3, 3, 4, 5,
    ]  # fmt: skip


def test_what_has_expired_is_refused_unless_a_tag_proves_it(table: CatalogTable) -> None:
    create_tag(table, "a", snapshot_id=3)
    expire_snapshots(table, retain_max=2, retain_min=2)
    assert table.snapshots.earliest_id() == 4
    assert state(table, 60) == 3, "a tag holds it, and snapshot 4 came after"
    for hours in (24, 48.5):
        with pytest.raises(NotFoundError, match="has expired, the earliest remaining one is 4"):
            state(table, hours)
    expire_snapshots(table, retain_max=1, retain_min=1)
    with pytest.raises(NotFoundError, match="has expired"):
        state(table, 60)  # snapshot 4 is unknown now: it might have been earlier


def test_a_period_is_tagged_once(table: CatalogTable) -> None:
    period = Period("2026-03-03", NOON + timedelta(hours=60))
    report = tag_period(table, period, time_retained=timedelta(days=9))
    assert report is not None
    assert (report.snapshot_id, report.created) == (3, True)
    assert table.tags.get("2026-03-03").time_retained == timedelta(days=9)
    again = tag_period(table, period)
    assert again is not None
    assert (again.snapshot_id, again.created) == (3, False)
    assert tag_period(table, Period("2026-02-28", NOON)) is None
    assert table.tags.names() == ["2026-03-03"]
