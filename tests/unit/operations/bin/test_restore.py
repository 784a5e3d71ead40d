"""What a run of the bin took comes back: files, snapshots, tags, or all of it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import AlreadyExistsError, ConflictError, NotFoundError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.hints import EARLIEST
from maintenance.operations import (
    compact,
    create_tag,
    delete_tag,
    empty_bin,
    expire_changelogs,
    expire_snapshots,
    fsck,
    remove_orphan_files,
    restore,
)
from maintenance.operations.bin.run import BinRun, list_runs, read_run, run_folder
from maintenance.sql.session import Session
from tests.models.reachable import files_on_disk, unreachable_files
from tests.small_tables import put, rows, rows_at, rows_of_tag, small_table, table_in
from tests.unit.operations.orphans.test_remove_orphan_files import age, strays


def filled(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    """Snapshots 1 to 6, all of which can be read."""
    table = small_table(folder, options)
    for i in range(3):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    return table


def contents(table: CatalogTable) -> dict[str, bytes]:
    return {path: Path(path).read_bytes() for path in files_on_disk(table)}


def healthy(table: CatalogTable) -> bool:
    report = fsck(table.file_io, table.location)
    return report.healthy and not report.notes


def begin(table: CatalogTable, folder: Path) -> BinRun:
    return BinRun.begin(table, str(folder), "a test")


def test_removed_orphans_come_back_one_by_one_or_all(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    age(tmp_path)
    before = contents(table)
    into = begin(table, tmp_path)
    report = remove_orphan_files(None, table, into=into)
    assert (report.deleted_files, report.bin_run) == (7, into.head.run)
    assert not planted & files_on_disk(table)
    one = sorted(planted)[0]
    assert restore(table, str(tmp_path), into.head.run, files=[one]).files == (one,)
    rest = restore(table, str(tmp_path), into.head.run)
    assert (set(rest.files), rest.missing) == (planted - {one}, ())
    assert len(rest.already_there) == 1
    assert contents(table) == before


@pytest.mark.parametrize("producer", ["none", "full-compaction"])
def test_all_that_an_expiry_took(tmp_path: Path, producer: str) -> None:
    table = filled(tmp_path, {"changelog-producer": producer})
    expected = {i: rows_at(table, i) for i in range(1, 7)}
    before = contents(table)
    into = begin(table, tmp_path)
    expired = expire_snapshots(table, retain_min=2, retain_max=2, into=into)
    assert expired.expired == (1, 2, 3, 4)
    assert {*before} - files_on_disk(table) == set(expired.deleted_files)
    report = restore(table, str(tmp_path), into.head.run)
    assert report.snapshots == ("4", "3", "2", "1")
    assert set(report.files) == set(expired.deleted_files)
    after = contents(table)
    assert {path: after[path] for path in before if not path.endswith("/EARLIEST")} == {
        path: data for path, data in before.items() if not path.endswith("/EARLIEST")
    }
    assert table.snapshots.read_hint(EARLIEST) == 1
    assert {i: rows_at(table, i) for i in range(1, 7)} == expected
    assert healthy(table)
    assert unreachable_files(table) == set()


def test_what_an_expiry_that_died_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It died while it moved the records: some are in the bin, some out of sight in the table."""
    table = filled(tmp_path)
    expected = {i: rows_at(table, i) for i in range(1, 7)}
    into = begin(table, tmp_path)
    real = FileIO.move_file

    def dying(self: FileIO, source: str, target: str) -> None:
        if source.endswith(("/retired-3", "/retired-4")):
            raise KeyboardInterrupt
        real(self, source, target)

    with monkeypatch.context() as patched:
        patched.setattr(FileIO, "move_file", dying)
        with pytest.raises(KeyboardInterrupt):
            expire_snapshots(table, retain_min=2, retain_max=2, into=into)
    assert (table.snapshots.list_ids(), list(table.snapshots.retired())) == ([5, 6], [3, 4])
    report = restore(table, str(tmp_path), into.head.run)
    assert report.snapshots == ("4", "3", "2", "1")
    assert {i: rows_at(table, i) for i in range(1, 7)} == expected
    assert table.snapshots.retired() == {}
    assert healthy(table)
    assert unreachable_files(table) == set()


