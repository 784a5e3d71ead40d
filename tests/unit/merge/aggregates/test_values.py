"""Functions that take one of the values, where records come late, are set or retracted."""

import numpy as np
import pyarrow as pa
import pytest

from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.registry import AGGREGATES
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.data_type import DataField, parse_type

A, R, B, S = Op.ADD, Op.RETRACT, Op.BEHIND, Op.SET
Step = tuple[Op, int | None]


def value(function: str, *steps: Step) -> int | None:
    """The value of two keys with these records, and another one between them: nothing is taken from elsewhere."""
    values, count = [given for _, given in steps], len(steps)
    column = pa.array([*values, 99, *values], pa.int32())
    ops = np.array([*(op for op, _ in steps), A, *(op for op, _ in steps)], np.int8)
    inputs = Inputs(column, np.arange(len(column)), np.array([0, count, count + 1]), ops)
    actual = AGGREGATES[function].reduce(inputs, AggregatedColumn(DataField(1, "a", parse_type("INT")), {}))
    assert isinstance(actual, np.ndarray)
    first, between, last = (None if at < 0 else column[int(at)].as_py() for at in actual)
    assert between == 99
    assert first == last
    taken: int | None = first
    return taken


@pytest.mark.parametrize(
    ("steps", "last", "last_non_null"),
    [
        ([(A, 1), (A, 2)], 2, 2),
        ([(A, 1), (A, None)], None, 1),
        ([(A, 1), (B, 2)], 1, 1),
        ([(B, 1)], None, 1),
        ([(B, 1), (B, 2)], None, 1),
        ([(A, 1), (R, 1)], None, None),
        ([(A, 1), (R, None)], None, 1),
        ([(A, 1), (R, 5), (A, 3)], 3, 3),
        ([(A, 1), (R, 1), (B, 7), (B, 8)], None, 7),
        ([(B, 7), (A, 1), (R, 1)], None, None),
        ([(A, 1), (S, None)], None, None),
        ([(A, 1), (S, None), (A, 2)], 2, 2),
        ([(R, 1)], None, None),
    ],
)
def test_last_values_are_the_newest_with_nulls_or_without(
    steps: list[Step], last: int | None, last_non_null: int | None
) -> None:
    assert value("last_value", *steps) == last
    assert value("last_non_null_value", *steps) == last_non_null


@pytest.mark.parametrize(
    ("steps", "first_non_null"),
    [
        ([(A, None), (A, 1), (A, 2)], 1),
        ([(A, None)], None),
        ([(A, 1), (B, 2)], 2),
        ([(A, 1), (B, None)], None),
        ([(B, 2), (B, 3)], 2),
        ([(B, 2), (A, 1)], 1),
        ([(A, 1), (S, 5), (A, 6)], 5),
        ([(S, 5), (A, 6)], 6),
    ],
)
def test_the_oldest_value_that_is_not_null(steps: list[Step], first_non_null: int | None) -> None:
    assert value("first_non_null_value", *steps) == first_non_null


def test_max_and_min_pass_over_nulls_and_begin_anew_where_a_value_is_set() -> None:
    assert value("max", (A, 1), (A, None), (A, 7), (A, 3)) == 7
    assert value("min", (A, 5), (A, None), (A, 1), (A, 3)) == 1
    assert value("max", (A, None)) is None
    assert value("min", (A, 9), (S, 10), (A, 12)) == 10
