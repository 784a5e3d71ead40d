"""An earlier state becomes the newest one by a commit."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.outcome import Overtaken
from maintenance.commit.staging import Staging
from maintenance.errors import CommitError, CorruptFileError, NotFoundError, OptionError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.operations import (
    compact,
    create_tag,
    delete,
    delete_tag,
    expire_snapshots,
    fsck,
    rollback_to_as_latest,
)
from maintenance.sql import Session
from tests.models.reachable import unreachable_files
from tests.small_tables import put, rows, rows_of_tag, small_table


def written(folder: Path, options: dict[str, str] | None = None, *, primary_key: bool = True) -> CatalogTable:
    table = small_table(folder, options, primary_key=primary_key)
    for number in range(1, 4):
        put(table, {number: str(number)})
    return table


def whole(table: CatalogTable) -> bool:
    return fsck(table.file_io, table.location).healthy and not unreachable_files(table)


@pytest.mark.parametrize("primary_key", [True, False])
def test_an_earlier_state_comes_back_and_so_does_the_later_one(tmp_path: Path, primary_key: bool) -> None:
    table = written(tmp_path, primary_key=primary_key)
    before = rows(table)
    compact(None, table, full=True)
    dry = rollback_to_as_latest(table, snapshot_id=1, dry_run=True)
    assert (dry.current, dry.tag, table.snapshots.latest_id(), table.tags.names()) == (None, None, 4, [])
    report = rollback_to_as_latest(table, snapshot_id=1)
    assert (report.previous, report.target, report.current) == (4, 1, 5)
    assert (report.returning_files, report.returning_rows) == (dry.returning_files, dry.returning_rows) == (1, 1)
    assert (report.leaving_files, report.leaving_rows) == (dry.leaving_files, dry.leaving_rows)
    assert rows(table) == before[:1]
    assert table.snapshots.get(5).commit_kind == CommitKind.OVERWRITE
    assert table.snapshots.get(5).total_record_count == 1
    assert table.tags.names() == [report.tag]
    assert rollback_to_as_latest(table, snapshot_id=1).current is None, "it is the newest state already"
    back = rollback_to_as_latest(table, snapshot_id=4)
    assert rows(table) == before
    assert whole(table)
    assert back.tag is not None
    assert rows_of_tag(table, back.tag) == before
    put(table, {9: "new"})
    assert rows(table) == [*before, (9, "new")]
    compact(None, table, full=True)
    assert rows(table) == [*before, (9, "new")]


def test_what_came_back_outlives_the_snapshots_that_took_it_out(tmp_path: Path) -> None:
    table = written(tmp_path)
    before = rows(table)
    compact(None, table, full=True)
    report = rollback_to_as_latest(table, snapshot_id=3)
    assert report.tag is not None
    expire_snapshots(table, retain_min=1, retain_max=1)
    delete_tag(table, report.tag)
    assert (rows(table), table.snapshots.list_ids()) == (before, [5])
    assert whole(table)


def test_deleted_rows_come_back_with_their_state(tmp_path: Path) -> None:
    table = written(tmp_path, {"deletion-vectors.enabled": "true", "bucket": "-1"}, primary_key=False)
    delete(None, table, "k = 1")
    assert len(rows(table)) == 2
    rollback_to_as_latest(table, snapshot_id=3)
    assert len(rows(table)) == 3
    rollback_to_as_latest(table, snapshot_id=4)
    assert len(rows(table)) == 2
    assert deletion_vectors_intact(table).passed
    assert whole(table)


def test_a_tag_of_an_expired_snapshot_and_what_is_refused(tmp_path: Path) -> None:
    table = written(tmp_path)
    create_tag(table, "first", snapshot_id=1)
    expire_snapshots(table, retain_min=1, retain_max=1)
    with pytest.raises(OptionError, match="exactly one"):
        rollback_to_as_latest(table)
    with pytest.raises(NotFoundError, match="snapshot 2 does not exist"):
        rollback_to_as_latest(table, snapshot_id=2)
    dry = Session({"warehouse": str(tmp_path)}).sql(
        "CALL sys.rollback_to_as_latest(table => 'db.t', tag => 'first', dry_run => true)"
    )
    counts = {"returning_files": 0, "returning_rows": 0, "leaving_files": 2, "leaving_rows": 2}
    assert counts.items() <= dry.to_arrow().to_pylist()[0].items()
    shown = Session({"warehouse": str(tmp_path)}).sql("CALL sys.rollback_to_as_latest('db.t', 'first')")
    assert shown.to_arrow().to_pylist() == [
        {"previous_snapshot_id": 3, "rolled_back_snapshot_id": 1, "current_snapshot_id": 4}
    ]
    assert rows(table) == [(1, "1")]
    assert table.tags.names() == ["first"]


def test_a_state_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    table = written(tmp_path)
    (entry,) = table.manifests.delta_entries(table.snapshots.get(1))
    compact(None, table, full=True)
    Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)).unlink()
    with pytest.raises(CorruptFileError):
        rollback_to_as_latest(table, snapshot_id=1)
    assert (table.snapshots.latest_id(), table.tags.names()) == (4, [])


def test_a_commit_that_fails_leaves_no_tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = written(tmp_path)
    monkeypatch.setattr(Staging, "publish", lambda *_: Overtaken())
    with pytest.raises(CommitError):
        rollback_to_as_latest(table.copy({"commit.max-retries": "1"}), snapshot_id=1)
    assert table.tags.names() == []
    assert whole(table)
