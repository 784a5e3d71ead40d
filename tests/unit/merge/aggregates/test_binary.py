"""Functions over serialized objects: which values of a key are put together, and in which order."""

import numpy as np
import pyarrow as pa
import pytest

from maintenance.merge.aggregates.binary import united
from maintenance.merge.inputs import Inputs, Op


def joined(values: list[bytes | None], starts: list[int], ops: list[Op] | None = None) -> list[bytes | None]:
    column = pa.array(values, pa.binary())
    kinds = None if ops is None else np.array(ops, np.int8)
    inputs = Inputs(column, np.arange(len(values)), np.array(starts), kinds)
    made: list[bytes | None] = united(inputs, lambda parts: b"+".join(parts) + b"!").to_pylist()
    return made


def test_a_single_value_stays_as_it_is() -> None:
    assert joined([b"a", b"b", b"c", b"d"], [0, 1, 3]) == [b"a", b"b+c!", b"d"]


def test_nulls_are_left_out() -> None:
    assert joined([None, b"b", b"c", None, None, b"d"], [0, 2, 4, 5]) == [b"b", b"c", None, b"d"]
    assert joined([b"a", None, b"c"], [0]) == [b"a+c!"]
    assert joined([None, None, None], [0, 2]) == [None, None]


def test_late_values_come_first_the_latest_in_front() -> None:
    late = [Op.ADD, Op.BEHIND, Op.ADD, Op.BEHIND]
    assert joined([b"a", b"b", b"c", b"d"], [0], late) == [b"d+b+a+c!"]
    assert joined([b"a", b"b", b"c", b"d"], [0, 2], late) == [b"b+a!", b"d+c!"]
    assert joined([b"a", b"b"], [0], [Op.BEHIND, Op.ADD]) == [b"a+b!"]


@pytest.mark.parametrize(("kinds", "made"), [([Op.ADD, Op.SET, Op.ADD], b"b+c!"), ([Op.ADD, Op.ADD, Op.SET], b"c")])
def test_what_was_set_starts_anew(kinds: list[Op], made: bytes) -> None:
    assert joined([b"a", b"b", b"c"], [0], kinds) == [made]
