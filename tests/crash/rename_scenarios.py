"""A table gets another name: what is killed, and what must hold afterwards."""

from typing import TYPE_CHECKING

import pytest

from maintenance.catalog import AddColumn, CatalogTable, Schema
from maintenance.errors import NotFoundError
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.operations import create_branch, create_tag, fsck
from maintenance.table.table import Table
from tests.small_tables import Place, put, rows, small_table

if TYPE_CHECKING:
    from tests.crash.scenarios import Reading

_OLD, _NEW = "db.old", "db.new"
_ROWS = {1: "a", 2: "b", 3: "c"}


def _catalog(table: Table) -> FilesystemCatalog:
    warehouse = table.location.rstrip("/").rsplit("/", 2)[0]
    return FilesystemCatalog(warehouse, table.file_io, {"warehouse": warehouse}, lambda: CatalogTable)


def _found(table: Table, name: str) -> CatalogTable:
    actual = _catalog(table).get_table(name)
    assert isinstance(actual, CatalogTable)
    return actual


def prepare(place: Place) -> None:
    """Beside the table of the scenarios one with two schemas, a tag and a branch."""
    table = small_table(place)
    put(table, {1: "a"})
    catalog, schema = _catalog(table), table.schema
    columns = [(field.name, str(field.type)) for field in schema.fields]
    catalog.create_table(_OLD, Schema(columns, schema.primary_keys, (), dict(schema.options)))
    old = _found(table, _OLD)
    put(old, {1: "a"})
    create_tag(old, "first")
    create_branch(old, "b", tag="first")
    catalog.alter_table(_OLD, [AddColumn("more", "INT")])
    put(_found(table, _OLD), {2: "b", 3: "c"})


def rename(table: Table) -> None:
    catalog = _catalog(table)
    names = catalog.list_tables("db")
    if "new" in names and not table.file_io.list_tree(catalog.database_folder("db") + "/old"):
        return
    catalog.rename_table(_OLD, _NEW)


def check_renamed(table: Table) -> None:
    assert _catalog(table).list_tables("db") == ["new", "t"]
    _check_whole(_found(table, _NEW))


def _check_whole(found: Table) -> None:
    assert [row["k"] for row in found.to_arrow().sort_by("k").to_pylist()] == list(_ROWS)
    assert found.tags.names() == ["first"]
    assert rows(found.on_branch("b")) == [(1, "a")]


def check_one_name(before: "Reading", after: Table) -> None:
    """The table is there under exactly one of its names, and whole."""
    assert rows(after) == before.rows
    catalog = _catalog(after)
    names = {"old", "new"} & set(catalog.list_tables("db"))
    assert len(names) == 1, names
    (name,) = names
    _check_whole(_found(after, f"db.{name}"))
    with pytest.raises(NotFoundError):
        catalog.get_table(_OLD if name == "new" else _NEW)


def check_renamed_once(whole: Table, table: Table) -> None:
    check_renamed(table)
    ours, theirs = (_files(each, "new") for each in (table, whole))
    assert ours == theirs
    assert _files(table, "old") == set()
    new = _found(table, _NEW)
    assert fsck(new.file_io, new.location, deep=True).healthy


def _files(table: Table, name: str) -> set[str]:
    folder = f"{_catalog(table).database_folder('db')}/{name}"
    return {file.path for file in table.file_io.list_tree(folder) if file.name != ".folder"}
