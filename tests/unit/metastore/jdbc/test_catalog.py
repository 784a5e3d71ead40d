"""The JDBC catalog on every database it supports."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from maintenance.catalog import (
    AddDialect,
    Catalog,
    Schema,
    SetOption,
    UpdateComment,
    View,
    open_catalog,
)
from maintenance.errors import (
    AlreadyExistsError,
    MissingFileError,
    NotFoundError,
    OptionError,
    SchemaError,
    UnsupportedError,
)
from maintenance.metastore.jdbc.catalog import JdbcCatalog
from tests.tables import KEYED, keyed, state, table_of

PLAIN = Schema(KEYED, ["id"], options={"bucket": "1"})
SERVERS = ("sqlite", "postgresql", "mariadb")


@pytest.fixture(params=SERVERS)
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Options of a catalog in an empty database, with locks."""
    if request.param == "sqlite":
        own = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    else:
        own = request.getfixturevalue(request.param).new_database()
    return {**own, "warehouse": str(tmp_path / "warehouse"), "lock.enabled": "true", "cache-enabled": "false"}


@pytest.fixture
def catalog(options: dict[str, str]) -> Iterator[Catalog]:
    actual = open_catalog(options)
    actual.create_database("db", properties={"team": "blue"})
    actual.create_table("db.t", PLAIN)
    yield actual
    actual.close()


def test_databases_change_their_properties_and_are_dropped(catalog: Catalog) -> None:
    catalog.alter_database("db", set={"team": "red", "a": "b"}, remove=["nowhere"])
    location = f"{catalog.warehouse}/db.db"
    assert catalog.get_database("db").properties == {"team": "red", "a": "b", "location": location}
    catalog.alter_database("db", remove=["a"])
    assert "a" not in catalog.get_database("db").properties
    with pytest.raises(SchemaError, match="has tables or views"):
        catalog.drop_database("db")
    catalog.drop_database("db", cascade=True)
    assert catalog.list_databases() == []
    with pytest.raises(NotFoundError):
        catalog.alter_database("db", set={"a": "b"})
    catalog.alter_database("db", set={"a": "b"}, ignore_if_not_exists=True)


def test_what_was_dropped_with_its_database_can_be_repaired(catalog: Catalog) -> None:
    table_of(catalog).write_arrow(keyed({1: "a"}))
    catalog.drop_database("db", cascade=True)
    catalog.repair_catalog()
    assert catalog.list_tables("db") == ["t"]
    assert state(table_of(catalog)) == {1: "a"}
    with pytest.raises(NotFoundError):
        catalog.repair_table("db.other")


def test_tables_are_renamed_dropped_and_created_anew(catalog: Catalog) -> None:
    table_of(catalog).write_arrow(keyed({1: "a"}))
    catalog.create_database("other")
    catalog.rename_table("db.t", "other.u")
    assert (catalog.list_tables("db"), catalog.list_tables("other")) == ([], ["u"])
    assert state(table_of(catalog, "other.u")) == {1: "a"}
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("other.u", PLAIN)
    catalog.create_table("other.u", PLAIN, ignore_if_exists=True)
    catalog.drop_table("other.u")
    assert not Path(catalog.warehouse, "other.db", "u").exists()
    catalog.create_table("other.u", PLAIN)
    assert state(table_of(catalog, "other.u")) == {}


def test_a_failed_rename_changes_no_row(catalog: Catalog) -> None:
    catalog.create_database("other")
    taken = Path(catalog.warehouse, "other.db", "u", "file")
    taken.parent.mkdir(parents=True)
    taken.touch()
    with pytest.raises(OSError, match="cannot move"):
        catalog.rename_table("db.t", "other.u")
    assert (catalog.list_tables("db"), catalog.list_tables("other")) == (["t"], [])


def test_a_table_without_files(catalog: Catalog) -> None:
    """A row alone is a table that can be dropped, and no other is made in its place."""
    location = Path(table_of(catalog).location)
    location.rename(location.with_name("moved"))
    with pytest.raises(MissingFileError, match="schema files are missing"):
        catalog.get_table("db.t")
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("db.t", PLAIN)
    catalog.drop_table("db.t")
    with pytest.raises(AlreadyExistsError, match="repair_table"):
        catalog.create_table("db.moved", PLAIN)


