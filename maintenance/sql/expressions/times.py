"""Functions of dates, times and intervals.

Source: Spark's `datetimeExpressions.scala`, where Sunday is the first day of the week and weeks have numbers by ISO
8601; Flink's `DateTimeUtils`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.conversions import Wanted, cast_node, converted
from maintenance.sql.expressions.decimals import around
from maintenance.sql.expressions.entries import FLINK, SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.kinds import DATE, INT, LTZ
from maintenance.sql.expressions.stamps import beside, is_wide, local_instant, micros_of, narrow, rest_of
from maintenance.sql.expressions.templates import filled
from maintenance.sql.expressions.time_formats import (
    LAST_HOUR,
    SECONDS_AWAY,
    ZONES,
    duck_format,
    letters,
    read_format,
    written,
    zone_behind,
)
from maintenance.sql.zones import has_changes
from maintenance.types.data_type import DataType

# The names of what times and intervals have, in Spark.
_YEARS, _MONTHS = ("year", "years", "yr", "yrs", "y"), ("month", "months", "mon", "mons")
_DAYS, _HOURS = ("day", "days", "d"), ("hour", "hours", "hr", "hrs", "h")
_MINUTES, _SECONDS = ("minute", "minutes", "min", "mins", "m"), ("second", "seconds", "sec", "secs", "s")
_SPARK_PARTS: Mapping[str, str] = {
    **dict.fromkeys(_YEARS, "year(a)"), "yearofweek": "isoyear(a)", **dict.fromkeys(("quarter", "qtr"), "quarter(a)"),
    **dict.fromkeys(_MONTHS, "month(a)"), **dict.fromkeys(("week", "weeks", "w"), "weekofyear(a)"),
    **dict.fromkeys(_DAYS, "day(a)"), **dict.fromkeys(("dayofweek", "dow"), "dayofweek(a) + 1"),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "isodow(a)"), "doy": "dayofyear(a)",
    **dict.fromkeys(_HOURS, "hour(a)"), **dict.fromkeys(_MINUTES, "minute(a)"),
}  # fmt: skip
_FLINK_PARTS: Mapping[str, str] = {
    "year": "year(a)", "quarter": "quarter(a)", "month": "month(a)", "week": "weekofyear(a)", "day": "day(a)",
    "dow": "dayofweek(a) + 1", "doy": "dayofyear(a)", "isodow": "isodow(a)", "isoyear": "isoyear(a)",
    "decade": "decade(a)", "century": "century(a)", "millennium": "millennium(a)",
}  # fmt: skip
_FIELDS = (
    ("year", "year(a)"), ("quarter", "quarter(a)"), ("month", "month(a)"), ("day dayofmonth", "day(a)"),
    ("dayofyear", "dayofyear(a)"), ("weekofyear", "weekofyear(a)"), ("dayofweek", "dayofweek(a) + 1"),
)  # fmt: skip
_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month", "mm": "month",
    "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute", "second": "second",
    "millisecond": "millisecond", "microsecond": "microsecond",
}  # fmt: skip
_MICRO_DIGITS = 6
# The last microsecond of a timestamp as seconds, without the last digit.
_LAST_SECOND = "9223372036854.77580"
_DATE_UNITS = ("year", "quarter", "month", "week")


def _narrowed(call: Call) -> list[exp.Expr]:
    return [narrow(argument).node for argument in call.arguments]


def _of_time(template: str) -> Callable[[Call], exp.Expr]:
    """A template of times, whose struct it does not take."""

    def says(call: Call) -> exp.Expr:
        return filled(template, dict(zip("abcd", _narrowed(call), strict=False)))

    return says


def _local(value: Typed) -> exp.Expr:
    """A timestamp as clocks show it."""
    value = narrow(value)
    return cast_node(value.node, kinds.NTZ) if value.kind.root == "TIMESTAMP_LTZ" else value.node


def _of_local(template: str) -> Callable[[Call], exp.Expr]:
    """A template of a time as clocks show it: of an instant DuckDB counts years before the first one upwards."""
    return lambda call: filled(template, {"a": _local(call.arguments[0])})


def _day(value: Typed) -> exp.Expr:
    """The day of a time in Flink, where a time before 1970 has the next one."""
    return value.node if value.kind == DATE else filled("paimon_flink_day(a)", {"a": _local(value)})


def _of_flink(template: str) -> Callable[[Call], exp.Expr]:
    """A template of a day."""
    return lambda call: filled(template, {"a": _day(call.arguments[0])})


# The parts of milliseconds.
_CLOCK = {
    "hour": "paimon_millis(a) % 86400000 // 3600000", "minute": "paimon_millis(a) % 3600000 // 60000",
    "second": "paimon_millis(a) % 60000 // 1000", "millisecond": "paimon_millis(a) % 1000",
    "microsecond": "paimon_millis(a) % 1000 * 1000 + ((epoch_us(a) % 1000) + 1000) % 1000",
    "nanosecond": "paimon_millis(a) % 1000 * 1000000 + ((epoch_us(a) % 1000) + 1000) % 1000 * 1000",
    "epoch": "paimon_millis(a) // 1000",
}  # fmt: skip


def _of_clock(value: Typed, unit: str) -> exp.Expr:
    if value.kind != DATE:
        part = filled(_CLOCK[unit], {"a": _local(value)})
        if unit != "nanosecond" or not is_wide(value.kind):
            return part
        return filled("a + b", {"a": part, "b": rest_of(value.node.copy())})
    if unit == "epoch":
        return filled("CAST(a - CAST('1970-01-01' AS DATE) AS BIGINT) * 86400", {"a": value.node})
    # The number of a day counts as one of milliseconds there.
    template = _CLOCK[unit].replace("paimon_millis(a)", "CAST(a - CAST('1970-01-01' AS DATE) AS BIGINT)")
    return filled(template, {"a": value.node})


def _of_clock_alone(call: Call) -> exp.Expr:
    return _of_clock(call.arguments[0], call.name)


def _extracted_kind(call: Call) -> DataType:
    unit = (call.arguments[0].text or "").lower()
    if unit in _SECONDS and not call.is_flink:
        return kinds.decimal(8, 6)
    if kinds.is_interval(call.kinds[1]):
        return INT if unit.startswith(("y", "d")) else kinds.TINYINT
    return kinds.BIGINT if call.is_flink else INT


def _extracted(call: Call) -> exp.Expr:
    unit = (call.arguments[0].text or "").lower()
    value = narrow(call.arguments[1])
    if kinds.is_interval(value.kind):
        return _of_interval(call, unit)
    if call.is_flink:
        return _extracted_in_flink(call, unit)
    if value.kind.is_string or value.kind == kinds.NULL:
        kind = LTZ if unit in (*_HOURS, *_MINUTES, *_SECONDS) else DATE
        value = narrow(Typed(converted(value, Wanted(kind, is_flink=False)) or value.node, kind, value.written))
    if unit in _SECONDS:
        if value.kind == DATE:
            template = "CASE WHEN a IS NOT NULL THEN 0 END"
        else:
            template = "CAST(((epoch_us(a) % 60000000) + 60000000) % 60000000 AS DECIMAL(18, 0)) / 1000000"
        node = filled(template, {"a": _local(value)})
        return cast_node(node, call.kind)
    if unit not in _SPARK_PARTS:
        raise refusals.unsupported(call.typing.source, call.written, f"the part {unit.upper()} of a time")
    return cast_node(filled(_SPARK_PARTS[unit], {"a": _local(value)}), call.kind)


def _extracted_in_flink(call: Call, unit: str) -> exp.Expr:
    value = call.arguments[1]
    if unit in _CLOCK:
        return cast_node(_of_clock(value, unit), call.kind)
    if unit not in _FLINK_PARTS:
        raise refusals.unsupported(call.typing.source, call.written, f"the part {unit.upper()} of a time")
    return cast_node(filled(_FLINK_PARTS[unit], {"a": _day(value)}), call.kind)


def _extracted_from_clock(call: Call) -> exp.Expr:
    unit = (call.arguments[0].text or "").lower()
    if unit not in ("hour", "minute", "second", "millisecond"):
        raise refusals.unsupported(call.typing.source, call.written, f"the part {unit.upper()} of a TIME")
    return cast_node(filled(f"{unit}(a) % 1000", {"a": call.nodes[1]}), call.kind)


_OF_MONTHS = ((_YEARS, "year(a)"), (_MONTHS, "month(a)"))
_OF_MICROS = (
    (_DAYS, "epoch_us(a) // 86400000000"),
    (_HOURS, "epoch_us(a) // 3600000000 % 24"),
    (_MINUTES, "epoch_us(a) // 60000000 % 60"),
    (_SECONDS, "CAST(epoch_us(a) % 60000000 AS DECIMAL(18, 0)) / 1000000"),
)


def _of_interval(call: Call, unit: str) -> exp.Expr:
    """A part of an interval."""
    listed = _OF_MONTHS if call.kinds[1] == kinds.MONTHS else _OF_MICROS
    template = next((template for names, template in listed if unit in names), None)
    if template is None:
        shown = kinds.shown(call.kinds[1])
        raise refusals.unsupported(call.typing.source, call.written, f"the part {unit.upper()} of {shown}")
    return cast_node(filled(template, {"a": call.nodes[1]}), call.kind)


def _part(call: Call) -> exp.Expr:
    return _extracted(call)


def _truncated(call: Call) -> exp.Expr:
    """`trunc(date, unit)`."""
    unit = _UNITS.get((call.arguments[1].text or "").lower(), "")
    if unit not in _DATE_UNITS:
        return cast_node(exp.Null(), DATE)
    return filled(f"CAST(date_trunc('{unit}', a) AS DATE)", {"a": call.nodes[0]})


def _date_truncated(call: Call) -> exp.Expr:
    """`date_trunc(unit, timestamp)`."""
    unit = _UNITS.get((call.arguments[0].text or "").lower())
    value = narrow(call.arguments[1])
    if unit is None:
        return cast_node(exp.Null(), call.kind)
    step = _CLOCK_STEPS.get(unit)
    if step is None:
        begun = cast_node(filled(f"date_trunc('{unit}', a)", {"a": value.node}), call.kind)
        if unit == "day":
            # A midnight that the clock shows twice is as far from UTC as the time; that of longer units is the first.
            return beside(value.node, begun, call.typing.zone)
        is_by_zone = unit != "microsecond" and has_changes(call.typing.zone)
        return filled("paimon_first(a)", {"a": begun}) if is_by_zone else begun
    # DuckDB gives the second of the two hours that the clock shows when it is put back.
    past = filled(f"to_microseconds((epoch_us(l) % {step} + {step}) % {step})", {"l": _local(value)})
    parts = {"a": value.node.copy(), "p": past}
    if unit == "hour" and has_changes(call.typing.zone):
        # Where the clock is changed by half an hour, the hour may begin as far from UTC as before.
        parts |= {"l": _local(value), "f": local_instant(filled("l - p", {"l": _local(value), "p": past.copy()}))}
        made = filled("CASE WHEN CAST(a - p AS TIMESTAMP) = l - p THEN a - p ELSE f END", parts)
        return cast_node(made, call.kind)
    return cast_node(filled("a - p", parts), call.kind)


_FLOOR_UNITS = ("millennium", "century", "decade", "year", "quarter", "month", "week", "day", "hour", "minute",
                "second", "millisecond")  # fmt: skip
_LONG_UNITS = {"decade": 10, "century": 100, "millennium": 1000}
_CLOCK_STEPS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000}


def _floored_kind(call: Call) -> DataType | None:
    """Flink fails with instants and the units below the hour."""
    kind, unit = call.kinds[0], (call.arguments[1].text or "").upper()
    return None if call.is_flink and kind.root == "TIMESTAMP_LTZ" and unit in (
        "MINUTE", "SECOND", "MILLISECOND") else kind  # fmt: skip


def _floored(call: Call) -> exp.Expr:
    """Flink's ``FLOOR(time TO unit)`` and ``CEIL``, whose weeks begin on Sunday."""
    if not is_wide(call.kind):
        return _floored_micros(call, exp.Literal.number(0))
    kind, call.kind, rest = call.kind, narrow(call.arguments[0]).kind, rest_of(call.nodes[0].copy())
    call.arguments[0] = Typed(micros_of(call.nodes[0]), call.kind, call.arguments[0].written)
    made, call.kind = _floored_micros(call, rest), kind
    return filled("paimon_wide(m, 0)", {"m": made})


