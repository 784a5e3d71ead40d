"""The bloom filter: Java's bytes, the model's bytes, and no value it was given is ever missed."""

import math
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, OptionError, UnsupportedError
from maintenance.format.file_index.bloom_filter import BloomBuilder, might_contain, supports
from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.values import Value, arrow_of_values
from tests.examples import examples
from tests.models import bloom as model
from tests.unit.predicate.strategies import FIELDS, values

SECOND = 10**9
FIELDS_WITH_FILTER = [field for field in FIELDS if supports(field.type)]


def filter_of(data_type: DataType, given_values: list[Value], items: int = 10, fpp: float = 0.1) -> bytes:
    builder = BloomBuilder(data_type, items, fpp)
    builder.add(arrow_of_values(given_values, data_type))
    body = builder.finish()
    assert body is not None
    return body


@pytest.mark.parametrize(
    ("text", "held", "expected"),
    [
        ("INT", [1, 2, 3], "00000003892001504000"),
        ("BIGINT", [-1], "00000003008000001001"),
        ("TIME(3)", [1, 2, 3], "00000003892001504000"),
        ("STRING", ["a", "b"], "00000003082000700200"),
        ("FLOAT", [1.5], "00000003004000003000"),
        ("DOUBLE", [1.5], "00000003080000040040"),
        ("TIMESTAMP(3)", [SECOND], "00000003488000000000"),
        ("TIMESTAMP(6)", [SECOND], "00000003000000002000"),
        ("TIMESTAMP(9) WITH LOCAL TIME ZONE", [SECOND + 999], "00000003000000002000"),
    ],
)
def test_filters_have_the_bytes_of_java(text: str, held: list[Value], expected: str) -> None:
    assert filter_of(parse_type(text), [None, *held]).hex() == expected


def test_default_size_is_that_of_java() -> None:
    body = filter_of(parse_type("INT"), [1], items=1_000_000)
    assert len(body) == 599071
    assert body[:4] == struct.pack(">i", 3)


@settings(max_examples=examples(100))
@given(st.sampled_from(FIELDS_WITH_FILTER), st.data(), st.integers(1, 40), st.floats(0.001, 0.9))
def test_equals_the_model_and_misses_nothing(field: DataField, data: st.DataObject, items: int, fpp: float) -> None:
    held = data.draw(st.lists(st.none() | values(field), min_size=1, max_size=10))
    body = filter_of(field.type, held, items, fpp)
    expected = [model_hash(value, field.type) for value in held if value is not None]
    assert body == model.bloom_filter(expected, items, fpp)
    for value in held:
        if value is not None:
            assert might_contain(body, value, field.type)
            assert not isinstance(value, float) or might_contain(body, -value, field.type) or value != 0


def model_hash(value: Value, data_type: DataType) -> int:
    match value:
        case str():
            return model.xxh64(value.encode())
        case bytes():
            return model.xxh64(value)
        case float():
            big, small = ("i", "f") if data_type.root == "FLOAT" else ("q", "d")
            return model.wang(
                struct.unpack(f">{big}", struct.pack(f">{small}", math.nan if value != value else value))[0]
            )
        case int() if data_type.is_timestamp:
            return model.wang(value // (10**6 if (data_type.precision or 0) <= 3 else 10**3))
        case int():
            return model.wang(value)
    raise AssertionError(value)


def test_tells_most_absent_values() -> None:
    body = filter_of(parse_type("BIGINT"), list(range(1000)), items=1000, fpp=0.01)
    absent = sum(not might_contain(body, value, parse_type("BIGINT")) for value in range(10_000, 11_000))
    assert absent > 950


def test_both_zeros_are_found_by_either() -> None:
    double = parse_type("DOUBLE")
    for held in (0.0, -0.0):
        body = filter_of(double, [held])
        assert might_contain(body, 0.0, double)
        assert might_contain(body, -0.0, double)


def test_every_nan_is_the_same() -> None:
    odd = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    builder = BloomBuilder(parse_type("DOUBLE"), 10)
    builder.add(pa.array(odd))
    assert builder.finish() == filter_of(parse_type("DOUBLE"), [math.nan])


def test_rows_may_come_in_parts_and_forms() -> None:
    text = parse_type("STRING")
    builder = BloomBuilder(text, 10)
    builder.add(pa.array(["a", None]).dictionary_encode())
    builder.add(pa.chunked_array([pa.array(["b"]), pa.array([], pa.string())]))
    assert builder.finish() == filter_of(text, ["a", "b"])


def test_without_rows_there_is_no_body_without_values_an_empty_one() -> None:
    builder = BloomBuilder(parse_type("INT"), 10)
    builder.add(pa.array([], pa.int32()))
    assert builder.finish() is None
    assert filter_of(parse_type("INT"), [None]) == struct.pack(">i", 3) + bytes(6)


@pytest.mark.parametrize(("items", "fpp"), [(0, 0.1), (-5, 0.1), (10, 0.0), (10, 1.0), (2**31, 0.001)])
def test_sizes_that_no_filter_can_have_are_refused(items: int, fpp: float) -> None:
    with pytest.raises(OptionError, match="items"):
        BloomBuilder(parse_type("INT"), items, fpp)


@pytest.mark.parametrize("text", ["BOOLEAN", "DECIMAL(5, 2)", "VARIANT"])
def test_types_without_a_filter(text: str) -> None:
    with pytest.raises(UnsupportedError, match=text.partition("(")[0]):
        BloomBuilder(parse_type(text))


@pytest.mark.parametrize("body", [b"", b"\0\0\0\x03", b"\0\0\0\0\xff", b"\xff\xff\xff\xff\xff", b"\0\1\0\0\xff"])
def test_a_damaged_body_is_an_error_that_names_the_index(body: bytes) -> None:
    with pytest.raises(CorruptFileError, match="bloom filter"):
        might_contain(body, 1, parse_type("INT"))
