"""Sorting integers: as a stable sort of them, however they come."""

import numpy as np
import pytest

from maintenance.types.integer_order import (
    are_among,
    ascending_order,
    distinct_integers,
    distinct_of_runs,
    sorted_integers,
)

COUNT = 20_000


def _runs(count: int, width: int) -> np.ndarray:
    """Values of `width` bits as ascending runs."""
    values = np.random.default_rng(count).integers(0, (1 << width) - 1, COUNT, np.uint64, endpoint=True)
    return np.concatenate([np.sort(run) for run in np.array_split(values, count)])


def _high(shift: int) -> np.ndarray:
    """Values whose upper bits are few numbers, so that the lower ones decide."""
    generator = np.random.default_rng(shift)
    upper = generator.integers(0, COUNT // 2, COUNT).astype(np.uint64) << np.uint64(shift)
    return upper | generator.integers(0, 5, COUNT).astype(np.uint64)


GIVEN = {
    **{
        f"{count} runs of {width} bits": _runs(count, width)
        for count in (1, 5, 200, COUNT)
        for width in (3, 49, 50, 64)
    },
    "low bits decide among a few": np.append(_runs(COUNT, 64), np.array([2**63 + 2, 2**63 + 1, 2**63], np.uint64)),
    "low bits decide among many": _high(50),
    "descending": _runs(1, 64)[::-1].copy(),
    "the same": np.full(COUNT, 2**64 - 1, np.uint64),
    "few": _runs(50, 64)[:100],
    "one": np.array([2**64 - 1], np.uint64),
    "none": np.array([], np.uint64),
}


@pytest.mark.parametrize("name", GIVEN)
def test_equal_values_stay_in_order(name: str) -> None:
    values = GIVEN[name]
    kept = values.copy()
    assert ascending_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    assert sorted_integers(values).tolist() == np.sort(values).tolist()
    assert (values == kept).all()


@pytest.mark.parametrize("name", GIVEN)
@pytest.mark.parametrize("kind", [np.uint64, np.int64, np.int32])
def test_different_values_are_sorted_and_keep_their_type(name: str, kind: type) -> None:
    values: np.ndarray = GIVEN[name].astype(kind)
    for found in (distinct_integers(values), distinct_of_runs(values)):
        assert found.tolist() == sorted(set(values.tolist()))
        assert found.dtype == kind


@pytest.mark.parametrize("others", [[], [5], [1, 5, 9, 2**64 - 1]])
def test_values_are_looked_for_among_others(others: list[int]) -> None:
    values = np.array([0, 1, 4, 5, 5, 9, 10, 2**64 - 1], np.uint64)
    found = are_among(values, np.array(others, np.uint64))
    assert found.tolist() == [int(value) in others for value in values]
