"""A predicate against minimum, maximum and null count of columns: can some row of the file match?

Whatever is not known keeps the file. Bounds need not be tight: truncated ones are bounds too. The bounds of a float
column say nothing about NaN, which is above them, so only an upper limit can exclude such a column's values. A bound
that is NaN itself excludes nothing: whatever it is compared with, the answer is no.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.predicate.bounds import successor
from maintenance.predicate.like import prefix_of
from maintenance.predicate.tree import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    push_down_not,
)
from maintenance.types.values import Value


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """What is known of a column: no value is below `min` or above `max`, it has `null_count` nulls; None is unknown.

    Values are internal values of the predicate's column type.
    """

    min: Value = None
    max: Value = None
    null_count: int | None = None


_UNKNOWN = ColumnStats()


def may_match(predicate: Predicate, stats: Mapping[str, ColumnStats], row_count: int | None) -> bool:
    """False only if no row can match. `row_count`: rows that the statistics are about, None if unknown."""
    return _may_match(push_down_not(predicate), stats, row_count)


def _may_match(pushed: Predicate, stats: Mapping[str, ColumnStats], row_count: int | None) -> bool:
    match pushed:
        case Constant(value):
            return value is True
        case And(children):
            return all(_may_match(child, stats, row_count) for child in children)
        case Or(children):
            return any(_may_match(child, stats, row_count) for child in children)
        case IsNull(column):
            return stats.get(column, _UNKNOWN).null_count != 0
    leaf = pushed.child if isinstance(pushed, Not) else pushed
    assert not isinstance(leaf, Constant | And | Or | Not)
    column_stats = stats.get(leaf.column, _UNKNOWN)
    if _is_all_null(column_stats, row_count):
        return False
    return True if isinstance(pushed, Not) else _value_may_match(leaf, column_stats)


def _is_all_null(stats: ColumnStats, row_count: int | None) -> bool:
    return stats.null_count is not None and stats.null_count == row_count and stats.min is None and stats.max is None


def _value_may_match(leaf: Predicate, stats: ColumnStats) -> bool:
    low, high = stats.min, _upper_bound(stats.max)
    match leaf:
        case Compare(op, _, value):
            return _compare_may_match(op, value, low, high)
        case In():
            values = leaf.value_set
            return values.has_nan or values.any_between(_bound(low), _bound(high))
        case StartsWith(_, text):
            return _prefix_may_match(text, low, high)
        case Like(_, pattern, escape):
            return _prefix_may_match(prefix_of(pattern, escape), low, high)
    return True


def _compare_may_match(op: Operator, value: Any, low: Any, high: Any) -> bool:
    if isinstance(value, float):
        if math.isnan(value):
            return True
        high = None if op in (">", ">=", "!=") else high  # a NaN would be above it
    above = low is not None and value < low  # the literal is below all values
    beneath = high is not None and high < value  # the literal is above all values
    match op:
        case "=":
            return not above and not beneath
        case "<":
            return not above and value != low
        case "<=":
            return not above
        case ">":
            return not beneath and value != high
        case ">=":
            return not beneath
        case "!=":
            return not low == high == value


def _bound(value: Any) -> Any:
    """A bound that values can be ordered by: NaN excludes nothing."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _prefix_may_match(prefix: str, low: Any, high: Any) -> bool:
    after = successor(prefix)
    return (high is None or high >= prefix) and (low is None or after is None or low < after)


def _upper_bound(value: Any) -> Any:
    """A text that Java cut before U+D800 has a maximum that ends in `?`, which is too small."""
    return value[:-1] + "\ue000" if isinstance(value, str) and value.endswith("?") else value
