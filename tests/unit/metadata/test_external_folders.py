"""In which external folders a file that a table does not name may be deleted."""

from pathlib import Path

from maintenance.catalog import CatalogTable, RemoveOption, SetOption, open_catalog
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_folders import own_folders, roots_ever
from maintenance.operations import create_branch
from tests.small_tables import put
from tests.tables import create_table, get_table

PATHS, STRATEGY = "data-file.external-paths", "data-file.external-paths.strategy"


def made(folder: Path, name: str, roots: str) -> CatalogTable:
    options = {PATHS: roots.replace("@", f"file:{folder}/"), STRATEGY: "round-robin"}
    return create_table(folder, (("k", "BIGINT NOT NULL"), ("v", "STRING")), ("k",), options, name=name)


def roots_of(table: CatalogTable, *, exclusive: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    actual = own_folders(Branches(table.file_io, table.paths), table.schema, exclusive=exclusive)
    return tuple(root.rsplit("/", 1)[1] for root in actual.roots), actual.notes


def test_a_table_must_say_that_it_is_alone(tmp_path: Path) -> None:
    table = made(tmp_path, "db.t", "@a,@b")
    assert roots_of(table) == (("a", "b"), ())
    assert roots_of(table, exclusive=False)[0] == ()
    assert "paimon-maintenance.external-paths.exclusive" in roots_of(table, exclusive=False)[1][0]


def test_folders_of_other_tables_are_theirs(tmp_path: Path) -> None:
    table = made(tmp_path, "db.t", "@a,@b/c,@d,@e")
    made(tmp_path, "db.u", "@b")
    open_catalog({"warehouse": str(tmp_path)}).create_database("other")
    made(tmp_path, "other.v", "@d")
    put(table, {1: "x"})
    actual, notes = roots_of(table)
    assert actual == ("a", "e")
    assert [note.partition(":")[2].rsplit("/", 1)[1] for note in notes] == [
        "c are not looked at: table db.u is there, too",
        "d are not looked at: table other.v is there, too",
    ]


def test_folders_of_older_schemas_and_of_branches_count(tmp_path: Path) -> None:
    table = made(tmp_path, "db.t", "@a")
    other = made(tmp_path, "db.u", "@b")
    put(other, {1: "x"})
    create_branch(other, "dev")
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.u$branch_dev", [SetOption(PATHS, f"file:{tmp_path}/a")])
    catalog.alter_table("db.u", [RemoveOption(PATHS)])
    assert roots_of(table)[0] == ()
    now = get_table(tmp_path, "db.u")
    roots = roots_ever(Branches(now.file_io, now.paths))
    assert [root.rsplit("/", 1)[1] for root in roots] == ["a", "b"]


def test_the_folder_of_a_table_elsewhere(tmp_path: Path) -> None:
    made(tmp_path / "warehouse", "db.t", "@a")
    create_table(tmp_path / "x.db", (("k", "INT"),), (), name="db.u")
    catalog = open_catalog({"warehouse": str(tmp_path / "warehouse")})
    place = f"file:{tmp_path}/x.db/db.db/u"
    catalog.alter_table("db.t", [SetOption(PATHS, place)])
    actual, notes = roots_of(get_table(tmp_path / "warehouse"))
    assert actual == ("a",)
    assert "a table with a schema of its own" in notes[0]
