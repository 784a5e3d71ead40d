"""Hashes of columns against values of Java and a model that takes one value at a time."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.format.file_index.hashes import long_hashes, xxh64
from tests.models import bloom as model

XXH64 = {
    "": "ef46db3751d8e999",
    "a": "d24ec4f1a98c6e5b",
    "abc": "44bc2cf5ad770999",
    "hello world": "45ab6734b21e6968",
}
WANG = {
    0: "0",
    1: "5bca7c69b794f8ce",
    42: "0f3db82f1e7b6f7a",
    -1: "5bca868437950d03",
    2**40: "539d165267021515",
    2**63 - 1: "81ad52718398e837",
}


def test_xxh64_gives_the_hashes_of_java() -> None:
    hashes = xxh64(pa.array(XXH64)).view(np.uint64)
    assert [int(value) for value in hashes] == [int(text, 16) for text in XXH64.values()]


def test_wang_gives_the_hashes_of_java() -> None:
    hashes = long_hashes(np.array(list(WANG), np.int64)).view(np.uint64)
    assert [int(value) for value in hashes] == [int(text, 16) for text in WANG.values()]


@settings(deadline=None)
@given(st.lists(st.none() | st.binary(max_size=140), max_size=20), st.integers(0, 3))
def test_xxh64_is_the_model(values: list[bytes | None], skipped: int) -> None:
    hashes = xxh64(pa.array(values, pa.binary()).slice(skipped))
    assert hashes.dtype == np.int64
    expected = [value if value is None else model.xxh64(value) for value in values[skipped:]]
    assert [None if e is None else int(h) for h, e in zip(hashes, expected, strict=True)] == expected


def test_xxh64_of_every_length_in_one_column() -> None:
    values = [bytes((7 * i + length) % 256 for i in range(length)) for length in (*range(200), 1000, 4097)]
    assert xxh64(pa.array(values)).tolist() == [model.xxh64(value) for value in values]


@pytest.mark.parametrize("arrow", [pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary(3)])
def test_xxh64_takes_every_form_of_texts_and_bytes(arrow: pa.DataType) -> None:
    array = pa.array([b"abc", b"xyz"], pa.binary()).cast(pa.string()).cast(pa.binary())
    form = array.cast(pa.string()).cast(arrow) if "string" in str(arrow) else pa.array([b"abc", b"xyz"], arrow)
    assert xxh64(form).tolist() == [model.xxh64(b"abc"), model.xxh64(b"xyz")]


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_wang_is_the_model(values: list[int]) -> None:
    assert long_hashes(np.array(values, np.int64)).tolist() == [model.wang(value) for value in values]
