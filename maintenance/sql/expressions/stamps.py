"""Timestamps as DuckDB has them: their digits, their zones and their texts are those of the dialect's engine.

A cast cuts digits off, towards the past, where DuckDB rounds. A TIMESTAMP(7..9) is a struct (`carried`), which
compares with all its digits; what computes with one takes its microseconds. A time that becomes a text shows no zone:
in Flink it has as many digits as its type says, in Spark none that are zeros at the end.
"""

import datetime as dt
import re

from sqlglot import exp

from maintenance.sql.dialects import DIGITS
from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.templates import filled
from maintenance.sql.query.carried import MICROS, REST
from maintenance.sql.zones import has_changes
from maintenance.types.arrow import has_nanos
from maintenance.types.data_type import DataType

_MILLI_DIGITS, _MICRO_DIGITS, _NANO_DIGITS = 3, 6, 9
# A text with digits behind microseconds.
_FINE = re.compile(r"(.*\.\d{6})(\d+)(.*)", re.DOTALL)
_NAMES = {"TIMESTAMP": exp.DType.TIMESTAMPNTZ, "TIMESTAMP_LTZ": exp.DType.TIMESTAMPLTZ}
_PLAIN = re.compile(r"\d{4}-\d{2}-\d{2}([ T]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?)?", re.ASCII)
_ZONED = re.compile(r":\d{2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)$", re.ASCII)
_SHORT = re.compile(r"(\d{4})(-\d{1,2})?")
_FIRST = (
    "CASE WHEN regexp_matches({t}, '[0-9]([+-][0-9:]+| .*[A-Za-z].*)$') THEN {cast}({t} AS TIMESTAMPTZ)"
    " ELSE paimon_first({cast}({t} AS TIMESTAMPTZ)) END"
)


_FLINK_MOMENT = (
    "CASE WHEN paimon_is_flink_moment(t) THEN paimon_flink_moment(t)"
    " WHEN t IS NOT NULL THEN error(concat('Could not convert string ''', t, ''' to TIMESTAMP')) END"
)
LOCAL = "paimon_local"
"""Under this key a cast of a time of the zone's clock to an instant is marked in `meta`."""


def local_instant(node: exp.Expr) -> exp.Expr:
    """The instant of a time of the zone's clock."""
    made = exp.Cast(this=node, to=exp.DataType(this=exp.DType.TIMESTAMPLTZ))
    made.meta[LOCAL] = True
    return made


def beside(before: exp.Expr, after: exp.Expr, zone: str) -> exp.Expr:
    """An instant some months from another one: of two that the clock shows alike that as far from UTC as before."""
    if not has_changes(zone):
        return after
    return filled("paimon_beside(a, b)", {"a": before.copy(), "b": after})


def with_earlier(tree: exp.Expr, zone: str) -> None:
    """Take the first of two instants where the clock of the zone shows a time twice, of which DuckDB takes the second.

    A text in a column may name its zone, and then has one instant.
    """
    if not has_changes(zone):
        return
    for node in list(tree.find_all(exp.Cast)):
        if LOCAL not in node.meta:
            continue
        first: exp.Expr = exp.Anonymous(this="paimon_first", expressions=[node.copy()])
        if node.meta[LOCAL] is None:
            cast = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
            # A text that is no literal is long: it stands in the query once.
            is_short = isinstance(node.this, exp.Literal)
            template = _FIRST.format(t="t" if is_short else "_t", cast=cast)
            template = template if is_short else f"list_transform([t], lambda _t: {template})[1]"
            first = filled(template, {"t": node.this.copy()})
        node.replace(first)


def _is_date(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text) is not None
    except ValueError:
        return False


def is_wide(kind: DataType) -> bool:
    """Whether DuckDB has a struct for the values of a type."""
    return kind.is_timestamp and has_nanos(kind)


def micros_of(node: exp.Expr) -> exp.Expr:
    return filled(f"struct_extract(a, '{MICROS}')", {"a": node})


def rest_of(node: exp.Expr) -> exp.Expr:
    return filled(f"struct_extract(a, '{REST}')", {"a": node})


def narrow(value: Typed) -> Typed:
    """A time that DuckDB computes with: of the struct its microseconds."""
    if not is_wide(value.kind):
        return value
    kind = DataType(value.kind.root, precision=_MICRO_DIGITS)
    return Typed(micros_of(value.node), kind, value.written)


