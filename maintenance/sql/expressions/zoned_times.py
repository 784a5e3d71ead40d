"""Times of other zones, times of their parts, and functions that give NULL where others are errors.

Source: Spark's `datetimeExpressions.scala`, `SparkDateTimeUtils`.
"""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.conversions import cast_node
from maintenance.sql.expressions.entries import SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.kinds import LTZ
from maintenance.sql.expressions.stamps import local_instant
from maintenance.sql.expressions.templates import filled
from maintenance.sql.zones import duck_zone, named_zone
from maintenance.types.data_type import DataType

_LENGTH = 6
_LAST_SECOND = 60


def _zone(call: Call, argument: Typed) -> exp.Expr:
    """A zone of the time zone database, as DuckDB names it."""
    if argument.text is None:
        return exp.Null()
    try:
        return exp.Literal.string(duck_zone(named_zone(argument.text, call.name)))
    except SqlError as error:
        raise refusals.error_at(call.typing.source, argument.written, error.found, error.fix) from error


def _moved(call: Call, template: str) -> exp.Expr:
    return cast_node(filled(template, {"a": call.nodes[0], "z": _zone(call, call.arguments[1])}), call.kind)


def _converted(call: Call) -> exp.Expr:
    """`convert_timezone`, from the zone of the session if no other one is given."""
    *source, target, time = call.arguments
    instant = filled("paimon_at(z, a)", {"z": _zone(call, source[0]), "a": time.node}) if source else None
    of = local_instant(time.node) if instant is None else instant
    return filled("timezone(z, a)", {"z": _zone(call, target), "a": of})


def _of_parts(call: Call) -> exp.Expr:
    """A time of its year, month, day, hour, minute and seconds, and of its zone."""
    parts = call.nodes
    is_try = call.name.startswith("try")
    wrong = "NULL" if is_try else f"error('seconds are from 0 to {_LAST_SECOND}')"
    known = " AND ".join(f"{part} IS NOT NULL" for part in "abcdef")
    seconds = f"CASE WHEN f BETWEEN 0 AND {_LAST_SECOND} THEN CAST(f AS DOUBLE) WHEN {known} THEN {wrong} END"
    late = "NULL" if is_try else "error('hours are from 0 to 23')"
    hour = f"CASE WHEN d = 24 AND {known} THEN {late} ELSE d END"  # which DuckDB takes for the next day's first
    made = filled(f"make_timestamp(a, b, c, {hour}, e, {seconds})", dict(zip("abcdef", parts, strict=False)))
    # DuckDB computes what is repeated before the rest, and so outside of a TRY around it.
    made = filled("TRY(t)", {"t": made}) if is_try else made
    if len(parts) > _LENGTH:
        made = filled("paimon_at(z, t)", {"z": _zone(call, call.arguments[_LENGTH]), "t": made})
    return local_instant(made) if call.kind == LTZ and len(parts) == _LENGTH else cast_node(made, call.kind)


def _tried_kind(call: Call) -> DataType:
    made: Typed = call.typing.called("+", list(call.arguments), call.written, None)
    return made.kind


def _tried(call: Call) -> exp.Expr:
    sign = "+" if call.name == "try_add" else "-"
    made: Typed = call.typing.called(sign, list(call.arguments), call.written, None)
    return filled("TRY(a)", {"a": made.node})


_PARTS = "INT, INT, INT, INT, INT, DECIMAL(16, 6)"
_TRUE_PARTS = ("2024, 2, k, 1, 2, 3.5", "2024, k, 1, 0, 0, 60", "2024, k, 1, 0, 0, d")
_INTO = "timezone('UTC', timezone(z, a))"
_FROM = "paimon_at(z, timezone('UTC', a))"

ENTRIES: Sequence[Entry] = (
    entry("from_utc_timestamp", "LTZ, 'STRING'", "LTZ", lambda call: _moved(call, _INTO), SPARK,
          samples=("ts, 'Asia/Seoul'", "ts, '+05:30'")),
    entry("to_utc_timestamp", "LTZ, 'STRING'", "LTZ", lambda call: _moved(call, _FROM), SPARK,
          samples=("ts, 'Asia/Seoul'", "ts, 'America/New_York'")),
    entry("convert_timezone", "'STRING', NTZ", "NTZ", _converted, SPARK, samples=("'Europe/Brussels', tn",)),
    entry("convert_timezone", "'STRING', 'STRING', NTZ", "NTZ", _converted, SPARK,
          samples=("'Europe/Brussels', 'America/Los_Angeles', tn",)),
    entry("make_timestamp make_timestamp_ltz", _PARTS, "LTZ", _of_parts, SPARK, samples=_TRUE_PARTS),
    entry("make_timestamp make_timestamp_ltz try_make_timestamp try_make_timestamp_ltz", f"{_PARTS}, 'STRING'", "LTZ",
          _of_parts, SPARK, samples=("2024, k, 1, 0, 0, 1.5, 'CET'",)),
    entry("try_make_timestamp try_make_timestamp_ltz", _PARTS, "LTZ", _of_parts, SPARK, samples=_TRUE_PARTS),
    entry("make_timestamp_ntz", _PARTS, "NTZ", _of_parts, SPARK, samples=_TRUE_PARTS),
    entry("try_make_timestamp_ntz", _PARTS, "NTZ", _of_parts, SPARK, samples=_TRUE_PARTS),
    entry("make_timestamp try_make_timestamp", "DATE=", "LTZ", lambda call: local_instant(call.nodes[0]), SPARK),
    entry("try_add try_subtract", "TIME, INTERVAL", _tried_kind, _tried, SPARK),
    entry("try_add try_subtract", "DAY, DAYS", "DATE", _tried, SPARK),
)  # fmt: skip
