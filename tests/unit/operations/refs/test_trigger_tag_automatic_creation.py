"""Tags that a table's options ask for."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.operations import compact, delete_tag, expire_snapshots, expire_tags, trigger_tag_automatic_creation
from maintenance.operations.refs.create_tag import create_tag
from maintenance.sql import Session
from tests.small_tables import put, rows_of_tag, set_commit_time, small_table

HOURLY = {
    "tag.automatic-creation": "process-time",
    "tag.creation-period": "hourly",
    "sink.process-time-zone": "UTC",
}
START = datetime(2024, 5, 14, 10, 20, tzinfo=UTC)


def at_hours(table: CatalogTable, *hours: float) -> None:
    """Snapshots so many hours after the start."""
    for hour in hours:
        millis = int((START + timedelta(hours=hour)).timestamp() * 1000)
        set_commit_time(table, put(table, {1: f"v{hour}"}), millis)


def test_the_procedure_tags_what_others_wrote(tmp_path: Path) -> None:
    table = small_table(tmp_path, HOURLY)
    at_hours(table, 0, 0.5, 1, 3)
    due = ("2024-05-14 09", "2024-05-14 10", "2024-05-14 12")
    assert trigger_tag_automatic_creation(table, dry_run=True).created == due
    assert table.tags.names() == []
    assert trigger_tag_automatic_creation(table).created == due
    assert [table.tags.get(name).snapshot.id for name in due] == [1, 3, 4]
    assert trigger_tag_automatic_creation(table).created == ()
    at_hours(table, 4)
    assert trigger_tag_automatic_creation(table).created == ("2024-05-14 13",)


def test_the_oldest_automatic_tags_go_with_what_only_they_used(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**HOURLY, "tag.num-retained-max": "2"})
    at_hours(table, 0, 1)
    create_tag(table, "mine", snapshot_id=2)
    trigger_tag_automatic_creation(table)
    at_hours(table, 2, 3)
    expire_snapshots(table, retain_min=1, retain_max=1)
    report = trigger_tag_automatic_creation(table)
    assert (report.created, report.deleted) == (("2024-05-14 12",), ("2024-05-14 09",))
    assert table.tags.names() == ["2024-05-14 10", "2024-05-14 12", "mine"]
    assert rows_of_tag(table, "2024-05-14 10") == [(1, "v1")]


def test_commits_of_writers_and_compactions_create_them(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**HOURLY, "write-only": "false"})
    put(table, {1: "a"})
    assert len(table.tags.names()) == 1
    (tmp_path / "lazy").mkdir()
    lazy = small_table(tmp_path / "lazy", HOURLY)
    put(lazy, {1: "a"})
    assert lazy.tags.names() == []
    compact(None, lazy, full=True)
    assert [tag.snapshot.id for tag in lazy.tags.all().values()] == [1]


def test_a_batch_job_moves_the_tag_of_its_day(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "batch", "tag.num-retained-max": "1", "tag.batch.customized-name": "newest"}
    table = small_table(tmp_path, options)
    put(table, {1: "a"})
    assert rows_of_tag(table, "newest") == [(1, "a")]
    create_tag(table, "older")
    put(table, {1: "b"})
    assert (table.tags.names(), rows_of_tag(table, "newest")) == (["newest"], [(1, "b")])
    compact(None, table, full=True)
    assert table.tags.get("newest").snapshot.id == 2


def test_a_commit_stands_when_its_tag_cannot_be_created(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**HOURLY, "write-only": "false", "tag.creation-delay": "2 h"})
    assert put(table, {1: "a"}) == 1
    assert table.tags.names() == []


def test_success_files_come_and_go_with_tags(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"tag.create-success-file": "true"})
    put(table, {1: "a"})
    create_tag(table, "x")
    marker = Path(table.paths.tag_folder()) / "tag-success-file" / "x_SUCCESS"
    form = json.loads(marker.read_text())
    assert form["creationTime"] == form["modificationTime"] > 1_700_000_000_000
    assert table.tags.names() == ["x"]
    delete_tag(table, "x")
    assert not marker.exists()


def test_tags_stay_where_their_time_does_not_count(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"tag.time-expire-enabled": "false"})
    put(table, {1: "a"})
    create_tag(table, "x", time_retained=timedelta(days=1), now=datetime(2024, 1, 1))
    assert expire_tags(table).expired == ()
    assert expire_tags(table, older_than=datetime(2024, 1, 2)).expired == ("x",)


def test_it_is_a_procedure(tmp_path: Path) -> None:
    table = small_table(tmp_path, HOURLY)
    put(table, {1: "a"})
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    shown = session.sql("CALL sys.trigger_tag_automatic_creation(`table` => 'db.t', dry_run => true)").to_arrow()
    assert shown.column("change").to_pylist() == ["created"]
    session.sql("CALL sys.trigger_tag_automatic_creation('db.t')")
    assert table.tags.names() == shown.column("tag").to_pylist()
