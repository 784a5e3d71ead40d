"""What every catalog must do, on each kind of storage."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import Catalog, RemoveOption, Schema, SetOption, open_catalog
from maintenance.errors import (
    AlreadyExistsError,
    NotFoundError,
    OptionError,
    SchemaError,
    StorageError,
    UnsupportedError,
)
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.rename_branch import rename_branch
from tests.tables import KEYED, files_on_disk, keyed, state, table_of

PLAIN = Schema(KEYED, ["id"], options={"bucket": "1"})


@pytest.fixture(params=["path", "file-uri", "fsspec-memory", "fsspec-local"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    warehouses = {
        "path": str(tmp_path),
        "file-uri": f"file:{tmp_path}",
        "fsspec-memory": f"memory://warehouse-{uuid.uuid4()}",
        "fsspec-local": f"local://{tmp_path}/remote",
    }
    return open_catalog({"warehouse": warehouses[request.param] + "/", "fs.auto_mkdir": "true"})


@pytest.fixture
def with_table(catalog: Catalog) -> Catalog:
    catalog.create_database("db")
    catalog.create_table("db.t", PLAIN)
    return catalog


def test_databases_are_created_listed_and_dropped(catalog: Catalog) -> None:
    assert catalog.list_databases() == []
    catalog.create_database("b")
    catalog.create_database("a")
    assert catalog.list_databases() == ["a", "b"]
    with pytest.raises(AlreadyExistsError, match="'a' exists"):
        catalog.create_database("a")
    catalog.create_database("a", ignore_if_exists=True)
    catalog.drop_database("a")
    with pytest.raises(NotFoundError, match="Databases there: b"):
        catalog.drop_database("a")
    catalog.drop_database("a", ignore_if_not_exists=True)
    assert catalog.list_databases() == ["b"]


@pytest.mark.parametrize("name", ["sys", "a/b", " ", "", "..", ".", "../x", "a\0b", "a:b", "a.b", "x" * 253, "\ud800"])
def test_names_that_no_database_can_have(catalog: Catalog, name: str) -> None:
    with pytest.raises(SchemaError, match="cannot be a database"):
        catalog.create_database(name)
    assert catalog.list_databases() == []


@pytest.mark.parametrize("name", ["a/b", " ", "..", ".", "../../x", "a\0b", "a:b", "x" * 256, "\ud800"])
def test_names_that_no_table_can_have(with_table: Catalog, name: str) -> None:
    for attempt in (lambda: with_table.create_table(f"db.{name}", PLAIN), lambda: with_table.get_table(f"db.{name}")):
        with pytest.raises((SchemaError, NotFoundError, StorageError)):
            attempt()
    with pytest.raises(SchemaError, match="cannot be a table"):
        with_table.create_table(f"db.{name}", PLAIN)
    with pytest.raises((SchemaError, NotFoundError, StorageError)):
        with_table.drop_table(f"db.{name}")
    assert with_table.list_tables("db") == ["t"]


@pytest.mark.parametrize(
    "name", ["*", "?", "[t]", "a b", "ü", "a\\b", "a\nb", "...", ".x", "%2e%2e", "%2F", "t#b", "t?b"]
)
def test_names_that_apache_paimon_gives(with_table: Catalog, name: str) -> None:
    """Patterns, percent signs and the like mean themselves: a table called ``*`` is dropped alone."""
    table_of(with_table).write_arrow(keyed({1: "a"}))
    with_table.create_table(f"db.{name}", PLAIN)
    other = table_of(with_table, f"db.{name}")
    other.write_arrow(keyed({2: "b"}))
    create_tag(other, name)
    create_branch(other, name, tag=name)
    assert state(other.on_branch(name)) == state(other.copy({"scan.tag-name": name})) == {2: "b"}
    rename_branch(other, name, f"{name}2")
    delete_branch(other, f"{name}2")
    assert (other.tags.names(), state(other)) == ([name], {2: "b"})
    assert with_table.list_tables("db") == sorted([name, "t"])
    with_table.drop_table(f"db.{name}")
    assert with_table.list_tables("db") == ["t"]
    assert state(table_of(with_table)) == {1: "a"}


def test_a_warehouse_that_is_not_there(catalog: Catalog) -> None:
    assert not open_catalog({**catalog.options, "warehouse": f"{catalog.warehouse}/nowhere"}).warehouse_exists()
    catalog.create_database("db")
    catalog.create_table("db.t", PLAIN)
    assert catalog.warehouse_exists()


def test_tables_are_created_listed_and_dropped(with_table: Catalog) -> None:
    with_table.create_table("db.a", PLAIN)
    assert with_table.list_tables("db") == ["a", "t"]
    with pytest.raises(AlreadyExistsError, match=r"'db\.t' exists"):
        with_table.create_table("db.t", PLAIN)
    with_table.create_table("db.t", PLAIN, ignore_if_exists=True)
    with pytest.raises(SchemaError, match="has tables"):
        with_table.drop_database("db")
    with_table.drop_table("db.a")
    with pytest.raises(NotFoundError, match=r"'db\.a' does not exist"):
        with_table.drop_table("db.a")
    with_table.drop_table("db.a", ignore_if_not_exists=True)
    assert with_table.list_tables("db") == ["t"]
    with_table.drop_database("db", cascade=True)
    assert with_table.list_databases() == []


def test_what_is_not_there(with_table: Catalog) -> None:
    with pytest.raises(NotFoundError, match="Tables there: t"):
        with_table.get_table("db.x")
    with pytest.raises(NotFoundError, match="Databases there: db"):
        with_table.get_table("nowhere.t")
    with pytest.raises(NotFoundError, match="Databases there: db"):
        with_table.create_table("nowhere.t", PLAIN)
    with pytest.raises(NotFoundError):
        with_table.list_tables("nowhere")
    with pytest.raises(NotFoundError):
        with_table.get_table("db.t$branch_b")
    with pytest.raises(NotFoundError, match="does not exist"):
        with_table.alter_table("db.x", [SetOption("a", "b")])


def test_a_dropped_table_can_be_made_again(with_table: Catalog) -> None:
    table_of(with_table).write_arrow(keyed({1: "a"}))
    with_table.drop_table("db.t")
    with_table.create_table("db.t", PLAIN)
    assert state(table_of(with_table)) == {}


def test_a_table_reads_what_was_written(with_table: Catalog) -> None:
    table = table_of(with_table)
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({1: "b", 2: "c"}))
    assert state(table_of(with_table)) == {1: "b", 2: "c"}


def test_no_new_table_makes_itself(with_table: Catalog) -> None:
    with pytest.raises(OptionError, match="'auto-create' = 'true'"):
        with_table.create_table("db.u", replace(PLAIN, options={"auto-create": "true"}))
    assert with_table.list_tables("db") == ["t"]


def test_an_operation_takes_no_system_table(with_table: Catalog) -> None:
    for name in ("db.t$snapshots", "db.t$audit_log"):
        with pytest.raises(OptionError, match=r"is not a table with files of its own .* Name the table itself"):
            create_tag(with_table.get_table(name), "a")


def test_system_tables_have_no_life_of_their_own(with_table: Catalog) -> None:
    for name in ("db.t$snapshots", "db.t$branch_b", "db.t$branch_main"):
        with pytest.raises(SchemaError, match="not a table of its own"):
            with_table.create_table(name, PLAIN)
        with pytest.raises(SchemaError, match="not a table of its own"):
            with_table.drop_table(name)
    with pytest.raises(NotFoundError, match="all_table_options"):
        with_table.get_table("sys.all_tables")
    with pytest.raises(NotFoundError, match=r"\$nonsense"):
        with_table.get_table("db.t$nonsense")


def test_scan_options_of_a_table_must_not_contradict_each_other(with_table: Catalog) -> None:
    with pytest.raises(OptionError, match="needs another option"):
        with_table.create_table("db.u", Schema(KEYED, ["id"], options={"bucket": "1", "scan.mode": "from-timestamp"}))
    with_table.alter_table("db.t", [SetOption("scan.snapshot-id", "1")])
    with pytest.raises(OptionError, match="both set"):
        with_table.alter_table("db.t", [SetOption("scan.tag-name", "x")])


def test_options_change_as_one_new_schema(with_table: Catalog) -> None:
    with_table.alter_table("db.t", [SetOption("snapshot.num-retained.min", "2"), SetOption("file.compression", "lz4")])
    table = table_of(with_table)
    assert table.schema.id == 1
    assert table.options == {"bucket": "1", "snapshot.num-retained.min": "2", "file.compression": "lz4"}
    with_table.alter_table("db.t", [RemoveOption("file.compression"), RemoveOption("never.set")])
    table = table_of(with_table)
    assert table.schema.id == 2
    assert table.options == {"bucket": "1", "snapshot.num-retained.min": "2"}
    assert table.schema.fields == table.schemas.get(0).fields


@pytest.mark.parametrize(
    "change",
    [
        SetOption("bucket-key", "id"),
        SetOption("bucket-function.type", "mod"),
        SetOption("data-file.path-directory", "x"),
        SetOption("partition", "v"),
        SetOption("bucket", "-1"),
        RemoveOption("bucket"),
        SetOption("type", "table"),
    ],
)
def test_options_that_files_depend_on_stay(with_table: Catalog, change: SetOption | RemoveOption) -> None:
    table_of(with_table).write_arrow(keyed({1: "a"}))
    with pytest.raises(SchemaError, match=f"option '{change.key}' cannot change"):
        with_table.alter_table("db.t", [change])
    assert table_of(with_table).schema.id == 0


def test_ignoring_deletes_cannot_be_taken_back(with_table: Catalog) -> None:
    with_table.alter_table("db.t", [SetOption("ignore-delete", "true")])
    table_of(with_table).write_arrow(keyed({1: "a"}))
    with pytest.raises(SchemaError, match="'ignore-delete' cannot change from 'true' to 'false'"):
        with_table.alter_table("db.t", [SetOption("ignore-delete", "false")])


def test_older_retractions_do_not_count_once_they_are_ignored(with_table: Catalog) -> None:
    table_of(with_table).write_arrow(keyed({1: "a", 2: "b"}))
    table_of(with_table).write_arrow(keyed({1: None}), ["-D"])
    assert state(table_of(with_table)) == {2: "b"}
    with_table.alter_table("db.t", [SetOption("ignore-delete", "true")])
    assert state(table_of(with_table)) == {1: "a", 2: "b"}


@pytest.mark.parametrize("key", ["merge-engine", "bucket-key", "bucket", "partition", "path"])
def test_no_read_may_change_what_files_depend_on(with_table: Catalog, key: str) -> None:
    with pytest.raises(OptionError, match=f"'{key}'"):
        table_of(with_table).copy({key: "id"})
    assert table_of(with_table).copy({"bucket": "1"}).options["bucket"] == "1"


def test_values_of_options_are_checked_when_they_are_set(with_table: Catalog) -> None:
    with pytest.raises(OptionError, match=r"'snapshot\.num-retained\.min' = 'x'"):
        with_table.alter_table("db.t", [SetOption("snapshot.num-retained.min", "x")])
    with pytest.raises(UnsupportedError, match=r"query-auth\.enabled"):
        with_table.alter_table("db.t", [SetOption("query-auth.enabled", "true")])


def test_defaults_of_the_catalog(tmp_path: Path) -> None:
    catalog = open_catalog(
        {"warehouse": str(tmp_path), "table-default.bucket": "3", "table-default.file.compression": "lz4"}
    )
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(KEYED, ["id"], options={"file.compression": "zstd"}))
    assert table_of(catalog).options == {"bucket": "3", "file.compression": "zstd"}


def test_dropping_a_table_deletes_all_of_its_files(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", PLAIN)
    table = table_of(catalog)
    table.write_arrow(keyed({1: "a"}))
    assert files_on_disk(table)
    catalog.drop_table("db.t")
    assert list((tmp_path / "db.db").iterdir()) == []
