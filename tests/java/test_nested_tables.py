"""Tables of generated types, nested to any depth, that either side writes and the other one reads."""

import tempfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from maintenance.catalog import Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from maintenance.types.data_type import DataType, parse_type
from tests.examples import examples
from tests.java.process import JavaProcess
from tests.java.samples import table_of
from tests.nested_values import array_of, comparable, nested_values, values_of
from tests.strategies import FIELD_NAMES, nested_types

ID = ("id", parse_type("INT NOT NULL"))
# Java fails to read a MULTISET of decimals or timestamps out of parquet, also one that it has written.
COUNTED = st.sampled_from(["INT", "STRING", "BYTES", "DATE", "BOOLEAN", "DOUBLE"]).map(parse_type)
TYPES = nested_types(COUNTED)
# Shrinking would take minutes: each example writes and reads tables on both sides.
QUICK = settings(max_examples=examples(15), phases=[Phase.explicit, Phase.reuse, Phase.generate])
KEYED = (["id"], {"bucket": "1"})
APPEND: tuple[list[str], dict[str, str]] = ([], {"bucket": "-1"})


@st.composite
def contents(draw: st.DrawFn) -> tuple[list[tuple[str, DataType]], list[tuple[Any, ...]]]:
    """Columns, of which the first numbers the rows, and rows."""
    names = draw(st.lists(FIELD_NAMES, min_size=1, max_size=4, unique_by=str.lower))
    columns = [ID, *((f"f {name}", draw(TYPES)) for name in names)]
    count = draw(st.integers(1, 5))
    return columns, [(n, *(draw(nested_values(t)) for _, t in columns[1:])) for n in range(count)]


def arrow_of(rows: Sequence[tuple[Any, ...]], columns: Sequence[tuple[str, DataType]]) -> pa.Table:
    arrays = [array_of([row[n] for row in rows], data_type) for n, (_, data_type) in enumerate(columns)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def expected(rows: Sequence[tuple[Any, ...]], columns: Sequence[tuple[str, DataType]]) -> list[str]:
    """Rows as sorted texts; the order of a map's entries says nothing."""
    return sorted(repr([_sorted(comparable(v, t), t) for v, (_, t) in zip(row, columns, strict=True)]) for row in rows)


def found(table: pa.Table, columns: Sequence[tuple[str, DataType]]) -> list[str]:
    rows = zip(*(_values(column, t) for column, (_, t) in zip(table.columns, columns, strict=True)), strict=True)
    return sorted(repr(list(row)) for row in rows)


def _values(column: pa.ChunkedArray, data_type: DataType) -> list[Any]:
    return [_sorted(value, data_type) for chunk in column.chunks for value in values_of(chunk, data_type)]


def _sorted(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    match data_type.root:
        case "ARRAY":
            assert data_type.element is not None
            return [_sorted(item, data_type.element) for item in value]
        case "MULTISET":
            return sorted(value, key=repr)
        case "MAP":
            assert data_type.value is not None
            return sorted(((k, _sorted(v, data_type.value)) for k, v in value), key=repr)
        case "ROW":
            return tuple(_sorted(item, field.type) for item, field in zip(value, data_type.fields, strict=True))
    return value


@QUICK
@given(contents(), st.sampled_from([KEYED, APPEND]))
def test_java_reads_what_we_write(
    java: JavaProcess,
    content: tuple[list[tuple[str, DataType]], list[tuple[Any, ...]]],
    kind: tuple[list[str], dict[str, str]],
) -> None:
    columns, rows = content
    with tempfile.TemporaryDirectory() as warehouse:
        catalog = open_catalog({"warehouse": warehouse})
        catalog.create_database("db")
        catalog.create_table("db.t", Schema(columns, kind[0], options=kind[1]))
        for part in (rows[:2], rows[2:]):
            if part:
                table_of(warehouse).write_arrow(arrow_of(part, columns))
        assert expected(java.rows(warehouse, "db.t"), columns) == expected(rows, columns)
        compact(None, table_of(warehouse), full=True)
        assert expected(java.rows(warehouse, "db.t"), columns) == expected(rows, columns)
        assert found(table_of(warehouse).to_arrow(), columns) == expected(rows, columns)


@QUICK
@given(contents(), st.sampled_from([KEYED, APPEND]), st.data())
def test_we_read_what_java_writes(
    java: JavaProcess,
    content: tuple[list[tuple[str, DataType]], list[tuple[Any, ...]]],
    kind: tuple[list[str], dict[str, str]],
    data: DataObject,
) -> None:
    columns, rows = content
    with tempfile.TemporaryDirectory() as warehouse:
        java.create_table(warehouse, "db.t", [(n, str(t)) for n, t in columns], (kind[0], []), kind[1])
        schema = table_of(warehouse).schema
        ours = Schema(columns, kind[0], options=kind[1]).table_schema("db.t", 0)
        assert (schema.fields, schema.highest_field_id) == (ours.fields, ours.highest_field_id)
        java.write(warehouse, "db.t", rows)
        assert found(table_of(warehouse).to_arrow(), columns) == expected(rows, columns)
        again = [(rows[0][0], *(data.draw(nested_values(t)) for _, t in columns[1:]))]
        table_of(warehouse).write_arrow(arrow_of(again, columns))
        rows = [*rows[1:], *again] if kind is KEYED else [*rows, *again]
        assert expected(java.rows(warehouse, "db.t"), columns) == expected(rows, columns)
