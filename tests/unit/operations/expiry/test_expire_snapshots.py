"""Expiry of snapshots: what goes, what stays, what it says, and what it refuses."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.hints import EARLIEST
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import _Expiry, expire_snapshots
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.replace_tag import replace_tag
from tests.models.reachable import files_on_disk, missing_files, unreachable_files
from tests.small_tables import branch_from_tag, put, rows, rows_at, rows_of_tag, set_commit_time, small_table

NOW = datetime(2024, 5, 14, 10, tzinfo=UTC)


def filled(folder: Path, options: dict[str, str] | None = None, commits: int = 6) -> CatalogTable:
    """Snapshots 1 and 2 written and compacted, 3 and 4 … : each pair replaces the files before it."""
    table = small_table(folder, options)
    for i in range(commits):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    return table


def drop_all_but(table: CatalogTable, count: int, **arguments: Any) -> tuple[int, ...]:
    return expire_snapshots(table, retain_min=count, retain_max=count, **arguments).expired


def test_leaves_nothing_behind_and_takes_nothing_that_is_needed(tmp_path: Path) -> None:
    table = filled(tmp_path, {"changelog-producer": "full-compaction"})
    expected = {i: rows_at(table, i) for i in (10, 11, 12)}
    before = files_on_disk(table)
    report = expire_snapshots(table, retain_min=3, retain_max=3)
    assert report.expired == tuple(range(1, 10))
    assert (report.earliest, report.latest, report.remaining) == (10, 12, 0)
    assert {i: rows_at(table, i) for i in expected} == expected
    assert unreachable_files(table) == set()
    assert all(missing_files(table, table.snapshots.get(i)) == set() for i in expected)
    assert set(report.deleted_files) == before - files_on_disk(table)
    assert table.snapshots.list_ids() == [10, 11, 12]
    assert table.snapshots.read_hint(EARLIEST) == table.snapshots.earliest_id() == 10


def test_a_dry_run_lists_exactly_what_then_goes(tmp_path: Path) -> None:
    table = filled(tmp_path, {"changelog-producer": "full-compaction"})
    create_tag(table, "kept", snapshot_id=3)
    before = files_on_disk(table)
    sizes = {path: Path(path).stat().st_size for path in before}
    plan = expire_snapshots(table, retain_min=2, retain_max=2, dry_run=True)
    assert files_on_disk(table) == before
    assert table.snapshots.read_hint(EARLIEST) is None
    report = expire_snapshots(table, retain_min=2, retain_max=2)
    gone = before - files_on_disk(table)
    assert len(gone) > 10
    assert set(plan.deleted_files) == set(report.deleted_files) == gone
    assert len(report.deleted_files) == len(gone)
    assert plan.deleted_bytes == report.deleted_bytes == sum(sizes[path] for path in gone)
    assert replace(plan, dry_run=False, seconds=0) == replace(report, seconds=0)


def test_tags_keep_what_they_read(tmp_path: Path) -> None:
    table = filled(tmp_path)
    expected = {}
    for snapshot_id in (1, 4, 5):
        create_tag(table, f"t{snapshot_id}", snapshot_id=snapshot_id)
        expected[f"t{snapshot_id}"] = rows_at(table, snapshot_id)
    drop_all_but(table, 1)
    assert {name: rows_of_tag(table, name) for name in expected} == expected
    assert unreachable_files(table) == set()


def test_consumers_hold_snapshots_back(tmp_path: Path) -> None:
    table = filled(tmp_path)
    folder = Path(table.paths.consumer_folder())
    folder.mkdir()
    (folder / "consumer-etl").write_text(json.dumps({"nextSnapshot": 5}))
    report = expire_snapshots(table, retain_min=1, retain_max=1)
    assert report.expired == (1, 2, 3, 4)
    assert report.kept_by == {
        "5 to 11": "consumer etl has yet to read snapshot 5",
        "12": "snapshot.num-retained.min = 1",
    }


def test_an_unreadable_consumer_stops_everything(tmp_path: Path) -> None:
    table = filled(tmp_path)
    folder = Path(table.paths.consumer_folder())
    folder.mkdir()
    (folder / "consumer-etl").write_text("{}")
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError, match="consumer-etl"):
        drop_all_but(table, 1)
    assert files_on_disk(table) == before


def test_age_is_that_of_the_successor(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"snapshot.num-retained.min": "1", "snapshot.time-retained": "1 h"})
    for minutes in (180, 120, 90, 30, 1):
        snapshot_id = put(table, {1: str(minutes)})
        set_commit_time(table, snapshot_id, int((NOW - timedelta(minutes=minutes)).timestamp() * 1000))
    report = expire_snapshots(table, now=NOW)
    assert report.expired == (1, 2)
    assert report.kept_by["3 to 4"] == "snapshot.time-retained: younger than 1:00:00"
    assert expire_snapshots(table, now=NOW, older_than=NOW - timedelta(minutes=20)).expired == (3,)


@pytest.mark.parametrize("limit", ["1", "4", "100"])
def test_drains_the_backlog_in_batches(tmp_path: Path, limit: str) -> None:
    table = filled(tmp_path, {"snapshot.expire.limit": limit})
    reported: list[str] = []
    assert drop_all_but(table, 2, progress=reported.append) == tuple(range(1, 11))
    assert len(reported) == -(-10 // int(limit))
    assert unreachable_files(table) == set()


def test_max_deletes_leaves_the_rest_to_the_next_run(tmp_path: Path) -> None:
    table = filled(tmp_path)
    report = expire_snapshots(table, retain_min=1, retain_max=1, max_deletes=3)
    assert (report.expired, report.remaining, report.earliest) == ((1, 2, 3), 8, 4)
    assert unreachable_files(table) == set()
    assert drop_all_but(table, 1) == tuple(range(4, 12))
    assert unreachable_files(table) == set()


def test_the_time_is_up_between_two_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small_table(tmp_path, {"snapshot.expire.limit": "2"})
    for number in range(6):
        put(table, {1: f"{number}"})
    before = files_on_disk(table)
    late = expire_snapshots(table, retain_min=1, retain_max=1, time_limit=timedelta(0))
    assert (late.expired, late.remaining, late.notes) == ((), 5, ("the time is up: 5 snapshots remain",))
    assert files_on_disk(table) == before
    asked = iter([False, True])
    with monkeypatch.context() as patched:
        patched.setattr(_Expiry, "_is_time_up", lambda _: next(asked))
        half = expire_snapshots(table, retain_min=1, retain_max=1)
    assert (half.expired, half.remaining, half.earliest) == ((1, 2), 3, 3)
    assert "3 snapshots remain, about " in half.notes[-1]
    assert table.snapshots.list_ids() == [3, 4, 5, 6]
    rest = expire_snapshots(table, retain_min=1, retain_max=1, time_limit=timedelta(hours=1))
    assert (rest.expired, rest.remaining, rows(table)) == ((3, 4, 5), 0, [(1, "5")])
    assert unreachable_files(table) == set()


def test_a_gap_is_passed_and_reported(tmp_path: Path) -> None:
    table = filled(tmp_path)
    held = table.manifests.live_entries(table.snapshots.get(3))
    for snapshot_id in (4, 5):
        Path(table.paths.snapshot(snapshot_id)).unlink()
    report = expire_snapshots(table, retain_min=1, retain_max=1)
    assert report.expired == (1, 2, 3, 6, 7, 8, 9, 10, 11)
    assert len(report.notes) == 1
    assert "snapshots 4 to 5 are missing" in report.notes[0]
    # Data that snapshot 3 held is found although the delta that replaced it is lost.
    left = {Path(path).name for path in files_on_disk(table)}
    assert len(held) == 3
    assert not left & {entry.file.file_name for entry in held}


def test_a_run_that_died_is_finished(tmp_path: Path) -> None:
    """EARLIEST has moved, some data is gone: no rule of retention applies to what is below."""
    table = filled(tmp_path)
    plan = expire_snapshots(table, retain_min=2, retain_max=2, dry_run=True)
    data = [path for path in plan.deleted_files if "/bucket-" in path]
    table.snapshots.write_hint(EARLIEST, 11)
    table.file_io.delete_quietly(data[::2])
    report = expire_snapshots(table, retain_min=10)
    assert table.snapshots.list_ids() == [11, 12]
    assert set(report.deleted_files) == set(plan.deleted_files) - set(data[::2])
    assert report.expired == ()
    assert report.notes == ("finished what an interrupted run had left behind: snapshots 1 to 10",)
    assert unreachable_files(table) == set()


def test_no_snapshot_in_sight_lacks_a_file_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(tmp_path, {"changelog-producer": "full-compaction"})
    seen: list[list[int]] = []
    real = FileIO.delete_unordered

    def noticing(self: FileIO, paths: Sequence[str]) -> None:
        real(self, paths)
        in_sight = table.snapshots.list_ids()
        seen.append(in_sight)
        assert all(missing_files(table, table.snapshots.get(i)) == set() for i in in_sight)

    monkeypatch.setattr(FileIO, "delete_unordered", noticing)
    drop_all_but(table, 2)
    assert seen
    assert all(in_sight == [11, 12] for in_sight in seen)
    assert table.snapshots.retired() == {}


@pytest.mark.parametrize("step", ["bucket-", "manifest-", "manifest-list-", "retired-"])
def test_a_run_that_died_after_snapshots_went_out_of_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    table = filled(tmp_path)
    create_tag(table, "kept", snapshot_id=3)
    kept = rows_of_tag(table, "kept")
    real = {name: getattr(FileIO, name) for name in ("delete_unordered", "delete_quietly")}

    def dying(name: str) -> Callable[[FileIO, Sequence[str]], None]:
        def delete(self: FileIO, paths: Sequence[str]) -> None:
            listed = list(paths)
            if any(f"/{step}" in path for path in listed):
                real[name](self, listed[:1])
                raise KeyboardInterrupt
            real[name](self, listed)

        return delete

    with monkeypatch.context() as patched:
        for name in real:
            patched.setattr(FileIO, name, dying(name))
        with pytest.raises(KeyboardInterrupt):
            drop_all_but(table, 2)
    assert table.snapshots.list_ids() == [11, 12]
    assert set(table.snapshots.retired()) >= set(range(2, 11))
    with pytest.raises(NotFoundError, match="snapshot 5 does not exist"):
        table.snapshots.get(5)
    report = fsck(table.file_io, table.location)
    assert report.healthy
    assert any("an expiry of snapshots was interrupted" in str(note) for note in report.notes)
    assert remove_orphan_files(None, table, minimum_age=timedelta(0)).deleted_files == 0
    finished = expire_snapshots(table, retain_min=10)
    assert finished.notes[0].startswith("finished what an interrupted run had left behind: snapshots ")
    assert unreachable_files(table) == set()
    assert rows_of_tag(table, "kept") == kept
    assert not fsck(table.file_io, table.location).notes


def test_a_move_out_of_sight_that_was_interrupted_on_a_store(tmp_path: Path) -> None:
    """The copies are there, and so are some of the snapshots: nothing of those is gone."""
    table = filled(tmp_path)
    for i in range(1, 11):
        shutil.copy(table.paths.snapshot(i), table.paths.retired_snapshot(i))
    table.snapshots.write_hint(EARLIEST, 11)
    table.file_io.delete_quietly(table.paths.snapshot(i) for i in (1, 3, 4))
    assert set(table.snapshots.retired()) == {1, 3, 4}
    assert rows_at(table, 2)
    drop_all_but(table, 2)
    assert table.snapshots.list_ids() == [11, 12]
    assert table.snapshots.retired() == {}
    assert unreachable_files(table) == set()


def test_branches_keep_what_they_read(tmp_path: Path) -> None:
    table = filled(tmp_path, {"changelog-producer": "full-compaction"})
    create_tag(table, "start", snapshot_id=4)
    branch = branch_from_tag(table, "b", "start")
    put(branch, {7: "only here"})
    expected = rows(branch), rows_at(branch, 4)
    table.tags.remove("start")
    branch.tags.remove("start")
    drop_all_but(table, 1)
    assert (rows(branch), rows_at(branch, 4)) == expected
    # The changelog of the snapshot they share as well.
    assert missing_files(branch, branch.snapshots.get(4)) == set()
    assert unreachable_files(table) == set()
    of_main = rows(table)
    compact(None, branch, full=True)
    of_branch = rows(branch)
    drop_all_but(branch, 1)
    assert (rows(table), rows(branch)) == (of_main, of_branch)
    assert unreachable_files(table) == set()


def test_a_branch_respects_the_tags_of_main(tmp_path: Path) -> None:
    table = filled(tmp_path, commits=3)
    create_tag(table, "start", snapshot_id=3)
    branch = branch_from_tag(table, "b", "start")
    branch.tags.remove("start")
    compact_count = len(branch.snapshots.list_ids())
    put(branch, {7: "x"})
    compact(None, branch, full=True)
    drop_all_but(table, 1)
    expected = rows_of_tag(table, "start")
    drop_all_but(branch, 1)
    assert compact_count == 1
    assert rows_of_tag(table, "start") == expected
    assert unreachable_files(table) == set()


@pytest.mark.parametrize("damage", ["missing", "broken"])
@pytest.mark.parametrize("part", ["list", "manifest"])
@pytest.mark.parametrize("of", ["snapshot 12", "tag 'kept'"])
def test_stops_before_deleting_if_something_needed_is_damaged(tmp_path: Path, damage: str, part: str, of: str) -> None:
    table = filled(tmp_path)
    create_tag(table, "kept", snapshot_id=3)
    held = table.snapshots.get(12 if of == "snapshot 12" else 3)
    name = held.base_manifest_list
    if part == "manifest":
        others = table.snapshots.get(2 if of != "snapshot 12" else 11)
        known = {meta.file_name for meta in table.manifests.data_manifests(others)}
        (name,) = [m.file_name for m in table.manifests.read_list(held.delta_manifest_list) if m.file_name not in known]
    path = Path(table.paths.manifest(name))
    path.unlink() if damage == "missing" else path.write_bytes(b"Obj\x01 nothing")
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError) as error:
        drop_all_but(table, 1)
    assert name in str(error.value)
    if part == "list":
        # A manifest may be shared, and be blamed on whatever names it first.
        assert of in str(error.value)
    assert files_on_disk(table) == before
    assert table.snapshots.read_hint(EARLIEST) is None


def test_a_damaged_manifest_of_an_expired_snapshot_is_noted(tmp_path: Path) -> None:
    table = filled(tmp_path)
    name = table.snapshots.get(4).delta_manifest_list
    Path(table.paths.manifest(name)).write_bytes(b"broken")
    latest = rows(table)
    report = expire_snapshots(table, retain_min=1, retain_max=1)
    assert len(report.expired) == 11
    assert [name in note for note in report.notes] == [True]
    assert rows(table) == latest
    # Only what this delta replaced is left: the data of snapshot 3.
    assert 0 < len(unreachable_files(table)) <= 2
    assert all("/bucket-" in path for path in unreachable_files(table))


def test_a_tag_created_meanwhile_is_seen(tmp_path: Path) -> None:
    table = filled(tmp_path, {"snapshot.expire.limit": "3"})
    expected = rows_at(table, 7)
    reported: list[str] = []

    def tag_once(line: str) -> None:
        if not reported:
            create_tag(table, "late", snapshot_id=7)
        reported.append(line)

    assert drop_all_but(table, 1, progress=tag_once) == tuple(range(1, 12))
    assert rows_of_tag(table, "late") == expected
    assert unreachable_files(table) == set()


def test_a_tag_that_is_moved_meanwhile_keeps_its_new_snapshot(tmp_path: Path) -> None:
    table = filled(tmp_path, {"snapshot.expire.limit": "3"})
    create_tag(table, "moving")
    expected = rows_at(table, 7)
    moved: list[str] = []

    def move_once(line: str) -> None:
        if not moved:
            replace_tag(table, "moving", snapshot_id=7)
        moved.append(line)

    assert drop_all_but(table, 1, progress=move_once) == tuple(range(1, 12))
    assert rows_of_tag(table, "moving") == expected
    assert unreachable_files(table) == set()


def test_writes_the_hint_when_nothing_expires(tmp_path: Path) -> None:
    table = filled(tmp_path, commits=2)
    report = expire_snapshots(table)
    assert (report.expired, report.deleted_files) == ((), ())
    assert table.snapshots.read_hint(EARLIEST) == 1


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    report = expire_snapshots(small_table(tmp_path))
    assert (report.expired, report.earliest, report.latest, report.kept_by) == ((), None, None, {})


def test_statistics_and_index_files_go_with_their_last_snapshot(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    folder = Path(table.location) / "statistics"
    folder.mkdir()
    for value, name in (("a", "stat-1"), ("b", "stat-1"), ("c", "stat-2")):
        snapshot_id = put(table, {1: value})
        (folder / name).write_text("{}")
        snapshot = replace(table.snapshots.get(snapshot_id), statistics=name)
        table.file_io.overwrite(table.paths.snapshot(snapshot_id), serialize_snapshot(snapshot))
    drop_all_but(table, 2)
    assert sorted(p.name for p in folder.iterdir()) == ["stat-1", "stat-2"]
    drop_all_but(table, 1)
    assert sorted(p.name for p in folder.iterdir()) == ["stat-2"]


def test_refuses_what_it_does_not_do(tmp_path: Path) -> None:
    table = filled(tmp_path, commits=2)
    with pytest.raises(UnsupportedError, match=r"query-auth"):
        expire_snapshots(table.copy({"query-auth.enabled": "true"}))
    with pytest.raises(OptionError):
        expire_snapshots(table, retain_min=3, retain_max=2)