def _floored_micros(call: Call, rest: exp.Expr) -> exp.Expr:
    """`rest`: the nanoseconds behind its microseconds."""
    value, unit = narrow(call.arguments[0]), (call.arguments[1].text or "").lower()
    if unit in _DATE_UNITS or unit in _LONG_UNITS:
        return _floored_day(call, value, unit)
    if unit not in _FLOOR_UNITS:
        problem = f"FLOOR and CEIL to {unit.upper()}"
        listed = ", ".join(each.upper() for each in _FLOOR_UNITS)
        raise refusals.unsupported(call.typing.source, call.written, problem, f"Use one of {listed}.")
    if unit == "day" and call.kind.root == "DATE" and not call.name.startswith("floor"):
        return filled("a + 1", {"a": value.node})  # the next one, of every day
    floor = cast_node(filled(f"date_trunc('{unit}', a)", {"a": value.node}), call.kind)
    if call.name.startswith("floor"):
        return floor
    following = cast_node(filled(f"f + CAST('1 {unit}' AS INTERVAL)", {"f": floor.copy()}), call.kind)
    # What is finer than milliseconds counts for these alone.
    is_reached = "f = a AND r = 0" if unit == "millisecond" else "f = paimon_cut(a, 1000)"
    parts = {"f": floor, "a": value.node.copy(), "n": following, "r": rest}
    return filled(f"CASE WHEN {is_reached} THEN f ELSE n END", parts)


