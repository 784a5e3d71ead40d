"""Functions that DuckDB has under other names, or that give other values or types there than in Spark and Flink.

Source: Spark's `dayofweek` (Sunday is 1), `pmod`, `add_months`; Flink's `DAYOFWEEK`, which is the same.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

_INT = (
    exp.Length, exp.StrPosition, exp.ArraySize, exp.Extract, exp.Year, exp.Month, exp.Quarter, exp.Hour, exp.Minute,
    exp.Second, exp.DayOfYear, exp.DayOfMonth, exp.WeekOfYear, exp.DateDiff, exp.RowNumber, exp.Rank, exp.DenseRank,
    exp.Levenshtein, exp.BitwiseCount,
)  # fmt: skip
_WEEKDAYS = ("DOW", "DAYOFWEEK")
_NAMED: Mapping[str, Callable[..., exp.Expr]] = {
    "ISNULL": lambda value: exp.Is(this=value, expression=exp.null()),
    "ISNOTNULL": lambda value: exp.Not(this=exp.Is(this=value, expression=exp.null())),
    "REGEXP": lambda text, pattern: exp.RegexpLike(this=text, expression=pattern),
    "CARDINALITY": lambda value: exp.cast(exp.Anonymous(this="cardinality", expressions=[value]), "INT"),
    "PMOD": lambda value, by: exp.Mod(
        this=exp.paren(
            exp.Add(this=exp.paren(exp.Mod(this=exp.paren(value), expression=exp.paren(by))), expression=by)
        ),
        expression=exp.paren(by.copy()),
    ),
}
_UNITS = {"MM": "MONTH", "MON": "MONTH", "YYYY": "YEAR", "YY": "YEAR"}


def shape_functions(tree: exp.Expr) -> None:
    """Give the functions of a query, which DuckDB runs, the values and types that they have in Spark."""
    for node in reversed(list(tree.find_all(exp.Func, exp.Extract))):
        place = function_place(node)
        shaped = _shaped(node, place)
        if shaped is not None:
            place.replace(shaped)


def function_place(node: exp.Expr) -> exp.Expr:
    """A function with the condition and the window that belong to it."""
    parent = node.parent
    while isinstance(parent, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls) and node.arg_key == "this":
        node, parent = parent, parent.parent
    return node


def in_place_of(node: exp.Expr, instead: exp.Expr) -> exp.Expr:
    """Another function with the window and the condition that belong to one."""
    place = function_place(node)
    while node is not place:
        around = node.parent
        assert around is not None
        copied = around.copy()
        copied.set("this", instead)
        node, instead = around, copied
    return instead


def _shaped(node: exp.Expr, place: exp.Expr) -> exp.Expr | None:
    """What stands in the place of a function; None = it stays."""
    if isinstance(node, exp.Anonymous):
        make = _NAMED.get(str(node.this).upper())
        arguments = [argument.copy() for argument in node.expressions]
        known = make is not None and len(arguments) == (2 if str(node.this).upper() in ("REGEXP", "PMOD") else 1)
        return make(*arguments) if make is not None and known else None
    if isinstance(node, exp.DayOfWeek) or (isinstance(node, exp.Extract) and node.name.upper() in _WEEKDAYS):
        return exp.cast(exp.paren(exp.Add(this=place.copy(), expression=exp.Literal.number(1))), "INT")
    if isinstance(node, _INT) and not (isinstance(node, exp.Extract) and node.name.upper() == "EPOCH"):
        return exp.cast(place.copy(), "INT")
    if isinstance(node, exp.Uuid):
        return exp.cast(place.copy(), "TEXT")
    if isinstance(node, exp.TimestampDiff):
        return _full_units(node)
    if isinstance(node, exp.Sign):
        return exp.cast(place.copy(), "DOUBLE")
    if isinstance(node, exp.AddMonths):
        return exp.cast(place.copy(), "DATE")
    if isinstance(node, exp.DateTrunc):
        unit = str(node.args["unit"].name).upper()
        return exp.cast(_with_unit(node, _UNITS.get(unit, unit)), "DATE")
    return None


def _with_unit(node: exp.DateTrunc, unit: str) -> exp.Expr:
    changed = node.copy()
    changed.set("unit", exp.Literal.string(unit))
    return changed


def _full_units(node: exp.TimestampDiff) -> exp.Expr:
    """How many whole units lie between two times."""
    unit = exp.Literal.string(str(node.args.get("unit") or "DAY"))
    return exp.Anonymous(this="date_sub", expressions=[unit, node.expression.copy(), node.this.copy()])
