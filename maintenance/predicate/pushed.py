"""Filters that an engine pushes into a source, one column and one literal each, as predicates."""

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from typing import Any

from maintenance.predicate.literals import Clock, Day, Literal, Moment, compare, null_safe_equal, within
from maintenance.predicate.moments import nanos_of_clock, nanos_of_datetime
from maintenance.predicate.tree import Contains, EndsWith, IsNull, Not, Operator, Predicate, StartsWith
from maintenance.types.data_type import DataField

_COMPARISONS: dict[str, Operator] = {"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TEXTS: dict[str, Callable[[str, str], Predicate]] = {
    "starts_with": StartsWith,
    "ends_with": EndsWith,
    "contains": Contains,
}


def of_filter(op: str, column: str, value: Any, fields: Sequence[DataField]) -> Predicate | None:
    """The predicate of a pushed filter, equal to it row by row; None if there is none, so that the engine must filter.

    Args:
        op: `=`, `<=>`, `<`, `<=`, `>`, `>=`, `in`, `is_null`, `is_not_null`, `starts_with`, `ends_with` or `contains`.
        column: exact name.
        value: a Python value; for `in` a sequence of them; for the null tests ignored.
        fields: the table's columns.
    """
    field = next((field for field in fields if field.name == column), None)
    if field is None:
        return None
    if op == "is_null":
        return IsNull(column)
    if op == "is_not_null":
        return Not(IsNull(column))
    if op in _TEXTS:
        return _TEXTS[op](column, value) if field.type.is_string and isinstance(value, str) else None
    try:
        if op == "in":
            return within(field, [_literal(item, field) for item in value])
        if op == "<=>":
            return null_safe_equal(field, _literal(value, field))
        return compare(_COMPARISONS[op], field, _literal(value, field)) if op in _COMPARISONS else None
    except (ValueError, OverflowError):  # OverflowError: a number beyond all doubles, or an infinite Decimal
        return None


def _literal(value: Any, field: DataField) -> Literal:
    if isinstance(value, dt.datetime):
        # A clock's reading says nothing about instants unless the zone is known, and the other way round.
        if (value.tzinfo is not None) != (field.type.root == "TIMESTAMP_LTZ"):
            raise ValueError(f"{value} for a column of type {field.type}")
        return Moment(nanos_of_datetime(value))
    if isinstance(value, dt.date):
        return Day((value - dt.date(1970, 1, 1)).days)
    if isinstance(value, dt.time) and value.tzinfo is None:
        return Clock(nanos_of_clock(value.isoformat()))
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if value is None or isinstance(value, bool | int | float | decimal.Decimal | str | bytes):
        return value
    raise ValueError(f"{type(value).__name__} is not a literal")
