"""Pushed filters: equal to what the engine means, or None."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from maintenance.predicate.moments import NANOS_PER_DAY
from maintenance.predicate.pushed import of_filter
from maintenance.predicate.tree import (
    UNKNOWN,
    And,
    Compare,
    Contains,
    EndsWith,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    StartsWith,
    never,
)
from tests.unit.predicate.strategies import FIELDS

NOON = dt.datetime(2024, 2, 29, 12)
NOON_NANOS = 19782 * NANOS_PER_DAY + NANOS_PER_DAY // 2


@pytest.mark.parametrize(
    ("op", "column", "value", "expected"),
    [
        ("=", "number", 5, Compare("=", "number", 5)),
        ("<", "price", Decimal("1.5"), Compare("<", "price", Decimal("1.50"))),
        (">=", "double", 2, Compare(">=", "double", 2.0)),
        ("<=", "day", dt.date(2024, 2, 29), Compare("<=", "day", 19782)),
        ("=", "clock", dt.time(12, 0, 0, 500_000), Compare("=", "clock", 43_200_500)),
        (">", "micros", NOON, Compare(">", "micros", NOON_NANOS)),
        ("=", "instant", NOON.replace(tzinfo=dt.UTC), Compare("=", "instant", NOON_NANOS)),
        ("=", "instant", NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=1))),
         Compare("=", "instant", NOON_NANOS - NANOS_PER_DAY // 24)),
        ("=", "micros", NOON.replace(microsecond=1), Compare("=", "micros", NOON_NANOS + 1000)),
        ("=", "raw", bytearray(b"a"), Compare("=", "raw", b"a")),
        ("=", "flag", True, Compare("=", "flag", True)),
        ("=", "number", None, UNKNOWN),
        ("<=>", "number", None, IsNull("number")),
        ("<=>", "number", 5, And((Not(IsNull("number")), Compare("=", "number", 5)))),
        ("in", "number", (1, 2), In("number", (1, 2))),
        ("in", "name", ["a", None], Or((In("name", ("a",)), UNKNOWN))),
        ("in", "number", (), never("number")),
        ("is_null", "number", None, IsNull("number")),
        ("is_not_null", "number", None, Not(IsNull("number"))),
        ("starts_with", "name", "a", StartsWith("name", "a")),
        ("ends_with", "name", "a", EndsWith("name", "a")),
        ("contains", "name", "a", Contains("name", "a")),
    ],
)  # fmt: skip
def test_a_pushed_filter_is_the_predicate_that_it_means(op: str, column: str, value: Any, expected: Predicate) -> None:
    assert of_filter(op, column, value, FIELDS) == expected


@pytest.mark.parametrize(
    ("op", "column", "value"),
    [
        ("=", "nope", 5), ("=", "NUMBER", 5), ("like", "name", "a"), ("=", "number", [5]), ("=", "name", 5),
        ("in", "number", [1, "x"]), ("=", "micros", NOON.replace(tzinfo=dt.UTC)), ("=", "instant", NOON),
        ("starts_with", "name", None), ("starts_with", "raw", b"a"), ("=", "double", 10**400),
        ("=", "price", Decimal("Infinity")), ("=", "price", Decimal("NaN")), ("=", "day", 5),
    ],
)  # fmt: skip
def test_none_where_the_engine_must_filter(op: str, column: str, value: Any) -> None:
    assert of_filter(op, column, value, FIELDS) is None
