"""A table that gets another name on a store: what an interrupted renaming leaves, and how the next one ends it."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from maintenance.catalog import AddColumn, Catalog, CatalogTable, Schema, open_catalog
from maintenance.errors import AlreadyExistsError, ConflictError, NotFoundError
from maintenance.metastore.folder_move import FolderMove
from tests.servers.s3 import S3
from tests.tables import KEYED, keyed, state, table_of

ROWS = {1: "a", 2: "b"}
SCHEMA = Schema(KEYED, ["id"], options={"bucket": "1"})


@pytest.fixture(params=["filesystem", "jdbc"])
def catalog(request: pytest.FixtureRequest, s3: S3, tmp_path: Path) -> Iterator[Catalog]:
    options = s3.options(s3.new_bucket())
    if request.param == "jdbc":
        options = {**options, "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    opened = open_catalog(options)
    opened.create_database("db")
    opened.create_table("db.t", SCHEMA)
    table_of(opened, "db.t").write_arrow(keyed({1: "a"}))
    opened.alter_table("db.t", [AddColumn("more", "INT")])
    table_of(opened, "db.t").write_arrow(keyed({2: "b"}))
    yield opened
    opened.close()


def died(*_: object) -> None:
    raise OSError("killed")


def interrupted(catalog: Catalog, step: str, target: str = "db.u") -> None:
    """Rename db.t, and die before a step."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FolderMove, step, died)
        with pytest.raises(OSError, match="killed"):
            catalog.rename_table("db.t", target)


def files_at(catalog: Catalog, table: CatalogTable, name: str) -> list[str]:
    folder = f"{catalog.warehouse}/db.db/{name}"
    return [file.path for file in table.file_io.list_tree(folder) if file.name != ".folder"]


@pytest.mark.parametrize("step", ["_copied", "show", "clear"])
def test_the_table_has_one_name_and_the_next_call_ends_it(catalog: Catalog, step: str) -> None:
    interrupted(catalog, step)
    (name,) = catalog.list_tables("db")
    assert name == ("u" if step == "clear" or (step == "show" and "jdbc" in str(catalog.options)) else "t")
    table = table_of(catalog, f"db.{name}")
    assert state(table) == ROWS
    with pytest.raises(NotFoundError):
        catalog.get_table("db.t" if name == "u" else "db.u")
    catalog.rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ["u"]
    assert state(table_of(catalog, "db.u")) == ROWS
    assert files_at(catalog, table, "t") == []
    assert not any("renaming" in path for path in files_at(catalog, table, "u"))
    with pytest.raises(NotFoundError):
        catalog.rename_table("db.t", "db.u")


def test_what_was_committed_meanwhile_is_copied_too(catalog: Catalog) -> None:
    interrupted(catalog, "show" if "jdbc" not in str(catalog.options) else "_copied")
    table_of(catalog, "db.t").write_arrow(keyed({3: "c"}))
    catalog.rename_table("db.t", "db.u")
    assert state(table_of(catalog, "db.u")) == {**ROWS, 3: "c"}


def test_a_commit_to_the_old_path_is_not_lost(catalog: Catalog) -> None:
    old = table_of(catalog, "db.t")
    interrupted(catalog, "clear")
    old.write_arrow(keyed({3: "late"}))
    with pytest.raises(AlreadyExistsError, match="have come to the old path"):
        catalog.rename_table("db.t", "db.u")
    assert state(table_of(catalog, "db.u")) == ROWS


@pytest.mark.parametrize("catalog", ["filesystem"], indirect=True)
def test_other_names_and_new_tables(catalog: Catalog) -> None:
    interrupted(catalog, "show")
    catalog.create_table("db.x", SCHEMA)
    for make in (partial(catalog.create_table, "db.u", SCHEMA), partial(catalog.rename_table, "db.x", "db.u")):
        with pytest.raises(AlreadyExistsError, match=r"a renaming of .*/db\.db/t to this name was interrupted"):
            make()
        assert catalog.list_tables("db") == ["t", "x"]
    catalog.rename_table("db.t", "db.w")
    assert state(table_of(catalog, "db.w")) == ROWS
    catalog.create_table("db.u", SCHEMA)
    assert state(table_of(catalog, "db.u")) == {}
    catalog.create_table("db.t", SCHEMA)
    assert state(table_of(catalog, "db.t")) == {}
    table = table_of(catalog, "db.w")
    table.file_io.write_bytes(f"{catalog.warehouse}/db.db/y/notes", b"mine")
    with pytest.raises(AlreadyExistsError, match="1 files are in the place of the renamed table: notes"):
        catalog.rename_table("db.w", "db.y")
    assert state(table_of(catalog, "db.w")) == ROWS


def test_a_table_that_keeps_changing_keeps_its_name(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    table, copy = table_of(catalog, "db.t"), FolderMove._copy

    def busy(move: FolderMove, files: object) -> None:
        copy(move, files)  # type: ignore[arg-type]
        table.file_io.write_bytes(f"{move.source}/statistics/stat-{len(files_at(catalog, table, 't'))}", b"x")

    with monkeypatch.context() as patched:
        patched.setattr(FolderMove, "_copy", busy)
        with pytest.raises(ConflictError, match="kept changing while it was copied"):
            catalog.rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ["t"]
