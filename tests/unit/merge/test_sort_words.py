"""Columns as words: their order is the order of the values, for every type and any number of columns."""

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maintenance.errors import UnsupportedError
from maintenance.merge.sort_words import dense_ranks, key_ranks, sort_order, sort_words
from maintenance.types.data_type import DataType, parse_type
from maintenance.types.values import Value, arrow_of_values
from tests.examples import examples
from tests.models.order import ordered_key
from tests.strategies import data_types, values

Columns = tuple[tuple[DataType, ...], list[tuple[Value, ...]]]


def near(data_type: DataType) -> st.SearchStrategy[Value]:
    """Values that are often equal, or differ in their last place only."""
    few: list[Value] = [None]
    match data_type.root:
        case "CHAR" | "VARCHAR":
            few += ["", "a", "a\0", "aa", "b", "ab" * 9, "ab" * 9 + "c", "é", "\U0001f600", "\uffff"]
        case "BINARY" | "VARBINARY":
            few += [b"", b"\0", b"\0\0", b"\x7f", b"\x80", b"\xff" * 7, b"\xff" * 8]
        case "FLOAT" | "DOUBLE":
            few += [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.5, -1.5]
        case "BOOLEAN":
            few += [True, False]
        case "DECIMAL":
            nines = (9,) * (data_type.precision or 1)
            few += [
                Decimal((sign, digits, -(data_type.scale or 0))) for sign in (0, 1) for digits in ((0,), (1,), nines)
            ]
        case _ if data_type.is_timestamp:
            few += [0, 10**9, -(10**9), 10**18]
        case "TINYINT" | "SMALLINT":
            few += [0, 1, -1, 127, -128]
        case _:
            few += [0, 1, -1, 2**31 - 1, -(2**31)]
    return st.sampled_from(few)


@st.composite
def rows_of_columns(draw: st.DrawFn) -> Columns:
    types = tuple(draw(st.lists(data_types(), min_size=1, max_size=3)))
    row = st.tuples(*(near(t) | values(t) for t in types))
    return types, draw(st.lists(row, min_size=1, max_size=12))


def arrays_of(columns: Columns) -> list[pa.Array]:
    types, rows = columns
    return [arrow_of_values([row[i] for row in rows], t) for i, t in enumerate(types)]


def model_order(rows: list[tuple[Value, ...]]) -> list[int]:
    return sorted(range(len(rows)), key=lambda i: ordered_key(rows[i]))


@settings(max_examples=examples(60))
@given(rows_of_columns())
@example(((parse_type("BIGINT"),), [(2**63 - 1,), (None,), (-(2**63),)]))
@example(((parse_type("INT"), parse_type("BOOLEAN")), [(1, False), (0, True), (1, True), (0, False)]))
@example(((parse_type("STRING"), parse_type("INT")), [("ab" * 50, 1), ("ab" * 50, None), ("ab" * 49, 2)]))
@example(((parse_type("DECIMAL(38, 0)"),), [(Decimal(10**38 - 1),), (Decimal(-(10**38) + 1),), (None,), (Decimal(0),)]))
def test_words_sort_as_values_do(columns: Columns) -> None:
    _, rows = columns
    words = sort_words(arrays_of(columns))
    assert sort_order(words).tolist() == model_order(rows)
    tuples = list(zip(*(word.tolist() for word in words), strict=True))
    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            assert (tuples[i] == tuples[j]) == (ordered_key(left) == ordered_key(right))


@settings(max_examples=examples(25))
@given(rows_of_columns(), st.integers(0, 3), st.integers(0, 3))
def test_slices_sort_as_copies_do(columns: Columns, before: int, after: int) -> None:
    types, rows = columns
    padded = (types, [rows[0]] * before + rows + [rows[-1]] * after)
    sliced = [array.slice(before, len(rows)) for array in arrays_of(padded)]
    assert sort_order(sort_words(sliced)).tolist() == model_order(rows)


@given(st.lists(st.none() | st.text(max_size=10), min_size=1, max_size=20))
def test_dictionaries_sort_as_their_values(texts: list[str | None]) -> None:
    array = pa.array(texts, pa.string())
    encoded = array.dictionary_encode()
    expected = sorted(range(len(texts)), key=lambda i: ordered_key([texts[i]]))
    assert sort_order(sort_words([encoded])).tolist() == expected
    unused = pa.DictionaryArray.from_arrays(
        encoded.indices, pa.concat_arrays([encoded.dictionary, pa.array(["\uffff unused"])])
    )
    assert sort_order(sort_words([unused])).tolist() == expected


