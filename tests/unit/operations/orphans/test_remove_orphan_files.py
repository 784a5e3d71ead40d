"""Removal of orphan files: what goes, what stays, and what stops it."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import CorruptFileError, NotFoundError, OptionError
from maintenance.operations import compact, delete_branch, remove_orphan_files, rollback_to
from maintenance.operations.databases.remove_orphan_files_of import remove_orphan_files_of
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.orphans.orphan_removal import OrphanRemoval, RemoveOrphanFilesReport
from maintenance.operations.refs.create_tag import create_tag
from maintenance.sql.session import Session
from tests.models.reachable import files_on_disk, unreachable_files
from tests.small_tables import branch_from_tag, put, rows, rows_at, rows_of_tag, small_table

OLD = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


def age(folder: Path) -> None:
    """Let all files below be old."""
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))


def filled(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    table = small_table(folder, options)
    for i in range(3):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    return table


def strays(table: CatalogTable) -> set[str]:
    """Old files that nothing names, in every folder that is looked at."""
    root = Path(table.location)
    places = ["manifest/manifest-x-0", "index/index-x-0", "statistics/stat-x-0", "bucket-0/data-x-0.orc"]
    places += ["bucket-1/.hidden.tmp", "snapshot/.snapshot-9.tmp", "bucket-postpone/data-y-0.avro"]
    for place in places:
        (root / place).parent.mkdir(exist_ok=True)
        (root / place).write_bytes(b"stray")
    return {str(root / place) for place in places}


def clean(table: CatalogTable, **arguments: Any) -> RemoveOrphanFilesReport:
    return remove_orphan_files(None, table, **arguments)


def paths_of(report: RemoveOrphanFilesReport) -> set[str]:
    return {orphan.path for orphan in report.orphans}


def test_takes_what_nothing_names_and_nothing_else(tmp_path: Path) -> None:
    table = filled(tmp_path, {"changelog-producer": "full-compaction"})
    before, expected = rows(table), {i: rows_at(table, i) for i in range(1, 7)}
    needed = files_on_disk(table)
    planted = strays(table)
    age(tmp_path)
    dry = clean(table, dry_run=True)
    assert paths_of(dry) == planted
    assert (dry.deleted_files, dry.remaining, dry.orphan_bytes) == (0, 7, 35)
    assert all(Path(path).exists() for path in planted)
    report = clean(table)
    assert paths_of(report) == planted
    assert (report.deleted_files, report.deleted_bytes, report.remaining) == (7, 35, 0)
    assert files_on_disk(table) == needed
    assert rows(table) == before
    assert {i: rows_at(table, i) for i in expected} == expected
    assert clean(table).orphans == ()


def test_files_younger_than_a_day_or_the_given_time_stay(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    assert clean(table).orphans == ()
    moment = datetime.now(UTC) + timedelta(hours=30)
    assert paths_of(clean(table, now=moment, dry_run=True)) == planted
    older = clean(table, older_than=datetime.now(UTC) - timedelta(hours=1), now=moment, dry_run=True)
    assert older.orphans == ()


def test_less_than_a_day_must_be_asked_for_by_name(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    time.sleep(0.01)
    with pytest.raises(OptionError, match="minimum_age"):
        clean(table, older_than=datetime.now(UTC))
    assert all(Path(path).exists() for path in planted)
    assert paths_of(clean(table, minimum_age=timedelta(0))) == planted


def test_a_time_without_a_zone_is_local_and_the_report_says_the_zone(tmp_path: Path) -> None:
    table = filled(tmp_path)
    report = clean(table, older_than=datetime(2024, 5, 14, 10))
    assert report.older_than.tzinfo is not None
    assert report.older_than == datetime(2024, 5, 14, 10).astimezone()


def test_tags_branches_and_consumers_keep_their_files(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "kept", snapshot_id=2)
    create_tag(table, "origin", snapshot_id=3)
    branch = branch_from_tag(table, "b", "origin")
    put(branch, {7: "branch"})
    expire_snapshots(table, retain_min=1, retain_max=1)
    expected = rows_of_tag(table, "kept"), rows(branch), rows(table)
    age(tmp_path)
    assert clean(table).orphans == ()
    assert (rows_of_tag(table, "kept"), rows(branch), rows(table)) == expected


def test_what_a_rollback_and_a_deleted_branch_leave_goes(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "origin", snapshot_id=3)
    branch = branch_from_tag(table, "b", "origin")
    put(branch, {7: "branch"})
    delete_branch(table, "b")
    rollback_to(table, snapshot_id=4)
    expected = rows(table)
    left = {path for path in unreachable_files(table) if "/schema/" not in path}
    assert left
    age(tmp_path)
    assert paths_of(clean(table)) == left
    assert rows(table) == expected


def test_partitions_and_hidden_checksums(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False, partition_keys=["k"])
    put(table, {1: "a", 2: "b"})
    bucket = Path(table.location) / "k=1" / "bucket-0"
    (data,) = list(bucket.iterdir())
    (bucket / f".{data.name}.crc").write_bytes(b"sum")
    (bucket / ".gone.orc.crc").write_bytes(b"sum")
    (bucket / "gone.orc").write_bytes(b"data")
    (bucket / "pack.managed.blob").write_bytes(b"pack")
    other = Path(table.location) / "k=1" / "notes"
    other.mkdir()
    (other / "mine.txt").write_text("not Paimon's")
    age(tmp_path)
    assert paths_of(clean(table)) == {str(bucket / ".gone.orc.crc"), str(bucket / "gone.orc")}
    assert rows(table) == [(1, "a"), (2, "b")]


def test_quarantine_plans_and_the_bin_are_left_alone(tmp_path: Path) -> None:
    table = filled(tmp_path)
    for place in ("_quarantine/x/bucket-0", "commit-records", "service", "consumer"):
        folder = Path(table.location) / place
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mine").write_text("{}") if place != "consumer" else None
    age(tmp_path)
    assert clean(table).orphans == ()


@pytest.mark.parametrize("kind", ["list", "manifest"])
def test_a_missing_manifest_of_a_live_snapshot_stops_everything(tmp_path: Path, kind: str) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    snapshot = table.snapshots.get(3)
    name = snapshot.base_manifest_list if kind == "list" else table.manifests.data_manifests(snapshot)[0].file_name
    Path(table.paths.manifest(name)).unlink()
    age(tmp_path)
    with pytest.raises(CorruptFileError, match="nothing is deleted"):
        clean(table)
    assert all(Path(path).exists() for path in planted)


def test_no_snapshots_beside_a_hint_stop_everything(tmp_path: Path) -> None:
    table = filled(tmp_path)
    for path in Path(table.paths.snapshot_folder()).glob("snapshot-*"):
        path.unlink()
    age(tmp_path)
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError, match="has or had snapshots"):
        clean(table, never_committed=True)
    assert files_on_disk(table) == before


def test_a_table_that_was_never_committed_to_needs_a_word(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    planted = strays(table)
    age(tmp_path)
    with pytest.raises(NotFoundError, match="never_committed"):
        clean(table)
    assert paths_of(clean(table, never_committed=True)) == planted


def test_a_branch_without_a_schema_stops_everything(tmp_path: Path) -> None:
    table = filled(tmp_path)
    (Path(table.location) / "branch" / "branch-b").mkdir(parents=True)
    with pytest.raises(CorruptFileError, match="branch b has no schema"):
        clean(table)


def test_gaps_in_the_ids_are_skipped_and_reported(tmp_path: Path) -> None:
    table = filled(tmp_path)
    Path(table.paths.snapshot(3)).unlink()
    report = clean(table)
    assert "snapshots 3 to 3 are missing; what only they named counts as orphans" in report.notes


def test_a_commit_between_the_listing_and_the_deletion_keeps_its_files(tmp_path: Path) -> None:
    """The snapshot's file is put back after the orphans were found: as if its commit had been slow."""
    table = filled(tmp_path)
    path = Path(table.paths.snapshot(6))
    late = path.read_bytes()
    path.unlink()
    planted = strays(table)
    age(tmp_path)
    removal = OrphanRemoval(None, table, datetime(2021, 1, 1, tzinfo=UTC), None, lambda _: None)
    actual = removal.find()
    assert len(actual) > len(planted)
    path.write_bytes(late)
    expected = rows(table)
    removal.delete(actual)
    report = removal.report(actual, actual)
    assert report.deleted_files == len(planted)
    assert len(report.kept) == len(actual) - len(planted)
    assert unreachable_files(table) == set()
    assert rows(table) == expected