def to_moment(value: Typed, to: DataType, *, is_flink: bool) -> exp.Expr | None:
    """A value as a timestamp; None if it cannot be one."""
    of = value.kind
    if not (of.is_string or kinds.is_time(of)):
        return _of_another(value, to, is_flink=is_flink)
    (node, rest), places = _with_rest(value, to, is_flink=is_flink), to.precision or 0
    micros: exp.Expr = exp.Cast(this=node, to=exp.DataType(this=_NAMES[to.root]))
    if to.root == "TIMESTAMP_LTZ":
        micros.meta[LOCAL] = not of.is_string or None
    if of.is_timestamp and of.root == to.root:
        micros = node
    is_coarse = of.root == "DATE" or (of.is_timestamp and (of.precision or 0) <= places)
    is_kept = is_flink and of.is_timestamp and not is_coarse and not _is_literal(value.written)
    if is_kept and is_wide(of) and not is_wide(to):
        micros = filled("paimon_without_nanos(a, b, p)", {"a": micros, "b": rest, "p": exp.Literal.number(places)})
    whole = micros.copy()
    if places < _MICRO_DIGITS and not is_coarse:
        micros = _cut(micros, places, is_flink=is_flink, is_kept=is_kept)
    if is_wide(to) and of.root == to.root == "TIMESTAMP" and (of.precision or 0) <= _MILLI_DIGITS:
        micros = exp.Cast(this=micros, to=exp.DataType(this=exp.DType.TIMESTAMP))
    if is_wide(to):
        step = exp.Literal.number(10 ** (_NANO_DIGITS - places))
        kept = rest if places == _NANO_DIGITS else filled("CAST(a - a % b AS SMALLINT)", {"a": rest, "b": step})
        if is_kept:
            kept = _unless_short(whole, rest.copy(), rest.copy(), kept, places)
        return filled("paimon_wide(a, b)", {"a": micros, "b": kept})
    if places <= _MILLI_DIGITS and to.root == "TIMESTAMP" and of != to:
        return exp.Cast(this=micros, to=exp.DataType(this=exp.DType.TIMESTAMP_MS))
    is_short = of.root == "TIMESTAMP" and (of.precision or 0) <= _MILLI_DIGITS < places
    return exp.Cast(this=micros, to=exp.DataType(this=exp.DType.TIMESTAMP)) if is_short and micros is node else micros


def _with_rest(value: Typed, to: DataType, *, is_flink: bool) -> tuple[exp.Expr, exp.Expr]:
    """A time as DuckDB reads it, and the nanoseconds behind it."""
    node, of = value.node, value.kind
    if is_wide(of):
        return micros_of(node.copy()), rest_of(node)
    literal = value.text if isinstance(node, exp.Literal) else None
    if literal is not None:
        return _written(literal, to, is_flink=is_flink)
    rest: exp.Expr = exp.Literal.number(0)
    if not of.is_string:
        return node, rest
    if is_wide(to):
        rest = filled("paimon_rest(a)", {"a": node.copy()})
    return _read(node, to, is_flink=is_flink), rest


def _cut(micros: exp.Expr, places: int, *, is_flink: bool, is_kept: bool) -> exp.Expr:
    """A time without the digits behind some."""
    step = exp.Literal.number(10 ** (_MICRO_DIGITS - places))
    # Below milliseconds Flink cuts off towards 1970.
    macro = "paimon_cut_millis" if is_flink and places < _MILLI_DIGITS else "paimon_cut"
    made: exp.Expr = exp.Anonymous(this=macro, expressions=[micros, step])
    if is_kept and places > _MILLI_DIGITS:
        made = _unless_short(micros.copy(), exp.Literal.number(0), micros.copy(), made, places)
    return made


def _unless_short(micros: exp.Expr, rest: exp.Expr, whole: exp.Expr, cut: exp.Expr, places: int) -> exp.Expr:
    """What is cut off in Flink. A time in quotes is cut by its planner, which has no exceptions."""
    parts = {"a": micros, "b": rest, "c": whole, "d": cut, "p": exp.Literal.number(places)}
    return filled("CASE WHEN paimon_is_short(a, b, p) THEN c ELSE d END", parts)


def _is_literal(written: exp.Expr) -> bool:
    plain = written.unnest()
    return isinstance(plain, exp.Cast) and isinstance(plain.this, exp.Literal) and DIGITS in plain.to.meta


def _written(literal: str, to: DataType, *, is_flink: bool) -> tuple[exp.Expr, exp.Expr]:
    """A text in quotes as DuckDB reads it, and its nanoseconds."""
    fine = _FINE.fullmatch(literal)
    rest = 0
    if fine is not None:
        literal, rest = fine[1] + fine[3], int(fine[2][:3].ljust(3, "0"))
    if not is_flink:
        literal = literal.strip()
        short = _SHORT.fullmatch(literal)
        literal = literal if short is None else f"{short[1]}{short[2] or '-01'}-01"
    node = exp.Literal.string(literal)
    # An instant may be written with its zone.
    has_zone = is_flink and to.root == "TIMESTAMP_LTZ" and _ZONED.search(literal) is not None
    is_plain = has_zone or (_PLAIN.fullmatch(literal) is not None and (not is_flink or _is_date(literal[:10])))
    return node if is_plain else _read(node, to, is_flink=is_flink), exp.Literal.number(rest)


def _read(node: exp.Expr, to: DataType, *, is_flink: bool) -> exp.Expr:
    return filled(_FLINK_MOMENT, {"t": node}) if is_flink else _moment(node, to)


def _of_another(value: Typed, to: DataType, *, is_flink: bool) -> exp.Expr | None:
    """A value that is neither a text nor a timestamp or a date."""
    if is_flink:
        return _on_first_day(value, to) if value.kind.root == "TIME" else None
    return _of_seconds(value) if kinds.is_number(value.kind) and to.root == "TIMESTAMP_LTZ" else None