def test_one_snapshot_comes_back_as_a_tag_with_what_it_needs_and_no_more(tmp_path: Path) -> None:
    table = filled(tmp_path)
    expected = rows_at(table, 2)
    into = begin(table, tmp_path)
    expire_snapshots(table, retain_min=1, retain_max=1, into=into)
    dry = restore(table, str(tmp_path), into.head.run, snapshots=[2], dry_run=True)
    assert table.tags.names() == []
    report = restore(table, str(tmp_path), into.head.run, snapshots=[2])
    assert report.tags == dry.tags == ("restored-snapshot-2",)
    assert set(report.files) == set(dry.files)
    assert rows_of_tag(table, "restored-snapshot-2") == expected
    assert table.snapshots.list_ids() == [6]
    assert healthy(table)
    assert unreachable_files(table) == set()
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert rows_of_tag(table, "restored-snapshot-2") == expected


def test_the_newest_expired_snapshot_comes_back_as_itself(tmp_path: Path) -> None:
    table = filled(tmp_path)
    expected = rows_at(table, 4)
    into = begin(table, tmp_path)
    expire_snapshots(table, retain_min=2, retain_max=2, into=into)
    assert restore(table, str(tmp_path), into.head.run, snapshots=[4]).snapshots == ("4",)
    assert rows_at(table, 4) == expected
    assert table.snapshots.earliest_id() == 4
    assert healthy(table)


def test_a_deleted_tag_comes_back(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "a", snapshot_id=1, time_retained=timedelta(days=3))
    create_tag(table, "b", snapshot_id=2)
    expire_snapshots(table, retain_min=1, retain_max=1)
    expected, tag = rows_of_tag(table, "a"), table.tags.get("a")
    into = begin(table, tmp_path)
    delete_tag(table, "a", "b", into=into)
    assert table.tags.names() == []
    assert unreachable_files(table) == set()
    report = restore(table, str(tmp_path), into.head.run, tags=["a"])
    assert report.tags == ("a",)
    assert table.tags.get("a") == tag
    assert rows_of_tag(table, "a") == expected
    assert healthy(table)
    assert unreachable_files(table) == set()


def test_a_tag_that_exists_again_is_not_touched(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "a", snapshot_id=1)
    into = begin(table, tmp_path)
    delete_tag(table, "a", into=into)
    create_tag(table, "a", snapshot_id=5)
    report = restore(table, str(tmp_path), into.head.run)
    assert (report.tags, report.already_there) == ((), ("tag/tag-a",))
    assert table.tags.get("a").snapshot.id == 5


def test_a_state_whose_files_are_gone_stays_in_the_bin(tmp_path: Path) -> None:
    table = filled(tmp_path)
    into = begin(table, tmp_path)
    expire_snapshots(table, retain_min=1, retain_max=1, into=into)
    data = next((Path(run_folder(str(tmp_path), into.head.run)) / "files" / "bucket-0").iterdir())
    data.unlink()
    report = restore(table, str(tmp_path), into.head.run)
    assert report.missing == (f"bucket-0/{data.name}",)
    assert report.incomplete
    assert healthy(table)
    assert rows(table)


def test_expired_changelogs_come_back_as_they_were(tmp_path: Path) -> None:
    retention = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    longer = {"changelog.num-retained.min": "1", "changelog.num-retained.max": "5"}
    table = filled(tmp_path, {"changelog-producer": "full-compaction", **retention, **longer})
    expire_snapshots(table)
    kept, before = table.changelogs.list_ids(), contents(table)
    assert len(kept) == 4
    into = begin(table, tmp_path)
    expire_changelogs(table, delete_all=True, into=into)
    assert table.changelogs.list_ids() == []
    report = restore(table, str(tmp_path), into.head.run)
    assert report.changelogs == tuple(map(str, kept))
    assert contents(table) == before
    assert healthy(table)


