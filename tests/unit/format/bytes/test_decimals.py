"""Decimals with more digits than their type has."""

from decimal import Decimal

import pyarrow as pa
import pytest

from maintenance.format.bytes.decimals import decimals_of_digits, null_where_too_long


def test_decimals_with_too_many_digits_become_null() -> None:
    digits = pa.array([number.to_bytes(3, "big", signed=True) for number in (99999, 100000, -99999, -100000)])
    decimals = decimals_of_digits(digits, pa.decimal128(5, 2))
    fitting = [Decimal("999.99"), None, Decimal("-999.99"), None]
    assert null_where_too_long(decimals).to_pylist() == fitting
    assert null_where_too_long(pa.chunked_array([decimals, decimals])).to_pylist() == fitting * 2


@pytest.mark.parametrize("precision", [1, 18, 19, 28, 38])
def test_the_longest_decimals_of_a_type_stay(precision: int) -> None:
    most = 10**precision - 1
    decimals = pa.array([None, Decimal(most), Decimal(-most)], pa.decimal128(precision, 0))
    assert null_where_too_long(decimals).equals(decimals)