def test_what_vanishes_meanwhile_starts_it_over(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "t", snapshot_id=2)
    strays(table)
    age(tmp_path)
    removal = OrphanRemoval(None, table, datetime(2021, 1, 1, tzinfo=UTC), None, lambda _: None)
    actual = removal.find()
    Path(table.paths.tag("t")).unlink()
    removal.delete(actual)
    report = removal.report(actual, actual)
    assert report.notes == ("snapshots or tags vanished 1 times; what they left was looked at again",)
    assert report.remaining == 0


def test_a_limit_and_a_time_budget_say_what_remains(tmp_path: Path) -> None:
    table = filled(tmp_path)
    strays(table)
    age(tmp_path)
    first = clean(table, max_deletes=3)
    assert (first.deleted_files, first.remaining, len(first.orphans)) == (3, 4, 3)
    none = clean(table, time_limit=timedelta(0))
    assert (none.deleted_files, none.remaining) == (0, 4)
    last = clean(table, parallelism=1)
    assert (last.deleted_files, last.remaining) == (4, 0)


def test_what_an_unfinished_removal_of_a_tag_names_stays_for_it(tmp_path: Path) -> None:
    table = filled(tmp_path)
    create_tag(table, "t", snapshot_id=2)
    expire_snapshots(table, retain_min=1, retain_max=1)
    table.tags.retire("t")
    age(tmp_path)
    assert clean(table).orphans == ()
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert unreachable_files(table) == set()


