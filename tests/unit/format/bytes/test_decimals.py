"""Decimals with more digits than their type has."""

from decimal import Decimal

import pyarrow as pa
import pytest

from maintenance.errors import DataError
from maintenance.format.bytes.decimals import check_bits, decimals_of_digits, null_where_too_long


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


def test_sums_beyond_32_bits_are_refused_by_name() -> None:
    def rows(*digits: int | None) -> pa.Table:
        stored = pa.array([None if n is None else n.to_bytes(5, "big", signed=True) for n in digits], pa.binary())
        return pa.table({"n": [1] * len(digits), "d": decimals_of_digits(stored, pa.decimal128(9, 2))})

    check_bits(rows(None, None), "table db.t")
    check_bits(rows(2**31 - 1, None, -(2**31)), "table db.t")
    with pytest.raises(DataError, match=r"21474836.48 in column 'd'.* DECIMAL\(9, 2\) .*to DECIMAL\(18, 2\)"):
        check_bits(rows(1, 2**31), "table db.t")
    with pytest.raises(DataError, match=r"-21474836.49 in column 'd'"):
        check_bits(rows(None, -(2**31) - 1), "table db.t")
