"""Intervals of several units: ``INTERVAL '1 02:03:04.5' DAY TO SECOND`` and ``INTERVAL '1-2' YEAR TO MONTH``.

Source: Spark's `IntervalUtils`, Calcite's `SqlIntervalQualifier`.
"""

import re
from collections.abc import Sequence

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.cursor import Source

_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
# Of all units but the first: how many make one of the unit before.
_IN_ONE = {"HOUR": 24, "MINUTE": 60, "SECOND": 60, "MONTH": 12}
_SIGNS = {"HOUR": " ", "MINUTE": ":", "SECOND": ":", "MONTH": "-"}


def shape_intervals(tree: exp.Expr, source: Source, *, embedded: bool) -> None:
    """Name the units plainly, and write such intervals as DuckDB reads them where it runs the query.

    Raises: SqlError: an interval is not what its units say.
    """
    for node in list(tree.find_all(exp.Interval)):
        unit = node.args.get("unit")
        if isinstance(unit, exp.Func):
            node.set("unit", exp.var(_name(unit)))
        if not isinstance(unit, exp.IntervalSpan):
            continue
        first, last = _name(unit.this), _name(unit.expression)
        node.set("unit", exp.IntervalSpan(this=exp.var(first), expression=exp.var(last)))
        if embedded and not isinstance(node.parent, exp.DataType):
            node.replace(_plain(node, first, last, source))


def _name(unit: exp.Expr) -> str:
    """The name of a unit. With a precision, ``DAY(3)``, it is read as a function."""
    is_named = isinstance(unit, exp.Func) and not isinstance(unit, exp.Anonymous)
    return unit.key.upper() if is_named else unit.name.upper()


def _plain(node: exp.Interval, first: str, last: str, source: Source) -> exp.Expr:
    """The interval in months, or in each of its units."""
    is_negative = isinstance(node.this, exp.Neg)
    literal = node.this.this if is_negative else node.this
    units = _units(first, last)
    if not units or not isinstance(literal, exp.Literal):
        raise _wrong(literal, f"there is no interval {first} TO {last}", source, "Use YEAR TO MONTH, or DAY TO SECOND.")
    written = _pattern(units).fullmatch(literal.name)
    texts = {} if written is None else dict(zip(units, written.groups()[1:], strict=True))
    if written is None or any(float(texts[unit]) >= _IN_ONE[unit] for unit in units[1:]):
        problem = f"'{literal.name}' is not an interval {first} TO {last}"
        raise _wrong(literal, problem, source, f"Write '{_example(units)}'.")
    sign = "-" if is_negative != (written[1] == "-") else ""
    if first == "YEAR":
        months = int(texts["YEAR"]) * 12 + int(texts["MONTH"])
        return exp.Interval(this=exp.Literal.string(f"{sign}{months}"), unit=exp.var("MONTH"))
    return exp.Interval(this=exp.Literal.string(" ".join(f"{sign}{number} {unit}" for unit, number in texts.items())))


def _units(first: str, last: str) -> Sequence[str]:
    """The units from one to another; none if there is no such interval."""
    if (first, last) == ("YEAR", "MONTH"):
        return first, last
    if first not in _UNITS or last not in _UNITS or _UNITS.index(first) >= _UNITS.index(last):
        return ()
    return _UNITS[_UNITS.index(first) : _UNITS.index(last) + 1]


def _pattern(units: Sequence[str]) -> re.Pattern[str]:
    rest = "".join(_SIGNS[unit] + (r"(\d+(?:\.\d*)?)" if unit == "SECOND" else r"(\d+)") for unit in units[1:])
    return re.compile(rf"\s*([+-]?)(\d+){rest}\s*")


def _example(units: Sequence[str]) -> str:
    return "1" + "".join(_SIGNS[unit] + ("2" if unit == "MONTH" else "02") for unit in units[1:])


def _wrong(literal: exp.Expr, problem: str, source: Source, fix: str) -> SqlError:
    start, end = literal.meta.get("start", 0), literal.meta.get("end", 0)
    return source.error(start, end - start + 1, problem, fix)
