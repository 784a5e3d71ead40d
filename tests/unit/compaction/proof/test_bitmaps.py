"""Words of roaring bitmaps are those of their numbers, however these are encoded and wherever they were united."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.compaction.proof.bitmaps import bitmap_words, halves_of_32, halves_of_64, union
from maintenance.compaction.proof.records import Groups
from maintenance.compaction.proof.unit import Unit
from maintenance.format.bytes.roaring import Bitmap64, parse_portable, serialize_bitmap64
from maintenance.types.row_hash import NULL
from tests.examples import examples

PARSE = {32: halves_of_32, 64: halves_of_64}
NUMBERS = st.one_of(
    st.sets(st.integers(0, (1 << 32) - 1), max_size=8),
    st.sets(st.integers(0, 12), max_size=8),
    st.sets(st.integers((1 << 16) - 3, (1 << 16) + 3), max_size=8),
    st.integers(4090, 4100).map(lambda count: set(range(0, 3 * count, 3))),
    st.integers(4090, 4100).map(lambda count: set(range(count))),
)
ENCODED = st.tuples(NUMBERS, st.booleans())


def serialized(bits: int, numbers: set[int], *, runs: bool) -> bytes:
    bitmap = BitMap(numbers)
    if runs:
        bitmap.run_optimize()
    data = bytes(bitmap.serialize())
    if bits == 32:
        return data
    containers = dict(parse_portable(data))
    return serialize_bitmap64(Bitmap64(containers, len(containers)))


class Records:
    """Records of one column of bitmaps."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        self._column = pa.array(values, pa.binary())

    def hashes(self, name: str) -> np.ndarray:
        raise AssertionError(name)

    def column(self, name: str) -> pa.Array:
        assert name == "b"
        return self._column


@pytest.mark.parametrize("bits", PARSE)
@settings(max_examples=examples(100))
@given(st.lists(ENCODED, min_size=1, max_size=6))
def test_bitmaps_have_one_word_if_they_hold_the_same_numbers(bits: int, bitmaps: list[tuple[set[int], bool]]) -> None:
    every = [(numbers, flag) for numbers, runs in bitmaps for flag in (runs, not runs)]
    words = bitmap_words(PARSE[bits], pa.array([serialized(bits, numbers, runs=runs) for numbers, runs in every]))
    for one, (numbers, _) in zip(words, every, strict=True):
        assert (words == one).tolist() == [numbers == others for others, _ in every]


@pytest.mark.parametrize("bits", PARSE)
@settings(max_examples=examples(100))
@given(st.lists(st.lists(st.one_of(st.none(), ENCODED), min_size=1, max_size=4), min_size=1, max_size=6))
def test_unions_have_the_words_of_what_they_hold(bits: int, groups: list[list[tuple[set[int], bool] | None]]) -> None:
    members = [member for group in groups for member in group]
    values = [None if member is None else serialized(bits, member[0], runs=member[1]) for member in members]
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    of_groups = Groups(np.arange(len(members)), starts, np.repeat(np.arange(len(groups)), list(map(len, groups))))
    expected = union(PARSE[bits])(Unit(("b",)), Records(values), of_groups)
    assert expected.proved is not None
    assert expected.proved.all()
    for word, group in zip(expected.hashes, groups, strict=True):
        held = [member[0] for member in group if member is not None]
        if not held:
            assert word == NULL
            continue
        whole = pa.array([serialized(bits, set().union(*held), runs=False)])
        assert word == bitmap_words(PARSE[bits], whole)[0]


@pytest.mark.parametrize("at", [0, 1, 2])
def test_damage_is_no_bitmap_and_a_lone_value_stays_as_it_is(at: int) -> None:
    good = serialized(32, {1, 5, 70_000}, runs=False)
    # A number is not where it should be, the end is missing, and places of containers are wrong.
    falling = serialized(32, {3, 5}, runs=False)[:-4] + b"\x05\x00\x03\x00"
    bad = [falling, good[:-1], good[:16] + b"\xff" + good[17:]][at]
    alone = union(halves_of_32)(Unit(("b",)), Records([bad, None]), Groups(np.arange(2), np.zeros(1, int), np.zeros(2)))
    assert alone.hashes[0] == bitmap_words(halves_of_32, pa.array([bad]))[0]
    assert alone.hashes[0] != bitmap_words(halves_of_32, pa.array([good]))[0]
