"""A column compared with a literal: the rules of Spark SQL (ANSI mode) that bring both to one type.

A literal is None, bool, int and Decimal (exact numbers), float (a double), str, bytes, `Day`, `Moment` or `Clock`.
Where Spark would cast the column in a way that a comparison of the column's own values cannot express (a string column
with a number), the comparison is refused. All functions raise ValueError with the reason; callers know where it stands.
"""

import decimal
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maintenance.predicate.grid import Grid, compare_double, compare_exact, grid_of
from maintenance.predicate.moments import NANOS_PER_DAY, days_of_text, nanos_of_clock, nanos_of_text
from maintenance.predicate.tree import (
    UNKNOWN,
    And,
    Compare,
    In,
    IsNull,
    Not,
    Operator,
    Predicate,
    always,
    disjunction,
    never,
)
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value


@dataclass(frozen=True, slots=True)
class Day:
    """A date literal: days since 1970-01-01."""

    days: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A timestamp literal: nanoseconds since 1970-01-01, the session time zone being UTC."""

    nanos: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A time literal: nanoseconds of the day."""

    nanos: int


Literal = bool | int | float | decimal.Decimal | str | bytes | Day | Moment | Clock | None

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DOUBLE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)[df]?|[+-]?(?:nan|inf(?:inity)?)", re.ASCII | re.I)
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}


def compare(op: Operator, field: DataField, literal: Literal) -> Predicate:
    """`field op literal` as a predicate; null for every row if the literal is null."""
    if literal is None:
        return UNKNOWN
    data_type = field.type
    if data_type.root in ("FLOAT", "DOUBLE"):
        return _compare_floating(op, field, _double_of(literal, data_type))
    grid = grid_of(data_type)
    if grid is not None:
        return _compare_on_grid(op, field, grid, literal)
    return Compare(op, field.name, _plain_value(literal, data_type))


def null_safe_equal(field: DataField, literal: Literal) -> Predicate:
    """`field <=> literal`: true or false, never null."""
    if literal is None:
        return IsNull(field.name)
    return And((Not(IsNull(field.name)), compare("=", field, literal)))


def within(field: DataField, literals: Sequence[Literal]) -> Predicate:
    """`field IN (literals)`: never false if one of the literals is null."""
    plain = _plain_values(field.type, literals)
    if plain is not None:
        return In(field.name, plain)
    distinct = {(type(literal), literal): literal for literal in literals}
    compared = [compare("=", field, literal) for literal in distinct.values()]
    values = [part.value for part in compared if isinstance(part, Compare)]
    empty = never(field.name)
    others = [part for part in compared if not isinstance(part, Compare) and part != empty]
    return disjunction((In(field.name, tuple(dict.fromkeys(values))), *others) if values or not others else others)


def _plain_values(data_type: DataType, literals: Sequence[Literal]) -> tuple[Value, ...] | None:
    """The values that literals of an integer or text column are, None where one has to be compared by its rules."""
    python_type: type[int] | type[str] = int if data_type.is_integer else str
    if not (data_type.is_integer or data_type.is_string) or any(
        type(literal) is not python_type for literal in literals
    ):
        return None
    distinct = tuple(dict.fromkeys(literals))
    if data_type.is_string:
        return distinct  # type: ignore[return-value]
    grid = grid_of(data_type)
    assert grid is not None
    return tuple(value for value in distinct if grid.lowest <= value <= grid.highest)  # type: ignore[operator, misc]


def _compare_on_grid(op: Operator, field: DataField, grid: Grid, literal: Literal) -> Predicate:
    if isinstance(literal, str):
        literal = _literal_of_text(literal, field.type)
    is_time = field.type.root in ("DATE", "TIME") or field.type.is_timestamp
    match literal:
        case bool():
            pass
        case float() if not is_time:
            return compare_double(op, field.name, grid, literal)
        case int() | decimal.Decimal() if not is_time:
            return compare_exact(op, field.name, grid, Fraction(literal))
        case Clock(nanos) if field.type.root == "TIME":
            return compare_exact(op, field.name, grid, Fraction(nanos))
        case Day() | Moment() if field.type.root == "TIME":
            pass
        case Day(days) if is_time:
            unit = NANOS_PER_DAY if field.type.is_timestamp else 1
            return compare_exact(op, field.name, grid, Fraction(days * unit))
        case Moment(nanos) if is_time:
            unit = NANOS_PER_DAY if field.type.root == "DATE" else 1
            return compare_exact(op, field.name, grid, Fraction(nanos, unit))
    raise _mismatch(literal, field.type)


def _literal_of_text(text: str, data_type: DataType) -> Literal:
    if data_type.root == "DATE":
        return Day(days_of_text(text))
    if data_type.root == "TIME":
        return Clock(nanos_of_clock(text))
    if data_type.is_timestamp:
        nanos, zoned = nanos_of_text(text)
        if zoned and data_type.root == "TIMESTAMP":
            raise ValueError(f"'{text}' names a time zone, a column of type {data_type} has none")
        return Moment(nanos)
    if data_type.is_integer and _INTEGER.fullmatch(text.strip()):
        return int(text)
    raise _mismatch(text, data_type)


def _double_of(literal: Literal, data_type: DataType) -> float:
    if isinstance(literal, str):
        match = _DOUBLE.fullmatch(literal.strip())
        if match is not None:
            return float(match[1] or literal)
    elif isinstance(literal, int | float | decimal.Decimal) and not isinstance(literal, bool):
        return float(literal)
    raise _mismatch(literal, data_type)


def _compare_floating(op: Operator, field: DataField, literal: float) -> Predicate:
    """Spark compares a FLOAT widened to a double: `float_column = 0.1` is never true."""
    value = literal + 0.0  # one zero: -0.0 becomes 0.0
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if field.type.root == "DOUBLE" or math.isnan(value) or float(single) == value:
        return Compare(op, field.name, value)
    up, down = np.float32(math.inf), np.float32(-math.inf)
    match op:
        case "=":
            return never(field.name)
        case "!=":
            return always(field.name)
        case "<" | "<=":
            below = single if float(single) < value else np.nextafter(single, down)
            return Compare("<=", field.name, float(below) + 0.0)
        case ">" | ">=":
            above = single if float(single) > value else np.nextafter(single, up)
            return Compare(">=", field.name, float(above) + 0.0)


def _plain_value(literal: Literal, data_type: DataType) -> Value:
    if data_type.is_string and isinstance(literal, str):
        return literal
    if (data_type.is_bytes or data_type.root == "BLOB") and isinstance(literal, bytes | str):
        return literal.encode() if isinstance(literal, str) else literal
    if data_type.root == "BOOLEAN":
        if isinstance(literal, bool):
            return literal
        if isinstance(literal, str) and literal.strip().lower() in _BOOLEANS:
            return _BOOLEANS[literal.strip().lower()]
    raise _mismatch(literal, data_type)


def _mismatch(literal: Literal, data_type: DataType) -> ValueError:
    kinds: dict[type, str] = {
        bool: "a boolean",
        int: "a number",
        float: "a double",
        decimal.Decimal: "a number",
        str: "a text",
        bytes: "binary",
        Day: "a date",
        Moment: "a timestamp",
        Clock: "a time",
    }
    hint = ", unless it is in quotes" if data_type.is_string else ""
    return ValueError(f"a column of type {data_type} cannot be compared with {kinds[type(literal)]}{hint}: {literal!r}")
