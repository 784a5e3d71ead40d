"""Functions of numbers. Source: Spark's `mathExpressions.scala`; Flink's `SqlFunctionUtils`."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.arithmetic import number_sides
from maintenance.sql.expressions.conversions import cast_node
from maintenance.sql.expressions.decimals import around, combined, operand
from maintenance.sql.expressions.entries import FLINK, SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.kinds import BIGINT, BITS, DOUBLE, MOST_DIGITS, decimal, digits
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType


def _places(call: Call) -> int:
    return (call.arguments[1].whole or 0) if len(call.arguments) > 1 else 0


def _rounded_kind(call: Call) -> DataType | None:
    kind = call.kinds[0]
    if len(call.arguments) > 1 and call.arguments[1].whole is None:
        return None
    if kind == kinds.NULL and not call.is_flink:
        return DOUBLE
    if kind.root != "DECIMAL":
        return kind
    precision, scale = digits(kind)
    places = _places(call)
    kept = min(max(0, places), scale)
    if call.is_flink and kept == scale:
        return kind
    whole = precision - scale + 1
    whole = whole if call.is_flink or places >= 0 else max(whole, 1 - places)
    return decimal(min(MOST_DIGITS, whole + kept), kept)


def _cut_kind(call: Call) -> DataType | None:
    """Flink fails with the small integers."""
    return None if call.kinds[0].root in ("TINYINT", "SMALLINT") else _rounded_kind(call)


def _rounded(function: str) -> Callable[[Call], exp.Expr]:
    def says(call: Call) -> exp.Expr:
        kind, node = call.kinds[0], call.nodes[0]
        if kind == kinds.NULL:
            return cast_node(node, call.kind)
        places = call.nodes[1] if len(call.nodes) > 1 else exp.Literal.number(0)
        if kind.root in ("FLOAT", "DOUBLE"):
            # The digits that are shown decide, as of a decimal.
            text = filled(f"paimon_{kind.root.lower()}_text(a)", {"a": node.copy()})
            whole = filled("TRY_CAST(t AS DECIMAL(38, 15))", {"t": text})
            shown = f"COALESCE(CAST({function}(w, p) AS DOUBLE), {function}(a, p))"
            template = f"CASE WHEN NOT isfinite(a) THEN a ELSE {shown} END"
            if call.is_flink:
                wrong = "error('NaN and infinity cannot be rounded')"
                template = f"CASE WHEN isfinite(a) THEN {shown} WHEN a IS NOT NULL THEN {wrong} END"
            return cast_node(filled(template, {"a": node, "w": whole, "p": places}), kind)
        made = filled(f"{function}(a, p)", {"a": node, "p": places})
        if call.is_flink and kinds.is_integer(kind):
            made = filled(f"{function}(CAST(a AS HUGEINT), p)", {"a": node, "p": places})
            return around(made, kind)
        if kind.root == "DECIMAL" and _places(call) < 0:
            # Where no digit stays DuckDB has 0 for NULL as well.
            made = filled("CASE WHEN a IS NOT NULL THEN m END", {"a": node.copy(), "m": made})
        return cast_node(made, call.kind)

    return says


def _stepped_kind(call: Call) -> DataType | None:
    """Of FLOOR and CEIL to a digit."""
    places = call.arguments[1].whole
    if places is None or call.kinds[0] == kinds.NULL:
        return None
    precision, scale = digits(call.kinds[0])
    whole, kept = precision - scale + 1, min(scale, max(0, places))
    return decimal(min(MOST_DIGITS, max(whole, 1 - places) if places < 0 else whole + kept), kept)


def _stepped(call: Call, sign: str, move: str) -> exp.Expr:
    places = call.arguments[1].whole or 0
    step = f"CAST('1e{-places}' AS {exp.DataType.build(str(call.kind)).sql()})"
    cut = cast_node(filled(f"trunc(a, {places})", {"a": call.nodes[0]}), call.kind)
    return cast_node(filled(f"CASE WHEN c {sign} a THEN c {move} {step} ELSE c END",
                            {"c": cut, "a": call.nodes[0].copy()}), call.kind)  # fmt: skip


def _whole_kind(call: Call) -> DataType:
    """Of FLOOR and CEIL."""
    kind = call.kinds[0]
    if call.is_flink:
        return kind if kind.root != "DECIMAL" else decimal(digits(kind)[0], 0)
    if kind.root != "DECIMAL":
        return BIGINT
    precision, scale = digits(kind)
    return decimal(min(MOST_DIGITS, precision - scale + 1), 0) if scale else kind


def _whole(function: str) -> Callable[[Call], exp.Expr]:
    def says(call: Call) -> exp.Expr:
        if kinds.is_integer(call.kinds[0]):
            return cast_node(call.nodes[0], call.kind)
        made = filled(f"{function}(a)", {"a": call.nodes[0]})
        if call.kind != BIGINT:
            return cast_node(made, call.kind)
        # What BIGINT does not hold is an error, but not what is no number.
        return filled("CASE WHEN isnan(a) THEN 0 ELSE CAST(a AS BIGINT) END", {"a": made})

    return says


def _pmod_sides(call: Call) -> None:
    """A text is what the other side is."""
    for argument, kind in zip(call.arguments, number_sides(call), strict=True):
        argument.node, argument.kind = call.typing.in_type(argument, kind), kind


def _pmod_kind(call: Call) -> DataType:
    _pmod_sides(call)
    one, other = call.kinds
    if {"DECIMAL"} & {one.root, other.root} and not {"FLOAT", "DOUBLE"} & {one.root, other.root}:
        sides = [operand(argument, is_flink=False) for argument in call.arguments]
        return combined("%", sides[0], sides[1], is_flink=False)
    return kinds.widest_number(one, other, is_flink=call.is_flink)


def _pmod(call: Call) -> exp.Expr:
    kind = kinds.widest_number(call.kinds[0], call.kinds[1], is_flink=False)
    if kind.root == "DECIMAL":
        # What holds both may have no room for the digits of either.
        rest = call.typing.called("%", list(call.arguments), call.written, None)
        parts = {"r": rest.node, "b": call.nodes[1].copy(), "c": cast_node(call.nodes[1].copy(), call.kind)}
        return cast_node(filled("CASE WHEN r < 0 AND b > 0 THEN r + c ELSE r END", parts), call.kind)
    one, other = (cast_node(node, kind) for node in call.nodes)
    above = "a % b + b"
    if kinds.is_integer(kind):
        # Below zero both may be; Java's sum of them has 32 or 64 bits.
        size = 1 << max(32, BITS[kind.root])
        above = f"paimon_wrapped(CAST(a % b AS HUGEINT) + b, CAST('{size}' AS HUGEINT))"
    template = f"CASE WHEN a % paimon_nonzero(a, b) < 0 THEN ({above}) % b ELSE a % b END"
    return cast_node(filled(template, {"a": one, "b": other}), call.kind)


def _sign_kind(call: Call) -> DataType | None:
    """Flink fails with the small integers."""
    is_small = call.kinds[0].root in ("TINYINT", "SMALLINT")
    return (None if is_small else call.kinds[0]) if call.is_flink else DOUBLE


_SIGN = "CASE WHEN isnan(a) OR a = 0 THEN a ELSE sign(a) END"
_NO_NUMBER = {SPARK: "CAST('nan' AS DOUBLE)", FLINK: "-CAST('nan' AS DOUBLE)"}
"""What a function gives where it is not defined. Flink groups it apart from a NaN that is read: it has another sign."""
_JAVA_LOG = (
    "CASE WHEN a > 0 OR isnan(a) THEN {0} WHEN a = 0 THEN CAST('-inf' AS DOUBLE)"
    f" WHEN a < 0 THEN {_NO_NUMBER[FLINK]} END"
)
# C has 1 for these powers of 1 and -1, Java has no number.
_POWER = "CASE WHEN isnan(b) THEN b WHEN isinf(b) AND abs(a) = 1 THEN {0} ELSE pow(a, b) END"
_LOG = "CASE WHEN a > 0 THEN {0} WHEN isnan(a) THEN a END"


def _remainder(call: Call) -> tuple[DataType, exp.Expr]:
    typed = call.typing.called("%", list(call.arguments), call.written, None)
    return typed.kind, typed.node


def _absolute(call: Call) -> exp.Expr:
    """The least number of a type has no opposite, and stays."""
    opposite = call.typing.called("negative", [Typed(call.nodes[0].copy(), call.kind, exp.Null())], call.written, None)
    return filled("CASE WHEN a < 0 THEN b ELSE a END", {"a": call.nodes[0], "b": opposite.node})


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SIZE = "CAST(18446744073709551616 AS HUGEINT)"
# What is read of a text: the digits before the first sign that is none.
_READ = (
    "list_reduce(list_transform(string_split(d, ''),"
    " lambda _d: CAST(greatest(strpos('DIGITS', _d) - 1, 0) AS HUGEINT)),"
    f" lambda _x, _y: CASE WHEN _x * BASE + _y < {_SIZE} THEN _x * BASE + _y"
    " ELSE error('conv is given a number that 64 bits do not hold') END)"
)


def _conv(call: Call) -> exp.Expr:
    """The digits of a whole number to another base. Source: Spark's `NumberConverter`."""
    source, target = (argument.whole for argument in call.arguments[1:])
    if source is None or target is None or not 2 <= source <= len(_DIGITS) or not 2 <= abs(target) <= len(_DIGITS):
        fix = "Write conv(x, 10, 16), with bases from 2 to 36."
        raise refusals.unsupported(call.typing.source, call.written, "conv with these bases", fix)
    text = filled("upper(trim(a))", {"a": call.nodes[0]})
    known = _DIGITS[:source]
    digits = filled(f"regexp_extract(t, '^-?([{known}]*)', 1)", {"t": text.copy()})
    value = filled(_READ.replace("DIGITS", known).replace("BASE", str(source)), {"d": digits})
    parts = {"t": text, "v": value, "b": exp.Literal.number(abs(target))}
    return filled("paimon_based(t, v, b)" if target > 0 else "paimon_signed(t, v, b)", parts)


