"""An update has the effect that its statement says, or is refused by the rule of the merge engine in its way."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import UnsupportedError
from maintenance.operations import merge_into, update
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.update import OPERATION as UPDATE
from maintenance.sql import Session
from tests.tables import create_table

FIELDS = (
    ("k", "INT NOT NULL"), ("a", "INT"), ("r", "ROW<x INT, y STRING>"), ("g", "INT"), ("b", "INT"), ("c", "INT"),
    ("n", "INT"), ("s", "BIGINT"),
)  # fmt: skip
PARTIAL = {"bucket": "1", "merge-engine": "partial-update"}
GROUPED = {
    **PARTIAL,
    "fields.g.sequence-group": "b,c,n,s",
    "fields.c.aggregate-function": "sum",
    "fields.n.aggregate-function": "last_non_null_value",
    "fields.s.aggregate-function": "count",
}
ORDERED = {"bucket": "1", "sequence.field": "g"}
KEEPS = "merge engine partial-update keeps the value of"


def filled(folder: Path, options: Mapping[str, str]) -> CatalogTable:
    table = create_table(folder, FIELDS, ("k",), options)
    rows = [
        {"k": 1, "a": 10, "r": {"x": 1, "y": "p"}, "g": 5, "b": 20, "c": 3, "n": 7, "s": 1},
        {"k": 2, "a": None, "r": None, "g": None, "b": None, "c": None, "n": None, "s": None},
    ]
    table.write_arrow(pa.Table.from_pylist(rows, schema=table.to_arrow().schema))
    return table


def row(table: CatalogTable, key: int = 1) -> dict[str, Any]:
    (found,) = table.to_arrow(where=f"k = {key}").to_pylist()
    return dict(found)


def ways(folder: Path, table: CatalogTable, assignments: Mapping[str, str], where: str) -> Mapping[str, Any]:
    """The same update in all ways that need no Spark."""
    text = ", ".join(f"{name} = {value}" for name, value in assignments.items())
    names, values = list(assignments), list(assignments.values())
    spark, flink = (Session({"warehouse": str(folder)}, dialect=dialect) for dialect in ("spark", "flink"))
    using = f"(SELECT k AS key, {', '.join(f'{v} AS new_{n}' for n, v in assignments.items())} FROM db.t WHERE {where})"
    new = ", ".join(f"{name} = s.new_{name}" for name in names)
    source = pa.table({"k": pa.array([1 if "1" in where else 2], pa.int32())})
    more, merging = "k IN (SELECT 1 UNION SELECT 2)", f"MERGE INTO db.t AS t USING {using} s ON t.k = s.key"
    return {
        "Python": lambda: update(None, table, assignments, where),
        "a plan": lambda: UPDATE.carry_out(table, UPDATE.dry_run(table, assignments=assignments, where=where)),
        "SQL": lambda: spark.sql(f"UPDATE db.t SET {text} WHERE {where}"),
        "SQL of Flink": lambda: flink.sql(f"UPDATE db.t SET {text} WHERE {where}"),
        "SQL with more than a filter": lambda: spark.sql(f"UPDATE db.t SET {text} WHERE {where} AND {more}"),
        "MERGE in SQL": lambda: spark.sql(f"{merging} WHEN MATCHED THEN UPDATE SET {new}"),
        "MERGE in Python": lambda: merge_into(
            None, table, source, "t.k = s.k", [Clause("matched", "update", dict(zip(names, values, strict=True)))]
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "assignments", "why"),
    [
        (PARTIAL, {"a": "NULL"}, f"{KEEPS} 'a' where the new is null, as in 1 row"),
        (PARTIAL, {"r": "NULL"}, f"{KEEPS} 'r'"),
        (PARTIAL, {"b": "5", "a": "NULL"}, f"{KEEPS} 'a'"),
        (GROUPED, {"a": "NULL"}, f"{KEEPS} 'a'"),
        (GROUPED, {"n": "NULL"}, f"{KEEPS} 'n'"),
        (GROUPED, {"c": "9"}, "'c' has the aggregate function sum"),
        (GROUPED, {"s": "9"}, "'s' has the aggregate function count"),
        (GROUPED, {"g": "NULL"}, "the sequence group of 'g' changes no column where 'g' is null"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    tmp_path: Path, options: Mapping[str, str], assignments: Mapping[str, str], why: str
) -> None:
    table = filled(tmp_path, options)
    for way, run in ways(tmp_path, table, assignments, "k = 1").items():
        with pytest.raises(UnsupportedError) as caught:
            run()
        assert why in str(caught.value), way
        assert table.snapshots.latest_id() == 1, way


@pytest.mark.parametrize(
    ("options", "assignments"),
    [
        (PARTIAL, {"a": "11", "b": "12"}),
        (PARTIAL, {"c": "a"}),
        (GROUPED, {"b": "NULL"}),
        (GROUPED, {"a": "11"}),
        (GROUPED, {"b": "21", "n": "8"}),
        (GROUPED, {"g": "6", "b": "NULL"}),
        ({"bucket": "1"}, {"a": "NULL", "g": "NULL", "r": "NULL"}),
        (ORDERED, {"a": "NULL"}),
        (ORDERED, {"g": "6"}),
    ],
)
def test_what_is_written_is_what_the_statement_says(
    tmp_path: Path, options: Mapping[str, str], assignments: Mapping[str, str]
) -> None:
    """And nothing else changes: neither sums nor counts, however often the row is updated."""
    table = filled(tmp_path, options)
    before = row(table)
    values = {name: None if text == "NULL" else before.get(text, text) for name, text in assignments.items()}
    expected = before | {name: None if value is None else int(value) for name, value in values.items()}
    for way, run in ways(tmp_path, table, assignments, "k = 1").items():
        run()
        assert row(table) == expected, way
    assert table.snapshots.latest_id() == 8


def test_null_in_place_of_null_is_no_change(tmp_path: Path) -> None:
    table = filled(tmp_path, PARTIAL)
    assert update(None, table, {"a": "NULL"}, "k = 2").updated_rows == 1
    with pytest.raises(UnsupportedError, match="as in 1 row"):
        update(None, table, {"a": "NULL"})


@pytest.mark.parametrize("assignments", [{"b": "1"}, {"b": "NULL"}, {"n": "1"}])
def test_a_group_without_a_sequence_cannot_be_updated(tmp_path: Path, assignments: Mapping[str, str]) -> None:
    table = filled(tmp_path, GROUPED)
    for way, run in ways(tmp_path, table, assignments, "k = 2").items():
        with pytest.raises(UnsupportedError, match="changes no column where 'g' is null"):
            run()
        assert table.snapshots.latest_id() == 1, way
    update(None, table, {**assignments, "g": "1"}, "k = 2")
    assert row(table, 2)["g"] == 1


@pytest.mark.parametrize("options", [GROUPED, ORDERED, {**ORDERED, **PARTIAL}])
def test_a_sequence_is_not_set_back(tmp_path: Path, options: Mapping[str, str]) -> None:
    table = filled(tmp_path, options)
    for value in ("4", "NULL"):
        with pytest.raises(UnsupportedError, match="g"):
            update(None, table, {"g": value}, "k = 1")
    update(None, table, {"g": "6"}, "k = 1")
    assert row(table)["g"] == 6


def test_a_sequence_that_descends_is_not_set_back(tmp_path: Path) -> None:
    table = filled(tmp_path, {**ORDERED, "sequence.field.sort-order": "descending"})
    with pytest.raises(UnsupportedError, match="'g' orders the records of a row"):
        update(None, table, {"g": "6"}, "k = 1")
    update(None, table, {"g": "4"}, "k = 1")
    assert row(table)["g"] == 4


def test_a_merge_leaves_out_what_comes_too_late(tmp_path: Path) -> None:
    table = filled(tmp_path, ORDERED)
    source = pa.table({"k": pa.array([1, 2], pa.int32()), "g": pa.array([4, 4], pa.int32())})
    merge_into(None, table, source, "t.k = s.k", [Clause("matched", "update", {"g": "s.g", "a": "s.g"})])
    assert [(row(table, key)["g"], row(table, key)["a"]) for key in (1, 2)] == [(5, 10), (4, 4)]


def test_rows_that_are_inserted_may_have_nulls(tmp_path: Path) -> None:
    table = filled(tmp_path, GROUPED)
    source = pa.table({"k": pa.array([1, 3], pa.int32()), "a": pa.array([11, None], pa.int32())})
    clauses = [
        Clause("matched", "update", {"a": "s.a"}),
        Clause("not_matched", "insert", {"k": "s.k", "a": "s.a", "c": "5", "g": "1"}),
    ]
    merge_into(None, table, source, "t.k = s.k", clauses)
    assert (row(table)["a"], row(table)["c"], row(table, 3)["a"], row(table, 3)["c"]) == (11, 3, None, 5)
    Session({"warehouse": str(tmp_path)}).sql("INSERT INTO db.t (k, a) VALUES (1, NULL)")
    assert row(table)["a"] == 11


def test_a_value_that_would_be_aggregated_again_is_refused_where_it_cannot_be_left_out(tmp_path: Path) -> None:
    fields = (("k", "INT NOT NULL"), ("a", "INT"), ("g", "INT"), ("c", "INT NOT NULL"))
    options = {**PARTIAL, "fields.g.sequence-group": "c", "fields.c.aggregate-function": "sum"}
    table = create_table(tmp_path, fields, ("k",), options)
    table.write_arrow(pa.table({name: pa.array([1], pa.int32()) for name in "kagc"}))
    with pytest.raises(UnsupportedError, match="NOT NULL: its value would be aggregated again"):
        update(None, table, {"a": "2"})
