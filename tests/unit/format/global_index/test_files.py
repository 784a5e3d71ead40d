"""Files of btree and bitmap indexes: every row is found again, damage is named; Java's are in `tests/java`."""

import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.bytes.varints import all_varints, read_varints, varints
from maintenance.format.global_index.bitmap import BitmapIndex, bitmap_file
from maintenance.format.global_index.blocks import Handle, read_block, with_trailer
from maintenance.format.global_index.btree import BTreeIndex, btree_file
from maintenance.format.global_index.keys import check_keys, has_keys, in_key_order, keys_of, values_of_keys
from maintenance.types.data_type import DataType, parse_type
from maintenance.types.values import arrow_of_values, values_of_arrow
from tests.examples import examples
from tests.java.samples import VALUES
from tests.strategies import bits

INDEXED = [text for text in VALUES if has_keys(parse_type(text))]
KINDS = ("btree", "bitmap")


def built(kind: str, values: pa.Array, row_ids: np.ndarray, data_type: DataType) -> bytes:
    return (btree_file if kind == "btree" else bitmap_file)(values, row_ids, data_type)[0]


def found(kind: str, data: bytes, data_type: DataType, matches: Callable[[pa.Array], np.ndarray]) -> list[int]:
    source = pa.BufferReader(data)
    rows: BitMap64
    if kind == "btree":
        rows = BTreeIndex(source, "f", data_type).rows(matches, lambda last: np.ones(len(last), bool))
    else:
        rows = BitmapIndex(source, "f", data_type).rows(matches)
    return [int(row) for row in rows]


def equal_to(value: Any) -> Callable[[pa.Array], np.ndarray]:
    return lambda values: np.array([bits(one) == bits(value) for one in values_of_arrow(values)], bool)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", INDEXED)
def test_every_value_is_found(kind: str, text: str) -> None:
    data_type = parse_type(text)
    choices = [*VALUES[text], None]
    numbers = [number * 3 % 7 % len(choices) for number in range(50)]
    values = arrow_of_values([choices[number] for number in numbers], data_type)
    data = built(kind, values, np.arange(50) * 2, data_type)
    for number, value in enumerate(choices):
        wanted = [2 * row for row, own in enumerate(numbers) if own == number]
        assert found(kind, data, data_type, equal_to(value)) == wanted, value


@pytest.mark.parametrize("kind", KINDS)
def test_many_keys_in_many_blocks(kind: str) -> None:
    data_type = parse_type("STRING")
    values = pa.array([f"key {number % 9000:05}" for number in range(20_000)])
    data = built(kind, values, np.arange(20_000), data_type)
    assert found(kind, data, data_type, equal_to("key 00042")) == [42, 9042, 18042]
    asked: list[int] = []

    def last_only(lasts: pa.Array) -> np.ndarray:
        asked.append(len(lasts))
        return np.arange(len(lasts)) == len(lasts) - 1

    if kind == "btree":
        rows = BTreeIndex(pa.BufferReader(data), "f", data_type).rows(lambda v: np.ones(len(v), bool), last_only)
        assert asked[0] > 3
        assert 0 < len(rows) < 20_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [[], [None, None]])
def test_a_column_without_values_has_its_nulls_found(kind: str, values: list[None]) -> None:
    data_type = parse_type("INT")
    data = built(kind, pa.array(values, pa.int32()), np.arange(len(values)), data_type)
    assert found(kind, data, data_type, lambda v: np.asarray(v.is_null())) == list(range(len(values)))
    assert found(kind, data, data_type, lambda v: np.asarray(v.is_valid())) == []


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_found_where_checksums_or_cuts_show_it(kind: str) -> None:
    data_type = parse_type("INT")
    data = built(kind, pa.array([5, None, 7], pa.int32()), np.arange(3), data_type)
    # The footer of a btree begins with the place of a bloom filter, which is not read.
    for position in range(0, len(data) - (52 if kind == "btree" else 48), 3):
        broken = bytearray(data)
        broken[position] ^= 0x55
        if kind == "btree":
            with pytest.raises(CorruptFileError, match="index file"):
                found(kind, bytes(broken), data_type, lambda v: np.ones(len(v), bool))
            continue
        with suppress(CorruptFileError):  # its bitmaps have no checksum
            assert len(found(kind, bytes(broken), data_type, lambda v: np.ones(len(v), bool))) <= 1 << 16
    for cut in (0, 10, len(data) - 1):
        with pytest.raises(CorruptFileError, match="index file"):
            found(kind, data[:cut], data_type, lambda v: np.ones(len(v), bool))


def test_keys_of_another_type_are_named() -> None:
    data, _ = btree_file(pa.array([1, 2], pa.int32()), np.arange(2), parse_type("INT"))
    for text in ("BIGINT", "TIMESTAMP(6)"):
        with pytest.raises(CorruptFileError, match=f"keys that are no {text[:6]}"):
            found("btree", data, parse_type(text), lambda v: np.ones(len(v), bool))


def test_types_without_keys_are_named() -> None:
    for text in ("BYTES", "VARIANT"):
        with pytest.raises(UnsupportedError, match="global index of a column of type"):
            check_keys(parse_type(text), "column c")


def test_keys_are_in_javas_order() -> None:
    values = pa.array([0.0, float("nan"), None, -0.0, float("inf"), -1.5])
    order = in_key_order(values, parse_type("DOUBLE"))
    assert [repr(values[int(n)].as_py()) for n in order] == ["-1.5", "-0.0", "0.0", "inf", "nan"]
    texts = pa.array(["\U0001f600", "\uffff", "a"])
    assert in_key_order(texts, parse_type("STRING")).tolist() == [2, 1, 0]


@settings(max_examples=examples(50))
@given(st.lists(st.integers(0, 2**62)))
def test_varints_of_any_numbers_read_back(numbers: list[int]) -> None:
    ragged = varints(np.array(numbers, np.int64))
    assert read_varints(ragged.data, ragged.offsets[:-1])[0].tolist() == numbers
    assert all_varints(ragged.data)[0].tolist() == numbers


@settings(max_examples=examples(30))
@given(st.sampled_from(INDEXED), st.data())
def test_keys_there_and_back(text: str, data: st.DataObject) -> None:
    data_type = parse_type(text)
    values = data.draw(st.lists(st.sampled_from(VALUES[text])))
    keys = keys_of(arrow_of_values(values, data_type), data_type)
    back = values_of_arrow(values_of_keys(keys, data_type, "f"))
    assert list(map(bits, back)) == list(map(bits, values))


def test_a_block_is_read_as_its_compression_says() -> None:
    content = b"abc" * 1000
    compressed = bytes([0xB8, 0x17]) + pa.compress(content, "zstd", asbytes=True)  # 3000 as a varint
    plain = with_trailer(compressed)
    whole = compressed + b"\x01" + zlib.crc32(b"\x01", zlib.crc32(compressed)).to_bytes(4, "little")
    assert read_block(pa.BufferReader(whole), Handle(0, len(compressed)), "f") == content
    assert read_block(pa.BufferReader(plain), Handle(0, len(compressed)), "f") == compressed
    other = compressed + b"\x02" + zlib.crc32(b"\x02", zlib.crc32(compressed)).to_bytes(4, "little")
    with pytest.raises(UnsupportedError, match="compression 2"):
        read_block(pa.BufferReader(other), Handle(0, len(compressed)), "f")
