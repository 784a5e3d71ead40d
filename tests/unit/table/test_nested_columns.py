"""Columns of nested types, written and read back through tables, and what of them is refused."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable, Schema
from maintenance.errors import DataError, PredicateError
from maintenance.format.metadata.column_stats import stats_values
from maintenance.format.variant.extension import plain_schema
from maintenance.metastore.schema import FieldSpec
from maintenance.types.data_type import DataField, DataType
from maintenance.types.type_text import parse_data_type
from tests.examples import examples
from tests.nested_values import array_of, comparable, nested_values, values_of
from tests.strategies import nested_types
from tests.tables import create_table, get_table, live_files, open_warehouse


@st.composite
def columns(draw: st.DrawFn) -> tuple[DataType, list[object]]:
    data_type = draw(nested_types())
    return data_type, draw(st.lists(nested_values(data_type), min_size=1, max_size=6))


@given(st.lists(columns(), min_size=1, max_size=3), st.booleans(), st.booleans())
@settings(max_examples=examples(40))
def test_reads_back_what_was_written(parts: list[tuple[DataType, list[object]]], keyed: bool, sliced: bool) -> None:
    count = min(len(items) for _, items in parts)
    names = [f"c.{n}" for n in range(len(parts))]
    arrays = [array_of([*items[:1], *items[:count]], data_type) for data_type, items in parts]
    arrays = [array.slice(1) if sliced else array[1:].take(pa.array(range(count))) for array in arrays]
    rows = pa.table([pa.array(range(count), pa.int32()), *arrays], names=["id", *names])
    with TemporaryDirectory() as folder:
        catalog = open_warehouse(folder)
        fields: list[FieldSpec] = [("id", "INT NOT NULL"), *((n, t) for n, (t, _) in zip(names, parts, strict=True))]
        options = {"bucket": "1"} if keyed else {}
        catalog.create_table("db.t", Schema(fields, ["id"] if keyed else [], options=options))
        table = get_table(folder)
        table.write_arrow(rows)
        if keyed:
            table.write_arrow(rows.slice(0, 1))
        actual = table.to_arrow(columns=[*names, "id"]).sort_by("id").combine_chunks()
    assert actual.column("id").to_pylist() == list(range(count))
    for name, (data_type, items) in zip(names, parts, strict=True):
        column = actual.column(name)
        assert column.type == plain_schema([DataField(0, "c", data_type)]).field(0).type
        got = [value for chunk in column.chunks for value in values_of(chunk, data_type)]
        assert got == [comparable(item, data_type) for item in items[:count]]


def nested_table(tmp_path: Path) -> CatalogTable:
    fields = [
        ("id", "INT"),
        ("r", "ROW<a INT NOT NULL, b VARCHAR(3), t TIME(2)>"),
        ("l", "ARRAY<INT NOT NULL>"),
        ("m", "MAP<STRING, TIMESTAMP(9)>"),
    ]
    return create_table(tmp_path, fields, ())


def test_fields_of_rows_are_found_by_name(tmp_path: Path) -> None:
    table = nested_table(tmp_path)
    rows = pa.array([{"t": 12_345, "a": 1}, None], pa.struct([("t", pa.time32("ms")), ("a", pa.int64())]))
    table.write_arrow(pa.table({"r": rows, "id": [1, 2]}))
    actual = table.to_arrow().column("r")
    assert actual.cast(pa.struct([("a", pa.int32()), ("b", pa.string()), ("t", pa.int32())])).to_pylist() == [
        {"a": 1, "b": None, "t": 12_340},
        None,
    ]


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("r", pa.array([{"b": "x"}]), r"null in column 'r.a', which is NOT NULL"),
        ("r", pa.array([{"a": 1, "b": "abcd"}]), r"length 4 in column 'r.b', which is VARCHAR\(3\)"),
        ("r", pa.array([{"a": 1, "x": 1}]), r"column 'r' does not fit ROW.*'x' is not a field"),
        ("r", pa.array([1]), r"column 'r' does not fit ROW.*int64 is not struct"),
        ("l", pa.array([[1, None]]), r"null in column 'l.element'"),
        ("l", pa.array([[1, 2**40]]), r"column 'l' does not fit ARRAY<INT NOT NULL>"),
        ("m", pa.array([[1]]), r"column 'm' does not fit MAP"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, name: str, values: pa.Array, message: str) -> None:
    table = nested_table(tmp_path)
    with pytest.raises(DataError, match=message):
        table.write_arrow(pa.table({name: values}))
    assert table.latest_snapshot() is None


@pytest.mark.parametrize("kind", [pa.large_list(pa.int64()), pa.list_view(pa.int8()), pa.list_(pa.int32(), 2)])
def test_every_kind_of_list(tmp_path: Path, kind: pa.DataType) -> None:
    table = nested_table(tmp_path)
    table.write_arrow(pa.table({"l": pa.array([[1, 2], None], kind)}))
    assert table.to_arrow().column("l").to_pylist() == [[1, 2], None]


def test_filters_on_nested_columns(tmp_path: Path) -> None:
    table = nested_table(tmp_path)
    table.write_arrow(pa.table({"id": [1, 2, 3], "l": pa.array([[1], None, []], pa.list_(pa.int32()))}))
    assert table.to_arrow(where="l IS NULL").column("id").to_pylist() == [2]
    assert table.to_arrow(where="l IS NOT NULL AND id > 1").column("id").to_pylist() == [3]
    for condition in ("l = 1", "r = 'x'", "m IN (1)", "r.a = 1", "l LIKE 'x'"):
        with pytest.raises(PredicateError):
            table.to_arrow(where=condition)


@pytest.mark.parametrize(
    ("file_format", "columns", "nulls"),
    [
        ("parquet", ("id", "t"), (1, 0)),
        ("orc", None, (1, 2, 0, 1)),
        ("avro", None, (1, 2, 0, 1)),
        ("row", None, (1, 2, 0, 1)),
    ],
)
def test_nulls_of_nested_columns_are_counted_where_java_does(
    tmp_path: Path, file_format: str, columns: tuple[str, ...] | None, nulls: tuple[int, ...]
) -> None:
    fields = [("id", "INT"), ("r", "ROW<a INT>"), ("t", "TIME(3)"), ("l", "ARRAY<INT>")]
    table = create_table(tmp_path, fields, (), {"file.format": file_format})
    rows = {"id": [1, None], "t": pa.array([1, 2], pa.time32("ms")), "l": pa.array([[1], None], pa.list_(pa.int32()))}
    table.write_arrow(pa.table(rows))
    (file,) = live_files(table)
    assert (file.value_stats_cols, file.value_stats.null_counts) == (columns, nulls)
    bounds = stats_values(file.value_stats, table.schema.fields_of(columns or [name for name, _ in fields]))
    assert dict(zip(columns or [name for name, _ in fields], bounds, strict=True))["t"] == (1, 2, 0)
    assert table.to_arrow(where="l IS NOT NULL AND r IS NULL").column("id").to_pylist() == [1]


def test_ids_of_nested_fields(tmp_path: Path) -> None:
    table = create_table(
        tmp_path, [("x", "INT"), ("y", "INT"), ("z", "INT"), ("r", "ROW<a ROW<b INT>, c ARRAY<INT>>"), ("k", "INT")], ()
    )
    r = table.schema.field("r")
    a, c = r.type.fields
    assert (r.id, a.id, a.type.fields[0].id, c.id, table.schema.field("k").id) == (3, 5, 4, 6, 7)
    assert table.schema.highest_field_id == 7
    assert parse_data_type(str(r.type)).fields[1].type == c.type
