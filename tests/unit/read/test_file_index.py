"""A read through file indexes returns what a read without them does: any rows, types, filters, columns that change."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.format.file_index.kinds import KINDS
from maintenance.metastore.schema_change import AddColumn, DropColumn, RenameColumn, SchemaChange, SetOption
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.predicate.sql import to_sql
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.types.values import arrow_of_values
from tests.deletion_vectors import ENABLED, MODIFIABLE, delete_rows
from tests.examples import examples
from tests.tables import create_table, get_table, live_files, open_warehouse
from tests.unit.predicate.strategies import BY_NAME, TYPES, predicates, rows

WITHOUT = {"file-index.read.enabled": "false"}
FORMATS: tuple[str, ...] = ("parquet", "orc", "avro", "row")


def declared(names: list[str], data: st.DataObject) -> dict[str, str]:
    """Random indexes of columns."""
    options: dict[str, str] = {"file-index.in-manifest-threshold": data.draw(st.sampled_from(["1 b", "1 mb"]))}
    for kind in KINDS.values():
        able = [name for name in names if kind.supports(BY_NAME[name].type)]
        chosen = [name for name in able if data.draw(st.booleans())]
        if chosen:
            options[f"file-index.{kind.name}.columns"] = ",".join(chosen)
        if kind.name == "bloom-filter":
            options |= {f"file-index.bloom-filter.{name}.items": "20" for name in chosen}
    return options


def read(table: CatalogTable, where: str, **options: str) -> list[dict[str, object]]:
    actual: list[dict[str, object]] = table.to_arrow(None, where, options).to_pylist()
    return actual


def assert_same(table: CatalogTable, predicate: Predicate) -> None:
    where = to_sql(predicate, table.schema.fields)
    columns = table.schema.field_names
    with_indexes = table.to_arrow(columns, where)
    without = table.to_arrow(columns, where, WITHOUT)
    assert [str(row) for row in with_indexes.to_pylist()] == [str(row) for row in without.to_pylist()]


@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_indexes_change_no_result(data: st.DataObject) -> None:
    asked = data.draw(st.lists(predicates(), min_size=1, max_size=4))
    names = sorted(frozenset().union(*map(columns_of, asked)) or {"number"})
    with TemporaryDirectory() as warehouse:
        # The others hold nanoseconds in part, and ORC lacks parts of milliseconds just before 1970.
        formats = FORMATS[:1] if "nanos" in names else FORMATS
        if {"micros", "instant"} & set(names):
            formats = tuple(name for name in formats if name != "orc")
        options = declared(names, data) | {"file.format": data.draw(st.sampled_from(formats))}
        create_table(warehouse, [(name, TYPES[name]) for name in names], (), options)
        for _ in range(data.draw(st.integers(1, 3))):
            table = get_table(warehouse)
            held = data.draw(rows(frozenset(names), max_size=8))
            columns = [arrow_of_values([row[name] for row in held], BY_NAME[name].type) for name in names]
            if held:
                table.write_arrow(pa.table(columns, names=names))
            if data.draw(st.booleans()):
                rewrite_file_index(None, get_table(warehouse))
        table = get_table(warehouse)
        for predicate in asked:
            assert_same(table, predicate)


@settings(max_examples=examples(10))
@given(st.data())
def test_indexes_change_no_result_while_columns_change(data: st.DataObject) -> None:
    """Three INT columns that swap names, go and come again, between writes; the index of a name is never another's."""
    with TemporaryDirectory() as warehouse:
        kind = data.draw(st.sampled_from(sorted(KINDS)))
        options = {f"file-index.{kind}.columns": "a,b"}
        if kind == "bloom-filter":
            options |= {f"file-index.bloom-filter.{name}.items": "20" for name in "ab"}
        table = create_table(warehouse, [("a", "INT"), ("b", "INT"), ("c", "INT")], (), options)
        for _ in range(data.draw(st.integers(2, 4))):
            numbers = st.lists(st.none() | st.integers(0, 5), min_size=5, max_size=5)
            columns = {name: pa.array(data.draw(numbers), pa.int32()) for name in table.schema.field_names}
            table.write_arrow(pa.table(columns))
            open_warehouse(warehouse).alter_table("db.t", data.draw(st.sampled_from(CHANGES)))
            table = get_table(warehouse)
            if data.draw(st.booleans()):
                rewrite_file_index(None, table)
        for name in "abc":
            for value in (1, 4):
                where = f"{name} = {value} OR ({name} > {value} AND b IS NULL)"
                assert sorted(map(str, read(table, where))) == sorted(map(str, read(table, where, **WITHOUT)))


CHANGES: list[list[SchemaChange]] = [
    [RenameColumn(("a",), "x"), RenameColumn(("b",), "a"), RenameColumn(("x",), "b")],
    [RenameColumn(("c",), "x"), RenameColumn(("a",), "c"), RenameColumn(("x",), "a")],
    [DropColumn(("c",)), AddColumn(("c",), "INT")],
    [RenameColumn(("a",), "x"), DropColumn(("c",)), AddColumn(("a",), "INT"), RenameColumn(("x",), "c")],
    [SetOption("file-index.bsi.columns", "a")],
]


@pytest.mark.parametrize("wide", [False, True], ids=["32 bit", "64 bit"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_deleted_rows_and_rows_left_out_meet(tmp_path: Path, file_format: str, wide: bool) -> None:
    options = {
        **MODIFIABLE,
        "file-index.bitmap.columns": "v",
        "file-index.bsi.columns": "id",
        "file.format": file_format,
    }
    table = create_table(tmp_path, (("id", "INT"), ("v", "STRING")), (), options)
    table.write_arrow(pa.table({"id": pa.array(range(1000), pa.int32()), "v": [f"{i % 10}" for i in range(1000)]}))
    (file,) = live_files(table)
    delete_rows(table, {file.file_name: range(0, 1000, 20)}, wide=wide)
    table = table.copy(ENABLED)
    for where in ("v = '0'", "v = '5'", "id BETWEEN 95 AND 105", "v = '0' AND id < 50", "v = 'none' OR id = 20"):
        assert read(table, where) == read(table, where, **WITHOUT), where
    assert [row["id"] for row in read(table, "v = '0'")] == list(range(10, 1000, 20))
    assert explain_scan(table, "v = '5' AND id < 100").rows == 10
