"""Java's JDBC catalog and ours, on the same rows and the same files."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

from maintenance.catalog import AddColumn, CatalogTable, Schema, SetOption, open_catalog
from tests.java.process import JavaProcess
from tests.java.rest_server import running

COLUMNS = [("k", "BIGINT NOT NULL"), ("v", "STRING")]
COMMITS = 6


@pytest.fixture(scope="module")
def java_catalogs() -> Iterator[JavaProcess]:
    with running() as process:
        yield process


@pytest.fixture(params=["sqlite", "postgresql"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Java holds a file of SQLite for itself while its lock is on: there it is off."""
    if request.param == "sqlite":
        own = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    else:
        own = {**request.getfixturevalue("postgresql").new_database(), "lock.enabled": "true"}
    return {**own, "warehouse": str(tmp_path / "warehouse"), "cache-enabled": "false"}


def table_of(options: dict[str, str], name: str) -> CatalogTable:
    table = open_catalog(options).get_table(name)
    assert isinstance(table, CatalogTable)
    return table


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"k": [key for key, _ in pairs], "v": [value for _, value in pairs]})


def test_java_works_on_our_table(java_catalogs: JavaProcess, options: dict[str, str]) -> None:
    catalog = open_catalog(options)
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(COLUMNS, ["k"], options={"bucket": "1"}))
    table_of(options, "db.t").write_arrow(rows((1, "ours"), (2, "ours")))
    java_catalogs.commit(options, "db.t", [(2, "theirs"), (3, "theirs")])
    java_catalogs.add_column(options, "db.t", "n")
    java_catalogs.set_option(options, "db.t", "write-only", "true")
    expected = [(1, "ours"), (2, "theirs"), (3, "theirs")]
    assert java_catalogs.rows(options, "db.t") == expected
    table = table_of(options, "db.t")
    assert (table.schema.field_names, table.options["write-only"]) == (("k", "v", "n"), "true")
    assert sorted((row["k"], row["v"]) for row in table.to_arrow().to_pylist()) == expected


def test_we_work_on_a_table_of_java(java_catalogs: JavaProcess, options: dict[str, str]) -> None:
    java_catalogs.create(options, "db.t")
    java_catalogs.commit(options, "db.t", [(1, "theirs")])
    catalog = open_catalog(options)
    assert catalog.list_tables("db") == ["t"]
    catalog.alter_table("db.t", [AddColumn("n", "INT"), SetOption("write-only", "true")])
    table_of(options, "db.t").write_arrow(rows((2, "ours")))
    catalog.rename_table("db.t", "db.u")
    assert java_catalogs.tables(options, "db") == ["u"]
    assert java_catalogs.columns(options, "db.u") == ["k", "v", "n"]
    assert java_catalogs.rows(options, "db.u") == [(1, "theirs"), (2, "ours")]


def test_both_commit_at_once(java_catalogs: JavaProcess, options: dict[str, str]) -> None:
    catalog = open_catalog(options)
    catalog.create_database("db")
    more = {"bucket": "1", "commit.max-retries": "50", "write-only": "true"}
    catalog.create_table("db.t", Schema(COLUMNS, ["k"], options=more))
    theirs = [(100 + number, "theirs") for number in range(COMMITS)]
    java = Thread(target=java_catalogs.commit, args=(options, "db.t", theirs, COMMITS))
    java.start()
    table = table_of(options, "db.t")
    for number in range(COMMITS):
        table.write_arrow(rows((number, "ours")))
    java.join()
    expected = [*((number, "ours") for number in range(COMMITS)), *theirs]
    assert java_catalogs.rows(options, "db.t") == expected
    assert table.snapshots.latest_id() == 2 * COMMITS