def _floored_day(call: Call, value: Typed, unit: str) -> exp.Expr:
    """The same of units longer than a day, where the time of day does not count."""
    is_ceil = call.name.startswith("ceil")
    day, old = _day(value), filled("paimon_flink_calendar(d)", {"d": _day(value)})
    if unit == "week":
        made = "o - CAST(dayofweek(d) AS INTEGER)"
        made = f"CASE WHEN dayofweek(d) = 0 THEN o ELSE {made} + 7 END" if is_ceil else made
        return cast_node(filled(made, {"d": day, "o": old}), call.kind)
    if unit in _LONG_UNITS:
        first = "year(d) // n * n" if unit == "decade" else "(year(d) + n - 1) // n * n - n + 1"
        parts = {"d": old, "n": exp.Literal.number(_LONG_UNITS[unit])}
        return cast_node(filled(f"make_date({first}{' + n' if is_ceil else ''}, 1, 1)", parts), call.kind)
    floor = f"CAST(date_trunc('{unit}', d) AS DATE)"
    made = floor
    if is_ceil:
        length = {"quarter": "3 month"}.get(unit, f"1 {unit}")
        # The first day of another quarter than the first one counts as one that is no first day.
        is_first = f"{floor} = d" if unit != "quarter" else "CAST(date_trunc('year', d) AS DATE) = d"
        made = f"CASE WHEN {is_first} THEN d ELSE {floor} + CAST('{length}' AS INTERVAL) END"
    return cast_node(filled(made, {"d": old}), call.kind)


def _floored_clock(call: Call) -> exp.Expr:
    """The same of a TIME, which longer units leave as it is."""
    unit = (call.arguments[1].text or "").lower()
    step = _CLOCK_STEPS.get(unit)
    if step is None:
        raise refusals.unsupported(call.typing.source, call.written, f"FLOOR and CEIL of a TIME to {unit.upper()}")
    up = f" + {step - 1}" if call.name.startswith("ceil") else ""
    wrong = "error('a TIME ends before 24:00:00')"
    moved = f"(epoch_us(a){up}) // {step} * {step}"
    template = f"CASE WHEN {moved} < 86400000000 THEN CAST('00:00:00' AS TIME) + to_microseconds({moved})"
    return filled(f"{template} WHEN a IS NOT NULL THEN {wrong} END", {"a": call.nodes[0]})


