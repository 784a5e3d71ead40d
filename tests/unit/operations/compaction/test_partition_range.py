"""A range of partitions is in the order of the partition columns, with both ends."""

import itertools

import duckdb
import pytest

from maintenance.errors import OptionError
from maintenance.operations.compaction.partition_range import between


def kept(condition: str | None) -> set[tuple[str, str]]:
    rows = ", ".join(f"('{a}', '{b}')" for a, b in itertools.product("123", "xyz"))
    text = f"SELECT a, b FROM (VALUES {rows}) AS t(a, b) WHERE {(condition or 'true').replace('`', '')}"
    return set(duckdb.connect().execute(text).fetchall())


def test_the_condition_takes_what_lies_between() -> None:
    everything = set(itertools.product("123", "xyz"))
    for first, last in itertools.product(everything, everything):
        ends = [dict(zip("ab", end, strict=True)) for end in (first, last)]
        assert kept(between(("a", "b"), ends[0], ends[1])) == {one for one in everything if first <= one <= last}
    assert kept(between(("a", "b"), {"a": "2"}, {})) == {one for one in everything if one[0] >= "2"}
    assert kept(between(("a", "b"), {}, {"a": "2"}, "b = 'x' OR b = 'y'")) == set(itertools.product("12", "xy"))
    assert between(("a", "b"), {}, {}) is None
    assert between(("a",), {"a": "it's"}, {}) == "`a` >= 'it''s'"


@pytest.mark.parametrize("end", [{"b": "1"}, {"c": "1"}, {"a": "1", "c": "2"}, {"a": None}])
def test_ends_that_are_no_beginning_of_the_columns_are_refused(end: dict[str, str | None]) -> None:
    with pytest.raises(OptionError, match="'from' is about"):
        between(("a", "b"), end, {})
