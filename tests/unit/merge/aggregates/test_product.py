"""Products at the limits of their types."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.product import product_values
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, parse_type
from maintenance.types.values import Value

A, R = Op.ADD, Op.RETRACT
MOST, LEAST = 2**63 - 1, -(2**63)


def product(values: list[Value], text: str = "BIGINT", ops: list[Op] | None = None) -> Value:
    data_type = parse_type(text)
    column = pa.array(values, arrow_type(data_type))
    kinds = None if ops is None else np.array(ops, np.int8)
    inputs = Inputs(column, np.arange(len(values)), np.array([0]), kinds)
    made: Value = product_values(inputs, AggregatedColumn(DataField(1, "a", data_type), {}))[0].as_py()
    return made


@pytest.mark.parametrize(
    ("values", "made"),
    [
        ([3, -4], -12),
        ([2**62, -2], LEAST),
        ([2**31, -(2**32)], LEAST),
        ([LEAST, 1], LEAST),
        ([MOST, 1], MOST),
        ([MOST, -1], -MOST),
        ([2**62, 2, 0], None),
        ([2**62, 2], None),
        ([2**62, 3], None),
        ([2**62, -3], None),
        ([LEAST, -1], None),
        ([2**40, 2**40, 0], None),
        ([0, 2**62, 2**62], 0),
        ([MOST, 5, 0], None),
        # In floating point this is a little below 2**63.
        ([89547301328687144, 103], None),
        ([89547301328687143, 103], 89547301328687143 * 103),
    ],
)
def test_integers_of_64_bits(values: list[Value], made: int | None) -> None:
    """None: a step leaves the range of the type, whatever comes after it."""
    if made is None:
        with pytest.raises(DataError, match="leaves the range of BIGINT"):
            product(values)
    else:
        assert product(values) == made


@pytest.mark.parametrize(("values", "fits"), [([64, -2], True), ([127, 1], True), ([64, 2], False), ([-43, 3], False)])
def test_integers_of_8_bits(values: list[Any], fits: bool) -> None:
    if fits:
        assert product(values, "TINYINT") == np.prod(values)
    else:
        with pytest.raises(DataError, match="leaves the range of TINYINT"):
            product(values, "TINYINT")


@pytest.mark.parametrize(
    ("values", "ops", "made"),
    [
        ([7, 2], [A, R], 3),
        ([-7, 2], [A, R], -3),
        ([7, -2], [A, R], -3),
        ([-7, -2], [A, R], 3),
        ([-8, 2], [A, R], -4),
        ([LEAST, 1], [A, R], LEAST),
        ([5, 7, 2], [R, A, R], 3),
        ([5, None, 3], [R, R, A], 3),
        ([5], [R], None),
        ([6, 0, 4], [A, A, R], 0),
        ([MOST, 3, 2], [A, R, A], MOST // 3 * 2),
    ],
)
def test_a_retraction_divides_and_drops_the_remainder(values: list[Value], ops: list[Op], made: int | None) -> None:
    assert product(values, ops=ops) == made


def test_divisions_that_have_no_result() -> None:
    with pytest.raises(DataError, match="divides by zero"):
        product([7, 0], ops=[A, R])
    with pytest.raises(DataError, match="leaves the range"):
        product([LEAST, -1], ops=[A, R])
    with pytest.raises(DataError, match="divides by zero"):
        product([Decimal(7), Decimal(0)], "DECIMAL(5, 0)", [A, R])
    with pytest.raises(DataError, match="no exact decimal"):
        product([Decimal(7), Decimal(3)], "DECIMAL(5, 0)", [A, R])


@pytest.mark.parametrize(
    ("values", "made"),
    [
        (["1.5", "1.5"], "2.3"),
        (["-1.5", "1.5"], "-2.3"),
        (["0.1", "0.4"], "0.0"),
        (["99.9", "10"], "999.0"),
        (["99.9", "10.1"], None),
        (["999.9", "1.0"], "999.9"),
        (["500", "2", "7"], "7.0"),
    ],
)
def test_decimals_round_half_up_and_become_null_beyond_their_digits(values: list[str], made: str | None) -> None:
    """What comes after a null starts anew."""
    actual = product([Decimal(text) for text in values], "DECIMAL(4, 1)")
    assert actual == (None if made is None else Decimal(made))


def test_a_decimal_is_divided_where_the_quotient_is_exact() -> None:
    assert product([Decimal("1.5"), Decimal("0.5")], "DECIMAL(4, 1)", [A, R]) == Decimal("3.0")
    assert product([Decimal(14), Decimal(2)], "DECIMAL(5, 0)", [A, R]) == Decimal(7)
    assert product([Decimal(7), Decimal(2)], "DECIMAL(5, 0)") == Decimal(14)


def test_floats_go_beyond_their_range_to_infinity() -> None:
    assert product([1e300, 1e300], "DOUBLE") == np.inf
    assert product([3.0, 4.0], "DOUBLE", [A, R]) == 0.75
    assert product([3.0, 0.0], "DOUBLE", [A, R]) == np.inf
