"""What a predicate says about one row, slowly and plainly. A row maps column names to internal values."""

import math
from collections.abc import Mapping
from typing import Any

from maintenance.predicate.tree import (
    And,
    Compare,
    Constant,
    Contains,
    EndsWith,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    StartsWith,
)

Row = Mapping[str, Any]


def truth(predicate: Predicate, row: Row) -> bool | None:
    """True, false or null (None)."""
    match predicate:
        case Constant(value):
            return value
        case Not(child):
            inner = truth(child, row)
            return None if inner is None else not inner
        case And(children):
            parts = [truth(child, row) for child in children]
            return False if False in parts else None if None in parts else True
        case Or(children):
            parts = [truth(child, row) for child in children]
            return True if True in parts else None if None in parts else False
        case IsNull(column):
            return row[column] is None
    value = row[predicate.column]
    return None if value is None else _of_value(predicate, value)


def _of_value(leaf: Predicate, value: Any) -> bool:
    match leaf:
        case Compare(op, _, literal):
            return compare(op, order(value), order(literal))
        case In(_, literals):
            return any(order(value) == order(literal) for literal in literals)
        case StartsWith(_, text):
            return value[: len(text)] == text
        case EndsWith(_, text):
            return value[len(value) - len(text) :] == text if len(text) <= len(value) else False
        case Contains(_, text):
            return any(value[i : i + len(text)] == text for i in range(len(value) + 1))
        case Like(_, pattern, escape):
            return like(value, pattern, escape)
    raise AssertionError(leaf)


def order(value: Any) -> Any:
    """A key that sorts as Spark SQL does: NaN last and equal to itself, one zero, texts as UTF-8."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def compare(op: str, left: Any, right: Any) -> bool:
    less, equal = left < right, left == right
    return {"=": equal, "!=": not equal, "<": less, "<=": less or equal, ">": not (less or equal), ">=": not less}[op]


def like(value: str, pattern: str, escape: str) -> bool:
    """Whether the whole text matches, one pattern character at a time."""
    if not pattern:
        return not value
    first, rest = pattern[0], pattern[1:]
    if first == escape:
        return value[:1] == rest[0] and like(value[1:], rest[1:], escape)
    if first == "%":
        return any(like(value[skip:], rest, escape) for skip in range(len(value) + 1))
    if first == "_":
        return bool(value) and like(value[1:], rest, escape)
    return value[:1] == first and like(value[1:], rest, escape)
