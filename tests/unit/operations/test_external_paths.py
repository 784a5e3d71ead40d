"""What deletes, copies and checks files finds those that are outside the folder of their table."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, RemoveOption, open_catalog
from maintenance.errors import MissingFileError
from maintenance.operations import (
    clone,
    compact,
    create_tag,
    empty_bin,
    expire_snapshots,
    fsck,
    purge_files,
    remove_orphan_files,
    remove_unexisting_files,
    restore,
)
from maintenance.operations.bin.bytes_in_bin import bytes_in_bin
from maintenance.operations.bin.run import BinRun
from maintenance.operations.compaction.interrupted import cleared_if_interrupted
from maintenance.operations.orphans.orphan_bytes import orphan_bytes
from tests.small_tables import put, rows, small_table, table_in
from tests.tables import create_table, live

PATHS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"
EXCLUSIVE = "paimon-maintenance.external-paths.exclusive"
INDEXED = {"file-index.bloom-filter.columns": "v", "file-index.in-manifest-threshold": "1 b"}
OLD = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


def external(folder: Path, strategy: str = "round-robin", **options: str) -> CatalogTable:
    paths = {PATHS: f"file:{folder}/a,file:{folder}/b", STRATEGY: strategy}
    return small_table(folder / "w", {**paths, EXCLUSIVE: "true", **INDEXED, **options})


def outside(folder: Path) -> set[str]:
    """Files below the external paths."""
    actual = (path for name in ("a", "b") for path in (folder / name).rglob("*"))
    return {str(path.relative_to(folder)) for path in actual if path.is_file()}


def age(folder: Path) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))


def strays(folder: Path, *places: str) -> None:
    for place in places:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text("stray")


@pytest.mark.parametrize("strategy", ["round-robin", "entropy-inject"])
def test_orphans_go_and_nothing_else(tmp_path: Path, strategy: str) -> None:
    table = external(tmp_path, strategy)
    put(table, {i: f"{i}" for i in range(20)})
    put(table, {1: "y"})
    named = outside(tmp_path)
    assert any(name.endswith(".index") for name in named)
    planted = ["a/bucket-0/data-x-0.orc", "b/bucket-1/0000/1111/0000/11110000/data-x-1.orc"]
    others = ["a/readme", "a/bucket-0/deeper/data-x-2.orc", "b/elsewhere/bucket-0/data-x-3.orc"]
    strays(tmp_path, *planted, *others)
    age(tmp_path)
    assert orphan_bytes(table).files == 2
    report = remove_orphan_files(None, table)
    assert (report.deleted_files, report.notes) == (2, ())
    assert outside(tmp_path) == named | set(others)
    assert rows(table)[1] == (1, "y")


def test_orphans_of_a_folder_that_others_use_stay(tmp_path: Path) -> None:
    table = external(tmp_path)
    other = create_table(
        tmp_path / "w",
        (("k", "BIGINT NOT NULL"), ("v", "STRING")),
        ("k",),
        {PATHS: f"file:{tmp_path}/b", STRATEGY: "round-robin"},
        name="db.u",
    )
    put(table, {1: "x"})
    put(other, {1: "y"})
    strays(tmp_path, "a/bucket-0/data-x-0.orc", "b/bucket-0/data-x-1.orc")
    age(tmp_path)
    report = remove_orphan_files(None, table)
    assert [orphan.path for orphan in report.orphans] == [f"file:{tmp_path}/a/bucket-0/data-x-0.orc"]
    assert "table db.u is there, too" in report.notes[0]
    assert rows(other) == [(1, "y")]
    catalog = open_catalog({"warehouse": str(tmp_path / "w")})
    catalog.alter_table("db.t", [RemoveOption(EXCLUSIVE)])
    strays(tmp_path, "a/bucket-0/data-x-0.orc")
    age(tmp_path)
    report = remove_orphan_files(None, table_in(tmp_path / "w"))
    assert (report.orphans, EXCLUSIVE in report.notes[0]) == ((), True)


def test_expired_files_go_and_come_back_from_the_bin(tmp_path: Path) -> None:
    table = external(tmp_path, **{"snapshot.clean-empty-directories": "true"})
    for number in range(3):
        put(table, dict.fromkeys(range(9), f"{number}"))
        compact(None, table, full=True)
    before = outside(tmp_path)
    warehouse = str(tmp_path / "w")
    into = BinRun.begin(table, warehouse, "expire_snapshots")
    expire_snapshots(table, retain_min=1, retain_max=1, into=into)
    live_now = outside(tmp_path)
    kept = {name for name in live_now if "_maintenance" not in name}
    assert kept < before
    assert {name.partition("/files/")[2] for name in live_now - kept} == {
        name.partition("/")[2] for name in before - kept
    }
    held = bytes_in_bin(table, warehouse)
    assert held is not None
    assert held.files == into.taken_files
    report = restore(table, warehouse, into.head.run)
    assert (report.missing, report.incomplete) == ((), ())
    assert outside(tmp_path) == before
    assert fsck(table.file_io, table.location).healthy
    again = BinRun.begin(table, warehouse, "expire_snapshots")
    expire_snapshots(table, retain_min=1, retain_max=1, into=again)
    emptied = empty_bin(table.file_io, warehouse, now=datetime(2100, 1, 1, tzinfo=UTC))
    assert again.head.run in emptied.runs
    assert outside(tmp_path) == kept
    assert rows(table) == [(i, "2") for i in range(9)]


def test_a_dropped_table_takes_its_files_along(tmp_path: Path) -> None:
    table = external(tmp_path)
    put(table, {1: "x"})
    compact(None, table, full=True)
    create_tag(table, "kept")
    put(table, {1: "y"})
    expire_snapshots(table, retain_min=1, retain_max=1)
    strays(tmp_path, "a/bucket-0/data-of-others.orc")
    open_catalog({"warehouse": str(tmp_path / "w")}).drop_table("db.t")
    assert outside(tmp_path) == {"a/bucket-0/data-of-others.orc"}


def test_a_dropped_database_too(tmp_path: Path) -> None:
    put(external(tmp_path), {1: "x"})
    open_catalog({"warehouse": str(tmp_path / "w")}).drop_database("db", cascade=True)
    assert outside(tmp_path) == set()


def test_a_clone_has_all_files_in_its_own_folder(tmp_path: Path) -> None:
    table = external(
        tmp_path, **{"deletion-vectors.enabled": "true", "index-file-in-data-file-dir": "true", "bucket": "1"}
    )
    put(table, dict.fromkeys(range(9), "x"))
    compact(None, table, full=True)
    put(table, {1: "y"})
    compact(None, table)
    before = outside(tmp_path)
    target = open_catalog({"warehouse": str(tmp_path / "copy")})
    first = clone(table, target, "db.t")
    assert first.copied_files
    copy = target.get_table("db.t")
    assert isinstance(copy, CatalogTable)
    assert rows(copy) == rows(table)
    assert not {PATHS, STRATEGY, EXCLUSIVE} & set(copy.options)
    assert all(entry.file.external_path is None for entry in live(copy))
    assert clone(table, target, "db.t").snapshot_id is None
    put(table, {2: "z"})
    compact(None, table, full=True)
    clone(table, target, "db.t")
    assert rows(copy) == rows(table)
    target.drop_table("db.t")
    assert outside(tmp_path) >= before
    assert fsck(table.file_io, table.location).healthy


def test_a_missing_file_is_found_and_taken_out(tmp_path: Path) -> None:
    table = external(tmp_path)
    put(table, {i: f"{i}" for i in range(9)})
    entry = live(table)[0]
    assert entry.file.external_path is not None
    Path(entry.file.external_path.removeprefix("file:")).unlink()
    assert not fsck(table.file_io, table.location).healthy
    with pytest.raises(MissingFileError, match="file:"):
        table.to_arrow()
    remove_unexisting_files(table)
    assert len(rows(table)) == 9 - entry.file.row_count
    purge_files(table)
    assert rows(table) == []
    assert outside(tmp_path) == set()


def test_an_interrupted_rewrite_leaves_nothing(tmp_path: Path) -> None:
    table = external(tmp_path, "entropy-inject")
    put(table, {i: f"{i}" for i in range(9)})
    before = outside(tmp_path)
    (place, *_) = [(entry.partition, entry.bucket) for entry in live(table)]
    strays(tmp_path, f"a/bucket-{place[1]}/0000/1111/0000/11110000/data-stamp-0.orc")
    with pytest.raises(KeyboardInterrupt), cleared_if_interrupted(table, [place], "stamp", quiet_looks=0):
        raise KeyboardInterrupt
    assert outside(tmp_path) == before
