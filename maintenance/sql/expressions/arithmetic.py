"""Operators of numbers, and of times with intervals.

Source: Spark's `arithmetic.scala` with ANSI mode; Flink's `LogicalTypeMerging`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.conversions import KEPT, Wanted, cast_node, converted, tried
from maintenance.sql.expressions.decimals import WRAPS, combined, divided, divided_whole, exact, operand
from maintenance.sql.expressions.entries import FLINK, SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.kinds import BIGINT, DATE, DOUBLE, MOST_DIGITS
from maintenance.sql.expressions.stamps import beside, is_wide, micros_of, rest_of
from maintenance.sql.expressions.templates import CHECKED, apart, filled
from maintenance.sql.expressions.zeros import is_constant
from maintenance.types.data_type import DataType

_NODES: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "%": exp.Mod}


def number_sides(call: Call) -> list[DataType]:
    """The types of both sides as numbers: a text is what the other side is."""
    one, other = call.kinds
    return [_number(one, other), _number(other, one)]


def _number(kind: DataType, partner: DataType) -> DataType:
    if kinds.is_number(kind):
        return kind
    if kind == kinds.NULL:
        return partner if kinds.is_number(partner) else DOUBLE
    return BIGINT if kinds.is_integer(partner) else DOUBLE


def _are_exact(sides: Sequence[DataType]) -> bool:
    roots = {side.root for side in sides}
    return "DECIMAL" in roots and not roots & {"FLOAT", "DOUBLE"}


def _operands(call: Call) -> list[DataType]:
    found = zip(call.arguments, number_sides(call), strict=True)
    return [operand(Typed(each.node, side, each.written), is_flink=call.is_flink) for each, side in found]


def _kind(call: Call) -> DataType | None:
    sides = number_sides(call)
    if not any(kinds.is_number(kind) for kind in call.kinds):
        return None
    if _are_exact(sides):
        return combined(call.name, *_operands(call), is_flink=call.is_flink)
    return _widest(sides, is_flink=call.is_flink)


def _reckoned(call: Call) -> exp.Expr | Typed:
    sides = number_sides(call)
    call.arguments = [_in(each, side, call) for each, side in zip(call.arguments, sides, strict=True)]
    if _are_exact(sides):
        if call.name == "%":
            call.arguments[1] = _nonzero(call)
        return exact(call, *_operands(call))
    call.arguments = [_in(each, call.kind, call) for each in call.arguments]
    if call.name == "%":
        call.arguments[1] = _nonzero(call)
    one, other = call.nodes
    made = _NODES[call.name](this=apart(one), expression=apart(other))
    if call.is_flink and call.name == "+" and call.kind.root in ("FLOAT", "DOUBLE"):
        return _without_zero(call, made)
    if kinds.is_integer(call.kind) and call.name != "%":
        if call.is_flink:
            made.meta[WRAPS] = call.kind
        if any(is_constant(each.written) for each in call.arguments):
            made.meta[CHECKED] = True
    return made


def _without_zero(call: Call, made: exp.Expr) -> exp.Expr:
    """A sum of floats in Flink, which leaves a zero that is written away, and with it -0.0 as it is."""
    for constant, value in (call.arguments, reversed(call.arguments)):
        if is_constant(constant.written) and not is_constant(value.written):
            parts = {"c": constant.node.copy(), "v": value.node.copy(), "s": made}
            return filled("CASE WHEN c = 0 THEN v ELSE s END", parts)
    return made


def _rest(call: Call) -> exp.Expr:
    """The rest of a division of integers in Flink, which has the type of the divisor."""
    kind, call.kind = call.kind, kinds.widest_number(call.kinds[0], call.kinds[1], is_flink=True)
    made = _reckoned(call)
    assert isinstance(made, exp.Expr)
    kind, call.kind = call.kind, kind
    return made if kind == call.kind else cast_node(made, call.kind)


def _in(value: Typed, kind: DataType, call: Call) -> Typed:
    """A side in the type in which is reckoned. DuckDB takes a number as written for one of the type beside it."""
    if value.kind == kind or (
        isinstance(value.node, exp.Literal) and not value.node.is_string and kinds.is_integer(kind)
    ):
        return value if value.kind == kind else Typed(value.node, kind, value.written)
    node = converted(value, Wanted(kind, call.is_flink))
    assert node is not None
    return Typed(node, kind, value.written)


def _nonzero(call: Call) -> Typed:
    """The divisor, which is an error where it is zero and there is something to divide."""
    dividend, divisor = call.arguments
    plain = divisor.node.unnest()
    if isinstance(plain, exp.Literal) and not plain.is_string and float(plain.name):
        return divisor
    node = filled("paimon_nonzero(a, b)", {"a": dividend.node.copy(), "b": divisor.node})
    return Typed(node, divisor.kind, divisor.written)


def _quotient_kind(call: Call) -> DataType | None:
    sides = number_sides(call)
    if not any(kinds.is_number(kind) for kind in call.kinds):
        return None
    if _are_exact(sides):
        return combined("/", *_operands(call), is_flink=call.is_flink)
    return _widest(sides, is_flink=True) if call.is_flink else DOUBLE


def _widest(sides: Sequence[DataType], *, is_flink: bool) -> DataType | None:
    common = kinds.widest_number(sides[0], sides[1], is_flink=is_flink)
    return kinds.first_of(sides, common) if is_flink else common


def _divide(call: Call) -> exp.Expr:
    sides = number_sides(call)
    call.arguments = [_in(each, side, call) for each, side in zip(call.arguments, sides, strict=True)]
    if _are_exact(sides):
        return divided(call, *_operands(call))
    if call.is_flink and kinds.is_integer(call.kind):
        return _whole_quotient(call)
    call.arguments = [_in(each, call.kind, call) for each in call.arguments]
    if not call.is_flink:
        call.arguments[1] = _nonzero(call)
    one, other = call.nodes
    if all(isinstance(node, exp.Literal) for node in (one, other)):
        one = cast_node(one, call.kind)
    return exp.Div(this=apart(one), expression=apart(other), typed=False, safe=False)


def _whole_quotient(call: Call) -> exp.Expr:
    kind = BIGINT if not call.is_flink else call.kind
    call.arguments = [_in(each, kind, call) for each in call.arguments]
    call.arguments[1] = _nonzero(call)
    one, other = call.nodes
    made = cast_node(filled("CAST(a AS BIGINT) // b", {"a": one, "b": other}), kind)
    if not call.is_flink or isinstance(other, exp.Literal):
        return made
    # The least number of a type has no opposite, and stays.
    return filled(
        "CASE WHEN b = -1 THEN n ELSE q END", {"b": other.copy(), "n": _opposite(one.copy(), kind), "q": made}
    )


def _opposite(node: exp.Expr, kind: DataType) -> exp.Expr:
    made = exp.Neg(this=apart(node))
    made.meta[WRAPS] = kind
    return made


def _whole_kind(call: Call) -> DataType | None:
    """Of DIV, which takes no floats."""
    floats = any(side.root in ("FLOAT", "DOUBLE") for side in number_sides(call))
    return None if floats or not any(kinds.is_number(kind) for kind in call.kinds) else BIGINT


def _divide_whole(call: Call) -> exp.Expr:
    sides = number_sides(call)
    call.arguments = [_in(each, side, call) for each, side in zip(call.arguments, sides, strict=True)]
    if "DECIMAL" in {side.root for side in sides}:
        left, right = _operands(call)
        return divided_whole(call, left, right)
    return _whole_quotient(call)


def _negated(call: Call) -> exp.Expr | Typed:
    value = call.arguments[0]
    node = exp.Neg(this=apart(value.node))
    least = {1 << 31: kinds.INT, 1 << 63: kinds.BIGINT}
    is_sign = call.is_flink or (isinstance(call.written, exp.Neg) and not isinstance(call.written.this, exp.Paren))
    if is_sign and (kind := least.get(value.whole or 0)) is not None:
        return Typed(cast_node(node, kind), kind, call.written)  # the sign is one of the number
    if call.is_flink and kinds.is_integer(value.kind) and not isinstance(value.node, exp.Literal):
        return _opposite(value.node, value.kind)
    if isinstance(value.node, exp.Literal) or value.kind.root == "DECIMAL":
        return Typed(node, call.kind, call.written, value.is_loose)
    return node


# Each 24 hours are a day of the calendar first, at whose end the clock shows the same.
_BY_CLOCK = "a + to_days(CAST(epoch_us(b) // 86400000000 AS INTEGER)) + to_microseconds(epoch_us(b) % 86400000000)"


def _moved(call: Call) -> exp.Expr:
    """A time and an interval."""
    time = next(value for value in call.arguments if kinds.is_time(value.kind))
    interval = next(value for value in call.arguments if value is not time)
    node = micros_of(time.node.copy()) if is_wide(time.kind) else time.node
    template = "a - b" if call.name == "-" else "a + b"
    if call.is_flink and (time.kind, interval.kind) == (kinds.DATE, kinds.MICROS):
        # Of what is no whole day nothing counts, forwards and backwards.
        template = template.replace("b", "CAST(epoch_us(b) // 86400000000 AS INTEGER)")
    is_instant = not call.is_flink and call.kind.root == "TIMESTAMP_LTZ"
    if is_instant:
        if time.kind == kinds.DATE:
            node = converted(time, Wanted(call.kind, is_flink=False)) or node
        if interval.kind == kinds.MICROS:
            template = _BY_CLOCK.replace("+", call.name)
    moved = filled(template, {"a": node, "b": interval.node})
    if is_instant and interval.kind == kinds.MONTHS:
        moved = beside(node, moved, call.typing.zone)
    if is_wide(time.kind):
        return filled("paimon_wide(a, b)", {"a": moved, "b": rest_of(time.node)})
    return cast_node(moved, call.kind)


def _has_null(call: Call) -> bool:
    """Whether a side is NULL as written, which Spark gives another type from case to case."""
    return any(isinstance(each.written.unnest(), exp.Null) for each in call.arguments)


def _moved_kind(call: Call) -> DataType | None:
    if _has_null(call):
        return None
    time, interval = sorted(call.kinds, key=kinds.is_interval)
    if time.root == "DATE" and interval == kinds.MICROS:
        part = next(each for each in call.arguments if kinds.is_interval(each.kind))
        return kinds.DATE if call.is_flink else _moved_day_kind(part.written)
    return time


def _moved_day_kind(interval: exp.Expr) -> DataType | None:
    """A DATE and an interval of whole days are a DATE in Spark, and a timestamp with one that has seconds.

    None: the interval is that of other intervals or times, of which it is not known here.
    """
    plain = interval.unnest()
    while isinstance(plain, exp.Neg):
        plain = plain.this.unnest()
    if isinstance(plain, exp.Interval):
        is_days = str(plain.args.get("unit") or "").upper() in ("DAY", "DAYS", "WEEK", "WEEKS")
        return kinds.DATE if is_days else kinds.LTZ
    return kinds.LTZ if isinstance(plain, exp.Mul | exp.Div) else None


_TRIED = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "mod": "%"}


def _tried_kind(call: Call) -> DataType | None:
    name, call.name = call.name, _TRIED[call.name.removeprefix("try_")]
    kind = _quotient_kind(call) if call.name == "/" else _kind(call)
    call.name = name
    # DuckDB overflows elsewhere than Spark, and that would be NULL.
    return None if kind is not None and kind.root == "DECIMAL" and kind.precision == MOST_DIGITS else kind


def _tried(call: Call) -> exp.Expr:
    """An operator that gives NULL where it would be an error, or a text is no number; errors of its sides stay."""
    name = _TRIED[call.name.removeprefix("try_")]
    for each in call.arguments:
        each.node.meta[KEPT] = True
    one, other = (_in(each, side, call) for each, side in zip(call.arguments, number_sides(call), strict=True))
    for side in (one, other):
        side.node = tried(side.node)
        side.node.meta[KEPT] = True
    if name in "/%":
        other = Typed(filled("NULLIF(a, 0)", {"a": other.node}), other.kind, exp.Null())
    elif kinds.is_integer(call.kind):
        # No result of two BIGINTs leaves 128 bits.
        template = f"TRY_CAST(CAST(a AS HUGEINT) {name} b AS {call.kind.root})"
        return filled(template, {"a": one.node, "b": other.node})
    made: Typed = call.typing.called(name, [one, other], call.written, None)
    return tried(cast_node(made.node, call.kind))


# Days stand apart: Arrow has the rest in nanoseconds, which hold 292 years.
_BETWEEN = "to_days(CAST((a - b) // d AS INTEGER)) + to_microseconds((a - b) % d)"
_DAY = exp.Literal.number(86_400_000_000)


def _shown(time: Typed) -> Typed:
    """An instant as clocks show it."""
    kind = replace(time.kind, root="TIMESTAMP")
    node = converted(time, Wanted(kind, is_flink=False))
    assert node is not None
    return Typed(node, kind, time.written)


def _elapsed(call: Call) -> exp.Expr:
    """What lies between two times, in the type that holds both, as clocks show them."""
    if {kind.root for kind in call.kinds} == {"TIMESTAMP", "TIMESTAMP_LTZ"}:
        call.arguments = [_shown(value) for value in call.arguments]
    common, nodes = call.typing.common(call.arguments, call.written)
    if common.root == "TIMESTAMP_LTZ":
        nodes = [cast_node(micros_of(node) if is_wide(common) else node, kinds.NTZ) for node in nodes]
        common = kinds.NTZ
    one, other = (filled("epoch_us(a)", {"a": micros_of(node) if is_wide(common) else node}) for node in nodes)
    return filled(_BETWEEN, {"a": one, "b": other, "d": _DAY})


def _of_bits(template: str) -> Callable[[Call], exp.Expr]:
    """DuckDB takes a number as written for one of the smaller type beside it."""
    return lambda call: cast_node(filled(template, dict(zip("ab", call.nodes, strict=True))), call.kind)


ENTRIES: Sequence[Entry] = (
    *(entry(name, "NUMBER|TEXT, NUMBER|TEXT", _kind, _reckoned, SPARK) for name in ("+", "-", "*", "%")),
    *(entry(name, "NUMBER, NUMBER", _kind, _reckoned, FLINK) for name in ("+", "-", "*")),
    entry("%", "INTEGER, INTEGER", "2", _rest, FLINK),
    entry("%", "INTEGER, DECIMAL", _kind, _reckoned, FLINK),
    # Flink fails where the rest has not the type of the divisor.
    entry("%", "DECIMAL, DECIMAL", lambda call: call.kinds[1] if call.kinds[1] == _kind(call) else None, _reckoned,
          FLINK),
    entry("/", "NUMBER|TEXT, NUMBER|TEXT", _quotient_kind, _divide, SPARK),
    entry("/", "NUMBER, NUMBER", _quotient_kind, _divide, FLINK),
    entry("div", "NUMBER|TEXT, NUMBER|TEXT", _whole_kind, _divide_whole, SPARK),
    *(entry(f"try_{name}", "NUMBER|TEXT, NUMBER|TEXT", _tried_kind, _tried, SPARK) for name in _TRIED),
    entry("negative", "NUMBER", "1", _negated),
    entry("negative", "INTERVAL", "1", "-a"),
    entry("positive", "NUMBER|INTERVAL", "1", "a"),
    entry("+ -", "DAY, DAYS", lambda call: None if _has_null(call) else DATE, _moved, SPARK),
    entry("+", "DAYS, DAY", lambda call: None if _has_null(call) else DATE, _moved, SPARK),
    entry("+ -", "TIME, INTERVAL", _moved_kind, _moved),
    entry("+", "INTERVAL, TIME", _moved_kind, _moved),
    *(entry(sign, "CLOCK, MICROS", "1", f"a {sign} b", FLINK, samples=("TIME '12:34:56', INTERVAL '1' HOUR",))
      for sign in "+-"),
    entry("+", "MICROS, CLOCK", "2", "b + a", FLINK, samples=("INTERVAL '1' HOUR, TIME '12:34:56'",)),
    entry("+", "MONTHS, MONTHS", "MONTHS", "a + b"),
    entry("+", "MICROS, MICROS", "MICROS", "a + b"),
    entry("-", "MONTHS, MONTHS", "MONTHS", "a - b"),
    entry("-", "MICROS, MICROS", "MICROS", "a - b"),
    entry("*", "INTERVAL, INTEGER", "1", "a * b"),
    entry("*", "INTEGER, INTERVAL", "2", "b * a"),
    entry("-", "DATE, DATE", "MICROS", "to_days(CAST(a - b AS INTEGER))", SPARK),
    entry("-", "TIMESTAMP, TIMESTAMP", "MICROS", _elapsed, SPARK),
    entry("-", "DATE, TIMESTAMP", "MICROS", _elapsed, SPARK),
    entry("-", "TIMESTAMP, DATE", "MICROS", _elapsed, SPARK),
    entry("&", "INTEGER, INTEGER", _kind, _of_bits("a & b"), SPARK),
    entry("|", "INTEGER, INTEGER", _kind, _of_bits("a | b"), SPARK),
    entry("^", "INTEGER, INTEGER", _kind, _of_bits("xor(a, b)"), SPARK),
    entry("~", "INTEGER", "1", "~a", SPARK),
)  # fmt: skip
