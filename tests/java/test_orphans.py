"""Orphan files beside the Java core: both find the same ones, and neither removes what is live for the other."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    delete_branch,
    delete_tag,
    expire_snapshots,
    fsck,
    remove_orphan_files,
    restore,
    rollback_to,
)
from maintenance.operations.bin.run import BinRun
from tests.java.process import JavaProcess
from tests.java.samples import Row, table_of
from tests.models.reachable import files_on_disk, needed_files
from tests.small_tables import put, small_table, table_in

COLUMNS = (("k", "BIGINT NOT NULL"), ("v", "STRING"))
KINDS = {
    "keyed": {"bucket": "2"},
    "changelog": {"bucket": "1", "changelog-producer": "full-compaction"},
    "deletion vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "merged manifests": {"bucket": "1", "manifest.merge-min-count": "2"},
}
TOMORROW = timedelta(days=1)


def plant(table: CatalogTable) -> set[str]:
    """Files that nothing names."""
    root = Path(table.location)
    places = ("manifest/manifest-x-0", "index/index-x-0", "statistics/stat-x-0", "bucket-0/data-x-0.parquet")
    for place in places:
        (root / place).parent.mkdir(exist_ok=True)
        (root / place).write_text("stray")
    return {str(root / place) for place in places}


def found_here(table: CatalogTable, **arguments: Any) -> set[str]:
    moment = datetime.now(UTC) + TOMORROW + timedelta(hours=1)
    report = remove_orphan_files(None, table, now=moment, **arguments)
    return {orphan.path for orphan in report.orphans}


def found_by_java(java: JavaProcess, folder: Path) -> set[str]:
    return {path.removeprefix("file:") for path in java.orphans(str(folder), "db.t")}


def all_rows(java: JavaProcess, folder: Path, table: CatalogTable) -> dict[str, list[Row]]:
    """What the Java core reads of every snapshot and tag."""
    choices = [("scan.snapshot-id", str(number)) for number in table.snapshots.list_ids()]
    choices += [("scan.tag-name", name) for name in table.tags.names()]
    return {text: sorted(java.rows(str(folder), "db.t", {key: text}), key=str) for key, text in choices}


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_table_of_java_both_find_the_same(java: JavaProcess, tmp_path: Path, kind: str) -> None:
    java.create_table(str(tmp_path), "db.t", COLUMNS, (["k"], []), KINDS[kind])
    for i in range(4):
        java.write(str(tmp_path), "db.t", [(1, f"{i}"), (i + 2, "x")], ["+I", "+I"])
        java.compact(str(tmp_path), "db.t")
    table = table_of(str(tmp_path))
    create_tag(table, "kept", snapshot_id=3)
    java.expire(str(tmp_path), "db.t", 4)
    planted = plant(table)
    latest = table.snapshots.latest_id()
    assert latest is not None
    rollback_to(table, snapshot_id=latest - 1)
    before = all_rows(java, tmp_path, table)
    expected = found_by_java(java, tmp_path)
    assert expected > planted
    assert found_here(table, dry_run=True) == expected
    assert found_here(table) == expected
    assert found_by_java(java, tmp_path) == set()
    assert all_rows(java, tmp_path, table) == before
    assert fsck(table.file_io, table.location).healthy


def test_java_removes_nothing_live_of_our_tables(java: JavaProcess, tmp_path: Path) -> None:
    longer = {"changelog.num-retained.min": "1", "changelog.num-retained.max": "9"}
    table = small_table(tmp_path, {"changelog-producer": "full-compaction", **longer})
    for i in range(4):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    create_tag(table, "kept", snapshot_id=2)
    create_branch(table, "b", tag="kept")
    put(table.on_branch("b"), {7: "branch"})
    expire_snapshots(table, retain_min=2, retain_max=2)
    planted = plant(table)
    needed, before = files_on_disk(table) - planted, all_rows(java, tmp_path, table)
    assert found_here(table, dry_run=True) == found_by_java(java, tmp_path) == planted
    java.clean_orphans(str(tmp_path), "db.t")
    assert files_on_disk(table) == needed
    assert all_rows(java, tmp_path, table) == before
    assert None not in needed_files(table).values()
    delete_branch(table, "b")
    left = found_by_java(java, tmp_path)
    assert left
    assert found_here(table) == left


def test_java_reads_what_comes_back_from_the_bin(java: JavaProcess, tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for i in range(3):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    create_tag(table, "kept", snapshot_id=1)
    before = all_rows(java, tmp_path, table)
    expiry, removal = (BinRun.begin(table, str(tmp_path), name) for name in ("expire_snapshots", "delete_tag"))
    expire_snapshots(table, retain_min=1, retain_max=1, into=expiry)
    delete_tag(table, "kept", into=removal)
    restore(table, str(tmp_path), removal.head.run)
    restore(table, str(tmp_path), expiry.head.run)
    assert all_rows(java, tmp_path, table_in(tmp_path)) == before
    assert found_by_java(java, tmp_path) == set()
    assert os.path.exists(table.paths.snapshot(1))
