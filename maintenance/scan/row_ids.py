"""Which rows a condition on `_ROW_ID` asks for: reads of tables with data evolution find them by their place.

Source: Java `RowIdPredicateVisitor`.
"""

from collections.abc import Collection, Iterable

from pyroaring import BitMap64

from maintenance.predicate.tree import Compare, In, IsNull, Not, Predicate


def all_rows(ranges: Iterable[range]) -> BitMap64:
    """The row ids in ranges. Never of one great range: sets of 64 bits take memory for each 65,536 numbers."""
    rows = BitMap64()
    for part in ranges:
        if part:
            rows.add_range(part.start, part.stop)
    return rows


def rows_with_ids(leaf: Predicate, ranges: Collection[range]) -> BitMap64 | None:
    """The row ids that match; None = unknown. `leaf`: on `_ROW_ID` alone; `ranges`: of all rows."""
    match leaf:
        case Not(child):
            found = rows_with_ids(child, ranges)
            return None if found is None else all_rows(ranges) - found
        case IsNull():
            return BitMap64()
        case In(_, values):
            numbers = (value for value in values if isinstance(value, int) and value >= 0)
            return all_rows(ranges) & BitMap64(numbers)
        case Compare("!=", column, value):
            return rows_with_ids(Not(Compare("=", column, value)), ranges)
        case Compare(op, _, int(value)):
            return all_rows(_matching(op, value, part) for part in ranges)
    return None


def _matching(op: str, value: int, rows: range) -> range:
    """The rows of a range whose ids compare so."""
    first = {"=": value, ">": value + 1, ">=": value}.get(op, rows.start)
    end = {"=": value + 1, "<": value, "<=": value + 1}.get(op, rows.stop)
    return range(max(rows.start, first), min(rows.stop, end))
