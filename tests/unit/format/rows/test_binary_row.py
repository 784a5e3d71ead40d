"""Serialized rows and their hashes: vectors of Paimon's Java classes, and the columnar form against models."""

import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, DataError, UnsupportedError
from maintenance.format.rows.binary_row import EMPTY_ROW, parse_row, row_array, row_hashes, serialize_row
from maintenance.types.data_type import DataType, parse_type
from maintenance.types.type_text import parse_data_type
from maintenance.types.values import Value, arrow_of_values
from tests.models.murmur import murmur, row_hash
from tests.strategies import bits, data_types, values

ARRAY = DataType("ARRAY", element=DataType("INT"))
TIME_123456 = 1715682030123456000  # 2024-05-14 10:20:30.123456

BYTES = [
    ((), "", "00000000 0000000000000000"),
    ((42,), "INT", "00000001 0000000000000000 2a00000000000000"),
    (("abc",), "STRING", "00000001 0000000000000000 616263 00000000 83"),
    (
        ("hello paimon",),
        "STRING",
        "00000001 0000000000000000 0c000000 10000000 68656c6c6f207061696d6f6e00000000",
    ),
    ((TIME_123456,), "TIMESTAMP(6)", "00000001 0000000000000000 40f50600 10000000 2b329e768f010000"),
    (
        (Decimal("123.45"),),
        "DECIMAL(20,2)",
        "00000001 0000000000000000 02000000 10000000 3039 0000000000000000000000000000",
    ),
    (
        (Decimal("-123.45"),),
        "DECIMAL(20,2)",
        "00000001 0000000000000000 02000000 10000000 cfc7 0000000000000000000000000000",
    ),
    ((None,), "TIMESTAMP(6)", "00000001 0001000000000000 00000000 10000000 0000000000000000"),
    ((None,), "DECIMAL(20,2)", "00000001 0001000000000000 00000000 10000000" + "00" * 16),
    ((None,), "INT", "00000001 0001000000000000 0000000000000000"),
    (
        (7, "x", 9),
        "INT;STRING;BIGINT",
        "00000003 0000000000000000 0700000000000000 7800000000000081 0900000000000000",
    ),
]
HASHES = [
    ((0,), "INT", -300363099),
    ((1,), "INT", 1465514398),
    ((1,), "BIGINT", 1465514398),
    ((True,), "BOOLEAN", 1465514398),
    ((42,), "INT", 907821237),
    ((-1,), "INT", 1133687267),
    ((None,), "INT", -1748325344),
    ((123456789012,), "BIGINT", -290760731),
    ((-1,), "TINYINT", 2004758659),
    ((300,), "SMALLINT", 690796707),
    (("",), "STRING", 302122119),
    (("abc",), "STRING", -101922419),
    (("abcdefg",), "STRING", -1431907323),
    (("abcdefgh",), "STRING", -843760178),
    (("hello paimon",), "STRING", 168916036),
    (("派蒙",), "STRING", 399503157),
    ((19857,), "DATE", 1806713378),
    ((Decimal("123.45"),), "DECIMAL(10,2)", 767607022),
    ((Decimal("123.45"),), "DECIMAL(20,2)", -118192725),
    ((Decimal("-123.45"),), "DECIMAL(20,2)", -605613085),
    ((None,), "DECIMAL(20,2)", -1380280760),
    ((1715682030123000000,), "TIMESTAMP(3)", -828727660),
    ((TIME_123456,), "TIMESTAMP(6)", 920620641),
    ((None,), "TIMESTAMP(6)", -340882661),
    ((1.5,), "FLOAT", -173842779),
    ((1.5,), "DOUBLE", 1860889473),
    ((b"\x01\x02",), "BYTES", -308248439),
    ((7, "x", 9), "INT;STRING;BIGINT", 2145798886),
    (("2024-05-14", None, "bucket-key-2"), "STRING;INT;STRING", 1910599202),
    ((7, "0123456789"), "BIGINT;STRING", 1201006568),
]


def serialize_rows(columns: list[pa.Array], types: list[DataType]) -> list[bytes]:
    """Each row of columns as `serialize_row` writes it."""
    return [struct.pack(">i", len(types)) + row for row in row_array(columns, types).to_pylist()]


def types_of(text: str) -> list[DataType]:
    return [parse_type(part) for part in text.split(";")] if text else []


@pytest.mark.parametrize(("row", "types", "expected"), BYTES)
def test_bytes_that_java_writes(row: tuple[Value, ...], types: str, expected: str) -> None:
    data = bytes.fromhex(expected)
    assert serialize_row(row, types_of(types)) == data
    assert parse_row(data, types_of(types)) == row


@pytest.mark.parametrize(("row", "types", "expected"), HASHES)
def test_hashes_that_java_computes(row: tuple[Value, ...], types: str, expected: int) -> None:
    columns = [arrow_of_values([value], part) for value, part in zip(row, types_of(types), strict=True)]
    assert row_hashes(columns, types_of(types)).tolist() == [expected]


def test_an_empty_row_has_javas_bytes_and_hash() -> None:
    assert serialize_row((), ()) == EMPTY_ROW
    assert murmur(EMPTY_ROW[4:]) == -1670924195


