"""One field of many serialized rows: what parsing each row says, and null for rows that are not as expected."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.format.rows.binary_slots import field_values, is_read
from maintenance.types.data_type import DataType, parse_type
from maintenance.types.values import Value
from tests.strategies import data_types, values

TABLES = st.lists(data_types(), min_size=1, max_size=70).flatmap(
    lambda types: st.tuples(st.just(types), st.lists(st.tuples(*map(values, types)), max_size=5))
)


def plain(value: Value, data_type: DataType) -> object:
    if isinstance(value, int) and data_type.is_timestamp:
        return value // 1_000_000
    return value.encode() if isinstance(value, str) else value


@given(TABLES, st.integers(0, 3))
def test_every_field_as_parsing_says(table: tuple[list[DataType], list[tuple[Value, ...]]], start: int) -> None:
    types, rows = table
    stored = [serialize_row(row, types) for row in rows]
    array = pa.array(stored, pa.binary())[start:]
    parsed = [parse_row(row, types) for row in stored[start:]]
    for at, data_type in enumerate(types):
        if is_read(data_type):
            expected = [plain(row[at], data_type) for row in parsed]
            assert field_values(array, len(types), at, data_type).to_pylist() == expected


@given(st.binary(max_size=40), st.integers(0, 40), st.integers(0, 2))
def test_rows_that_are_no_such_rows_have_no_values(noise: bytes, cut: int, at: int) -> None:
    types = [parse_type(text) for text in ("INT", "STRING", "TIMESTAMP(6)")]
    whole = serialize_row([7, "a text of some length", 1_234_567_891], types)
    other = serialize_row([7, "a"], types[:2])
    array = pa.array([whole, whole[:cut], noise, other, None, b"", whole], pa.binary())
    found = field_values(array, 3, at, types[at]).to_pylist()
    assert found[0] == found[-1] == (7, b"a text of some length", 1234)[at]
    assert found[3:6] == [None] * 3
    if cut < 4 + 8 + 24:
        assert found[1] is None
