"""Sections and runs of a bucket: nothing lost, nothing that overlaps kept apart."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import serialize_row
from maintenance.format.rows.key import key_reader
from maintenance.merge.sections import Section, partition_into_sections
from maintenance.types.data_type import parse_type

TYPES = [parse_type("INT")]
KEY_OF = key_reader(TYPES)


def file_between(name: str, low: int, high: int) -> DataFileMeta:
    bounds = [serialize_row([value], TYPES) for value in (low, high)]
    return DataFileMeta(name, 1, 1, bounds[0], bounds[1], EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)


def bounds_of(file: DataFileMeta) -> tuple[int, int]:
    (low,), (high,) = KEY_OF(file.min_key), KEY_OF(file.max_key)
    return low[1], high[1]


def connected(ranges: list[tuple[int, int]]) -> list[set[tuple[int, int]]]:
    """Brute force: sets of ranges that touch each other directly or through others."""
    components: list[set[tuple[int, int]]] = []
    for low, high in ranges:
        touching = [c for c in components if any(low <= end and high >= start for start, end in c)]
        components = [c for c in components if c not in touching]
        components.append({(low, high)}.union(*touching))
    return sorted(components, key=min)


def names_of(section: Section) -> list[list[str]]:
    return sorted([file.file_name for file in run] for run in section)


@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(0, 12)), max_size=16))
def test_sections_are_the_connected_parts_and_runs_do_not_overlap(pairs: list[tuple[int, int]]) -> None:
    ranges = [(low, low + length) for low, length in pairs]
    files = [file_between(str(i), low, high) for i, (low, high) in enumerate(ranges)]
    sections = partition_into_sections(files, KEY_OF)
    assert sorted(f.file_name for s in sections for run in s for f in run) == sorted(f.file_name for f in files)
    assert [{bounds_of(f) for run in s for f in run} for s in sections] == connected(ranges)
    for section in sections:
        for run in section:
            assert all(bounds_of(a)[1] < bounds_of(b)[0] for a, b in pairwise(run))
        points = {point for run in section for f in run for point in bounds_of(f)}
        spans = [bounds_of(f) for run in section for f in run]
        deepest = max(sum(low <= point <= high for low, high in spans) for point in points)
        assert len(section) == deepest, "no more runs than files that lie over one key"


def test_a_file_that_starts_where_another_ends_overlaps_it() -> None:
    sections = partition_into_sections([file_between("a", 1, 5), file_between("b", 5, 9)], KEY_OF)
    assert [names_of(section) for section in sections] == [[["a"], ["b"]]]
    sections = partition_into_sections([file_between("a", 1, 5), file_between("b", 6, 9)], KEY_OF)
    assert [names_of(section) for section in sections] == [[["a"]], [["b"]]]


def test_keys_compare_by_value() -> None:
    types = [parse_type("STRING")]
    wide = [serialize_row([text], types) for text in ("a" * 20, "b")]
    first = DataFileMeta("long", 1, 1, wide[0], wide[0], EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)
    second = DataFileMeta("short", 1, 1, wide[1], wide[1], EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)
    sections = partition_into_sections([second, first], key_reader(types))
    assert [names_of(section) for section in sections] == [[["long"]], [["short"]]]