def test_a_run_is_of_one_table_and_must_exist(tmp_path: Path) -> None:
    table = filled(tmp_path)
    strays(table)
    age(tmp_path)
    into = begin(table, tmp_path)
    remove_orphan_files(None, table, into=into)
    other = small_table(tmp_path / "other")
    with pytest.raises(AlreadyExistsError, match=r"is about db\.t"):
        restore(other, str(tmp_path), into.head.run)
    with pytest.raises(NotFoundError, match="no run 'x'"):
        restore(table, str(tmp_path), "x")
    with pytest.raises(NotFoundError, match="did not take snapshot 3"):
        restore(table, str(tmp_path), into.head.run, snapshots=[3])
    with pytest.raises(NotFoundError, match="did not take tag none"):
        restore(table, str(tmp_path), into.head.run, tags=["none"])


def test_a_run_without_files_leaves_no_trace(tmp_path: Path) -> None:
    table = filled(tmp_path)
    report = remove_orphan_files(None, table, into=begin(table, tmp_path))
    assert report.bin_run is None
    assert list_runs(table.file_io, str(tmp_path)) == []


def test_what_is_being_destroyed_cannot_be_restored(tmp_path: Path) -> None:
    table = filled(tmp_path)
    strays(table)
    age(tmp_path)
    into = begin(table, tmp_path)
    remove_orphan_files(None, table, into=into)
    (Path(run_folder(str(tmp_path), into.head.run)) / "emptying").write_text("{}")
    with pytest.raises(ConflictError, match="is being destroyed"):
        restore(table, str(tmp_path), into.head.run)
    assert empty_bin(table.file_io, str(tmp_path)).runs == (into.head.run,)


def test_a_warehouse_that_has_moved_can_be_restored(tmp_path: Path) -> None:
    table = filled(tmp_path / "before")
    into = begin(table, tmp_path / "before")
    expire_snapshots(table, retain_min=1, retain_max=1, into=into)
    (tmp_path / "before").rename(tmp_path / "after")
    moved = table_in(tmp_path / "after")
    assert restore(moved, str(tmp_path / "after"), into.head.run).snapshots == ("5", "4", "3", "2", "1")
    assert healthy(moved)


def test_the_journal_is_written_before_anything_moves(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    age(tmp_path)
    into = begin(table, tmp_path)
    remove_orphan_files(None, table, into=into)
    (journal,) = Path(run_folder(str(tmp_path), into.head.run)).glob("journal-*.json")
    form = json.loads(journal.read_text())
    assert {f"{tmp_path}/{form['location']}/{path}" for path, _, _ in form["files"]} == planted
    assert (form["operation"], form["table"]) == ("a test", "db.t")


def test_procedures_put_into_the_bin_restore_and_empty_it(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "a", snapshot_id=1)
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CALL sys.expire_snapshots(table => 'db.t', retain_max => 1, retain_min => 1, into_bin => true)")
    session.sql("CALL sys.delete_tag(table => 'db.t', tag => 'a', into_bin => true)")
    first, second = list_runs(table.file_io, str(tmp_path))
    by_operation = {read_run(table.file_io, str(tmp_path), run)[0].operation: run for run in (first, second)}
    restored = session.sql(f"CALL sys.restore(table => 'db.t', run => '{by_operation['delete_tag']}')").to_arrow()
    assert {"kind": "tag", "restored": "a"} in restored.to_pylist()
    back = session.sql(
        f"CALL sys.restore(table => 'db.t', run => '{by_operation['expire_snapshots']}', snapshots => '5')"
    )
    assert {"kind": "snapshot", "restored": "5"} in back.to_arrow().to_pylist()
    assert rows_of_tag(table, "a") == [(0, "x"), (1, "0")]
    assert healthy(table)
    emptied = session.sql("CALL sys.empty_bin(window => '0 s')").to_arrow().column(0).to_pylist()
    assert emptied == [first, second]
