"""`sequence` of dates and timestamps. Source: Spark's `Sequence`, whose steps of months all begin at the first time."""

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.conversions import cast_node
from maintenance.sql.expressions.entries import Call, Typed
from maintenance.sql.expressions.kinds import MICROS, MONTHS
from maintenance.sql.expressions.stamps import beside, local_instant, narrow
from maintenance.sql.expressions.templates import filled
from maintenance.sql.zones import has_changes

_DAY = 86_400_000_000
_AFTER = {
    MONTHS: "CAST(a + to_months(CAST(_i * s AS INTEGER)) AS TARGET)",
    # Only whole days of the step itself are those of the calendar: two steps of 12 hours are 24 hours.
    MICROS: f"CAST(a + to_days(CAST(_i * (s // {_DAY}) AS INTEGER)) + to_microseconds(_i * (s % {_DAY})) AS TARGET)",
}
# One step more than there can be: the last ones are left out.
_COUNT = {
    MONTHS: "abs((year(b) - year(a)) * 12 + month(b) - month(a)) // abs(s) + 2",
    MICROS: f"(abs(epoch_us(b) - epoch_us(a)) + 2 * {_DAY}) // abs(s) + 2",
}
_LISTED = (
    "CASE WHEN s IS NULL OR a IS NULL OR b IS NULL THEN NULL WHEN a = b THEN list_value(a)"
    " WHEN s = 0 OR (s > 0) <> (b > a) THEN error('the step does not lead from the start to the end')"
    " ELSE list_filter(list_transform(range(CAST(n AS BIGINT)), lambda _i: t),"
    " lambda _x: CASE WHEN s > 0 THEN _x <= b ELSE _x >= b END) END"
)


def moments(call: Call) -> exp.Expr:
    """Times from the first to the second, by steps of an interval; without one by days, towards the second."""
    assert call.kind.element
    kind = call.kind.element
    start, end = (call.typing.in_type(narrow(value), kind) for value in call.arguments[:2])
    given = call.arguments[2:]
    by = given[0].kind if given else MICROS
    is_of_days = kind == kinds.DATE and by == MONTHS and has_changes(call.typing.zone)
    if is_of_days:
        # To Spark these are instants: a day whose first hour the clock skips begins later than that of the end.
        start, end, kind = local_instant(start), local_instant(end), kinds.LTZ
    step = _step(given[0]) if given else filled(f"CASE WHEN a <= b THEN {_DAY} ELSE -{_DAY} END",
                                                {"a": start.copy(), "b": end.copy()})  # fmt: skip
    if kind == kinds.DATE and by == MICROS and given:
        wrong = "error('the step of a sequence of dates has whole days')"
        step = filled(f"CASE WHEN s % {_DAY} = 0 THEN s ELSE {wrong} END", {"s": step})
    parts = {"a": start, "b": end, "s": step}
    after = filled(_AFTER[by].replace("TARGET", cast_node(exp.Null(), kind).args["to"].sql("duckdb")), parts)
    if kind == kinds.LTZ and by == MONTHS:
        after = beside(start, after, call.typing.zone)
    count = filled(_COUNT[by], {name: part.copy() for name, part in parts.items()})
    listed = filled(_LISTED, {**{name: part.copy() for name, part in parts.items()}, "t": after, "n": count})
    return filled("list_transform(l, lambda _d: CAST(_d AS DATE))", {"l": listed}) if is_of_days else listed


def _step(interval: Typed) -> exp.Expr:
    """How many months or microseconds a step has."""
    if interval.kind == MONTHS:
        return filled("CAST(year(a) * 12 + month(a) AS BIGINT)", {"a": interval.node})
    return filled("epoch_us(a)", {"a": interval.node})
