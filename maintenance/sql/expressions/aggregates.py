"""Aggregates. Source: Spark's `aggregate` package, Flink's `aggregate` functions.

In a template the aggregates of DuckDB get the condition and the window of the call; DISTINCT goes to the first
argument.
"""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.conversions import cast_node, tried
from maintenance.sql.expressions.decimals import quotient
from maintenance.sql.expressions.entries import BOTH, FLINK, SPARK, Call, Entry, Gives, Says, Typed, entry
from maintenance.sql.expressions.kinds import BIGINT, DOUBLE, LEAST_SCALE, MOST_DIGITS, decimal, digits, map_of
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType


def aggregate(names: str, takes: str, gives: Gives, says: Says, of: tuple = BOTH) -> Entry:  # type: ignore[type-arg]
    return entry(names, takes, gives, says, of, "aggregate")


def _of(call: Call, function: str) -> exp.Expr:
    node: exp.Expr = call.nodes[0]
    return exp.Anonymous(this=function, expressions=[exp.Distinct(expressions=[node]) if call.is_distinct else node])


def _sum_kind(call: Call) -> DataType:
    kind = call.kinds[0]
    if kind.root == "DECIMAL":
        precision, scale = digits(kind)
        return decimal(MOST_DIGITS if call.is_flink else min(MOST_DIGITS, precision + 10), scale)
    if kinds.is_integer(kind):
        return kind if call.is_flink else BIGINT
    return kind if call.is_flink else DOUBLE


def _sum(call: Call) -> exp.Expr:
    total = _of(call, "sum")
    return total if call.kind == DOUBLE else cast_node(total, call.kind)


def _average_kind(call: Call) -> DataType:
    kind = call.kinds[0]
    if kind.root != "DECIMAL":
        return kind if call.is_flink else DOUBLE
    precision, scale = digits(kind)
    if call.is_flink:
        return decimal(MOST_DIGITS, max(LEAST_SCALE, scale))
    return decimal(min(MOST_DIGITS, precision + 4), min(MOST_DIGITS, scale + 4))


def _average(call: Call) -> exp.Expr:
    kind = call.kinds[0]
    if kind.root == "DECIMAL":
        total, count = _of(call, "sum"), filled("NULLIF(a, 0)", {"a": _of(_again(call), "count")})
        return quotient(total, count, (kind.scale or 0, 0), call.kind)
    if call.is_flink and kinds.is_integer(kind):
        total, count = _of(call, "sum"), filled("NULLIF(a, 0)", {"a": _of(_again(call), "count")})
        return cast_node(filled("a // b", {"a": total, "b": count}), call.kind)
    return cast_node(_of(call, "avg"), call.kind)


def _again(call: Call) -> Call:
    """The call with copies of its arguments, for another aggregate of the same."""
    copied = [Typed(each.node.copy(), each.kind, each.written, each.is_loose) for each in call.arguments]
    return Call(call.name, copied, call.is_flink, call.bound, call.kind, call.written, call.typing, call.is_distinct)


def _count(call: Call) -> exp.Expr:
    if len(call.nodes) == 1:
        inner = call.nodes[0]
        if isinstance(inner, exp.Star):
            return exp.Anonymous(this="count", expressions=[inner])
        return _of(call, "count")
    if call.is_distinct:
        whole = exp.Tuple(expressions=call.nodes)
        template = " AND ".join(f"{place} IS NOT NULL" for place in "abcdefgh"[: len(call.nodes)])
        guarded = filled(
            f"CASE WHEN {template} THEN w END",
            {**dict(zip("abcdefgh", (n.copy() for n in call.nodes), strict=False)), "w": whole},
        )
        return exp.Anonymous(this="count", expressions=[exp.Distinct(expressions=[guarded])])
    template = " AND ".join(f"{place} IS NOT NULL" for place in "abcdefgh"[: len(call.nodes)])
    return filled(f"count(CASE WHEN {template} THEN 1 END)", dict(zip("abcdefgh", call.nodes, strict=False)))


_FIRST = "first(a)"
_SEEN = "list(a) FILTER (WHERE a IS NOT NULL)"
_NONE = "COALESCE({0}, [])"
_SKEWNESS = (
    "CASE WHEN count(a) = 0 THEN NULL WHEN var_pop(a) = 0 THEN CAST('nan' AS DOUBLE) ELSE (avg(a * a * a)"
    " - 3 * avg(a) * avg(a * a) + 2 * avg(a) * avg(a) * avg(a)) / (sqrt(var_pop(a)) * var_pop(a)) END"
)
_STATISTICS = {
    "stddev stddev_samp std": "stddev_samp",
    "stddev_pop": "stddev_pop",
    "variance var_samp": "var_samp",
    "var_pop": "var_pop",
}