ENTRIES: Sequence[Entry] = (
    entry("abs", "NUMBER", "1", "abs(a)", SPARK),
    entry("abs", "INTEGER", "1", _absolute, FLINK),
    entry("abs", "FRACTION", "1", "abs(a)", FLINK),
    entry("round", "NUMBER, INT!?", _rounded_kind, _rounded("round")),
    entry("bround", "NUMBER, INT!?", _rounded_kind, _rounded("round_even"), SPARK),
    entry("floor", "NUMBER", _whole_kind, _whole("floor")),
    entry("ceil ceiling", "NUMBER", _whole_kind, _whole("ceil")),
    entry("floor", "DECIMAL, INT!", _stepped_kind, lambda call: _stepped(call, ">", "-"), SPARK,
          samples=("d, 1", "w, 2", "d, -1")),
    entry("ceil ceiling", "DECIMAL, INT!", _stepped_kind, lambda call: _stepped(call, "<", "+"), SPARK,
          samples=("d, 1", "w, 2", "d, -1")),
    entry("sign signum", "DOUBLE|FLOAT", "DOUBLE", f"CAST({_SIGN} AS DOUBLE)", SPARK),
    entry("sign", "FLOATING", "1", lambda call: cast_node(filled(_SIGN, {"a": call.nodes[0]}), call.kind), FLINK),
    entry("sign", "NUMBER", _sign_kind, lambda call: cast_node(filled("sign(a)", {"a": call.nodes[0]}), call.kind)),
    entry("sign signum", "INTERVAL", "DOUBLE", "CAST(sign(epoch_us(a)) AS DOUBLE)", SPARK),
    entry("signum", "NUMBER", "DOUBLE", "CAST(sign(a) AS DOUBLE)", SPARK),
    entry("sqrt", "DOUBLE", "DOUBLE",
          "CASE WHEN a >= 0 OR isnan(a) THEN sqrt(a) WHEN a < 0 THEN CAST('nan' AS DOUBLE) END", SPARK),
    # It is a power in Flink, which makes -0.0 and -Infinity positive.
    entry("sqrt", "DOUBLE", "DOUBLE",
          "CASE WHEN a = 0 THEN 0 WHEN a > 0 OR isnan(a) THEN sqrt(a) WHEN isinf(a) THEN -a"
          f" WHEN a < 0 THEN {_NO_NUMBER[FLINK]} END", FLINK),
    *(entry(name, "DOUBLE", "DOUBLE",
            f"CASE WHEN {known} THEN {of} WHEN isnan(a) THEN a WHEN a IS NOT NULL THEN {wrong} END", dialect)
      for dialect, wrong in _NO_NUMBER.items()
      for name, known, of in (("acos", "abs(a) <= 1", "acos(a)"), ("asin", "abs(a) <= 1", "asin(a)"),
                              ("cot", "isfinite(a)", "1 / tan(a)"),
                              *((each, "isfinite(a)", f"{each}(a)") for each in ("sin", "cos", "tan")))),
    *(entry(name, "DOUBLE", "DOUBLE", f"{name}(a)") for name in ("atan", "exp", "degrees", "radians")),
    entry("cbrt", "DOUBLE", "DOUBLE", "paimon_cbrt(a)", SPARK),
    entry("sec", "DOUBLE", "DOUBLE", "1 / cos(a)", SPARK),
    entry("csc", "DOUBLE", "DOUBLE", "1 / sin(a)", SPARK),
    *(entry(name, "DOUBLE", "DOUBLE", f"{name}(a)") for name in ("sinh", "cosh", "tanh")),
    *(entry(name, "DOUBLE", "DOUBLE", f"{name}(a)", SPARK) for name in ("asinh",)),
    entry("acosh", "DOUBLE", "DOUBLE",
          "CASE WHEN a >= 1 THEN acosh(a) WHEN a IS NOT NULL THEN CAST('nan' AS DOUBLE) END", SPARK),
    entry("atanh", "DOUBLE", "DOUBLE",
          "CASE WHEN abs(a) < 1 THEN atanh(a) WHEN a = 1 THEN CAST('inf' AS DOUBLE) WHEN a = -1"
          " THEN CAST('-inf' AS DOUBLE) WHEN a IS NOT NULL THEN CAST('nan' AS DOUBLE) END", SPARK),
    entry("atan2", "DOUBLE, DOUBLE", "DOUBLE", "atan2(a + 0.0, b + 0.0)", SPARK),
    # Flink makes no code of one of decimals.
    entry("atan2", "FLOATING|INTEGER=, FLOATING|INTEGER=", "DOUBLE",
          "atan2(CAST(a AS DOUBLE), CAST(b AS DOUBLE))", FLINK),
    entry("power pow", "DOUBLE, DOUBLE", "DOUBLE", _POWER.format(_NO_NUMBER[SPARK]), SPARK),
    entry("power", "DOUBLE, DOUBLE", "DOUBLE", _POWER.format(_NO_NUMBER[FLINK]), FLINK),
    *(entry(names, "DOUBLE", "DOUBLE", template.format(f"{function}(a)"), of)
      for names, function in (("ln", "ln"), ("log10", "log10"), ("log2", "log2"), ("log", "ln"))
      for template, of in ((_LOG, SPARK), (_JAVA_LOG, FLINK))),
    entry("log", "DOUBLE, DOUBLE", "DOUBLE", "CASE WHEN a > 0 AND b > 0 THEN ln(b) / ln(a) END", SPARK),
    entry("log", "DOUBLE, DOUBLE", "DOUBLE", lambda call: filled("b / a", {
          place: filled(_JAVA_LOG.format("ln(a)"), {"a": node})
          for place, node in zip("ab", call.nodes, strict=True)}), FLINK),
    entry("log1p", "DOUBLE", "DOUBLE", "CASE WHEN a > -1 OR isnan(a) THEN paimon_log1p(a) END", SPARK),
    entry("expm1", "DOUBLE", "DOUBLE", "paimon_expm1(a)", SPARK),
    entry("hypot", "DOUBLE, DOUBLE", "DOUBLE", "paimon_hypot(a, b)", SPARK),
    entry("rint", "DOUBLE", "DOUBLE", "round_even(a, 0)", SPARK),
    entry("pi", "", "DOUBLE", "pi()"),
    entry("e", "", "DOUBLE", "exp(CAST(1 AS DOUBLE))"),
    entry("pmod", "NUMBER|TEXT, NUMBER|TEXT", _pmod_kind, _pmod, SPARK),
    entry("factorial", "INT", "BIGINT", "CASE WHEN a BETWEEN 0 AND 20 THEN CAST(factorial(a) AS BIGINT) END", SPARK),
    entry("bit_count", "INTEGER|BOOLEAN", "INT", "CAST(bit_count(CAST(a AS BIGINT)) AS INTEGER)", SPARK),
    entry("width_bucket", "DOUBLE, DOUBLE, DOUBLE, BIGINT", "BIGINT",
          "CASE WHEN a IS NULL OR b IS NULL OR c IS NULL OR d IS NULL OR d <= 0 OR isnan(a) OR b = c"
          " OR NOT isfinite(b) OR NOT isfinite(c) THEN NULL"
          " WHEN b < c AND a < b OR b > c AND a > b THEN 0"
          " WHEN b < c AND a >= c OR b > c AND a <= c THEN d + 1"
          " ELSE CAST(trunc(d * (a - b) / (c - b)) AS BIGINT) + 1 END", SPARK),
    entry("truncate", "NUMBER, INT!?", _cut_kind, _rounded("trunc"), FLINK),
    *(entry("mod", takes, lambda call: _remainder(call)[0], lambda call: _remainder(call)[1], dialect)
      for takes, dialect in (("NUMBER|TEXT, NUMBER|TEXT", SPARK), ("INTEGER|DECIMAL, INTEGER|DECIMAL", FLINK))),
    entry("bin", "BIGINT", "STRING", "bin(a)"),
    entry("hex", "BIGINT", "STRING", "upper(hex(a))"),
    entry("hex", "STRING", "STRING", "upper(hex(encode(a)))"),
    entry("hex", "BINARY", "STRING", "upper(hex(a))"),
    entry("unhex", "STRING", "BINARY",
          "CASE WHEN regexp_full_match(a, '[0-9A-Fa-f]*') THEN unhex(CASE WHEN length(a) % 2 = 1"
          " THEN '0' || a ELSE a END) END", SPARK),
    entry("conv", "STRING, INT, INT", "STRING", _conv, SPARK),
)  # fmt: skip
