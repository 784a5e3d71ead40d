"""A branch's files are added to another branch."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import ConflictError, NotFoundError, OptionError, UnsupportedError
from maintenance.operations import compact, create_branch, create_tag, expire_snapshots, fsck, merge_branch
from maintenance.sql import Session
from tests.small_tables import put, rows, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Branch `b` starts with the first of two commits of main, and has one of its own."""
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "both"})
    create_tag(table, "start")
    create_branch(table, "b", tag="start")
    put(table, {2: "main"})
    put(table.on_branch("b"), {3: "branch"})
    return table


def test_what_the_target_has_not_is_added_once(table: CatalogTable) -> None:
    assert merge_branch(table, "b", dry_run=True).files == 1
    assert table.snapshots.latest_id() == 2
    report = merge_branch(table, "b")
    assert (report.snapshot_id, report.files, report.rows) == (3, 1, 1)
    assert rows(table) == [(1, "both"), (2, "main"), (3, "branch")]
    assert merge_branch(table, "b").snapshot_id is None
    assert merge_branch(table, "main", "b").rows == 1
    assert rows(table.on_branch("b")) == rows(table)


def test_the_files_are_shared(table: CatalogTable) -> None:
    merge_branch(table, "b")
    branch = table.on_branch("b")
    compact(None, branch, full=True)
    expire_snapshots(branch, retain_min=1, retain_max=1)
    assert fsck(table.file_io, table.location, deep=True).healthy
    assert len(rows(table)) == 3


def test_what_cannot_be_merged(tmp_path: Path, table: CatalogTable) -> None:
    with pytest.raises(OptionError, match="into itself"):
        merge_branch(table, "main")
    with pytest.raises(NotFoundError, match="'c' does not exist"):
        merge_branch(table, "c")
    create_branch(table, "empty")
    with pytest.raises(NotFoundError, match="has no snapshot"):
        merge_branch(table, "empty")
    compact(None, table.on_branch("b"), full=True)
    put(table.on_branch("b"), {4: "b"})
    compact(None, table.on_branch("b"), full=True)
    with pytest.raises(UnsupportedError, match="is a COMPACT"):
        merge_branch(table, "b")
    expire_snapshots(table, retain_min=1, retain_max=1)
    create_branch(table, "late", snapshot_id=2)
    with pytest.raises(UnsupportedError, match="snapshot 1 is gone"):
        merge_branch(table, "late")
    keyed = small_table(tmp_path / "keyed")
    create_branch(keyed, "b")
    with pytest.raises(UnsupportedError, match="primary key"):
        merge_branch(keyed, "b")


def test_other_columns_are_a_conflict(tmp_path: Path, table: CatalogTable) -> None:
    Session({"warehouse": str(tmp_path)}).sql("ALTER TABLE db.t ADD COLUMN extra INT")
    with pytest.raises(ConflictError, match="columns are not those"):
        merge_branch(open_catalog({"warehouse": str(tmp_path)}).get_table("db.t"), "b")


def test_it_is_a_procedure_of_both_engines(tmp_path: Path, table: CatalogTable) -> None:
    spark, flink = (Session({"warehouse": str(tmp_path)}, dialect=dialect) for dialect in ("spark", "flink"))
    assert spark.sql("CALL sys.merge_branch(table => 'db.t', source_branch => 'b')").to_arrow().to_pylist() == [
        {"result": True}
    ]
    flink.sql("CALL sys.merge_branch('db.t', 'main', 'b')")
    assert rows(table.on_branch("b")) == rows(table) == [(1, "both"), (2, "main"), (3, "branch")]


def test_procedures_by_time_and_watermark(tmp_path: Path, table: CatalogTable) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    millis = table.snapshots.get(2).time_millis
    actual = session.sql(f"CALL sys.create_tag_from_timestamp('db.t', 'x', {millis})").to_arrow().to_pylist()
    assert actual == [{"tagName": "x", "snapshot": 2, "commit_time": millis, "watermark": "null"}]
    with pytest.raises(NotFoundError):
        session.sql("CALL sys.create_tag_from_watermark('db.t', 'y', 5)")
    with pytest.raises(NotFoundError):
        session.sql("CALL sys.rollback_to_watermark('db.t', 5)")