def _plus_clock(call: Call) -> exp.Expr:
    """`timestampadd` of a TIME, which begins again after midnight."""
    unit = _named_unit(call)
    if unit not in ("hour", "minute", "second"):
        raise refusals.unsupported(call.typing.source, call.written, f"TIMESTAMPADD of a TIME in {unit.upper()}")
    return filled(f"a + to_{unit}s(CAST(b AS BIGINT))", {"a": call.nodes[2], "b": call.nodes[1]})


def _formatted(call: Call) -> exp.Expr:
    """A time by a pattern of Java."""
    value = narrow(call.arguments[0])
    node = value.node
    if value.kind.root == "TIMESTAMP_LTZ":
        node = cast_node(node, kinds.NTZ)
    elif value.kind.root == "TIMESTAMP":
        node = filled("CAST(a AS TIMESTAMP)", {"a": node})  # of less digits DuckDB has no years before 1677
    instant = converted(value, Wanted(LTZ, call.is_flink)) or value.node
    if not call.is_flink and value.kind.root != "TIMESTAMP_LTZ" and has_changes(call.typing.zone):
        node = cast_node(instant.copy(), kinds.NTZ)  # a time that the clock skips is shown as a later one
    return _written(call, node, instant, call.arguments[1].text)


def _written(call: Call, node: exp.Expr, instant: exp.Expr, pattern: str | None) -> exp.Expr:
    """The text of a time by a pattern. `node`: as clocks show it."""
    found = written(pattern) if pattern is not None and _is_known(call, pattern) else None
    if found is None:
        raise refusals.unsupported(call.typing.source, call.written, "this pattern of a time")
    template, formats = found
    ahead = filled("(epoch_us(a) - epoch_us(i)) // 1000000", {"a": node.copy(), "i": instant.copy()})
    texts = {name: exp.Literal.string(text) for name, text in formats.items()}
    return filled(template, {"a": node, "o": ahead, **texts})


def _is_known(call: Call, pattern: str) -> bool:
    """Spark has no patterns of weeks, and Flink's `from_unixtime` has those of Java's `SimpleDateFormat`."""
    unknown = ZONES if call.is_flink else frozenset({"uuuu"})
    if call.is_flink and call.name == "from_unixtime":
        unknown |= {"uuuu", "Q", "QQQ"}
    return not unknown & letters(pattern)


def _counts_from_one(pattern: str | None) -> bool:
    """Whether hours of a pattern are those from 1 to 24."""
    return bool(letters(pattern or "") & LAST_HOUR.keys())


def _parsed(call: Call, kind: DataType, *, is_try: bool = False) -> exp.Expr:
    """A text as a time, by a pattern of Java or by the rules of casts."""
    value = call.arguments[0]
    if len(call.arguments) == 1:
        made = converted(value, Wanted(kind, call.is_flink, is_try=is_try))
        assert made is not None
        return made
    pattern = call.arguments[1].text
    if pattern is not None and not call.is_flink and (behind := zone_behind(pattern)) is not None:
        return _parsed_ahead(call, kind, *behind, is_try=is_try)
    format_ = duck_format(pattern) if pattern is not None and _is_known(call, pattern) else None
    if format_ is None:
        raise refusals.unsupported(call.typing.source, call.written, "this pattern of a time")
    parts = {"a": value.node, "f": exp.Literal.string(format_)}
    has_year = bool(letters(pattern or "") & {"yyyy", "uuuu", "y", "yy"})
    if call.is_flink and _counts_from_one(pattern):
        raise refusals.unsupported(call.typing.source, call.written, "hours from 1 to 24 in a text", "Write HH.")
    if call.is_flink and "yy" in letters(pattern or ""):
        what = "a year of two digits, which depend on today's,"
        raise refusals.unsupported(call.typing.source, call.written, what, "Write yyyy.")
    given = "a" if has_year else "'1970 ' || a"
    parts["f"] = parts["f"] if has_year else exp.Literal.string(f"%Y {format_}")
    if call.is_flink:
        # DuckDB knows names of times, such as infinity.
        return cast_node(filled(f"CASE WHEN regexp_matches(a, '[0-9]') THEN try_strptime({given}, f) END", parts), kind)
    found, shape = letters(pattern or ""), read_format(pattern or "")
    if shape is None:
        what = "a pattern with days of the week to read a text by"
        raise refusals.unsupported(call.typing.source, call.written, what, "Leave them out.")
    read = f"{'try_' if is_try else ''}strptime({given}, f)"
    if _counts_from_one(pattern):
        last = duck_format(pattern or "", LAST_HOUR) or ""
        parts["g"] = exp.Literal.string(last if has_year else f"%Y {last}")
        parts["s"] = exp.Literal.string(read_format(pattern or "", LAST_HOUR) or "")
        shape = f"{shape}|{parts['s'].name}"
        read = f"CASE WHEN regexp_full_match(a, s) THEN {read.replace(', f)', ', g)')} ELSE {read} END"
    if "yy" in found:
        # To Java these are the years from 2000.
        read = f"CASE WHEN year({read}) < 2000 THEN {read} + to_years(100) ELSE {read} END"
    wrong = "NULL" if is_try else f"error(concat('Could not convert string ''', a, ''' to {kind.root}'))"
    template = f"CASE WHEN regexp_full_match(a, r) THEN {read} WHEN a IS NOT NULL THEN {wrong} END"
    clock = filled(template, {**parts, "r": exp.Literal.string(shape)})
    return local_instant(clock) if kind == LTZ else cast_node(clock, kind)


