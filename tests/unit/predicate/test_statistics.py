"""Statistics never exclude a file in which a row matches, and do exclude those they can."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.predicate.sql import parse
from maintenance.predicate.statistics import ColumnStats, may_match
from maintenance.predicate.tree import Not, Predicate, columns_of
from maintenance.types.data_type import DataField
from tests.examples import examples
from tests.models.predicates import order, truth
from tests.unit.predicate.strategies import BY_NAME, FIELDS, leaves_of, predicates, rows, values


@st.composite
def stats_of(draw: st.DrawFn, name: str, column: list[Any]) -> ColumnStats:
    """True statistics of a column's values: exact, widened or unknown; NaN is left out of them, as parquet does."""
    present = [value for value in column if value is not None]
    ordered = sorted((value for value in present if not _is_nan(value)), key=order)
    low, high = (ordered[0], ordered[-1]) if ordered else (None, None)
    if len(ordered) > 0 and draw(st.booleans()):
        other = draw(values(BY_NAME[name]))
        if not _is_nan(other):
            low, high = min(low, other, key=order), max(high, other, key=order)
    nulls = draw(st.sampled_from((None, len(column) - len(present))))
    return ColumnStats(draw(st.sampled_from((None, low))), draw(st.sampled_from((None, high))), nulls)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


@settings(max_examples=examples(100))
@given(predicates(), st.data())
def test_never_excludes_a_row_that_matches(predicate: Predicate, data: st.DataObject) -> None:
    check(predicate, data)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_never_excludes_a_value_that_matches(field: DataField, data: st.DataObject) -> None:
    leaf = data.draw(leaves_of(field))
    check(data.draw(st.sampled_from((leaf, Not(leaf)))), data)


def check(predicate: Predicate, data: st.DataObject) -> None:
    actual = data.draw(rows(columns_of(predicate), max_size=4))
    stats = {
        name: data.draw(stats_of(name, [row[name] for row in actual]))
        for name in sorted(columns_of(predicate))
        if data.draw(st.integers(0, 3))
    }
    if any(truth(predicate, row) for row in actual):
        assert may_match(predicate, stats, data.draw(st.sampled_from((None, len(actual)))))


STATS = {
    "number": ColumnStats(10, 20, 0),
    "name": ColumnStats("ab", "ad", 3),
    "price": ColumnStats(Decimal("1.00"), Decimal("1.00"), 0),
    "double": ColumnStats(-1.0, 0.0, 0),
    "big": ColumnStats(None, None, 10),
    "small": ColumnStats(None, 5, None),
    "code": ColumnStats("a", "b?", 0),
    "flag": ColumnStats(False, False, 0),
}


@pytest.mark.parametrize(
    "text",
    [
        "number = 9", "number = 21", "number < 10", "number <= 9", "number > 20", "number >= 21", "number IN (1, 30)",
        "NOT number BETWEEN 10 AND 20", "NOT (number >= 10 OR name = 'x')", "number IS NULL", "number = NULL",
        "number = 15 AND number = 9", "number = 9 OR number = 21", "NOT number IS NOT NULL", "number NOT IN (15, NULL)",
        "name < 'ab'", "name > 'ad'", "startswith(name, 'b')", "startswith(name, 'aa')", "name LIKE 'ae%f'",
        "price <> 1", "price = 1.001", "double = 0.5", "double < -1", "double <= -1.5", "double IN (1, 2)",
        "big = 5", "big IS NOT NULL", "NOT big = 5", "big NOT IN (1)", "small > 5", "small = 6",
        "code > 'b\\uE000'", "flag", "NOT NOT flag", "flag > false",
    ],
)  # fmt: skip
def test_a_file_in_which_no_row_can_match_is_excluded(text: str) -> None:
    assert not may_match(parse(text, FIELDS), STATS, row_count=10)


@pytest.mark.parametrize(
    "text",
    [
        "number = 10", "number = 20", "number <= 10", "number >= 20", "number < 11", "number <> 15",
        "number NOT IN (15)", "NOT number = 15", "name IS NULL", "name = 'ac'", "startswith(name, 'a')",
        "startswith(name, 'ad')", "endswith(name, 'z')", "name NOT LIKE 'a%'", "name LIKE '_b'", "price = 1",
        "double > 0", "double >= 5", "double <> -1", "double = CAST('NaN' AS DOUBLE)", "double = -0.0",
        "double < CAST('NaN' AS DOUBLE)", "big IS NULL", "small < -100", "small = 5", "small IS NULL",
        "tiny = 1", "tiny IS NULL", "number = 9 OR tiny = 1", "NOT flag", "day IS NOT NULL",
        "number IS NOT NULL", "code = 'b\\uD7FF'",
    ],
)  # fmt: skip
def test_a_file_in_which_a_row_may_match_is_kept(text: str) -> None:
    assert may_match(parse(text, FIELDS), STATS, row_count=10)


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_bounds_that_are_nan_exclude_nothing(op: str) -> None:
    stats = {"double": ColumnStats(math.nan, math.nan, 0)}
    assert may_match(parse(f"double {op} 1", FIELDS), stats, row_count=10)
    assert may_match(parse(f"double {op} CAST('NaN' AS DOUBLE)", FIELDS), stats, row_count=10)


def test_a_column_that_a_file_lacks_is_null_in_all_its_rows() -> None:
    absent = {"number": ColumnStats(null_count=7)}
    assert not may_match(parse("number = 1", FIELDS), absent, row_count=7)
    assert not may_match(parse("NOT number = 1", FIELDS), absent, row_count=7)
    assert may_match(parse("number IS NULL", FIELDS), absent, row_count=7)
    assert may_match(parse("number = 1", FIELDS), absent, row_count=8)
    assert may_match(parse("number = 1", FIELDS), absent, row_count=None)