def test_values_that_are_too_long(catalog: Catalog, options: dict[str, str]) -> None:
    """A database with limits refuses a new table before anything is written; the definition of one that exists wins."""
    long = {"team.note": "x" * 1001}
    if "sqlite" in options["uri"]:
        catalog.create_table("db.long", Schema(KEYED, ["id"], options={"bucket": "1", **long}))
        return
    with pytest.raises(OptionError, match="1001 characters"):
        catalog.create_table("db.long", Schema(KEYED, ["id"], options={"bucket": "1", **long}))
    assert not Path(catalog.warehouse, "db.db", "long").exists()
    with pytest.raises(OptionError, match="longer than the catalog's database takes"):
        catalog.alter_table("db.t", [SetOption("team.note", "x" * 1001)])
    assert table_of(catalog).options["team.note"] == "x" * 1001
    catalog.alter_table("db.t", [SetOption("team.note", "short")])


def test_views_are_created_altered_renamed_and_dropped(catalog: Catalog) -> None:
    view = View(
        [("id", "INT NOT NULL", "the key"), ("größe", "ROW<`a` INT>")], "SELECT 1 -- 100 %", {"spark": "SELECT 2"}
    )
    catalog.create_view("db.v", view)
    with pytest.raises(AlreadyExistsError):
        catalog.create_view("db.t", view)
    with pytest.raises(AlreadyExistsError):
        catalog.create_table("db.v", PLAIN)
    catalog.alter_view("db.v", [AddDialect("flink", "SELECT 3"), UpdateComment("about"), SetOption("a", "b")])
    with pytest.raises(AlreadyExistsError, match="dialect 'flink'"):
        catalog.alter_view("db.v", [AddDialect("flink", "SELECT 4")])
    actual = catalog.get_view("db.v")
    assert (actual.query, actual.comment, actual.options) == ("SELECT 1 -- 100 %", "about", {"a": "b"})
    assert (actual.query_for("flink"), actual.query_for("trino")) == ("SELECT 3", "SELECT 1 -- 100 %")
    assert [(f.name, str(f.type), f.description) for f in actual.columns()] == [
        ("id", "INT NOT NULL", "the key"),
        ("größe", "ROW<`a` INT>", None),
    ]
    catalog.rename_view("db.v", "db.w_1")
    assert catalog.list_views("db") == catalog.list_views("db", r"w\_%") == ["w_1"]
    assert catalog.list_views("db", "w_") == []
    catalog.drop_view("db.w_1")
    catalog.drop_view("db.w_1", ignore_if_not_exists=True)
    with pytest.raises(NotFoundError):
        catalog.drop_view("db.w_1")


def test_names_of_branches_are_refused_as_in_paimon(catalog: Catalog) -> None:
    for attempt in (catalog.get_table, lambda name: catalog.alter_table(name, [SetOption("a", "b")])):
        with pytest.raises(UnsupportedError, match="no names of branches"):
            attempt("db.t$branch_b")


def test_two_catalog_keys_on_one_database(catalog: Catalog, options: dict[str, str]) -> None:
    second = open_catalog({**options, "catalog-key": "second"})
    assert second.list_databases() == []
    second.create_database("db")
    assert second.list_tables("db") == []


def test_committers_with_catalogs_of_their_own(catalog: Catalog, options: dict[str, str]) -> None:
    """Every commit of two is there, and no lock is left behind."""
    failures: list[BaseException] = []

    def commit(user: int) -> None:
        try:
            own = open_catalog(options)
            for n in range(5):
                table_of(own).write_arrow(keyed({10 * user + n: "a"}))
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            failures.append(error)

    threads = [Thread(target=commit, args=(user,)) for user in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(state(table_of(catalog))) == 10
    assert isinstance(catalog, JdbcCatalog)
    assert catalog.rows._sql.query("SELECT * FROM paimon_distributed_locks") == []


def test_a_catalog_that_was_closed_can_be_used_again(catalog: Catalog) -> None:
    catalog.close()
    assert catalog.list_tables("db") == ["t"]
    with suppress(OSError):
        catalog.close()


def test_a_replaced_table_keeps_its_snapshots(catalog: Catalog, options: dict[str, str]) -> None:
    table_of(catalog).write_arrow(keyed({1: "a"}))
    catalog.replace_table("db.t", Schema([("id", "INT NOT NULL"), ("n", "INT")], ["id"], options={"bucket": "2"}))
    other = open_catalog(options)
    replaced = table_of(other)
    assert (replaced.schema.id, replaced.schema.field_names) == (1, ("id", "n"))
    assert replaced.to_arrow().num_rows == 0
    assert replaced.copy({"scan.snapshot-id": "1"}).to_arrow().num_rows == 1
    other.close()
