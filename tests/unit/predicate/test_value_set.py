"""Looking up values of a list: the same as asking each of them."""

import math
import pickle

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from maintenance.predicate.tree import In
from maintenance.predicate.value_set import ValueSet

FLOATS = st.floats(allow_nan=True)


@given(st.lists(FLOATS), st.none() | st.floats(allow_nan=False), st.none() | st.floats(allow_nan=False))
def test_any_value_between_bounds_is_found_and_nan_is_known(
    values: list[float], low: float | None, high: float | None
) -> None:
    actual = ValueSet(values)
    numbers = [value for value in values if not math.isnan(value)]
    expected = any((low is None or low <= v) and (high is None or v <= high) for v in numbers)
    assert actual.any_between(low, high) == expected
    assert actual.has_nan == (len(numbers) < len(values))


def test_arrays_are_made_once() -> None:
    leaf = In("a", (3, 1, 2))
    made: list[pa.Array] = []

    def make(values: tuple[object, ...]) -> pa.Array:
        made.append(pa.array(values, pa.int64()))
        return made[-1]

    for _ in range(2):
        assert leaf.value_set.array(pa.int64(), make).to_pylist() == [1, 2, 3]
    assert len(made) == 1
    again = pickle.loads(pickle.dumps(leaf))
    assert again == leaf == In("a", ValueSet((3, 1, 2)))
    assert vars(again.value_set) == {}