def _parsed_ahead(call: Call, kind: DataType, pattern: str, zone: str, *, is_try: bool) -> exp.Expr:
    """A text that says at its end how far its clock is ahead of UTC, as an instant, or as that clock."""
    text = call.arguments[0]
    parts = {"a": text.node, "r": exp.Literal.string(f"(?s)(.*)({zone})")}
    wrong = "NULL" if is_try else f"error(concat('Could not convert string ''', a, ''' to {kind.root}'))"
    template = f"CASE WHEN regexp_full_match(a, r) THEN regexp_extract(a, r, 1) WHEN a IS NOT NULL THEN {wrong} END"
    shown = Typed(filled(template, parts), kinds.STRING, text.written)
    by = Typed(exp.Literal.string(pattern), kinds.STRING, exp.Literal.string(pattern))
    clock = _parsed(replace(call, arguments=[shown, by]), kinds.NTZ, is_try=is_try)
    if kind == kinds.NTZ:
        return clock
    ahead = filled(SECONDS_AWAY, {"w": filled("regexp_extract(a, r, 2)", {**parts, "a": text.node.copy()})})
    template = "make_timestamptz(epoch_us(c) - CAST(1000000 AS BIGINT) * (s))"
    return cast_node(filled(template, {"c": clock, "s": ahead}), kind)


def _of_exact_seconds(call: Call) -> exp.Expr:
    """`timestamp_seconds`, which cuts nothing off a decimal."""
    value = call.arguments[0]
    if (value.kind.scale or 0) > _MICRO_DIGITS:
        wrong = "error('a number of seconds has more than six digits behind the point')"
        value.node = filled(f"CASE WHEN a = trunc(a, {_MICRO_DIGITS}) THEN a WHEN a IS NOT NULL THEN {wrong} END",
                            {"a": value.node})  # fmt: skip
    if value.kind.root == "DECIMAL":
        wrong = "error('these seconds are further from 1970 than a timestamp')"
        in_range = f"a BETWEEN -{_LAST_SECOND}8 AND {_LAST_SECOND}7"
        value.node = filled(f"CASE WHEN {in_range} THEN a WHEN a IS NOT NULL THEN {wrong} END", {"a": value.node})
    if value.kind.root in ("FLOAT", "DOUBLE"):
        value.node = filled("CASE WHEN isfinite(a) THEN a END", {"a": value.node})
    return _parsed(call, LTZ)


def _unix(call: Call) -> exp.Expr:
    """`unix_timestamp`."""
    value = call.arguments[0]
    if value.kind.is_string:
        if len(call.arguments) == 1:
            if call.is_flink:
                # What stands behind the second is not read.
                value.node = filled(r"regexp_extract(a, '^\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}')",
                                    {"a": value.node})  # fmt: skip
            call.arguments = [value, Typed(exp.Null(), kinds.STRING, exp.Literal.string("yyyy-MM-dd HH:mm:ss"))]
        node = _parsed(call, LTZ)
    elif value.kind.root == "TIMESTAMP":
        node = narrow(value).node  # as if its clock were that of UTC
    else:
        node = (
            converted(Typed(narrow(value).node, narrow(value).kind, value.written), Wanted(LTZ, call.is_flink))
            or value.node
        )
    # Cut off towards 1970, where a cast goes towards the past.
    return filled("epoch_us(a) // 1000000", {"a": node})


def _from_unix(call: Call) -> exp.Expr:
    seconds, *rest = call.arguments
    pattern = rest[0].text if rest else "yyyy-MM-dd HH:mm:ss"
    instant = filled("make_timestamptz(paimon_micros_of(a))", {"a": seconds.node})
    return _written(call, cast_node(instant.copy(), kinds.NTZ), instant, pattern)


def _added(template: str) -> Callable[[Call], exp.Expr]:
    return lambda call: cast_node(filled(template, {"a": call.nodes[0], "b": call.nodes[1]}), DATE)


_DAYNAMES = "left(dayname(a), 3)"
_NEXT_DAY = (
    "CASE WHEN i IS NOT NULL THEN CAST(a + CAST(((i - isodow(a) + 6) % 7) + 1 AS INTEGER) AS DATE)"
    " WHEN b IS NOT NULL AND a IS NOT NULL THEN error('the day of the week is not known') END"
)
_WEEKDAY = "list_position(['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'], left(upper(trim(b)), 2))"
_LAST_DAY = "CAST(last_day(a) AS DATE)"


