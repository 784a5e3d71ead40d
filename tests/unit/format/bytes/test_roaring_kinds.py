"""Kinds of containers where arrays and runs take nearly the same room."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.format.bytes.roaring import ARRAY, RUN, Bitmap64, Container, bitmaps_of, parse_portable
from maintenance.format.bytes.roaring_kinds import united_kind


def array(*values: int) -> Container:
    return Container(ARRAY, len(values), np.array(values, "<u2").tobytes())


def run(*pairs: tuple[int, int]) -> Container:
    """Runs of values from and to, both in."""
    numbers = [len(pairs), *(number for low, high in pairs for number in (low, high - low))]
    return Container(RUN, sum(high - low + 1 for low, high in pairs), np.array(numbers, "<u2").tobytes())


@pytest.mark.parametrize(
    ("united", "kind"),
    [
        ((array(1), array(2)), ARRAY),
        ((array(1), run((2, 2))), RUN),
        ((run((1, 2)), array(2)), RUN),
        ((run((1, 2)), array(5), array(6)), ARRAY),
        # Two values apart make an array of the runs, and it stays one.
        ((run((1, 1)), array(5, 9), array(2, 6, 10)), ARRAY),
        # A long run that is cut no more stays runs.
        ((array(1, 2, 3, 4, 5), array(9), array(11), array(13)), RUN),
    ],
)
def test_what_was_united_decides(united: tuple[Container, ...], kind: int) -> None:
    values: set[int] = set()
    for part in united:
        values |= set(bitmaps_of(Bitmap64({0: part}))[0])
    for given_kind in (array(*sorted(values)), parse_portable(_optimized(values))[0][1]):
        assert united_kind(given_kind, united).kind == kind


def _optimized(values: set[int]) -> bytes:
    bitmap = BitMap(values)
    bitmap.run_optimize()
    return bitmap.serialize()


@given(st.lists(st.sets(st.integers(0, 40), min_size=1), min_size=1, max_size=4))
def test_the_values_stay_whatever_kind_is_chosen(parts: list[set[int]]) -> None:
    united = [parse_portable(_optimized(part))[0][1] for part in parts]
    values = set.union(*parts)
    actual = united_kind(parse_portable(_optimized(values))[0][1], united)
    assert set(bitmaps_of(Bitmap64({0: actual}))[0]) == values
    assert actual.cardinality == len(values)
