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
    """The value of a key whose records follow those of another one: nothing is taken from there."""
    column = pa.array([99, *(given for _, given in steps)], pa.int32())
    inputs = Inputs(column, np.arange(len(column)), np.array([0, 1]), np.array([A, *(op for op, _ in steps)], np.int8))
    found = AGGREGATES[function].reduce(inputs, AggregatedColumn(DataField(1, "a", parse_type("INT")), {}))
    assert isinstance(found, np.ndarray)
    assert found[0] == 0
    taken: int | None = None if found[1] < 0 else column[int(found[1])].as_py()
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
def test_the_newest_value(steps: list[Step], last: int | None, last_non_null: int | None) -> None:
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


def test_extremes() -> None:
    assert value("max", (A, 1), (A, None), (A, 7), (A, 3)) == 7
    assert value("min", (A, 5), (A, None), (A, 1), (A, 3)) == 1
    assert value("max", (A, None)) is None
    assert value("min", (A, 9), (S, 10), (A, 12)) == 10