def _months_between(call: Call) -> exp.Expr:
    instants = [narrow(value).node for value in call.arguments[:2]]
    local = [cast_node(node.copy(), kinds.NTZ) for node in instants]
    rounds = call.nodes[2] if len(call.nodes) > 2 else exp.true()
    months = "((year(a) - year(b)) * 12 + month(a) - month(b))"
    # What has passed since midnight, also on the day of a change of the clock.
    midnight = "CAST(date_trunc('day', {0}) AS TIMESTAMPTZ)"
    midnight = f"paimon_first({midnight})" if has_changes(call.typing.zone) else midnight
    passed = f"(epoch_us({{1}}) - epoch_us({midnight})) // 1000000"
    seconds = f"({passed.format('a', 'c')} - {passed.format('b', 'd')})"
    ends = "(CAST(a AS DATE) = last_day(a) AND CAST(b AS DATE) = last_day(b))"
    exact = f"(CAST({months} AS DOUBLE) + ((day(a) - day(b)) * 86400.0 + {seconds}) / 2678400.0)"
    whole = f"CASE WHEN r IS NULL THEN NULL WHEN day(a) = day(b) OR {ends} THEN CAST({months} AS DOUBLE)"
    template = f"{whole} WHEN r THEN round({exact}, 8) ELSE {exact} END"
    return filled(template, dict(zip("abcdr", [*local, *instants, rounds], strict=True)))


def _named_unit(call: Call) -> str:
    """The unit that a call names first, in lower case and singular. Raises: SqlUnsupportedError: another one."""
    unit = (call.arguments[0].text or "").lower().rstrip("s")
    if unit not in _UNITS.values():
        raise refusals.unsupported(call.typing.source, call.written, f"the unit {unit.upper()}")
    return unit


def _clock_of(call: Call, value: Typed) -> exp.Expr:
    """A time of a difference. In Spark it is an instant, and what the clock of the session's zone shows then counts."""
    value = narrow(value)
    if call.is_flink:
        return value.node
    instant = converted(value, Wanted(LTZ, is_flink=False))
    assert instant is not None
    return cast_node(instant, kinds.NTZ)


# Days of the month count as they are written: to the last day of a shorter month a month has not passed.
_OF_MONTH = "((year(%s) * 12 + month(%s)) * 32 + day(%s))"
_REACHED = (
    "(CAST(b AS DATE) - CASE WHEN CAST(b AS DATE) > CAST(a AS DATE) AND CAST(b AS TIME) < CAST(a AS TIME) THEN 1"
    " WHEN CAST(b AS DATE) < CAST(a AS DATE) AND CAST(b AS TIME) > CAST(a AS TIME) THEN -1 ELSE 0 END)"
)
_MONTHS_PASSED = f"({_OF_MONTH % ((_REACHED,) * 3)} - {_OF_MONTH % (('a',) * 3)}) // 32"
_IN_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _difference(call: Call) -> exp.Expr:
    """Whole units between two times."""
    unit = _named_unit(call)
    if call.is_flink and len({kind.root for kind in call.kinds[1:]}) > 1:
        raise refusals.no_such_types(call.typing.source, call.written, call.name, call.kinds[1:])
    one, other = (_clock_of(call, value) for value in call.arguments[1:])
    if not call.is_flink and unit in _IN_MONTHS:
        return filled(f"CAST({_MONTHS_PASSED} // {_IN_MONTHS[unit]} AS BIGINT)", {"a": one, "b": other})
    made = filled(f"date_sub('{unit}', a, b)", {"a": one, "b": other})
    return around(made, call.kind) if call.is_flink else cast_node(made, call.kind)


def _plus_units(call: Call) -> exp.Expr:
    """`timestampadd`."""
    unit = _named_unit(call)
    value = narrow(call.arguments[2])
    if not call.is_flink and value.kind == DATE:
        value.node = converted(value, Wanted(LTZ, is_flink=False)) or value.node
    many, of = {"quarter": (3, "month"), "week": (7, "day")}.get(unit, (1, unit))
    template = (
        f"a + to_{of}s(CAST(b * {many} AS BIGINT))"
        if of != "month" and of != "year"
        else f"a + to_{of}s(CAST(b * {many} AS INTEGER))"
    )
    made = filled(template, {"a": value.node, "b": call.nodes[1]})
    if not call.is_flink and unit in _IN_MONTHS and _plus_kind(call) == LTZ:
        made = beside(value.node, made, call.typing.zone)
    if not is_wide(call.kind):
        return cast_node(made, call.kind)
    return filled("paimon_wide(a, b)", {"a": cast_node(made, value.kind), "b": rest_of(call.nodes[2].copy())})


def _plus_kind(call: Call) -> DataType:
    kind = call.kinds[2] if call.is_flink else narrow(call.arguments[2]).kind
    unit = (call.arguments[0].text or "").lower().rstrip("s")
    if kind == DATE and not (call.is_flink and unit in ("year", "quarter", "month", "week", "day")):
        return kinds.NTZ if call.is_flink else LTZ
    return kind


_NOW = "now()"
_FLINK_INSTANTS = (-62_167_219_200_000_000, 253_402_300_799_999_000)
"""The first and the last instant of Flink, in microseconds: those of the years 0 to 9999."""


def _formatted_text(call: Call) -> exp.Expr:
    stamp = DataType("TIMESTAMP", precision=3)
    node = converted(call.arguments[0], Wanted(stamp, call.is_flink))
    assert node is not None
    call.arguments[0] = Typed(node, stamp, call.arguments[0].written)
    return _formatted(call)


