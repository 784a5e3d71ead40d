"""Expiry of tags: which are due, and what goes with them."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.tag import Tag
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags, is_due
from maintenance.operations.refs.create_tag import create_tag
from tests.models.reachable import files_on_disk, unreachable_files
from tests.small_tables import branch_from_tag, put, rows, rows_at, rows_of_tag, small_table

NOW = datetime(2024, 5, 14, 10)
HOUR = timedelta(hours=1)


def tagged(folder: Path, lives: dict[int, timedelta | None], snapshots: int = 8, keep: int = 1) -> CatalogTable:
    """Tags `t<snapshot>` with their life times; then all but the newest snapshots expire."""
    table = small_table(folder)
    for i in range(snapshots // 2):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    for snapshot_id, life in lives.items():
        create_tag(table, f"t{snapshot_id}", snapshot_id=snapshot_id, time_retained=life, now=NOW)
    expire_snapshots(table, retain_min=keep, retain_max=keep)
    return table


def test_only_tags_whose_time_is_over_go(tmp_path: Path) -> None:
    table = tagged(tmp_path, {1: HOUR, 2: 2 * HOUR, 3: None, 4: HOUR, 7: HOUR})
    expected = {name: rows_of_tag(table, name) for name in ("t2", "t3")}
    before = files_on_disk(table)
    assert expire_tags(table, now=NOW + HOUR).expired == ()
    report = expire_tags(table, now=NOW + HOUR + timedelta(seconds=1))
    assert report.expired == ("t1", "t4", "t7")
    assert set(report.deleted_files) == before - files_on_disk(table)
    assert {name: rows_of_tag(table, name) for name in table.tags.names()} == expected
    assert unreachable_files(table) == set()


def test_a_dry_run_lists_exactly_what_then_goes(tmp_path: Path) -> None:
    table = tagged(tmp_path, {1: HOUR, 4: HOUR, 5: None})
    before = files_on_disk(table)
    sizes = {path: Path(path).stat().st_size for path in before}
    plan = expire_tags(table, now=NOW + 2 * HOUR, dry_run=True)
    assert files_on_disk(table) == before
    report = expire_tags(table, now=NOW + 2 * HOUR)
    gone = before - files_on_disk(table)
    assert set(plan.deleted_files) == set(report.deleted_files) == gone
    assert sum(sizes[path] for path in gone) == plan.deleted_bytes == report.deleted_bytes
    assert (plan.expired, plan.dry_run, report.dry_run) == (report.expired, True, False)


def test_the_last_tag_of_a_snapshot_takes_its_files(tmp_path: Path) -> None:
    table = tagged(tmp_path, {3: HOUR})
    create_tag(table, "also", snapshot_id=3, time_retained=2 * HOUR, now=NOW)
    expected = rows_of_tag(table, "also")
    first = expire_tags(table, now=NOW + HOUR * 1.5)
    assert first.deleted_files == (table.paths.tag("t3"),)
    assert rows_of_tag(table, "also") == expected
    second = expire_tags(table, now=NOW + HOUR * 3)
    assert any("/bucket-" in path for path in second.deleted_files)
    assert unreachable_files(table) == set()


def test_a_tag_of_a_living_snapshot_takes_only_its_own_file(tmp_path: Path) -> None:
    table = tagged(tmp_path, {7: HOUR, 8: HOUR}, keep=2)
    report = expire_tags(table, now=NOW + 2 * HOUR)
    assert set(report.deleted_files) == {table.paths.tag("t7"), table.paths.tag("t8")}
    assert rows_at(table, 7) == rows_at(table, 8)


def test_two_tags_of_one_snapshot_go_together(tmp_path: Path) -> None:
    table = tagged(tmp_path, {3: HOUR})
    create_tag(table, "also", snapshot_id=3, time_retained=HOUR, now=NOW)
    assert expire_tags(table, now=NOW + 2 * HOUR).expired == ("also", "t3")
    assert unreachable_files(table) == set()


def test_branches_keep_what_they_read(tmp_path: Path) -> None:
    table = tagged(tmp_path, {3: HOUR})
    branch = branch_from_tag(table, "b", "t3")
    expected = rows(branch)
    expire_tags(table, now=NOW + 2 * HOUR)
    assert table.tags.names() == []
    assert (rows(branch), rows_of_tag(branch, "t3")) == (expected, expected)
    assert expire_tags(branch, now=NOW + 2 * HOUR).expired == ("t3",)
    assert rows(branch) == expected
    assert unreachable_files(table) == set()


def test_a_tag_that_died_while_going_is_no_tag_and_its_files_go_next_time(tmp_path: Path) -> None:
    for finish in (expire_tags, expire_snapshots):
        table = tagged(tmp_path / finish.__name__, {3: HOUR})
        record = table.tags.retire("t3")
        assert (table.tags.names(), list(table.tags.retired())) == ([], [record])
        assert unreachable_files(table) != set()
        report = finish(table)
        assert record in report.deleted_files
        assert report.notes == ("finished what an interrupted run had left behind: tag of snapshot 3",)
        assert unreachable_files(table) == set()


def test_stops_before_deleting_if_something_needed_is_damaged(tmp_path: Path) -> None:
    table = tagged(tmp_path, {1: HOUR, 3: None})
    Path(table.paths.manifest(table.tags.get("t3").snapshot.base_manifest_list)).unlink()
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError, match="tag 't3' cannot be read completely"):
        expire_tags(table, now=NOW + 2 * HOUR)
    assert files_on_disk(table) == before


def test_older_than_takes_tags_without_a_life_time_by_their_file(tmp_path: Path) -> None:
    table = tagged(tmp_path, {1: None, 2: None, 3: 1000 * HOUR})
    for name, hours in (("t1", -5), ("t2", -3)):
        stamp = (NOW + timedelta(hours=hours)).timestamp()
        os.utime(table.paths.tag(name), (stamp, stamp))
    assert expire_tags(table, now=NOW).expired == ()
    older_than = (NOW - 4 * HOUR).astimezone(UTC)
    assert expire_tags(table, now=NOW, older_than=older_than).expired == ("t1",)
    assert expire_tags(table, now=NOW, older_than=NOW + HOUR).expired == ("t2", "t3")


@pytest.mark.parametrize(
    ("created", "retained", "older_than", "changed", "due"),
    [
        (NOW, HOUR, None, None, False),
        (NOW - HOUR, HOUR, None, None, False),
        (NOW - HOUR - timedelta.resolution, HOUR, None, None, True),
        (None, HOUR, None, None, False),
        (None, HOUR, NOW, NOW - 2 * HOUR, True),
        (NOW - 9 * HOUR, None, None, None, False),
        (NOW - 9 * HOUR, None, NOW, NOW + HOUR, False),
        (NOW - 9 * HOUR, None, NOW, NOW - HOUR, True),
        (NOW - HOUR, 99 * HOUR, NOW, NOW + HOUR, True),
        (NOW - HOUR, 99 * HOUR, NOW - HOUR, NOW - 9 * HOUR, False),
    ],
)
def test_when_a_tag_is_due(
    tmp_path: Path,
    created: datetime | None,
    retained: timedelta | None,
    older_than: datetime | None,
    changed: datetime | None,
    due: bool,
) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    snapshot = table.snapshots.get(1)
    assert is_due(Tag(snapshot, created, retained), NOW, older_than, changed) is due
