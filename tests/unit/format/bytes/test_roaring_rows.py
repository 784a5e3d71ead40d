"""Bitmaps of rows: many at once as each alone, in the bytes of Java's compression, and back."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.format.bytes.roaring import ARRAY, BITS, RUN, Container, serialize_portable
from maintenance.format.bytes.roaring_rows import EMPTY_BITMAP, parse_bitmap, serialize_bitmap, serialize_bitmaps
from maintenance.format.file_index.bits import slices
from tests.examples import examples

# Runs, single rows and dense stretches, over several containers.
stretches = st.tuples(st.integers(0, 300_000), st.integers(1, 70_000), st.sampled_from([1, 1, 2, 3, 20]))
groups = st.lists(stretches, min_size=1, max_size=5).map(
    lambda found: np.unique(np.concatenate([np.arange(start, start + length, step) for start, length, step in found]))
) | st.sets(st.integers(0, 300_000), min_size=1, max_size=40).map(lambda rows: np.array(sorted(rows)))


def expected(rows: np.ndarray) -> bytes:
    """Container by container, by the rules for one."""
    containers = [(int(key), container(rows[rows >> 16 == key] & 0xFFFF)) for key in np.unique(rows >> 16)]
    return serialize_portable(containers) if containers else EMPTY_BITMAP


def container(values: np.ndarray) -> Container:
    """Runs where they take less than the values, or than bits."""
    runs = np.split(values, np.flatnonzero(np.diff(values) != 1) + 1)
    if 2 + 4 * len(runs) < min(2 * len(values), 8192):
        pairs = b"".join(struct.pack("<HH", run[0], len(run) - 1) for run in runs)
        return Container(RUN, len(values), struct.pack("<H", len(runs)) + pairs)
    if len(values) <= 4096:
        return Container(ARRAY, len(values), values.astype("<u2").tobytes())
    bits = bytearray(8192)
    for value in values.tolist():
        bits[value // 8] |= 1 << value % 8
    return Container(BITS, len(values), bytes(bits))


@settings(max_examples=examples(40))
@given(st.lists(groups, min_size=1, max_size=4))
def test_many_bitmaps_at_once(found: list[np.ndarray]) -> None:
    starts = np.cumsum([0, *map(len, found)])[:-1]
    serialized = serialize_bitmaps(np.concatenate(found), starts)
    for number, rows in enumerate(found):
        assert serialized[number] == expected(rows) == serialize_bitmap(rows)
        bitmap, end = parse_bitmap(b"before" + serialized[number] + b"behind", 6, 400_000)
        assert bitmap == BitMap(rows.astype(np.uint32))
        assert end == 6 + len(serialized[number])


@settings(max_examples=examples(30))
@given(groups, st.integers(1, 10), st.integers(0, 2**32 - 1), st.booleans())
def test_each_bit_has_the_bitmap_of_the_rows_that_have_it(
    rows: np.ndarray, count: int, seed: int, all_rows: bool
) -> None:
    rows = np.arange(len(rows)) if all_rows else rows
    numbers = np.random.default_rng(seed).integers(0, 1 << count, len(rows)).astype(np.uint64)
    numbers[: len(numbers) // 2] = numbers[0]
    actual = list(slices(rows, numbers, count))
    assert actual == [expected(rows[(numbers >> np.uint64(bit)) & np.uint64(1) == 1]) for bit in range(count)]


@pytest.mark.parametrize("rows", [[0], [0, 1, 2], [0, 1, 2, 3], [65_535, 65_536], range(4096), range(0, 8194, 2)])
def test_rows_at_the_edges_of_containers_have_the_expected_bytes(rows: list[int]) -> None:
    assert serialize_bitmap(np.array(rows, np.int64)) == expected(np.array(rows, np.int64))


def test_without_rows_a_bitmap_is_empty() -> None:
    assert serialize_bitmap(np.zeros(0, np.int64)) == EMPTY_BITMAP
    assert len(serialize_bitmaps(np.zeros(0, np.int64), np.zeros(0, np.int64))) == 0
    assert parse_bitmap(EMPTY_BITMAP, 0, 0) == (BitMap(), 8)


@settings(max_examples=examples(60))
@given(groups, st.data())
def test_damage_is_found_or_harmless(rows: np.ndarray, data: st.DataObject) -> None:
    content = bytearray(serialize_bitmap(rows))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    for damaged in (bytes(content), bytes(content[:cut])):
        try:
            bitmap, end = parse_bitmap(damaged, 0, 400_000)
        except ValueError:
            continue
        assert end <= len(damaged)
        assert not bitmap or bitmap.max() < 400_000
