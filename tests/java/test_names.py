"""Names and values with a meaning elsewhere: Java's files are found, and Java finds those written here."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.metadata.partition_path import partition_spec
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.types.data_type import DataField, parse_type
from tests.java.process import JavaProcess
from tests.tables import keyed, state

NAMES = ("a b", "a.b", "ü", "中", "...", ".x", "%2e%2e", "%2F", "a#b", "a?b", "*", "a\\b")
VALUES = ("..", ".", "a/b", "../../x", "%2e%2e", "a#b", "a?b", "a\\b", "a:b", " x ", "ü", "*", "=", "\x7f")
BLANKS = ("", " ", "\t\n", "\x1c", "\u2003", "\u3000", "\xa0", "\u2007", "\u202f", "\x85", "\u200b", "\ufeff")


def test_blank_partition_values_are_named_as_java_names_them(java: JavaProcess) -> None:
    """Java's blanks are other characters than Python's: a no-break space has a folder of its own."""
    text = parse_type("STRING")
    ours = [partition_spec([value], [DataField(0, "p", text)], "default", True)["p"] for value in BLANKS]
    theirs = java.partition_texts(text, BLANKS, legacy=True)
    assert ours == theirs


@pytest.mark.parametrize("uri", ["", "file:", "file://"])
def test_partition_values_that_look_like_paths(java: JavaProcess, tmp_path: Path, uri: str) -> None:
    warehouse = f"{uri}{tmp_path}"
    catalog = open_catalog({"warehouse": warehouse})
    catalog.create_database("db")
    fields = [("p", "STRING NOT NULL"), ("v", "INT")]
    catalog.create_table("db.t", Schema(fields, partition_keys=["p"], options={"bucket": "-1"}))
    rows = [(value, number) for number, value in enumerate(VALUES)]
    java.write(warehouse, "db.t", rows)
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    assert sorted(table.to_arrow().to_pylist(), key=lambda row: row["v"]) == [{"p": p, "v": v} for p, v in rows]
    table.write_arrow(table.to_arrow())
    assert sorted(java.rows(warehouse, "db.t"), key=lambda row: row[1]) == sorted(rows * 2, key=lambda row: row[1])


@pytest.mark.parametrize("name", NAMES)
def test_names_of_tables_tags_and_branches(java: JavaProcess, tmp_path: Path, name: str) -> None:
    warehouse = f"file:{tmp_path}"
    catalog = open_catalog({"warehouse": warehouse})
    catalog.create_database("db")
    fields = [("id", "INT NOT NULL"), ("v", "STRING")]
    catalog.create_table(
        f"db.{name}", Schema(fields, ["id"], options={"bucket": "1", "data-file.path-directory": "./a//"})
    )
    java.write(warehouse, f"db.{name}", [(1, "a")])
    table = catalog.get_table(f"db.{name}")
    assert isinstance(table, CatalogTable)
    create_tag(table, name)
    create_branch(table, name, tag=name)
    table.write_arrow(keyed({2: "b"}))
    assert state(table) == dict(java.rows(warehouse, f"db.{name}")) == {1: "a", 2: "b"}
    for options in ({"scan.tag-name": name}, {"branch": name}):
        assert state(table, options=options) == dict(java.rows(warehouse, f"db.{name}", options)) == {1: "a"}