def _flink_instant(call: Call) -> exp.Expr:
    places = call.arguments[1].whole if len(call.arguments) > 1 else 3
    if places not in (0, 3):
        raise refusals.unsupported(
            call.typing.source, call.written, "TO_TIMESTAMP_LTZ with this precision", "Use 0 or 3."
        )
    factor = 1_000_000 if places == 0 else 1_000
    least, most = (bound // factor for bound in _FLINK_INSTANTS)
    whole = "CAST(trunc(a) AS BIGINT)" if kinds.is_fraction(call.kinds[0]) else "CAST(a AS BIGINT)"
    made = f"CASE WHEN a BETWEEN {least} AND {most} THEN make_timestamptz({whole} * {factor}) END"
    if call.kinds[0].root in ("FLOAT", "DOUBLE"):
        made = f"CASE WHEN isnan(a) THEN make_timestamptz(0) ELSE {made} END"
    return filled(made, {"a": call.nodes[0]})


def _window_start(call: Call) -> exp.Expr:
    time, length, offset = call.arguments
    node = micros_of(time.node) if narrow(time) is not time else time.node
    stamp = cast_node(node, kinds.NTZ)
    template = "make_timestamp(epoch_us(t) - ((epoch_us(t) - o) % l + l) % l)"
    return filled(template, {"t": stamp, "l": length.node, "o": offset.node})


ENTRIES: Sequence[Entry] = (
    *(entry(name, "TIME|DATE", "INT", _of_local(f"CAST({template} AS INTEGER)"), SPARK) for name, template in _FIELDS),
    *(entry(name.removeprefix("day "), "TIME", "BIGINT", _of_flink(f"CAST({template} AS BIGINT)"), FLINK)
      for name, template in _FIELDS if name != "weekofyear"),
    entry("week", "TIME", "BIGINT", _of_flink("CAST(weekofyear(a) AS BIGINT)"), FLINK),
    *(entry(name, "TIMESTAMP", "INT", _of_time(f"CAST({name}(a) AS INTEGER)"), SPARK) for name in ("hour", "minute",
          "second")),
    *(entry(name, "TIMESTAMP|DATE", "BIGINT", _of_clock_alone, FLINK) for name in ("hour", "minute", "second")),
    *(entry(name, "CLOCK", "BIGINT", f"CAST({name}(a) AS BIGINT)", FLINK, samples=("TIME '12:34:56'",))
      for name in ("hour", "minute", "second")),
    entry("extract", "'STRING', CLOCK", "BIGINT", _extracted_from_clock, FLINK, samples=("'HOUR', TIME '12:34:56'",)),
    entry("weekday", "TIME|DATE", "INT", _of_time("CAST(isodow(a) - 1 AS INTEGER)"), SPARK),
    entry("dayname", "TIME|DATE", "STRING", _of_time(_DAYNAMES), SPARK),
    entry("monthname", "TIME|DATE", "STRING", _of_time("left(monthname(a), 3)"), SPARK),
    entry("extract date_part datepart", "'STRING', TIME|INTERVAL|TEXT|LTZ", _extracted_kind, _extracted, SPARK),
    entry("extract", "'STRING', TIME", _extracted_kind, _extracted, FLINK),
    entry("date_add dateadd", "DATE, SHORT", "DATE", _added("a + CAST(b AS INTEGER)"), SPARK),
    entry("date_sub", "DATE, SHORT", "DATE", _added("a - CAST(b AS INTEGER)"), SPARK),
    entry("datediff date_diff", "DATE, DATE", "INT", "CAST(a - b AS INTEGER)", SPARK),
    entry("add_months", "DATE, INT", "DATE", _added("a + to_months(CAST(b AS INTEGER))"), SPARK),
    entry("last_day", "DATE", "DATE", _LAST_DAY, SPARK),
    entry("next_day", "DATE, STRING", "DATE", lambda call: filled(_NEXT_DAY, {"a": call.nodes[0], "b": call.nodes[1],
          "i": filled(_WEEKDAY, {"b": call.nodes[1].copy()})}), SPARK),
    entry("trunc", "DATE, 'STRING'", "DATE", _truncated, SPARK),
    entry("date_trunc", "'STRING', LTZ", "LTZ", _date_truncated, SPARK),
    *(entry(f"{name}.to", "TIME, 'STRING'", _floored_kind, _floored,
          FLINK) for name in ("floor", "ceil")),
    *(entry(f"{name}.to", "CLOCK, 'STRING'", "1", _floored_clock, FLINK) for name in ("floor", "ceil")),
    entry("months_between", "LTZ, LTZ, BOOLEAN?", "DOUBLE", _months_between, SPARK),
    entry("date_format", "TIMESTAMP, STRING", "STRING", _formatted),
    entry("date_format", "STRING, STRING", "STRING", _formatted_text, FLINK),
    entry("date_format", "DATE, STRING", "STRING", _formatted, FLINK),
    entry("to_date", "DATE", "DATE", "a"),
    entry("to_date", "STRING, STRING?", "DATE", lambda call: _parsed(call, DATE), SPARK),
    entry("to_date", "STRING, STRING?", "DATE", lambda call: _parsed(call, DATE, is_try=True), FLINK),
    entry("to_date", "TIMESTAMP", "DATE", lambda call: _parsed(call, DATE),
          SPARK),
    entry("try_to_date", "STRING, STRING?", "DATE", lambda call: _parsed(call, DATE, is_try=True), SPARK,
          samples=("s", "n, 'yyyy-MM-dd'")),
    entry("to_char to_varchar", "TIME, 'STRING'", "STRING", _formatted, SPARK,
          samples=("day, 'yyyy'", "ts, 'yyyy-MM-dd HH:mm:ss'")),
    entry("date", "STRING|DATE|TIMESTAMP", "DATE", lambda call: _parsed(call, DATE), SPARK),
    entry("to_timestamp", "STRING, STRING?", "LTZ", lambda call: _parsed(call, LTZ), SPARK),
    entry("to_timestamp", "TIME|NUMBER", "LTZ", lambda call: _parsed(call, LTZ), SPARK),
    entry("try_to_timestamp", "STRING, STRING?", "LTZ", lambda call: _parsed(call, LTZ, is_try=True), SPARK),
    entry("try_to_timestamp", "TIME|NUMBER", "LTZ", lambda call: _parsed(call, LTZ, is_try=True), SPARK),
    entry("to_timestamp_ltz", "STRING, STRING?", "LTZ", lambda call: _parsed(call, LTZ), SPARK),
    entry("to_timestamp_ltz", "TIME|NUMBER", "LTZ", lambda call: _parsed(call, LTZ), SPARK),
    entry("to_timestamp_ntz", "STRING|TIME, STRING?", "NTZ", lambda call: _parsed(call, kinds.NTZ), SPARK),
    entry("to_timestamp", "STRING, STRING?", "TIMESTAMP(3)", lambda call: _parsed(call, DataType("TIMESTAMP",
          precision=3), is_try=True), FLINK),
    entry("to_timestamp_ltz", "NUMBER, INT", "TIMESTAMP(3) WITH LOCAL TIME ZONE", _flink_instant, FLINK),
    entry("timestamp", "STRING|TIME|NUMBER", "LTZ", lambda call: _parsed(call, LTZ), SPARK),
    entry("unix_timestamp to_unix_timestamp", "STRING|TIME|LTZ, STRING?", "BIGINT", _unix, SPARK),
    entry("unix_timestamp", "STRING, STRING?", "BIGINT", lambda call: filled(
          "COALESCE(u, CASE WHEN a IS NOT NULL THEN CAST('-9223372036854775808' AS BIGINT) END)",
          {"a": call.nodes[0].copy(), "u": _unix(call)}), FLINK),
    entry("unix_timestamp", "", "BIGINT", "paimon_whole_seconds(now())"),
    entry("from_unixtime", "BIGINT, STRING?", "STRING", _from_unix),
    entry("make_date", "INT, INT, INT", "DATE", "make_date(a, b, c)", SPARK),
    entry("timestamp_seconds", "NUMBER=", "LTZ", _of_exact_seconds, SPARK),
    entry("timestamp_millis", "INTEGER=", "LTZ", "make_timestamptz(CAST(a AS BIGINT) * 1000)", SPARK),
    entry("timestamp_micros", "INTEGER=", "LTZ", "make_timestamptz(CAST(a AS BIGINT))", SPARK),
    entry("unix_seconds", "TIMESTAMP=", "BIGINT", _of_time("paimon_whole_seconds(a)"), SPARK),
    entry("unix_millis", "TIMESTAMP=", "BIGINT",
          _of_time("(epoch_us(a) - ((epoch_us(a) % 1000) + 1000) % 1000) // 1000"), SPARK),
    entry("unix_micros", "TIMESTAMP=", "BIGINT", _of_time("epoch_us(a)"), SPARK),
    entry("unix_date", "DATE=", "INT", "CAST(a - CAST('1970-01-01' AS DATE) AS INTEGER)", SPARK),
    entry("date_from_unix_date", "INT", "DATE", "CAST(CAST('1970-01-01' AS DATE) + a AS DATE)", SPARK),
    entry("timestampdiff datediff date_diff", "'STRING', TIME|LTZ, TIME|LTZ", "BIGINT", _difference, SPARK),
    entry("timestampdiff", "'STRING', TIME, TIME", "INT", _difference, FLINK),
    entry("timestampadd dateadd date_add", "'STRING', INT, TIME|LTZ", _plus_kind, _plus_units, SPARK),
    entry("timestampadd", "'STRING', INT, TIME", _plus_kind, _plus_units, FLINK),
    entry("timestampadd", "'STRING', INT, CLOCK", "3", _plus_clock, FLINK, samples=("'HOUR', 1, TIME '12:34:56'",)),
    entry("current_date", "", "DATE", "CAST(now() AS DATE)"),
    entry("curdate", "", "DATE", "CAST(now() AS DATE)", SPARK),
    entry("current_timestamp now", "", "LTZ", _NOW, SPARK),
    entry("current_timestamp now current_row_timestamp proctime", "", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
          "paimon_cut(now(), 1000)", FLINK),
    entry("localtimestamp", "", "NTZ", "CAST(now() AS TIMESTAMP)", SPARK),
    entry("current_time localtime", "", "TIME(0)", "CAST(date_trunc('second', CAST(now() AS TIMESTAMP)) AS TIME)",
          FLINK),
    entry("localtimestamp", "", "TIMESTAMP(3)", "CAST(paimon_cut(CAST(now() AS TIMESTAMP), 1000) AS TIMESTAMP_MS)",
          FLINK),
    entry("convert_tz", "STRING, STRING, STRING", "STRING",
          "strftime(timezone(c, paimon_at(b, try_strptime(regexp_replace(a, '\\.[0-9]+$', ''), '%Y-%m-%d %H:%M:%S'))),"
          " '%Y-%m-%d %H:%M:%S')", FLINK),
    entry("paimon_window_start", "TIMESTAMP, BIGINT, BIGINT", "NTZ", _window_start),
)  # fmt: skip
