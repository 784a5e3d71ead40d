"""Quotients of decimals are those of Java's BigDecimal, rounded half up."""

import random
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest

from maintenance.errors import DataError
from maintenance.sql.duckdb.quotients import quotients

WHOLE = pa.decimal128(38, 0)


def digits(values: Sequence[int | None]) -> pa.Array:
    return pa.array([None if value is None else Decimal(value) for value in values], WHOLE)


def test_they_are_exact_and_rounded_half_up() -> None:
    chance = random.Random(7)
    for _ in range(150):
        widths = chance.randint(1, 25), chance.randint(1, 25)
        scales = chance.randint(0, widths[0]), chance.randint(0, widths[1])
        scale = chance.randint(0, 12)
        dividends = [chance.randint(-(10 ** widths[0]) + 1, 10 ** widths[0] - 1) for _ in range(4)]
        # Powers of two make quotients that end in a 5.
        largest = (10 ** widths[1] - 1).bit_length() - 1
        divisors = [chance.choice([-1, 1]) * 2 ** chance.randint(0, largest) for _ in range(4)]
        with localcontext() as context:
            context.prec = 120
            expected = [
                (Decimal(a).scaleb(-scales[0]) / Decimal(b).scaleb(-scales[1])).quantize(
                    Decimal(1).scaleb(-scale), ROUND_HALF_UP
                )
                for a, b in zip(dividends, divisors, strict=True)
            ]
            if max(abs(value.scaleb(scale)) for value in expected) >= 10**38:
                continue
        actual = quotients(digits(dividends), digits(divisors), scales[0] - scales[1], pa.decimal128(38, scale))
        assert actual.to_pylist() == expected, (dividends, divisors, scales, scale)


def test_the_most_digits_that_a_total_has() -> None:
    total = 10**38 - 1
    (actual,) = quotients(digits([total]), digits([3]), 6, pa.decimal128(38, 6)).to_pylist()
    assert actual == Decimal("33333333333333333333333333333333.333333")


def test_nulls_stay_null_and_zero_or_too_many_digits_are_errors() -> None:
    target = pa.decimal128(10, 2)
    assert quotients(digits([1, None, None]), digits([None, 2, 0]), 0, target).to_pylist() == [None, None, None]
    with pytest.raises(DataError, match="division by zero"):
        quotients(digits([1, 2]), digits([1, 0]), 0, target)
    with pytest.raises(DataError, match="too many digits"):
        quotients(digits([10**38 - 1]), digits([7]), -38, pa.decimal128(38, 38))
