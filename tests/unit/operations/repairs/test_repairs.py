"""Manifests are merged, and what is not on storage any more is forgotten."""

from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, NotFoundError, OptionError, WriteError
from maintenance.operations import (
    compact_manifest,
    create_branch,
    create_tag,
    delete,
    expire_snapshots,
    fsck,
    purge_files,
    remove_unexisting_files,
    remove_unexisting_manifests,
    repair_earliest_snapshot,
    reset_consumer,
)
from maintenance.sql import Session
from tests.models.reachable import files_on_disk
from tests.small_tables import put, rows, rows_at, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Four appends of one row each, without buckets."""
    table = small_table(tmp_path, {"deletion-vectors.enabled": "true"}, primary_key=False)
    for number in range(1, 5):
        put(table, {number: str(number)})
    return table


def healthy(table: CatalogTable) -> bool:
    return fsck(table.file_io, table.location, deep=True).healthy


def live_paths(table: CatalogTable) -> list[Path]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    entries = table.manifests.live_entries(snapshot)
    return [Path(table.paths.all_files_of(e.partition, e.bucket, e.file)[0]) for e in entries]


def test_manifests_are_merged_once(table: CatalogTable) -> None:
    before = rows(table)
    dry = compact_manifest(table, dry_run=True)
    assert (dry.needed, dry.before.manifests, table.snapshots.latest_id()) == (True, 4, 4)
    report = compact_manifest(table)
    assert report.after is not None
    assert (report.snapshot_id, report.before.manifests, report.after.manifests) == (5, 4, 1)
    assert (rows(table), table.snapshots.get(5).commit_kind.value) == (before, "COMPACT")
    assert table.snapshots.get(5).total_record_count == 4
    assert compact_manifest(table).snapshot_id is None
    assert healthy(table)


def test_entries_of_files_that_are_gone_are_dropped(table: CatalogTable) -> None:
    delete(None, table, "k = 2")
    report = compact_manifest(table)
    assert report.after is not None
    assert rows(table) == [(1, "1"), (3, "3"), (4, "4")]
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert rows(table) == [(1, "1"), (3, "3"), (4, "4")]
    assert healthy(table)


def test_files_that_are_gone_are_forgotten_with_their_vectors(table: CatalogTable) -> None:
    put(table, {10: "x", 11: "y"})
    delete(None, table, "k = 11")
    gone = live_paths(table)[-1]
    assert remove_unexisting_files(table).paths == ()
    gone.unlink()
    assert remove_unexisting_files(table, dry_run=True).paths == (str(gone),)
    assert table.snapshots.latest_id() == 6
    report = remove_unexisting_files(table)
    assert (report.snapshot_id, report.paths, report.rows) == (7, (str(gone),), 2)
    assert rows(table) == [(number, str(number)) for number in range(1, 5)]
    latest = table.snapshots.get(7)
    assert (latest.commit_kind.value, table.manifests.read_index(latest)) == ("OVERWRITE", [])
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert healthy(table)


def test_a_folder_that_is_gone_is_not_taken_for_lost_files(table: CatalogTable) -> None:
    for path in live_paths(table):
        path.unlink()
    with pytest.raises(WriteError, match="none of the 4 data files exists"):
        remove_unexisting_files(table)
    assert table.snapshots.latest_id() == 4


def test_manifests_that_are_gone_are_forgotten(table: CatalogTable) -> None:
    metas = table.manifests.data_manifests(table.snapshots.get(4))
    Path(table.paths.manifest(metas[1].file_name)).unlink()
    with pytest.raises(CorruptFileError):
        rows(table)
    dry = remove_unexisting_manifests(table, dry_run=True)
    assert (dry.manifests, dry.added, table.snapshots.latest_id()) == ((metas[1].file_name,), 1, 4)
    report = remove_unexisting_manifests(table)
    assert (report.snapshot_id, report.added, report.deleted) == (5, 1, 0)
    assert rows(table) == [(1, "1"), (3, "3"), (4, "4")]
    assert table.snapshots.get(5).total_record_count == 3
    assert remove_unexisting_manifests(table).snapshot_id is None
    assert rows_at(table, 1) == [(1, "1")]


def test_a_purged_table_has_nothing_left(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"changelog-producer": "input", "changelog.num-retained.min": "20"})
    for number in range(3):
        put(table, {number: "a"})
    create_tag(table, "t", snapshot_id=2)
    create_branch(table, "b", tag="t")
    put(table.on_branch("b"), {9: "b"})
    reset_consumer(table, "c", 1)
    dry = purge_files(table, dry_run=True)
    assert (dry.branches, dry.tags, dry.consumers, dry.rows, dry.snapshots) == (("b",), ("t",), ("c",), 3, (1, 2, 3))
    assert len(rows(table)) == 3
    report = purge_files(table, minimum_age=timedelta(0))
    assert report.deleted_bytes > 0
    assert (rows(table), table.snapshots.list_ids(), table.tags.names()) == ([], [4], [])
    assert not [path for path in files_on_disk(table) if "/bucket-" in str(path)]
    assert healthy(table)
    assert purge_files(table, minimum_age=timedelta(0)).is_empty
    assert table.snapshots.list_ids() == [4]
    put(table, {1: "again"})
    assert rows(table) == [(1, "again")]


def test_they_are_procedures_that_show_and_do_the_same(tmp_path: Path, table: CatalogTable) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CALL sys.compact_manifest(`table` => 'db.t')")
    assert table.snapshots.latest_id() == 5
    path = live_paths(table)[0]
    path.unlink()
    shown = session.sql("CALL sys.remove_unexisting_files('db.t', true)").to_arrow()
    assert shown.to_pydict() == {"result": [str(path)]}
    with pytest.raises(OptionError, match="parallelism 0 is below 1"):
        session.sql("CALL sys.remove_unexisting_files(`table` => 'db.t', parallelism => 0)")
    session.sql("CALL sys.remove_unexisting_files(`table` => 'db.t', parallelism => 2)")
    assert session.sql("CALL sys.remove_unexisting_manifests('db.t')").nothing_to_do
    assert session.sql("CALL sys.purge_files(`table` => 'db.t', dry_run => true)").to_arrow().num_rows > 1
    assert len(rows(table)) == 3


def test_a_catalog_is_told_of_what_its_warehouse_has(tmp_path: Path, table: CatalogTable) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.sqlite", "warehouse": str(tmp_path)}
    for number, call in enumerate(("sys.repair('db.t')", "sys.repair('db')", "sys.repair()")):
        session = Session({**options, "uri": f"jdbc:sqlite:{tmp_path}/{number}.sqlite"})
        with pytest.raises(NotFoundError):
            session.current().get_table("db.t")
        if number == 0:
            session.sql("CREATE DATABASE db")
        session.sql(f"CALL {call}")
        assert rows(session.table(("db", "t"))) == rows(table)


def test_the_snapshot_behind_a_gap_becomes_the_earliest(table: CatalogTable) -> None:
    """Accepted and refused as of Java's `SnapshotManagerTest`."""
    with pytest.raises(OptionError, match="does not follow a gap"):
        repair_earliest_snapshot(table, 3)
    table.snapshots.write_hint("EARLIEST", 1)
    Path(table.paths.snapshot(2)).unlink()
    for number, problem in ((2, "snapshot 2 does not exist"), (4, "does not follow a gap"), (9, "is not between")):
        with pytest.raises((OptionError, NotFoundError), match=problem):
            repair_earliest_snapshot(table, number)
    assert repair_earliest_snapshot(table, 3, dry_run=True).previous == table.snapshots.earliest_id() == 1
    session = Session({"warehouse": str(Path(table.location).parents[1])})
    call = "CALL sys.repair_earliest_snapshot('db.t', 3)"
    assert session.sql(call).to_arrow().to_pylist() == [
        {"previous_earliest_snapshot_id": 1, "current_earliest_snapshot_id": 3}
    ]
    assert session.sql(call).nothing_to_do
    assert (table.snapshots.earliest_id(), table.snapshots.read_hint("EARLIEST")) == (3, 3)
    with pytest.raises(OptionError, match="is not between the earliest, 3, and"):
        repair_earliest_snapshot(table, 1)
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert (table.snapshots.list_ids()[-1], rows(table)) == (4, [(1, "1"), (2, "2"), (3, "3"), (4, "4")])
