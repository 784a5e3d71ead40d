"""Sums at the limits of their types."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.sum import sum_values
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, parse_type
from maintenance.types.values import Value

A, R = Op.ADD, Op.RETRACT
MOST, LEAST = 2**63 - 1, -(2**63)


def sums(values: list[Value], text: str, ops: list[Op] | None = None, starts: tuple[int, ...] = (0,)) -> pa.Array:
    data_type = parse_type(text)
    column = pa.array(values, arrow_type(data_type))
    kinds = None if ops is None else np.array(ops, np.int8)
    inputs = Inputs(column, np.arange(len(values)), np.array(starts), kinds)
    return sum_values(inputs, AggregatedColumn(DataField(1, "a", data_type), {}))


@pytest.mark.parametrize(
    ("values", "text", "made"),
    [
        ([MOST, 0], "BIGINT", MOST),
        ([MOST - 1, 1, -5], "BIGINT", MOST - 5),
        ([LEAST, 0], "BIGINT", LEAST),
        ([MOST, 1], "BIGINT", None),
        ([MOST, 1, -1], "BIGINT", None),
        ([LEAST, -1], "BIGINT", None),
        ([100, 27], "TINYINT", 127),
        ([-100, -28], "TINYINT", -128),
        ([100, 28], "TINYINT", None),
        ([100, 28, -1], "TINYINT", None),
    ],
)
def test_integers_are_summed_unless_a_step_leaves_their_range(values: list[Value], text: str, made: int | None) -> None:
    """None: a step leaves the range of the type, whatever comes after it."""
    if made is not None:
        assert sums(values, text).to_pylist() == [made]
        return
    with pytest.raises(DataError, match=f"leaves the range of {text}"):
        sums(values, text)


def test_a_retraction_subtracts_within_the_range_of_the_type() -> None:
    assert sums([5, 3, None], "INT", [A, R, R]).to_pylist() == [2]
    assert sums([MOST, 1, 1], "BIGINT", [A, R, A]).to_pylist() == [MOST]
    with pytest.raises(DataError, match="leaves the range"):
        sums([MOST, -1], "BIGINT", [A, R])
    assert sums([1.5, 0.25], "DOUBLE", [A, R]).to_pylist() == [1.25]
    assert sums([Decimal(5), Decimal(3)], "DECIMAL(20, 0)", [A, R]).to_pylist() == [Decimal(2)]


def test_segments_without_values_are_null() -> None:
    for text in ("INT", "DOUBLE", "DECIMAL(5, 0)"):
        assert sums([1, None, 2, None, 4], text, starts=(0, 1, 2)).to_pylist() == [1, None, 6]
        assert sums([None], text).to_pylist() == [None]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("precision", [19, 38])
def test_a_long_decimal_beyond_its_digits_is_null_and_starts_over(precision: int, sign: int) -> None:
    text, largest = f"DECIMAL({precision}, 0)", sign * (10**precision - 1)

    def found(*numbers: int, ops: list[Op] | None = None) -> Value:
        made: Value = sums([Decimal(number) for number in numbers], text, ops)[0].as_py()
        return made

    assert found(largest - sign, sign) == Decimal(largest)
    assert found(largest, sign) is None
    assert found(largest, sign, 7) == Decimal(7)
    assert found(largest, -sign, ops=[A, R]) is None
    assert found(largest, -sign) == Decimal(largest - sign)
    assert found(largest, -largest) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_short_decimal_may_have_more_digits_up_to_64_bits(sign: int) -> None:
    """Nine times 999,999,999,999,999,999 fits into 64 bits, ten times does not."""
    largest = Decimal("9" * 18) * sign
    column = sums([largest] * 9, "DECIMAL(18, 0)")
    halves = np.frombuffer(column.buffers()[1], np.int64)
    assert halves.tolist() == [9 * (10**18 - 1) * sign, 0 if sign == 1 else -1]
    assert sums([largest] * 10, "DECIMAL(18, 0)").to_pylist() == [None]
    assert sums([largest] * 11, "DECIMAL(18, 0)").to_pylist() == [largest]


def test_decimals_carry_from_limb_to_limb() -> None:
    for number in (2**32 - 1, 2**64 - 1, 2**96 - 1, 2**64, 2**31):
        for values in ([number, 1], [number, number, number], [-number, -1], [number, -number], [-number, 1, 2**33]):
            made = sums([Decimal(value) for value in values], "DECIMAL(38, 0)").to_pylist()
            assert made == [Decimal(sum(values))]


def test_floats_are_added_one_after_the_other() -> None:
    """So the result depends on the order; segments of more than 64 values beside short ones, too."""
    made = sums([1e16, 1.0, 1.0, *[0.1] * 65, *[0.1] * 64, 2.0], "DOUBLE", starts=(0, 3, 68, 132))
    assert made.to_pylist() == [1e16, added(0.1, 65), added(0.1, 64), 2.0]


def added(number: float, times: int) -> float:
    total = 0.0
    for _ in range(times):
        total += number
    return total
