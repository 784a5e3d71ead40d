"""Many 64-bit bitmaps at once are united as one by one, and what is no bitmap is left to that."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.format.bytes.roaring import Bitmap64, bitmaps_of, parse_bitmap64, parse_portable, serialize_bitmap64
from maintenance.format.bytes.roaring64_rows import array_containers, united_arrays
from maintenance.merge.aggregates.rbm64 import union_of
from tests.examples import examples

KEYS = st.one_of(st.integers(0, 2), st.integers(0, 300), st.integers(0, (1 << 48) - 1))
# Most are arrays; neighbours may be runs, and many values are bits.
VALUES = st.one_of(
    st.sets(st.integers(0, 0xFFFF), min_size=1, max_size=8),
    st.sets(st.integers(0, 12), min_size=1, max_size=8),
    st.just(range(0, 9000, 2)),
)


@st.composite
def bitmaps(draw: st.DrawFn) -> bytes:
    containers = {}
    for key in draw(st.lists(KEYS, max_size=20, unique=True)):
        container = BitMap(draw(VALUES))
        if draw(st.booleans()):
            container.run_optimize()
        containers[key] = parse_portable(container.serialize())[0][1]
    return serialize_bitmap64(Bitmap64(containers, len(containers) + draw(st.integers(0, 3))))


GROUPS = st.lists(st.lists(bitmaps(), min_size=2, max_size=4), min_size=1, max_size=8)


def one_by_one(group: Sequence[bytes]) -> bytes | None:
    """None: refused."""
    try:
        return union_of(list(group), "here")
    except DataError:
        return None


def side_by_side(groups: Sequence[Sequence[bytes]]) -> dict[int, bytes]:
    """Unions by their group's number."""
    sizes = [len(group) for group in groups]
    found = united_arrays(
        pa.array([one for group in groups for one in group], pa.binary()), np.cumsum([0, *sizes[:-1]])
    )
    return {int(group): found.united[number] for number, group in enumerate(found.groups)}


@settings(max_examples=examples(150))
@given(GROUPS)
def test_unions_side_by_side_are_those_made_one_by_one(groups: list[list[bytes]]) -> None:
    for number, made in side_by_side(groups).items():
        assert made == one_by_one(groups[number])


@settings(max_examples=examples(150))
@given(GROUPS, st.data())
def test_damaged_bytes_are_left_out_or_read_alike(groups: list[list[bytes]], data: st.DataObject) -> None:
    for group in groups:
        broken = bytearray(group[0])
        place = data.draw(st.integers(0, len(broken) - 1))
        if data.draw(st.booleans()):
            broken[place] = data.draw(st.integers(0, 255))
        else:
            del broken[place:]
        group[0] = bytes(broken)
    for number, made in side_by_side(groups).items():
        assert made == one_by_one(groups[number])


def test_small_arrays_are_made_side_by_side_and_all_else_is_not() -> None:
    def bitmap(*numbers: range) -> bytes:
        made = {key: parse_portable(BitMap(each).serialize())[0][1] for key, each in enumerate(numbers)}
        return serialize_bitmap64(Bitmap64(made, len(made)))

    small, wide, bits = bitmap(range(0, 30, 3)), bitmap(*[range(1, 9, 3)] * 40), bitmap(range(0, 20_000, 2))
    groups = [[small, small], [small, wide], [small, bits], [small, b"\0"], [small, b"?"]]
    # More than sixteen children make a node whose form tells how it grew.
    assert side_by_side(groups) == {0: small}


@settings(max_examples=examples(100))
@given(st.lists(bitmaps(), min_size=1, max_size=8))
def test_the_values_of_containers(rows: list[bytes]) -> None:
    # A slice: its buffers are those of the whole.
    found = array_containers(pa.array([b"before", *rows, b"behind"], pa.binary()).slice(1, len(rows)))
    held = np.repeat(found.row, found.count)
    values = np.repeat(found.key.astype(np.uint64) << np.uint64(16), found.count) | found.values()
    for row in np.flatnonzero(found.parsed).tolist():
        parts = bitmaps_of(parse_bitmap64(rows[row], "here"))
        assert values[held == row].tolist() == sorted(high << 32 | low for high, part in parts.items() for low in part)
