"""Roaring bitmaps in Java's forms: known bytes, round trips of any sets, and damage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.errors import CorruptFileError
from maintenance.format.bytes.roaring import (
    BITS,
    Bitmap64,
    Container,
    bitmaps_of,
    parse_bitmap64,
    parse_portable,
    serialize_bitmap64,
    serialize_portable,
)
from tests.examples import examples

# What Java's Roaring64Bitmap wrote.
KNOWN = {
    (): "00",
    (1, 2): (
        "01010000000000000004000000000000000000000000000000000001000000fe0100000001020200000001000200"
        "01000000000000000000000000000000"
    ),
    (1, 2, 70000): (
        "0102000000000000000002000500000000000000010004000000000000000000000000000000000004000000000000000001"
        "010000000000000001000000fe0200000001020200000001000200010201000000701102000000000000000000000001000000"
    ),
}


def bitmap64(values: set[int]) -> Bitmap64:
    containers: dict[int, Container] = {}
    for key in sorted({value >> 16 for value in values}):
        members = BitMap(value & 0xFFFF for value in values if value >> 16 == key)
        members.run_optimize()
        containers[key] = parse_portable(members.serialize())[0][1]
    return Bitmap64(containers, len(containers))


def values_of(bitmap: Bitmap64) -> set[int]:
    return {high << 32 | low for high, part in bitmaps_of(bitmap).items() for low in part}


@pytest.mark.parametrize("values", KNOWN)
def test_known_sets_have_their_bytes_in_java(values: tuple[int, ...]) -> None:
    data = bytes.fromhex(KNOWN[values])
    assert serialize_bitmap64(bitmap64(set(values))) == data
    assert values_of(parse_bitmap64(data, "memory")) == set(values)


VALUES = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(0, 300).map(lambda key: key << 16),
    st.integers(0, 60).map(lambda key: (key << 40) + 5),
    st.integers(0, 2**20),
)


@settings(max_examples=examples(60))
@given(st.sets(VALUES, max_size=400), st.booleans())
def test_any_set_of_values_reads_back(values: set[int], many: bool) -> None:
    if many:
        values = values | set(range(100_000, 105_000)) | set(range(200_000, 210_000, 2))
    data = serialize_bitmap64(bitmap64(values))
    assert values_of(parse_bitmap64(data, "memory")) == values


@settings(max_examples=examples(40))
@given(st.sets(st.integers(0, 2**32 - 1), max_size=200), st.booleans())
def test_bitmaps_keep_their_bytes_in_the_portable_form(values: set[int], runs: bool) -> None:
    bitmap = BitMap(values | set(range(70_000, 75_000)))
    if runs:
        bitmap.run_optimize()
    assert serialize_portable(parse_portable(bitmap.serialize())) == bitmap.serialize()


def test_few_values_held_as_bits() -> None:
    bits = bytearray(8192)
    bits[0] = 0b110
    bitmap = Bitmap64({0: Container(BITS, 2, bytes(bits))}, 1)
    assert values_of(parse_bitmap64(serialize_bitmap64(bitmap), "memory")) == {1, 2}


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x01" + bytes(8), bytes.fromhex(KNOWN[1, 2])[:30]])
def test_damaged_bytes_are_an_error_that_names_their_file(data: bytes) -> None:
    with pytest.raises(CorruptFileError, match="memory"):
        parse_bitmap64(data, "memory")
