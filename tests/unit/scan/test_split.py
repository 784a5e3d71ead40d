"""Splits: how files are put together, by size, key and level."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.scan.split import (
    DiffSplit,
    Split,
    SplitOptions,
    append_splits,
    pack,
    primary_key_splits,
    raw_convertible,
)
from tests.unit.commit.entries import KEY_OF, add
from tests.unit.compaction.files import data_file

FILES = SplitOptions(target_size=250, open_file_cost=1)
ONE = SplitOptions(target_size=1, open_file_cost=1)
ALL = SplitOptions(target_size=10**9, open_file_cost=1)


@given(
    st.lists(st.integers(0, 20), max_size=12),
    st.integers(1, 30),
    st.integers(0, 10),
)
def test_bins_are_full_but_not_overfull(sizes: list[int], target: int, cost: int) -> None:
    bins = list(pack(sizes, lambda size: size, SplitOptions(target, cost)))
    assert [size for packed in bins for size in packed] == sizes
    weights = [[max(size, cost) for size in packed] for packed in bins]
    for i, packed in enumerate(weights):
        assert len(packed) == 1 or sum(packed) <= target
        if i:
            assert sum(weights[i - 1]) + packed[0] > target


def test_a_bin_may_be_exactly_full() -> None:
    assert list(pack([3, 3, 3], lambda size: size, SplitOptions(6, 1))) == [[3, 3], [3]]


@pytest.mark.parametrize(
    ("levels", "deletes", "one_version", "expected"),
    [
        ((5,), (0,), False, True),
        ((5, 5), (0, 0), False, True),
        ((4, 5), (0, 0), False, False),
        ((4, 5), (0, 0), True, True),
        ((0, 0), (0, 0), False, False),
        ((0, 5), (0, 0), True, False),
        ((5, 5), (0, 1), False, False),
        ((5,), (None,), False, False),
        ((4, 5), (0, 3), True, False),
    ],
)
def test_what_needs_no_merge(
    levels: tuple[int, ...], deletes: tuple[int | None, ...], one_version: bool, expected: bool
) -> None:
    files = [data_file(f"f{i}", level, deletes=deletes[i]) for i, level in enumerate(levels)]
    assert raw_convertible(files, one_version=one_version) == expected


def names(split: Split) -> tuple[tuple[str, ...], bool]:
    return tuple(file.file_name for file in split.files), split.raw


def keyed_splits(
    entries: list[ManifestEntry], options: SplitOptions, **how: bool
) -> list[tuple[tuple[str, ...], bool]]:
    return [names(split) for split in primary_key_splits(7, entries, options, KEY_OF, **how)]


def test_files_of_one_level_are_read_as_they_are() -> None:
    entries = [add(f"f{i}", level=5, keys=(10 * i, 10 * i + 9)) for i in range(3)]
    assert keyed_splits(entries, FILES) == [(("f0", "f1"), True), (("f2",), True)]


def test_sections_are_never_cut() -> None:
    entries = [
        add("a", level=5, keys=(0, 9)),
        add("b", keys=(5, 12)),
        add("c", keys=(20, 29)),
        add("d", level=5, keys=(30, 39)),
    ]
    assert keyed_splits(entries, ONE) == [(("a", "b"), False), (("c",), True), (("d",), True)]
    assert keyed_splits(entries, ALL) == [(("a", "b", "c", "d"), False)]


def test_keys_that_do_not_order_the_files() -> None:
    entries = [add("a", level=4, keys=(0, 9)), add("b", level=5, keys=(5, 12))]
    assert keyed_splits(entries, ONE) == [(("a", "b"), False)]
    assert keyed_splits(entries, ONE, by_key=False) == [(("a",), True), (("b",), True)]
    assert keyed_splits(entries, ONE, one_version=True) == [(("a",), True), (("b",), True)]


def test_buckets_and_snapshot_of_splits() -> None:
    entries = [add("a", bucket=1, total_buckets=2), add("b", bucket=0, total_buckets=2)]
    splits = list(append_splits(7, entries, ALL))
    assert [(split.snapshot_id, split.bucket, names(split)) for split in splits] == [
        (7, 1, (("a",), True)),
        (7, 0, (("b",), True)),
    ]


def test_a_split_counts_its_files_bytes_and_rows() -> None:
    files = tuple(data_file(f"f{i}", size=100 + i) for i in range(3))
    before, after = Split(1, b"", 0, files[:1], raw=False), Split(2, b"", 0, files[1:], raw=False)
    assert (after.file_count, after.size, after.row_count) == (2, 203, 20)
    both = DiffSplit(before, after)
    assert (both.file_count, both.size, both.row_count) == (3, 303, 30)
