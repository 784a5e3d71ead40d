"""Options that decide where and in what order metadata lies: both engines use the same table."""

from pathlib import Path

import pyarrow as pa

from maintenance.catalog import SetOption, open_catalog
from maintenance.operations import compact, compact_manifest, create_branch
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, keyed, open_warehouse, state

DAYS = [("day", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING")]


def test_a_branch_that_the_options_name(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    create_table(warehouse).write_arrow(keyed({1: "main"}))
    create_branch(get_table(warehouse), "b")
    open_warehouse(warehouse).alter_table("db.t", [SetOption("branch", "b")])
    get_table(warehouse).write_arrow(keyed({2: "ours"}))
    java.write(warehouse, "db.t", [(3, "java")])
    expected = {2: "ours", 3: "java"}
    assert state(get_table(warehouse)) == dict(java.rows(warehouse, "db.t")) == expected
    compact(None, get_table(warehouse), full=True)
    assert dict(java.rows(warehouse, "db.t$branch_b")) == expected, "all files have schemas of the branch"
    assert dict(java.rows(warehouse, "db.t")) == state(get_table(warehouse, "db.t$branch_b")) == expected
    assert dict(java.rows(warehouse, "db.t", {"branch": "main"})) == {1: "main"}


def test_both_write_a_table_with_sorted_manifests(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    options = {"manifest-sort.enabled": "true", "manifest.target-file-size": "4 kb", "bucket": "1"}
    java.create_table(warehouse, "db.t", DAYS, (["day", "id"], ["day"]), options)
    expected = []
    for number in range(12):
        rows = [(day, number, f"{day}.{number}") for day in range(number % 3, 9, 3)]
        java.write(warehouse, "db.t", rows)
        expected += rows
    compact_manifest(get_table(warehouse))
    compact(None, get_table(warehouse), full=True)
    compact_manifest(get_table(warehouse))
    table = open_catalog({"warehouse": warehouse}).get_table("db.t")
    assert sorted(tuple(row.values()) for row in table.to_arrow().to_pylist()) == sorted(expected)
    assert sorted(java.rows(warehouse, "db.t")) == sorted(expected)
    java.write(warehouse, "db.t", [(4, 99, "java")])
    assert (4, 99, "java") in java.rows(warehouse, "db.t")


def test_both_write_merge_and_compact_keys_with_nulls(java: JavaProcess, tmp_path: Path) -> None:
    """No release knows the option, but the core takes such keys as they are."""
    warehouse = str(tmp_path)
    fields = [("a", "INT"), ("b", "STRING"), ("v", "INT")]
    create_table(warehouse, fields, ("a", "b"), {"primary-key.nullable": "true", "bucket": "3"})
    java.write(warehouse, "db.t", [(None, "x", 1), (1, None, 2), (None, None, 3)])
    rows = pa.table(
        [pa.array(c, t) for c, t in (([None, 2], "int32"), ([None] * 2, "string"), ([30, 4], "int32"))], "abv"
    )
    get_table(warehouse).write_arrow(rows)
    expected = [(1, None, 2), (2, None, 4), (None, "x", 1), (None, None, 30)]
    assert sorted(java.rows(warehouse, "db.t"), key=repr) == expected
    java.compact(warehouse, "db.t")
    ours = [tuple(row.values()) for row in get_table(warehouse).to_arrow().to_pylist()]
    assert sorted(ours, key=repr) == sorted(java.rows(warehouse, "db.t"), key=repr) == expected
