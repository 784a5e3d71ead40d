"""Copies of tables in another warehouse."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import AddColumn, Catalog, CatalogTable, Schema, open_catalog
from maintenance.errors import ConflictError, CorruptFileError, OptionError, PredicateError, SqlError
from maintenance.operations import clone, compact, create_branch, create_tag, delete, expire_snapshots, fsck
from maintenance.operations.databases import copying
from maintenance.operations.databases.clone import CLONED_SNAPSHOT
from maintenance.operations.databases.clone_database import clone_database
from maintenance.sql import Session
from tests.models.reachable import unreachable_files
from tests.servers.s3 import S3
from tests.small_tables import put, rows, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = small_table(tmp_path / "here")
    for number in range(3):
        put(table, {number: "a"})
    return table


@pytest.fixture
def there(tmp_path: Path) -> Catalog:
    return open_catalog({"warehouse": str(tmp_path / "there")})


def data_files(table: CatalogTable) -> set[str]:
    return {path.name for path in Path(table.location).rglob("data-*")}


def whole(table: CatalogTable) -> bool:
    return fsck(table.file_io, table.location).healthy and not unreachable_files(table)


def test_a_copy_is_brought_up_to_date(table: CatalogTable, there: Catalog) -> None:
    dry = clone(table, there, "db.copy", dry_run=True)
    assert (dry.new_files, dry.files, dry.snapshot_id, there.list_databases()) == (3, 3, None, [])
    first = clone(table, there, "db.copy")
    assert (first.copied_files, first.new_files, first.snapshot_id, first.source_snapshot) == (3, 3, 1, 3)
    assert first.copied_bytes == first.bytes == dry.new_bytes
    copy = there.get_table("db.copy")
    assert rows(copy) == rows(table)
    properties = copy.snapshots.get(1).properties
    assert properties is not None
    assert properties[CLONED_SNAPSHOT] == "3"
    again = clone(table, there, "db.copy")
    assert (again.snapshot_id, again.new_files, again.digest) == (None, 0, "")
    put(table, {7: "b"})
    more = clone(table, there, "db.copy")
    assert (more.copied_files, more.leaving_files, more.files, more.rows) == (1, 0, 4, 4)
    compact(None, table, full=True)
    merged = clone(table, there, "db.copy")
    assert merged.leaving_files == 4
    back = clone(table, there, "db.copy", snapshot_id=3)
    assert (back.copied_files, back.new_files) == (0, 3), "these files are still there"
    assert back.digest == first.digest
    assert rows(copy) == [(0, "a"), (1, "a"), (2, "a")]
    assert whole(copy)
    expire_snapshots(copy, retain_min=1, retain_max=1)
    assert data_files(copy) == data_files_of(table, 3)
    assert whole(copy)


def data_files_of(table: CatalogTable, snapshot_id: int) -> set[str]:
    return {entry.file.file_name for entry in table.manifests.live_entries(table.snapshots.get(snapshot_id))}


def test_older_schemas_tags_and_branches(table: CatalogTable, there: Catalog, tmp_path: Path) -> None:
    here = open_catalog({"warehouse": str(tmp_path / "here")})
    create_tag(table, "first", snapshot_id=1)
    create_branch(table, "b", tag="first")
    here.alter_table("db.t", [AddColumn("n", "INT")])
    grown = here.get_table("db.t")
    grown.write_arrow(pa.table({"k": [8], "v": ["c"], "n": pa.array([5], pa.int32())}))
    clone(grown, there, "db.copy")
    assert sorted(there.get_table("db.copy").to_arrow().to_pylist(), key=str) == sorted(
        grown.to_arrow().to_pylist(), key=str
    )
    clone(grown, there, "db.tagged", tag="first")
    assert [row["k"] for row in there.get_table("db.tagged").to_arrow().to_pylist()] == [0]
    own = table.on_branch("b")
    put(own, {5: "b"})
    clone(own, there, "db.branch")
    assert rows(there.get_table("db.branch")) == [(0, "a"), (5, "b")]
    with pytest.raises(OptionError, match="a snapshot and a tag"):
        clone(grown, there, "db.copy", tag="first", snapshot_id=1)


def test_deletion_vectors_and_partitions(tmp_path: Path, there: Catalog) -> None:
    here = open_catalog({"warehouse": str(tmp_path / "here")})
    here.create_database("db")
    options = {"bucket": "-1", "deletion-vectors.enabled": "true"}
    here.create_table("db.t", Schema([("p", "STRING"), ("k", "BIGINT")], [], ["p"], options))
    table = here.get_table("db.t")
    table.write_arrow(pa.table({"p": ["x/y", "", "x/y"], "k": [1, 2, 3]}))
    clone(table, there, "db.t")
    delete(None, table, "k = 1")
    assert clone(table, there, "db.t").new_files == 1, "the index file"
    copy = there.get_table("db.t")
    assert sorted(copy.to_arrow().column("k").to_pylist()) == [2, 3]
    assert whole(copy)


def test_a_target_that_is_the_source_or_not_a_clone_is_refused(
    table: CatalogTable, there: Catalog, tmp_path: Path
) -> None:
    here = open_catalog({"warehouse": str(tmp_path / "here")})
    with pytest.raises(OptionError, match="the target is the source"):
        clone(table, here, "db.t")
    clone(table, there, "db.copy")
    put(there.get_table("db.copy"), {9: "of somebody else"})
    with pytest.raises(ConflictError, match="and not by this clone"):
        clone(table, there, "db.copy")
    there.create_table("db.other", Schema([("x", "INT")]))
    with pytest.raises(ConflictError, match="another schema 0"):
        clone(table, there, "db.other")


def test_partitions_and_definitions_alone(tmp_path: Path, there: Catalog) -> None:
    here = open_catalog({"warehouse": str(tmp_path / "here")})
    here.create_database("db")
    options = {"bucket": "-1", "deletion-vectors.enabled": "true"}
    here.create_table("db.t", Schema([("p", "INT"), ("k", "BIGINT")], [], ["p"], options))
    table = here.get_table("db.t")
    table.write_arrow(pa.table({"p": pa.array([1, 2, 3], pa.int32()), "k": [1, 2, 3]}))
    empty = clone(table, there, "db.empty", meta_only=True)
    assert (empty.source_snapshot, empty.files, there.get_table("db.empty").to_arrow().num_rows) == (None, 0, 0)
    with pytest.raises(PredicateError, match="not partition columns"):
        clone(table, there, "db.t", where="k = 1")
    assert clone(table, there, "db.t", where="p <= 2").rows == 2
    delete(None, table, "k >= 2")
    table.write_arrow(pa.table({"p": pa.array([1, 3], pa.int32()), "k": [11, 33]}))
    assert clone(table, there, "db.t", where="p = 1").new_files == 1
    copy = there.get_table("db.t")
    assert sorted(copy.to_arrow()["k"].to_pylist()) == [1, 2, 11], "the deletion in partition 2 is not asked for"
    clone(table, there, "db.t", where="p = 2")
    assert sorted(copy.to_arrow()["k"].to_pylist()) == [1, 11]
    assert whole(copy)
    as_it_is = clone(table, there, "db.t", clone_if_exists=False)
    assert (as_it_is.source_snapshot, copy.snapshots.latest_id()) == (None, 3)


def test_into_a_jdbc_catalog_that_then_has_it(table: CatalogTable, tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "there")}
    jdbc = open_catalog(options)
    assert clone(table, jdbc, "db.copy", dry_run=True).new_files == 3
    assert jdbc.list_databases() == []
    first = clone(table, jdbc, "db.copy")
    assert (first.copied_files, jdbc.list_tables("db")) == (3, ["copy"])
    assert rows(jdbc.get_table("db.copy")) == rows(table)
    open_catalog({"warehouse": str(tmp_path / "here")}).alter_table("db.t", [AddColumn("n", "INT")])
    grown = open_catalog({"warehouse": str(tmp_path / "here")}).get_table("db.t")
    grown.write_arrow(pa.table({"k": [8], "v": ["c"], "n": pa.array([5], pa.int32())}))
    assert clone(grown, jdbc, "db.copy").copied_files == 1
    assert jdbc.get_table("db.copy").to_arrow().num_rows == 4
    session = Session({"warehouse": str(tmp_path / "here")})
    conf = ",".join(f"{key}={text}" for key, text in options.items())
    call = f"CALL sys.clone(database => 'db', `table` => 't', target_table => 'again', target_catalog_conf => '{conf}')"
    (row,) = session.sql(call).to_arrow().to_pylist()
    assert (row["rows"], row["target"], jdbc.list_tables("db")) == (4, "db.again", ["again", "copy"])


def test_between_stores_and_catalogs(s3: S3, tmp_path: Path) -> None:
    options = s3.options(s3.new_bucket())
    table = small_table(options)
    put(table, {1: "a", 2: "b"})
    here = open_catalog({"warehouse": str(tmp_path / "there")})
    assert clone(table, here, "db.copy").copied_files == 1
    put(table, {3: "c"})
    assert clone(table, here, "db.copy").copied_files == 1
    copy = here.get_table("db.copy")
    assert rows(copy) == rows(table) == [(1, "a"), (2, "b"), (3, "c")]
    # And back: the session's settings of the store are the target's, too.
    session = Session(options)
    session.add_catalog("here", here)
    back = f"CALL sys.clone(database => 'db', `table` => 'copy', catalog_conf => 'warehouse={tmp_path}/there')"
    (row,) = session.sql(back).to_arrow().to_pylist()
    assert (row["rows"], row["copied_files"]) == (3, 2)
    assert rows(session.table(("db", "copy"))) == rows(table)


def test_what_an_interrupted_copy_left_is_proved_before_it_is_used(
    table: CatalogTable, there: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, calls = copying._stream, list[Any]()

    def failing(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise OSError("the network is down")
        return stream(*arguments)

    monkeypatch.setattr(copying, "_stream", failing)
    with pytest.raises(OSError, match="network"):
        clone(table, there, "db.copy", parallelism=1)
    copy = there.get_table("db.copy")
    assert copy.snapshots.latest_id() is None
    left = sorted(Path(copy.location).rglob("data-*"))
    assert len(left) == 2
    left[0].write_bytes(b"x" * left[0].stat().st_size)
    report = clone(table, there, "db.copy")
    assert (report.new_files, report.copied_files) == (3, 2)
    assert rows(copy) == rows(table)
    assert whole(copy)


def test_a_file_that_does_not_arrive_as_it_was_is_not_published(
    table: CatalogTable, there: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = copying._digest
    monkeypatch.setattr(
        copying, "_digest", lambda file_io, path: digest(file_io, path) if "/here/" in path else "another"
    )
    with pytest.raises(CorruptFileError, match="did not arrive"):
        clone(table, there, "db.copy")
    assert there.get_table("db.copy").snapshots.latest_id() is None


def test_a_damaged_source_is_not_copied(table: CatalogTable, there: Catalog) -> None:
    file = next(Path(table.location).rglob("data-*"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match="its manifest says"):
        clone(table, there, "db.copy")


def test_a_database_is_cloned_without_the_excluded_tables(table: CatalogTable, there: Catalog, tmp_path: Path) -> None:
    here = open_catalog({"warehouse": str(tmp_path / "here")})
    for name in ("empty", "left_out"):
        here.create_table(f"db.{name}", Schema([("x", "INT")]))
    report = clone_database(here, "db", there, "copy", excluded=["db.left_out"])
    assert (set(report.reports), report.errors) == ({"db.t", "db.empty"}, {})
    assert there.list_tables("copy") == ["empty", "t"]
    assert report.reports["db.empty"].snapshot_id is None
    assert rows(there.get_table("copy.t")) == rows(table)


def test_it_is_a_procedure(table: CatalogTable, tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path / "here")})
    goal = f"target_database => 'copy', target_catalog_conf => 'warehouse={tmp_path}/there'"
    shown = session.sql(f"CALL sys.clone(database => 'db', `table` => 't', {goal})").to_arrow().to_pylist()
    assert [(row["target"], row["copied_files"], row["rows"], len(row["digest"])) for row in shown] == [
        ("copy.t", 3, 3, 64)
    ]
    (row,) = session.sql(f"CALL sys.clone(database => 'db', {goal}, dry_run => true)").to_arrow().to_pylist()
    assert (row["copied_files"], row["snapshot_id"]) == (0, None)
    for unfit in (
        "clone_from => 'hive'",
        "prefer_file_format => 'orc'",
        "target_table_conf => 'a=b'",
        "where => 'a = 1'",
    ):
        with pytest.raises(SqlError):
            session.sql(f"CALL sys.clone(database => 'db', {goal}, {unfit})")