def test_equal_rows_stay_in_order() -> None:
    assert sort_order(sort_words([pa.array([7] * 5)])).tolist() == [0, 1, 2, 3, 4]
    assert sort_order(sort_words([pa.nulls(3, pa.string())])).tolist() == [0, 1, 2]


def test_several_narrow_columns_take_one_word() -> None:
    columns = [pa.array([1, 2, None], pa.int32()), pa.array([True, False, True]), pa.array(["a", "b", "c"])]
    assert len(sort_words(columns)) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
def test_words_of_64_bits_leave_no_room_for_row_numbers(count: int) -> None:
    generator = np.random.default_rng(count)
    numbers = generator.integers(-(2**63), 2**63 - 1, count)
    assert sort_order(sort_words([pa.array(numbers)])).tolist() == np.argsort(numbers, kind="stable").tolist()


def test_columns_without_order_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="list"):
        sort_words([pa.array([[1], [2]])])


@pytest.mark.parametrize(
    "distinct", [(1, 1), (2, 3), (40, 2**63), (2**63, 5), (1, 2**63), (30, 30, 2**63), (900, 2**63, 2)]
)
def test_several_words_sort_by_one_after_the_other(distinct: tuple[int, ...]) -> None:
    generator = np.random.default_rng(1)
    words = [
        generator.integers(0, 2**64 - 1, many, np.uint64)[generator.integers(0, many, 500)]
        if many < 1000
        else generator.integers(0, 2**64 - 1, 500, np.uint64)
        for many in distinct
    ]
    # Small numbers share a word with the row numbers, large ones do not.
    for given_words in (words, [word % np.uint64(50) for word in words]):
        assert sort_order(given_words).tolist() == np.lexsort(given_words[::-1]).tolist()


def test_columns_share_a_word_as_long_as_they_fit() -> None:
    """Two columns of 32 bits do, one of 33 bits and one of 32 do not."""
    half, more = pa.array([0, 2**32 - 1]), pa.array([0, 2**32])
    narrow = pa.array([0, 1, 1, 2, 3, 3])
    assert [word.tolist() for word in sort_words([half, half])] == [[0, 2**64 - 1]]
    assert [word.tolist() for word in sort_words([more, half])] == [[0, 2**32], [0, 2**32 - 1]]
    assert len(sort_words([more, half, half.cast(pa.int64())])) == 2
    assert [word.tolist() for word in sort_words([narrow, narrow])] == [[0, 5, 5, 10, 15, 15]]


def test_without_columns_there_are_no_rows() -> None:
    assert [word.tolist() for word in sort_words([])] == [[]]


def test_ranks_count_from_0_without_gaps() -> None:
    assert key_ranks([pa.array([70, -3, None, 70])]).tolist() == [2, 1, 0, 2]
    words = [np.array([5, 5, 1], np.uint64), np.array([9, 2**64 - 1, 3], np.uint64)]
    assert dense_ranks(words).tolist() == [1, 2, 0]


def test_words_leave_room_for_row_numbers_up_to_64_bits() -> None:
    """Four rows take two bits."""
    for largest in (2**62 - 1, 2**62, 2**63, 2**64 - 1):
        word = np.array([largest, 0, largest, 1], np.uint64)
        assert sort_order([word]).tolist() == [1, 3, 0, 2]
    assert sort_order([np.array([2**64 - 1], np.uint64)]).tolist() == [0]
    assert sort_order([np.array([], np.uint64)]).tolist() == []


@pytest.mark.parametrize("length", range(1, 12))
@pytest.mark.parametrize("data_type", ["STRING", "BYTES"])
def test_texts_up_to_each_length(length: int, data_type: str) -> None:
    """However many bytes are put into a word: large ones, zeros, beginnings of others, in any order."""
    texts = [
        b"\0",
        b"\0" * length,
        b"\x01",
        b"a" * length,
        b"a" * (length - 1),
        b"a" * (length - 1) + b"b",
        b"\x7f" * length,
    ]
    texts += [b"", b"b", b"\x7f" * (length - 1)]
    given: list[Value] = [None, *(text.decode() if data_type == "STRING" else text for text in sorted(set(texts)))]
    for shuffled in (given, given[::-1], given[1::2] + given[::2]):
        rows: list[tuple[Value, ...]] = [(value,) for value in shuffled]
        words = sort_words(arrays_of(((parse_type(data_type),), rows)))
        assert [shuffled[i] for i in sort_order(words).tolist()] == given