def _on_first_day(value: Typed, to: DataType) -> exp.Expr | None:
    """A time of day as a timestamp, in Flink."""
    if is_wide(to):
        return None
    day = filled("CAST('1970-01-01' AS DATE) + a", {"a": value.node})
    if to.root == "TIMESTAMP_LTZ":
        return exp.Cast(this=day, to=exp.DataType(this=_NAMES[to.root]))
    kind = exp.DType.TIMESTAMP_MS if (to.precision or 0) <= _MILLI_DIGITS else exp.DType.TIMESTAMP
    return exp.Cast(this=day, to=exp.DataType(this=kind))


def _moment(node: exp.Expr, to: DataType) -> exp.Expr:
    """A text that Spark reads as a time, as DuckDB writes it. A local time passes over a zone."""
    is_instant = to.root == "TIMESTAMP_LTZ"
    today = " WHEN paimon_is_clock(t) THEN concat(CAST(now() AS DATE), ' ', ltrim(t, 'T'))" if is_instant else ""
    wrong = "error(concat('Could not convert string ''', t, ''' to TIMESTAMP'))"
    moment = "paimon_first_there(paimon_moment(t, TRUE))" if is_instant else "paimon_moment(t, FALSE)"
    template = (
        "CASE WHEN paimon_is_plain_moment(t) THEN t"
        f" WHEN paimon_is_moment(t) THEN {moment}{today} WHEN t IS NOT NULL THEN {wrong} END"
    )
    return filled(template, {"t": filled("paimon_trimmed(a)", {"a": node})})


def _of_seconds(value: Typed) -> exp.Expr:
    """What no timestamp of DuckDB holds is an error also of TRY_CAST: the engine has a value for it."""
    if value.kind.root in ("FLOAT", "DOUBLE"):
        return filled(
            "CASE WHEN isfinite(a) THEN make_timestamptz(paimon_bigint(trunc(a * 1000000))) WHEN a IS NOT NULL"
            " THEN error(concat('Could not convert string ''', a, ''' to TIMESTAMP')) END",
            {"a": value.node},
        )
    if kinds.is_integer(value.kind):
        return filled("make_timestamptz(paimon_micros_of(a))", {"a": value.node})
    cut = (
        "CAST(trunc(a, 6) AS DECIMAL(38, 6))"
        if (value.kind.scale or 0) > _MICRO_DIGITS
        else "CAST(a AS DECIMAL(38, 6))"
    )
    # Of a number of microseconds that is too large the last bits stay.
    wrapped = f"paimon_wrapped(CAST({cut} * 1000000 AS HUGEINT), CAST('18446744073709551616' AS HUGEINT))"
    return filled(f"make_timestamptz(CAST({wrapped} AS BIGINT))", {"a": value.node})


def from_moment(value: Typed, to: DataType, *, is_flink: bool) -> exp.Expr:
    """A timestamp as a date or a time of day."""
    node = micros_of(value.node) if is_wide(value.kind) else value.node
    if is_flink and to.root == "DATE" and value.kind.root == "TIMESTAMP":
        return filled("paimon_flink_day(a)", {"a": node})
    if is_flink and to.root == "TIME" and value.kind.root == "TIMESTAMP":
        return filled("paimon_time_of(a)", {"a": node})
    kind = exp.DType.DATE if to.root == "DATE" else exp.DType.TIME
    if to.root != "DATE" and value.kind.root == "TIMESTAMP_LTZ":
        node = exp.Cast(this=node, to=exp.DataType(this=exp.DType.TIMESTAMPNTZ))
        node = filled("paimon_cut(a, 1000)", {"a": node}) if is_flink else node
    return exp.Cast(this=node, to=exp.DataType(this=kind))


def moment_text(node: exp.Expr, kind: DataType, *, is_flink: bool) -> exp.Expr:
    """A timestamp as a text."""
    wide = is_wide(kind)
    parts = {"a": micros_of(node.copy()) if wide else node, "b": rest_of(node) if wide else exp.Literal.number(0)}
    if is_flink:
        if not kind.precision:
            return filled("paimon_second(a)", parts)
        return filled("paimon_digits(a, b, c)", {**parts, "c": exp.Literal.number(kind.precision)})
    return filled("paimon_plain(a, b)", parts) if wide else filled("paimon_text(a)", parts)


def named_moment(to: exp.DataType, *, is_flink: bool) -> DataType | None:
    """The timestamp that a cast or a literal names; None if it names another type."""
    instants = (exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ)
    if to.this not in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, *instants):
        return None
    is_instant = to.this in instants or (to.this == exp.DType.TIMESTAMP and not is_flink)
    written = to.meta.get(DIGITS)
    if to.expressions:
        places = int(to.expressions[0].name)
    elif written is None:
        places = _MICRO_DIGITS
    else:
        places = written if is_flink else _NANO_DIGITS if written > _MICRO_DIGITS else _MICRO_DIGITS
    return DataType("TIMESTAMP_LTZ" if is_instant else "TIMESTAMP", precision=places)