def _texts(call: Call) -> exp.Expr:
    """`listagg`: in Flink a comma stands between, in Spark nothing."""
    separator = call.nodes[1] if len(call.nodes) > 1 else exp.Literal.string("," if call.is_flink else "")
    node: exp.Expr = call.nodes[0]
    value = exp.Distinct(expressions=[node]) if call.is_distinct else node
    return exp.Anonymous(this="string_agg", expressions=[value, separator])


_DISCRETE = (
    "list_extract(list_sort(list(b) FILTER (WHERE b IS NOT NULL), '{0}'),"
    " CAST(greatest(1, ceil(a * count(b))) AS BIGINT))"
)
_MODE = "list_extract(map_keys({0}), list_position(map_values({0}), list_max(map_values({0}))))"
_LAST_MODE = (
    "list_extract(list_reverse(map_keys({0})), list_position(list_reverse(map_values({0})), list_max(map_values({0}))))"
)


def _least_mode(call: Call) -> exp.Expr:
    """`mode(x, true)`: the least of those that are there most often."""
    is_fixed = call.arguments[1].written.unnest()
    if not (isinstance(is_fixed, exp.Boolean) and is_fixed.this):
        raise refusals.unsupported(call.typing.source, call.written, "MODE(x, FALSE)", "Write MODE(x, TRUE).")
    return filled(_MODE.format("histogram(a)"), {"a": call.nodes[0]})


def _ordered_kind(call: Call) -> DataType | None:
    """Values with a map in them have no order."""
    kind = call.kinds[0]
    return kind if _has_order(kind) else None


def _has_order(kind: DataType) -> bool:
    if kind.root in ("MAP", "VARIANT"):
        return False
    return all(_has_order(part) for part in (kind.element, *(each.type for each in kind.fields)) if part is not None)


def _least(call: Call, function: str) -> exp.Expr:
    return exp.Anonymous(this=function, expressions=[call.nodes[0]])


def _first(call: Call, function: str) -> exp.Expr:
    """With TRUE as the second argument nulls are passed over."""
    ignores = call.arguments[1].written.unnest()
    if isinstance(ignores, exp.Boolean) and ignores.this:
        return seen(call, function)
    return filled(f"{function}(a)", {"a": call.nodes[0]})


def seen(call: Call, function: str) -> exp.Expr:
    """The first or last value that is not null."""
    if not call.is_over:
        return filled(f"{function}(a) FILTER (WHERE a IS NOT NULL)", {"a": call.nodes[0]})
    return exp.Anonymous(this=f"{function}_value", expressions=[exp.IgnoreNulls(this=call.nodes[0])])


def _spread(call: Call, function: str) -> exp.Expr:
    """Flink's are of the type of an average."""
    kind = call.kind
    node = exp.Anonymous(this=function, expressions=[cast_node(call.nodes[0], DOUBLE)])
    if kinds.is_integer(kind):
        return cast_node(filled("trunc(a)", {"a": node}), kind)
    return cast_node(node, kind)


def _counted(call: Call) -> exp.Expr:
    """How often each value is there."""
    counted = exp.Anonymous(this="histogram", expressions=[call.nodes[0]])
    return filled("map(map_keys(h), list_transform(map_values(h), lambda _c: CAST(_c AS INTEGER)))", {"h": counted})


