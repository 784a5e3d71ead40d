"""Deletion vectors: Java's bytes, round trips, and damage that is always found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import FrozenBitMap, FrozenBitMap64

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.deletion_vector import (
    DeletionVector,
    bytes_to_read,
    frame_at,
    parse_index_file,
    serialize_index_file,
    vector_of_range,
)
from maintenance.format.metadata.index_manifest import DeletionVectorRange
from tests.examples import examples

JAVA: dict[str, FrozenBitMap | FrozenBitMap64] = {
    "000000225e43f2d03a300000020000000000010001000000180000001c00000001000300a08626e61191": FrozenBitMap(
        [1, 3, 100000]
    ),
    "000000135e43f2d03b3000000100000900010000000900a34efa89": FrozenBitMap(range(10)),
    "0000000c5e43f2d03a300000000000005de5c7e9": FrozenBitMap(),
    "0000002ed1d339640100000000000000000000003a300000020000000000010001000000180000001c00000001000300a0866396a893": (
        FrozenBitMap64([1, 3, 100000])
    ),
    "00000038d1d339640200000000000000000000003a3000000100000000000000100000000100010000003a300000010000000000000010000"
    "0000500bbe896e6": FrozenBitMap64([1, 2**32 + 5]),
}
# With an empty bitmap for each gap between the high halves of positions.
WITH_GAPS = (
    "00000046d1d339640400000000000000000000003a30000000000000010000003a30000000000000020000003a30000000000000030000003a"
    "3000000100000000000000100000000500b1876f6b"
)
INDEX_FILE = (
    "01000000185e43f2d03a300000010000000000010010000000000002007b8a0ff7000000135e43f2d03b300000010000090001000500090094"
    "900abb"
)
MIXED_FILE = (
    "01000000185e43f2d03a300000010000000000010010000000000002007b8a0ff700000022d1d339640100000000000000000000003a300000"
    "0100000000000000100000000700b8e72272"
)

vectors = st.one_of(
    st.frozensets(st.integers(0, 2**31 - 1), max_size=30).map(FrozenBitMap),
    st.frozensets(st.integers(0, 300), max_size=200).map(FrozenBitMap),
    st.frozensets(st.integers(0, 2**40), max_size=20).map(FrozenBitMap64),
).map(DeletionVector)


@pytest.mark.parametrize("text", JAVA)
def test_the_bytes_are_javas(text: str) -> None:
    assert DeletionVector.parse(bytes.fromhex(text), "memory") == DeletionVector(JAVA[text])
    assert DeletionVector(JAVA[text]).serialize().hex() == text


def test_empty_bitmaps_between_others_keep_their_bytes() -> None:
    actual = DeletionVector.parse(bytes.fromhex(WITH_GAPS), "memory")
    assert actual == DeletionVector(FrozenBitMap64([3 * 2**32 + 5]))
    assert actual.serialize().hex() == WITH_GAPS


def test_index_files_have_javas_bytes_and_ranges() -> None:
    a, b = DeletionVector(FrozenBitMap([0, 2])), DeletionVector(FrozenBitMap(range(5, 15)))
    data, ranges = serialize_index_file({"a": a, "b": b})
    assert data.hex() == INDEX_FILE
    assert ranges == (DeletionVectorRange("a", 1, 24, 2), DeletionVectorRange("b", 33, 19, 10))
    assert parse_index_file(data, ranges, "memory") == {"a": a, "b": b}
    wide = DeletionVector(FrozenBitMap64([7]))
    data, ranges = serialize_index_file({"a": a, "b": wide})
    assert data.hex() == MIXED_FILE
    assert ranges[1] == DeletionVectorRange("b", 33, 42, 1)
    assert parse_index_file(data, ranges, "memory") == {"a": a, "b": wide}


def test_an_index_file_without_vectors() -> None:
    assert serialize_index_file({}) == (b"\x01", ())
    assert parse_index_file(b"\x01", (), "memory") == {}


@settings(max_examples=examples(100))
@given(vectors, st.binary(max_size=20))
def test_any_vector_reads_back_also_with_bytes_behind_it(vector: DeletionVector, behind: bytes) -> None:
    frame = vector.serialize()
    assert DeletionVector.parse(frame, "memory") == vector
    assert type(DeletionVector.parse(frame, "memory").positions) is type(vector.positions)
    data, (part,) = serialize_index_file({"a": vector})
    assert vector_of_range((data + behind)[1 : 1 + bytes_to_read(part.length)], part, "memory") == vector


@settings(max_examples=examples(100))
@given(vectors, st.data())
def test_every_flipped_bit_is_found(vector: DeletionVector, data: st.DataObject) -> None:
    damaged = bytearray(vector.serialize())
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(CorruptFileError, match="memory"):
        DeletionVector.parse(bytes(damaged), "memory")


@settings(max_examples=examples(60))
@given(vectors, st.data())
def test_every_cut_is_found(vector: DeletionVector, data: st.DataObject) -> None:
    whole, (part,) = serialize_index_file({"a": vector})
    end = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(CorruptFileError, match="memory"):
        parse_index_file(whole[:end], [part], "memory")


@pytest.mark.parametrize("length", [-1, 0, 1, 23, 25, 2**31 - 1])
def test_a_length_that_is_not_the_vectors(length: int) -> None:
    data = bytes.fromhex(INDEX_FILE)
    with pytest.raises(CorruptFileError, match="memory"):
        DeletionVector.parse(frame_at(data[1:], length, "memory"), "memory")


def test_a_vector_of_another_file() -> None:
    data = bytes.fromhex(INDEX_FILE)
    with pytest.raises(CorruptFileError, match="2 rows where the index manifest says 3"):
        parse_index_file(data, [DeletionVectorRange("a", 1, 24, 3)], "memory")
    with pytest.raises(CorruptFileError, match="begins with"):
        parse_index_file(b"\x02" + data[1:], [DeletionVectorRange("a", 1, 24, 2)], "memory")
    # Old manifests do not know the number.
    assert parse_index_file(data, [DeletionVectorRange("a", 1, 24, None)], "memory")["a"].cardinality == 2


def test_rows_that_are_not_deleted_are_kept() -> None:
    assert DeletionVector(FrozenBitMap([0, 3])).kept(5).tolist() == [False, True, True, False, True]
    assert DeletionVector(FrozenBitMap64([4])).kept(5).tolist() == [True] * 4 + [False]