def test_an_unreadable_snapshot_stops_everything(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    Path(table.paths.snapshot(2)).write_text(json.dumps({"id": 3}))
    age(tmp_path)
    with pytest.raises(CorruptFileError):
        clean(table)
    assert all(Path(path).exists() for path in planted)


def test_of_a_database_or_of_all_tables(tmp_path: Path) -> None:
    table = filled(tmp_path)
    planted = strays(table)
    age(tmp_path)
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("other")
    assert remove_orphan_files_of(None, catalog, "other.*", dry_run=True).reports == {}
    report = remove_orphan_files_of(None, catalog, "db.*", dry_run=True).reports["db.t"]
    assert paths_of(report) == planted
    assert remove_orphan_files_of(None, catalog, "*").reports["db.t"].deleted_files == 7


def test_the_procedure_counts_removes_and_refuses_times_to_come(tmp_path: Path) -> None:
    table = filled(tmp_path)
    strays(table)
    age(tmp_path)
    session = Session({"warehouse": str(tmp_path)})
    counted = {"deletedFileCount": 7, "deletedFileTotalLenInBytes": 35}
    dry = "CALL sys.remove_orphan_files(table => 'db.t', dry_run => true, older_than => '2021-01-01 00:00:00')"
    assert session.sql(dry).to_arrow().to_pylist() == [counted]
    done = "CALL sys.remove_orphan_files(table => '*', parallelism => '2', mode => 'local')"
    assert session.sql(done).to_arrow().to_pylist() == [counted]
    assert clean(table).orphans == ()
    with pytest.raises(OptionError, match="minimum_age"):
        session.sql("CALL sys.remove_orphan_files(table => 'db.t', older_than => '2921-01-01 00:00:00')")
