"""Going back to a snapshot, a tag or a time, and tags that are deleted, renamed or replaced."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.rollback_to import rollback_to
from tests.models.reachable import unreachable_files
from tests.small_tables import put, rows, rows_of_tag, set_commit_time, set_watermark, small_table

NOW = datetime(2024, 5, 14, 10)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 4, an hour apart, with tags on 1, 2 and 4."""
    table = small_table(tmp_path)
    for i in range(1, 5):
        put(table, {i: str(i), 0: str(i)})
        set_commit_time(table, i, 3_600_000 * i)
    for number, name in ((1, "one"), (2, "two"), (4, "four")):
        create_tag(table, name, snapshot_id=number)
    return table


def at(number: int) -> list[tuple[int, str]]:
    return [(0, str(number)), *((i, str(i)) for i in range(1, number + 1))]


@pytest.mark.parametrize("how", [{"snapshot_id": 2}, {"tag": "two"}, {"timestamp_millis": 2 * 3_600_000 + 5}])
def test_back_to_a_snapshot(table: CatalogTable, how: dict[str, Any]) -> None:
    report = rollback_to(table, **how)
    assert (report.previous, report.current, report.tags) == (4, 2, ("four",))
    assert rows(table) == at(2)
    assert table.snapshots.list_ids() == [1, 2]
    assert table.snapshots.read_hint("LATEST") == 2
    assert table.tags.names() == ["one", "two"]
    assert put(table, {9: "new"}) == 3
    assert rows(table) == [*at(2), (9, "new")]


def test_back_to_a_watermark(table: CatalogTable) -> None:
    for number, mark in ((1, 10), (2, None), (3, 30)):
        set_watermark(table, number, mark)
    with pytest.raises(NotFoundError, match="watermark of 9 or earlier"):
        rollback_to(table, watermark=9)
    assert rollback_to(table, watermark=29).current == 1


def test_back_to_where_it_is(table: CatalogTable) -> None:
    assert rollback_to(table, snapshot_id=4).tags == ()
    assert rows(table) == at(4)


@pytest.mark.parametrize("how", [{"snapshot_id": 1}, {"tag": "one"}])
def test_back_to_an_expired_snapshot_of_a_tag(table: CatalogTable, how: dict[str, Any]) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert table.snapshots.list_ids() == [4]
    rollback_to(table, **how)
    assert rows(table) == at(1)
    assert table.snapshots.list_ids() == [1]
    assert (table.snapshots.earliest_id(), table.snapshots.read_hint("EARLIEST")) == (1, 1)
    assert put(table, {9: "new"}) == 2


def test_long_lived_changelogs_of_lost_snapshots_go(table: CatalogTable) -> None:
    folder = Path(table.paths.changelog_folder())
    folder.mkdir()
    for name, text in (("changelog-1", "{}"), ("changelog-3", "{}"), ("LATEST", "3")):
        (folder / name).write_text(text)
    rollback_to(table, snapshot_id=2)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"changelog-1": "{}", "LATEST": "1"}
    rollback_to(table, snapshot_id=1)
    assert (folder / "changelog-1").exists()


def test_what_cannot_be_gone_back_to(tmp_path: Path, table: CatalogTable) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1)
    with pytest.raises(NotFoundError, match=r"snapshot 3 does not exist and no tag holds it.*four, one, two"):
        rollback_to(table, snapshot_id=3)
    with pytest.raises(NotFoundError, match="'three'"):
        rollback_to(table, tag="three")
    with pytest.raises(NotFoundError, match="no snapshot at or before 5"):
        rollback_to(table, timestamp_millis=5)
    several: list[dict[str, Any]] = [{}, {"tag": "one", "snapshot_id": 1}]
    for wrong in several:
        with pytest.raises(OptionError, match="needs exactly one target"):
            rollback_to(table, **wrong)
    assert rows(table) == at(4)


def test_deleted_tags_take_their_own_files_and_no_others(table: CatalogTable) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1)
    with pytest.raises(NotFoundError, match="'three'"):
        delete_tag(table, "one", "three")
    planned = delete_tag(table, "one", "four", dry_run=True)
    assert table.tags.names() == ["four", "one", "two"]
    report = delete_tag(table, "one", "four")
    assert report.expired == ("one", "four")
    assert report.deleted_files == planned.deleted_files
    assert report.deleted_bytes > 0
    assert table.tags.names() == ["two"]
    assert rows_of_tag(table, "two") == at(2)
    assert rows(table) == at(4)
    assert unreachable_files(table) == set()


def test_a_renamed_tag_keeps_its_rows_and_takes_no_other_name(table: CatalogTable) -> None:
    rename_tag(table, "two", "zwei")
    assert table.tags.names() == ["four", "one", "zwei"]
    assert rows_of_tag(table, "zwei") == at(2)
    rename_tag(table, "zwei", "zwei")
    with pytest.raises(AlreadyExistsError):
        rename_tag(table, "zwei", "one")
    with pytest.raises(NotFoundError):
        rename_tag(table, "two", "drei")
    with pytest.raises(OptionError):
        rename_tag(table, "one", "a/b")
    assert table.tags.names() == ["four", "one", "zwei"]


def test_a_replaced_tag_holds_another_state_and_frees_the_old_one(table: CatalogTable) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1)
    report = replace_tag(table, "one", snapshot_id=2, time_retained=timedelta(hours=2), now=NOW)
    assert (report.snapshot_id, report.created) == (2, False)
    assert rows_of_tag(table, "one") == at(2)
    assert table.tags.get("one").time_retained == timedelta(hours=2)
    assert table.tags.retired() == {}
    assert unreachable_files(table) == set()
    assert rows(table) == at(4)
    replace_tag(table, "one")
    assert rows_of_tag(table, "one") == at(4)
    with pytest.raises(NotFoundError):
        replace_tag(table, "three")
    with pytest.raises(NotFoundError):
        replace_tag(table, "two", snapshot_id=3)
    assert rows_of_tag(table, "two") == at(2)
