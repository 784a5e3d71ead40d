"""Serialized rows are Java's byte for byte, at every level of nesting, and so are their hashes."""

import struct
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from maintenance.format.rows.binary_row import parse_row, row_array, row_hashes, serialize_row
from maintenance.types.data_type import DataType
from tests.examples import examples
from tests.java.process import JavaProcess
from tests.nested_values import array_of, comparable, nested_values
from tests.strategies import data_types, nested_types


def serialize_rows(columns: list[pa.Array], types: list[DataType]) -> list[bytes]:
    """Each row of columns as `serialize_row` writes it."""
    return [struct.pack(">i", len(types)) + row for row in row_array(columns, types).to_pylist()]


def few_rows(draw: Any, types: list[DataType], count: int) -> list[tuple[Any, ...]]:
    return [tuple(draw(nested_values(data_type)) for data_type in types) for _ in range(count)]


@settings(max_examples=examples(60))
@given(st.data())
def test_nested_values_have_javas_bytes_and_read_back(java: JavaProcess, data: DataObject) -> None:
    types = data.draw(st.lists(nested_types(), min_size=1, max_size=4))
    rows = few_rows(data.draw, types, 4)
    for row, (expected, _) in zip(rows, java.serialized(types, rows), strict=True):
        ours = serialize_row(row, types)
        assert ours.hex() == expected.hex()
        back = parse_row(ours, types)
        assert [comparable(v, t) for v, t in zip(back, types, strict=True)] == [
            comparable(v, t) for v, t in zip(row, types, strict=True)
        ]


def test_many_fields_and_elements(java: JavaProcess) -> None:
    """Null bits in more than one word."""
    number = DataType("INT")
    array, row = DataType("ARRAY", element=number), [None, *range(70), None]
    types = [*[number] * 72, array]
    rows = [(*row, row), (*row, [None] * 33), (*row, [])]
    assert [serialize_row(r, types) for r in rows] == [data for data, _ in java.serialized(types, rows)]


@settings(max_examples=examples(20))
@given(st.data())
def test_columns_of_keys_have_javas_bytes_and_hashes(java: JavaProcess, data: DataObject) -> None:
    """Hashes of columns: 500 keys of types that keys may have in each of 20 examples."""
    types = data.draw(st.lists(data_types(), min_size=1, max_size=4))
    pool = few_rows(data.draw, types, 12)
    random = data.draw(st.randoms(use_true_random=False))
    rows = [tuple(random.choice(pool)[n] for n in range(len(types))) for _ in range(500)]
    columns = [array_of([row[n] for row in rows], data_type) for n, data_type in enumerate(types)]
    expected = java.serialized(types, rows)
    assert serialize_rows(columns, types) == [data for data, _ in expected]
    assert row_hashes(columns, types).tolist() == [hash_ for _, hash_ in expected]
