"""Columns whose values are evenly spaced (numbers, dates, times, timestamps), and literals that fall between them.

A value has an index: `value = index * step`. A literal of a comparison cuts the indexes in two: those below it and
those at most equal to it. Every comparison is decided by the two cuts, also for a literal that no value of the column
can be (`int_column < 1.5`, `tinyint_column < 1000`), and for a double literal, where Spark compares the column's value
rounded to a double, so that several large integers or decimals can equal one literal.
"""

import decimal
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from maintenance.predicate.tree import Compare, Operator, Predicate, always, conjunction, disjunction, never
from maintenance.types.arrow import has_nanos, timestamp_unit
from maintenance.types.data_type import DataType
from maintenance.types.values import MILLIS_PER_DAY, NANOS_PER_UNIT, Value

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64, "DATE": 32}
_EXACT = decimal.Context(prec=100)


@dataclass(frozen=True, slots=True)
class Grid:
    """Values of a column type.

    Attributes:
        lowest, highest: indexes of the smallest and the largest value.
        per_unit: how many indexes make up 1 of the column's unit: 10^scale; for times at most 1 per nanosecond.
        value_of: the internal value of an index.
    """

    lowest: int
    highest: int
    per_unit: Fraction
    value_of: Callable[[int], Value]


def grid_of(data_type: DataType) -> Grid | None:
    """The grid of a type; None for types that have none."""
    if data_type.root in _BITS:
        half = 1 << (_BITS[data_type.root] - 1)
        return Grid(-half, half - 1, Fraction(1), int)
    if data_type.root == "DECIMAL":
        digits, scale = data_type.precision or 10, data_type.scale or 0
        return Grid(1 - 10**digits, 10**digits - 1, Fraction(10**scale), lambda index: _decimal(index, scale))
    if data_type.root == "TIME":
        return Grid(0, MILLIS_PER_DAY - 1, Fraction(1, NANOS_PER_UNIT["ms"]), int)
    if has_nanos(data_type):
        return Grid(-(1 << 63) * 1000, (1 << 63) * 1000 - 1, Fraction(1), int)
    if data_type.is_timestamp:
        # Arrow's unit, not the precision: rows may hold more digits than the type declares.
        step = NANOS_PER_UNIT[timestamp_unit(data_type.precision or 0)]
        return Grid(-(1 << 63), (1 << 63) - 1, Fraction(1, step), lambda index: index * step)
    return None


def compare_exact(op: Operator, column: str, grid: Grid, literal: Fraction) -> Predicate:
    """The comparison with a number in the column's unit (times and timestamps: nanoseconds)."""
    index = literal * grid.per_unit
    if index.denominator == 1 and grid.lowest <= index <= grid.highest:
        return Compare(op, column, grid.value_of(int(index)))
    return _compare(op, column, grid, math.ceil(index) - 1, math.floor(index))


def compare_double(op: Operator, column: str, grid: Grid, literal: float) -> Predicate:
    """The comparison of the column's values, each rounded to a double, with a double; NaN is above all of them."""
    if math.isnan(literal):
        return _compare(op, column, grid, grid.highest, grid.highest)

    def last(holds: Callable[[float], bool]) -> int:
        """The last index whose double `holds`, which is true up to some index; one below the lowest if none does."""
        low, high = grid.lowest - 1, grid.highest
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if holds(float(middle / grid.per_unit)) else (low, middle - 1)
        return low

    return _compare(op, column, grid, last(lambda value: value < literal), last(lambda value: value <= literal))


def _compare(op: Operator, column: str, grid: Grid, below: int, not_above: int) -> Predicate:
    """`below`: the last index less than the literal, `not_above`: the last one at most equal to it."""
    below, not_above = (min(max(index, grid.lowest - 1), grid.highest) for index in (below, not_above))
    match op:
        case "<":
            return _at_most(column, grid, below)
        case "<=":
            return _at_most(column, grid, not_above)
        case ">":
            return _at_least(column, grid, not_above + 1)
        case ">=":
            return _at_least(column, grid, below + 1)
        case "=":
            if below == not_above:
                return never(column)
            if below + 1 == not_above:
                return Compare("=", column, grid.value_of(not_above))
            return conjunction((_at_least(column, grid, below + 1), _at_most(column, grid, not_above)))
        case "!=":
            if below == not_above:
                return always(column)
            if below + 1 == not_above:
                return Compare("!=", column, grid.value_of(not_above))
            return disjunction((_at_most(column, grid, below), _at_least(column, grid, not_above + 1)))


def _at_most(column: str, grid: Grid, index: int) -> Predicate:
    if index < grid.lowest:
        return never(column)
    return always(column) if index >= grid.highest else Compare("<=", column, grid.value_of(index))


def _at_least(column: str, grid: Grid, index: int) -> Predicate:
    if index > grid.highest:
        return never(column)
    return always(column) if index <= grid.lowest else Compare(">=", column, grid.value_of(index))


def _decimal(index: int, scale: int) -> decimal.Decimal:
    return decimal.Decimal(index).scaleb(-scale, _EXACT)