def test_null_bits_of_many_fields_take_two_words() -> None:
    types = [parse_type("INT")] * 57
    row: list[Value] = [1] * 56 + [None]
    data = serialize_row(row, types)
    assert len(data) == 4 + 16 + 57 * 8
    assert data[4:20] == bytes(8) + b"\x01" + bytes(7)
    assert parse_row(data, types) == tuple(row)
    columns = [arrow_of_values([value, value], part) for value, part in zip(row, types, strict=True)]
    assert serialize_rows(columns, types) == [data, data]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[DataType], list[tuple[Value, ...]]]:
    types = draw(st.lists(data_types(), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*map(values, types)), min_size=1, max_size=8))
    return types, rows


@given(tables())
def test_columns_give_the_bytes_and_hashes_of_single_rows(
    table: tuple[list[DataType], list[tuple[Value, ...]]],
) -> None:
    types, rows = table
    columns = [arrow_of_values(column, part) for column, part in zip(zip(*rows, strict=True), types, strict=True)]
    assert serialize_rows(columns, types) == [serialize_row(row, types) for row in rows]
    assert row_hashes(columns, types).tolist() == [row_hash(row, types) for row in rows]


def test_large_decimals_take_the_bytes_they_need() -> None:
    data_type = parse_type("DECIMAL(38, 0)")
    edges = [sign * (1 << bit) + near for bit in range(126) for sign in (1, -1) for near in (-1, 0, 1)]
    rows = [Decimal(edge) for edge in edges]
    column = arrow_of_values(rows, data_type)
    assert serialize_rows([column], [data_type]) == [serialize_row((row,), [data_type]) for row in rows]
    assert [parse_row(serialize_row((row,), [data_type]), [data_type])[0] for row in rows] == rows


@given(tables())
def test_any_row_reads_back_from_its_bytes(table: tuple[list[DataType], list[tuple[Value, ...]]]) -> None:
    types, rows = table
    for row in rows:
        assert list(map(bits, parse_row(serialize_row(row, types), types))) == list(map(bits, row))


@given(tables(), st.integers(0, 3), st.integers(1, 3))
def test_slices_and_chunks_hash_as_whole_columns(
    table: tuple[list[DataType], list[tuple[Value, ...]]], first: int, chunk: int
) -> None:
    types, rows = table
    columns = [arrow_of_values(column, part) for column, part in zip(zip(*rows, strict=True), types, strict=True)]
    whole = row_hashes(columns, types).tolist()
    assert row_hashes([column.slice(first) for column in columns], types).tolist() == whole[first:]
    chunked = [pa.chunked_array([column.slice(0, chunk), column.slice(chunk)]) for column in columns]
    assert row_hashes(chunked, types).tolist() == whole


def test_many_rows_are_hashed_in_pieces() -> None:
    texts = [f"{number:x}" * (number % 9) for number in range(70_000)]
    hashes = row_hashes([pa.array(texts)], [parse_type("STRING")])
    for row in (0, 1, 65_535, 65_536, 69_999):
        assert hashes[row] == row_hash((texts[row],), [parse_type("STRING")])


def test_other_arrow_types_are_cast() -> None:
    expected = row_hashes([pa.array(["abc", None])], [parse_type("STRING")]).tolist()
    for arrow in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert row_hashes([pa.array(["abc", None]).cast(arrow)], [parse_type("STRING")]).tolist() == expected


def test_without_rows_there_are_no_hashes() -> None:
    assert row_hashes([pa.array([], pa.string())], [parse_type("STRING")]).tolist() == []


def test_types_without_a_form_are_named() -> None:
    with pytest.raises(UnsupportedError, match=r"ARRAY<INT>"):
        row_hashes([pa.array([[1]])], [ARRAY])
    with pytest.raises(UnsupportedError, match=r"BLOB"):
        serialize_row((1,), [parse_data_type("BLOB")])
    assert parse_row(serialize_row((None, 1), [ARRAY, parse_type("INT")]), [ARRAY, parse_type("INT")]) == (None, 1)


def test_statistics_skip_values_of_types_without_a_form() -> None:
    data = serialize_row((5, 7), [parse_type("INT"), parse_type("INT")])
    types = [parse_data_type("BLOB"), parse_type("INT")]
    assert parse_row(data, types, skip_unsupported=True) == (None, 7)
    with pytest.raises(UnsupportedError, match="BLOB"):
        parse_row(data, types)


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (1 << 31, "INT"),
        (Decimal("1.001"), "DECIMAL(10, 2)"),
        (Decimal(1000), "DECIMAL(4, 2)"),
        (5, "STRING"),
        ("x", "TIMESTAMP(6)"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: Value, data_type: str) -> None:
    with pytest.raises(DataError, match="field 0"):
        serialize_row((value,), [parse_type(data_type)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        EMPTY_ROW,
        bytes.fromhex("00000001 0000000000000000 0c000000"),
        bytes.fromhex("00000001 0000000000000000 0c000000 10000000 6869"),
        bytes.fromhex("00000001 0000000000000000 ff000000 00000081"),
    ],
    ids=["nothing", "other arity", "half a slot", "text cut off", "no UTF-8"],
)
def test_bytes_that_are_no_row_are_an_error(data: bytes) -> None:
    with pytest.raises(CorruptFileError):
        parse_row(data, [parse_type("STRING")])
