"""Keys of wide decimals are Java's `BigInteger.toByteArray`."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError
from maintenance.format.bytes.ragged import Ragged
from maintenance.format.global_index.keys import keys_of, values_of_keys
from maintenance.types.data_type import parse_type

WIDE = parse_type("DECIMAL(38, 10)")
LIMIT = 10**38 - 1


def to_byte_array(number: int) -> bytes:
    size = 1
    while not -(1 << (8 * size - 1)) <= number < 1 << (8 * size - 1):
        size += 1
    return number.to_bytes(size, "big", signed=True)


def decimals(numbers: list[int]) -> pa.Array:
    return pa.array([Decimal(f"{number}E-10") for number in numbers], pa.decimal128(38, 10))


def keys_in(keys: Ragged) -> list[bytes]:
    return [bytes(keys.data[a:b]) for a, b in zip(keys.offsets, keys.offsets[1:], strict=False)]


@given(st.lists(st.one_of(st.integers(-LIMIT, LIMIT), st.sampled_from([0, -1, 127, 128, -128, -129, LIMIT, -LIMIT]))))
def test_keys_are_javas_bytes_and_become_values_again(numbers: list[int]) -> None:
    values = decimals([0, *numbers]).slice(1)
    keys = keys_of(values, WIDE)
    assert keys_in(keys) == [to_byte_array(number) for number in numbers]
    assert values_of_keys(keys, WIDE, "here").to_pylist() == values.to_pylist()


@pytest.mark.parametrize("key", [b"", b"x" * 17])
def test_keys_of_another_type(key: bytes) -> None:
    keys = Ragged(np.frombuffer(key, np.uint8), np.array([0, len(key)]))
    with pytest.raises(CorruptFileError, match="no DECIMAL"):
        values_of_keys(keys, WIDE, "here")