ENTRIES: Sequence[Entry] = (
    aggregate("count", "ANY...", "BIGINT", _count),
    aggregate("sum", "NUMBER", _sum_kind, _sum),
    aggregate("avg mean", "NUMBER", _average_kind, _average),
    aggregate("min", "T", _ordered_kind, lambda call: _least(call, "min")),
    aggregate("max", "T", _ordered_kind, lambda call: _least(call, "max")),
    aggregate("count_if", "BOOLEAN", "BIGINT", "count(CASE WHEN a THEN 1 END)", SPARK),
    aggregate("bool_and every", "BOOLEAN", "BOOLEAN", "bool_and(a)", SPARK),
    aggregate("bool_or any some", "BOOLEAN", "BOOLEAN", "bool_or(a)", SPARK),
    aggregate("bit_and", "INTEGER", "1", "bit_and(a)", SPARK),
    aggregate("bit_or", "INTEGER", "1", "bit_or(a)", SPARK),
    aggregate("bit_xor", "INTEGER", "1", "bit_xor(a)", SPARK),
    aggregate("first first_value any_value", "T", "T", _FIRST, SPARK),
    aggregate("first first_value any_value", "T, BOOLEAN!", "T", lambda call: _first(call, "first"), SPARK),
    aggregate("last last_value", "T", "T", "last(a)", SPARK),
    aggregate("last last_value", "T, BOOLEAN!", "T", lambda call: _first(call, "last"), SPARK),
    *(
        aggregate(f"{name}.ignoring_nulls", "T", "T", lambda call, of=kind: seen(call, of))  # type: ignore[misc]
        for name, kind in (("first", "first"), ("first_value", "first"), ("any_value", "first"), ("last", "last"),
              ("last_value", "last"))
    ),
    aggregate("first_value", "T", "T", lambda call: seen(call, "first"), FLINK),
    aggregate("last_value", "T", "T", lambda call: seen(call, "last"), FLINK),
    aggregate("max_by", "T, U", "T", "arg_max_null(a, b)", SPARK),
    aggregate("min_by", "T, U", "T", "arg_min_null(a, b)", SPARK),
    aggregate("collect_list array_agg", "T", "ARRAY<T>", _NONE.format(_SEEN), SPARK),
    aggregate("collect_set", "T", "ARRAY<T>", lambda call: filled(
        "COALESCE(list(d) FILTER (WHERE a IS NOT NULL), [])",
        {"a": call.nodes[0], "d": exp.Distinct(expressions=[call.nodes[0].copy()])}), SPARK),
    aggregate("array_agg", "T", "ARRAY<T>", "list(a)", FLINK),
    aggregate("collect", "T", lambda call: map_of(call.kinds[0], kinds.INT), _counted, FLINK),
    *(aggregate(names, "DOUBLE", "DOUBLE", f"{function}(a)", SPARK) for names, function in _STATISTICS.items()),
    *(aggregate(names, "NUMBER", _average_kind, lambda call, f=function: _spread(call, f), FLINK)  # type: ignore[misc]
      for names, function in _STATISTICS.items()),
    aggregate("skewness", "DOUBLE", "DOUBLE", _SKEWNESS, SPARK),
    aggregate("kurtosis", "DOUBLE", "DOUBLE",
          "CASE WHEN count(a) = 0 THEN NULL WHEN var_pop(a) = 0 THEN CAST('nan' AS DOUBLE) ELSE kurtosis_pop(a) END",
          SPARK),
    *(aggregate(name, "DOUBLE, DOUBLE", "DOUBLE", f"{name}(a, b)", SPARK) for name in
      ("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope",
            "regr_sxx",
       "regr_sxy", "regr_syy")),
    aggregate("regr_count", "DOUBLE, DOUBLE", "BIGINT", "CAST(regr_count(a, b) AS BIGINT)", SPARK),
    aggregate("percentile", "DOUBLE, DOUBLE!", "DOUBLE", "CAST(quantile_cont(a, b) AS DOUBLE)", SPARK),
    aggregate("percentile", "DOUBLE, ARRAY<NUMBER>!", "ARRAY<DOUBLE>",
          lambda call: cast_node(filled("quantile_cont(a, b)", {"a": call.nodes[0], "b": cast_node(call.nodes[1],
                kinds.array(DOUBLE))}), call.kind), SPARK),
    *(aggregate(f"percentile_cont.within{order}", "DOUBLE!, DOUBLE", "DOUBLE",
                f"CAST(quantile_cont(b, {fraction}) AS DOUBLE)", SPARK)
      for order, fraction in (("", "a"), ("_descending", "1 - a"))),
    *(aggregate(f"percentile_disc.within{order}", "DOUBLE!, DOUBLE", "DOUBLE", _DISCRETE.format(sign), SPARK)
      for order, sign in (("", "ASC"), ("_descending", "DESC"))),
    aggregate("mode", "T, BOOLEAN!", "T", _least_mode, SPARK),
    aggregate("mode.within", "T", "T", _MODE.format("histogram(a)"), SPARK),
    aggregate("mode.within_descending", "T", "T", _LAST_MODE.format("histogram(a)"), SPARK),
    aggregate("try_sum", "NUMBER", _sum_kind, lambda call: tried(_sum(call)), SPARK),
    aggregate("try_avg", "NUMBER", _average_kind, lambda call: tried(_average(call)), SPARK),
    aggregate("median", "DOUBLE", "DOUBLE", "CAST(median(a) AS DOUBLE)", SPARK),
    aggregate("mode", "T", "T", "mode(a)", SPARK),
    aggregate("approx_count_distinct", "ANY", "BIGINT", "approx_count_distinct(a)"),
    aggregate("listagg string_agg", "STRING", "STRING", _texts),
    aggregate("listagg string_agg", "STRING, STRING!", "STRING", _texts),
    aggregate("grouping", "ANY", "TINYINT", "CAST(grouping(a) AS TINYINT)", SPARK),
    aggregate("grouping", "ANY", "BIGINT", "CAST(grouping(a) AS BIGINT)", FLINK),
    aggregate("grouping_id", "ANY...", "BIGINT", "CAST(grouping_id(rest) AS BIGINT)"),
)  # fmt: skip
