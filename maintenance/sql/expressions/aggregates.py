"""Aggregates. Source: Spark's `aggregate` package, Flink's `aggregate` functions.

In a template the aggregates of DuckDB get the condition and the window of the call; DISTINCT goes to the first
argument.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.conversions import KEPT, Wanted, cast_node, converted, tried
from maintenance.sql.expressions.decimals import around, quotient
from maintenance.sql.expressions.entries import BOTH, FLINK, SPARK, Call, Entry, Gives, Says, Typed, entry
from maintenance.sql.expressions.kinds import BIGINT, DOUBLE, LEAST_SCALE, MOST_DIGITS, decimal, digits, map_of
from maintenance.sql.expressions.ordering import is_nested, key
from maintenance.sql.expressions.templates import filled
from maintenance.sql.expressions.zeros import has_signs, is_constant, is_float, sign, unsigned
from maintenance.types.data_type import DataType


def aggregate(
    names: str,
    takes: str,
    gives: Gives,
    says: Says,
    of: tuple = BOTH,  # type: ignore[type-arg]
    samples: Sequence[str] = (),
) -> Entry:
    return entry(names, takes, gives, says, of, "aggregate", samples)


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
    if call.is_flink:
        return _signed(call, total_in_flink(total, call.kind))
    return total if call.kind == DOUBLE else cast_node(total, call.kind)


def _signed(call: Call, made: exp.Expr) -> exp.Expr:
    """A sum of floats in Flink, where that of -0.0 alone is -0.0, but 0.0 over a window."""
    if call.kind.root not in ("FLOAT", "DOUBLE") or call.is_over:
        return cast_node(made, call.kind)
    template = "CASE WHEN bool_and(a = 0 AND 1 / a < 0) THEN CAST('-0.0' AS DOUBLE) ELSE m END"
    return cast_node(filled(template, {"a": _again(call).nodes[0], "m": made}), call.kind)


def total_in_flink(total: exp.Expr, kind: DataType) -> exp.Expr:
    """A sum, which wraps around at the ends of an integer type."""
    return around(total, kind) if kinds.is_integer(kind) else cast_node(total, kind)


def _average_kind(call: Call) -> DataType:
    kind = call.kinds[0]
    if kind.root != "DECIMAL":
        return kind if call.is_flink else DOUBLE
    precision, scale = digits(kind)
    if call.is_flink:
        return decimal(MOST_DIGITS, max(LEAST_SCALE, scale))
    return decimal(min(MOST_DIGITS, precision + 4), min(MOST_DIGITS, scale + 4))


# Doubles that take each other's digits give another sum in another order, which Spark's partitions decide.
_OF_LARGE = (
    "CASE WHEN sum(abs(a)) > 9007199254740992 AND abs(sum(a)) < sum(abs(a)) / 10000"
    " THEN paimon_order_decides(count(a)) ELSE m END"
)


def _average(call: Call) -> exp.Expr:
    kind = call.kinds[0]
    if kind.root == "DECIMAL":
        total, count = _of(call, "sum"), filled("NULLIF(a, 0)", {"a": _of(_again(call), "count")})
        is_null = call.is_flink or call.name == "try_avg"
        return quotient(total, count, (kind.scale or 0, 0), call.kind, is_null=is_null)
    if call.is_flink and kinds.is_integer(kind):
        total, count = _of(call, "sum"), filled("NULLIF(a, 0)", {"a": _of(_again(call), "count")})
        return cast_node(filled("a // b", {"a": total, "b": count}), call.kind)
    if kind == BIGINT:
        # Spark adds doubles.
        call.arguments[0].node = cast_node(call.nodes[0], DOUBLE)
        if not call.is_over:
            return filled(_OF_LARGE, {"m": _of(call, "avg"), "a": _again(call).nodes[0]})
    made = cast_node(_of(call, "avg"), call.kind)
    return unsigned(made, call.kind) if call.is_flink else made


def _kept(call: Call) -> Call:
    """The call with arguments whose own errors stay errors."""
    for node in call.nodes:
        node.meta[KEPT] = True
    return call


def _again(call: Call) -> Call:
    """The call with copies of its arguments, for another aggregate of the same."""
    copied = [Typed(each.node.copy(), each.kind, each.written, each.is_loose) for each in call.arguments]
    return Call(call.name, copied, call.is_flink, call.bound, call.kind, call.written, call.typing, call.is_distinct)


def _beside(call: Call) -> Call:
    """The average of one side of pairs, of those whose other side is there."""
    value, other = reversed(call.arguments) if call.name == "regr_avgx" else call.arguments
    node = filled("CASE WHEN b IS NOT NULL THEN a END", {"a": value.node.copy(), "b": other.node.copy()})
    made = Call("avg", [Typed(node, value.kind, value.written)], is_flink=False, written=call.written)
    made.typing, made.is_over = call.typing, call.is_over
    made.kind = _average_kind(made)
    return made


def _count(call: Call) -> exp.Expr:
    if len(call.nodes) == 1:
        inner = call.nodes[0]
        if isinstance(inner, exp.Star) and call.is_distinct:
            fix = "Name the columns: count(DISTINCT a, b) counts the rows in which none of them is NULL."
            raise refusals.unsupported(call.typing.source, call.written, "COUNT(DISTINCT *)", fix)
        if isinstance(inner, exp.Star):
            return exp.Anonymous(this="count", expressions=[inner])
        if call.is_flink and call.is_distinct and has_signs(call.kinds[0]):
            told_apart = {"a": inner, "b": sign(inner, call.kinds[0])}
            made = filled("CASE WHEN a IS NOT NULL THEN row(a, b) END", told_apart)
            return exp.Anonymous(this="count", expressions=[exp.Distinct(expressions=[made])])
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


_SEEN = "list(a) FILTER (WHERE a IS NOT NULL)"
_NONE = "COALESCE({0}, [])"
# A single value that is no number has the variance 0 to DuckDB.
_NO_NUMBER = "NOT (isfinite(max(a)) AND isfinite(min(a)))"
_NAN = "CAST('nan' AS DOUBLE)"
# Third powers of the differences from the mean: those of the values themselves would lose its digits.
_SKEWNESS = (
    f"CASE WHEN {_NO_NUMBER} THEN {_NAN} WHEN var_pop(a) <> 0 THEN"
    " list_sum(list_extract(list_transform(list_value({'all': list(a), 'mean': avg(a)}), lambda _s:"
    " list_transform(struct_extract(_s, 'all'), lambda _x: (_x - struct_extract(_s, 'mean'))"
    " * (_x - struct_extract(_s, 'mean')) * (_x - struct_extract(_s, 'mean')))), 1))"
    " / count(a) / (sqrt(var_pop(a)) * var_pop(a)) END"
)
_STATISTICS = {
    "stddev stddev_samp std": "stddev_samp",
    "stddev_pop": "stddev_pop",
    "variance var_samp": "var_samp",
    "var_pop": "var_pop",
}
SPREADS = frozenset(" ".join(_STATISTICS).split())
"""The variances and deviations."""
_OF_POPULATION = f"CASE WHEN count(a) = 1 AND {_NO_NUMBER} THEN {_NAN} ELSE {{0}}(a) END"
# Of the pairs without a NULL: the squares of the differences from the mean, of one side and of the other.
_SXX = f"CASE WHEN regr_count(a, b) = 1 AND NOT isfinite(regr_avgx(a, b)) THEN {_NAN} ELSE regr_sxx(a, b) END"
_SYY = f"CASE WHEN regr_count(a, b) = 1 AND NOT isfinite(regr_avgy(a, b)) THEN {_NAN} ELSE regr_syy(a, b) END"
# An infinity takes the same from itself, which is no number, but where it stands in the last row of Spark's partition.
_DECIDED = (
    "CASE WHEN regr_count(a, b) > 1 AND (isinf(regr_avgx(a, b)) OR isinf(regr_avgy(a, b)))"
    " THEN paimon_infinite(regr_count(a, b)) ELSE {0}(a, b) END"
)
_OF_PAIRS = {
    "regr_sxx": _SXX,
    "regr_syy": _SYY,
    "corr": f"CASE WHEN regr_count(a, b) > 1 AND {_SXX} <> 0 AND {_SYY} <> 0 THEN corr(a, b) END",
    "regr_r2": f"CASE WHEN {_SXX} = 0 THEN NULL WHEN {_SYY} = 0 THEN 1.0 ELSE power(corr(a, b), 2) END",
    "regr_slope": f"CASE WHEN {_SXX} <> 0 THEN {_DECIDED.format('regr_slope')} END",
    "regr_intercept": f"CASE WHEN {_SXX} <> 0 THEN regr_avgy(a, b) - regr_slope(a, b) * regr_avgx(a, b) END",
    **{name: _DECIDED.format(name) for name in ("covar_pop", "covar_samp", "regr_sxy")},
}


def _texts(call: Call) -> exp.Expr:
    """`listagg`: in Flink a comma stands between, in Spark nothing."""
    separator = call.nodes[1] if len(call.nodes) > 1 else exp.Literal.string("," if call.is_flink else "")
    node: exp.Expr = call.nodes[0]
    value = exp.Distinct(expressions=[node]) if call.is_distinct else node
    return exp.Anonymous(this="string_agg", expressions=[value, separator])


def _ordered_texts(call: Call) -> exp.Expr:
    """`listagg` WITHIN GROUP, by what stands last."""
    around = call.written.find_ancestor(exp.WithinGroup)
    assert around is not None
    order = around.expression.expressions
    first, *separators = call.nodes[: -len(order)]
    value = exp.Distinct(expressions=[first]) if call.is_distinct else first
    if len(separators) > 1 or any(not is_constant(each.written) for each in call.arguments[1 : -len(order)]):
        raise refusals.no_such_types(call.typing.source, call.written, call.name.partition(".")[0], call.kinds)
    by = [
        exp.Ordered(this=key(each.node, each.kind), desc=own.args.get("desc"), nulls_first=own.args.get("nulls_first"))
        for each, own in zip(call.arguments[-len(order) :], order, strict=True)
        if not is_constant(each.written)
    ]
    separator = separators[0] if separators else exp.Literal.string("")
    ordered = exp.Order(this=separator, expressions=by) if by else separator
    return exp.Anonymous(this="string_agg", expressions=[value, ordered])


_DISCRETE = (
    "list_extract(list_sort(list(b) FILTER (WHERE b IS NOT NULL), '{0}'),"
    " CAST(greatest(1, ceil(a * count(b))) AS BIGINT))"
)
_MODE = "list_extract(map_keys({0}), list_position(map_values({0}), list_max(map_values({0}))))"
_ONE_MODE = (
    "CASE WHEN len(list_filter(map_values(h), lambda _n: _n = list_max(map_values(h)))) > 1"
    " THEN paimon_tied(count(a)) ELSE mode(a) END"
).replace("h)", "histogram(a))")
"""Of several that are equally often there Spark takes any one."""
_LAST_MODE = (
    "list_extract(list_reverse(map_keys({0})), list_position(list_reverse(map_values({0})), list_max(map_values({0}))))"
)


def _least_mode(call: Call) -> exp.Expr:
    """`mode(x, true)`: the least of those that are there most often."""
    is_fixed = call.arguments[1].written.unnest()
    if not (isinstance(is_fixed, exp.Boolean) and is_fixed.this):
        raise refusals.unsupported(call.typing.source, call.written, "MODE(x, FALSE)", "Write MODE(x, TRUE).")
    return _mode(call, _MODE.format("histogram(a)"))


def _mode_kind(call: Call) -> DataType | None:
    """Of arrays and rows the least is another one to DuckDB, and zeros of both signs are one."""
    kind = call.kinds[0]
    is_plain = len(call.kinds) == 1 and call.name == "mode"
    return None if is_nested(kind) and (has_signs(kind) or not is_plain) else kind


def _mode(call: Call, template: str) -> exp.Expr:
    """Zeros are counted together in Spark, and have no sign."""
    return filled(template, {"a": unsigned(call.nodes[0], call.kinds[0])})


def _ordered_kind(call: Call) -> DataType | None:
    """Values with a map in them have no order."""
    kind = call.kinds[0]
    if call.is_flink and not (kinds.is_atomic(kind) and not kind.is_bytes):
        return None
    return kind if kinds.has_order(kind) else None


def _set_kind(call: Call) -> DataType | None:
    """Maps are not the same as others."""
    return kinds.array(call.kinds[0]) if kinds.has_order(call.kinds[0]) else None


def _set(call: Call) -> exp.Expr:
    value = unsigned(call.nodes[0], call.kinds[0])
    distinct = exp.Distinct(expressions=[value])
    return filled(_NONE.format("list(d) FILTER (WHERE a IS NOT NULL)"), {"a": value.copy(), "d": distinct})


def _least(call: Call, function: str) -> exp.Expr:
    if is_nested(call.kind) and _loses_signs(call.kind) and not call.is_distinct:
        return _extreme(call.nodes[0], key(call.nodes[0].copy(), call.kind), _ORDERS[function])
    if is_nested(call.kind):
        return filled(f"arg_{function}(a, k)", {"a": call.nodes[0], "k": key(call.nodes[0].copy(), call.kind)})
    made = exp.Anonymous(this=function, expressions=[call.nodes[0]])
    return _first_zero(call, made) if call.is_flink and is_float(call.kind) else made


def _first_zero(call: Call, made: exp.Expr) -> exp.Expr:
    """The least or greatest float in Flink: of zeros of both signs it is the one that comes first, and nothing is less
    or greater than a NaN that is the first of all.
    """
    zero = Typed(filled("CASE WHEN a = 0 THEN a END", {"a": call.nodes[0].copy()}), call.kind, exp.Null())
    found = seen(replace(call, arguments=[zero]), "first")
    first = seen(replace(call, arguments=[Typed(cast_node(call.nodes[0].copy(), DOUBLE), DOUBLE, exp.Null())]), "first")
    parts = {"f": first, "m": made, "z": found}
    return cast_node(filled("CASE WHEN isnan(f) THEN f WHEN m = 0 THEN z ELSE m END", parts), call.kind)


def _first(call: Call, function: str) -> exp.Expr:
    """With TRUE as the second argument nulls are passed over."""
    ignores = call.arguments[1].written.unnest()
    if not isinstance(ignores, exp.Boolean):
        what = f"{call.name.upper()} with a computed second argument"
        raise refusals.unsupported(call.typing.source, call.written, what, "Write TRUE or FALSE.")
    if ignores.this:
        return seen(call, function)
    return _one_of(call, function)


def _one_of(call: Call, function: str) -> exp.Expr:
    """The first or last value."""
    if call.is_over or not _loses_signs(call.kinds[0]):
        return filled(f"{function}(a)", {"a": call.nodes[0]})
    return filled(f"list_extract(list(a), {1 if function == 'first' else -1})", {"a": call.nodes[0]})


def _loses_signs(kind: DataType) -> bool:
    """Whether DuckDB's aggregates give values without the signs of the zeros inside of them; LIST alone keeps them."""
    parts = (kind.key, kind.value, kind.element, *(part.type for part in kind.fields))
    return any(part.root in ("FLOAT", "DOUBLE") or _loses_signs(part) for part in parts if part is not None)


def _extreme(value: exp.Expr, by: exp.Expr, order: str) -> exp.Expr:
    """The value of the row that has the most or the least, which keeps its signs."""
    template = f"list_extract(list(a ORDER BY k {order}) FILTER (WHERE b IS NOT NULL), 1)"
    return filled(template, {"a": value, "k": by, "b": by.copy()})


_ORDERS = {"min": "ASC", "max": "DESC"}


def seen(call: Call, function: str) -> exp.Expr:
    """The first or last value that is not null."""
    if not call.is_over:
        gathered = f"{function}(a) FILTER (WHERE a IS NOT NULL)"
        if _loses_signs(call.kinds[0]):
            gathered = f"list_extract(list(a) FILTER (WHERE a IS NOT NULL), {1 if function == 'first' else -1})"
        return filled(gathered, {"a": call.nodes[0]})
    return exp.Anonymous(this=f"{function}_value", expressions=[exp.IgnoreNulls(this=call.nodes[0])])


def _spread(call: Call, function: str) -> exp.Expr:
    """Variances and deviations as Flink reckons them, in the type of the values: of sums, of squares and of both."""
    value = call.arguments[0]

    def again() -> Typed:
        return Typed(value.node.copy(), value.kind, exp.Null())

    def reckoned(name: str, one: Typed, other: Typed) -> Typed:
        made: Typed = call.typing.called(name, [one, other], call.written, None)
        return made

    def total(each: Typed) -> Typed:
        node = exp.Anonymous(this="sum", expressions=[
            exp.Distinct(expressions=[each.node]) if call.is_distinct else each.node])  # fmt: skip
        own = Call("sum", [each], is_flink=True)
        return Typed(total_in_flink(node, _sum_kind(own)), _sum_kind(own), exp.Null())

    def count(template: str = "count(a)") -> Typed:
        counted = _of(_again(call), "count")
        return Typed(cast_node(filled(template.replace("count(a)", "c"), {"c": counted}), BIGINT), BIGINT, exp.Null())

    square = reckoned("*", again(), again())
    squares = total(Typed(cast_node(square.node, square.kind), square.kind, exp.Null()))
    both = reckoned("/", reckoned("*", total(again()), total(again())), count("NULLIF(count(a), 0)"))
    less = "NULLIF(count(a), 0)" if function.endswith("pop") else "NULLIF(count(a) - 1, 0)"
    made = reckoned("/", reckoned("-", squares, both), count(less))
    if function.startswith("stddev"):
        root = filled("pow(a, 0.5)", {"a": cast_node(made.node, DOUBLE)})
        made = Typed(root, DOUBLE, exp.Null())
    node = converted(made, Wanted(call.kind, is_flink=True))
    assert node is not None
    select = call.written.find_ancestor(exp.Select)
    is_grouped = select is not None and select.args.get("group") is not None
    if function.endswith("samp") and value.is_never_null and (is_grouped or call.is_over):
        return refusals.unless_null(node, f"{call.name.upper()} of one value that is never NULL")
    return node


def _by(call: Call, name: str) -> exp.Expr:
    """The value of the row that has the most or the least: of several such ones the last one."""
    by = key(call.nodes[1], call.kinds[1])
    order = "ASC" if name == "max" else "DESC"
    # DuckDB makes ARG_MAX, which takes the first one, of LAST with an order, and LIST alone keeps the signs of zeros.
    last = f"list_extract(list(a ORDER BY k {order} NULLS FIRST), -1)"
    return filled(f"CASE WHEN count(b) > 0 THEN {last} END", {"a": call.nodes[0], "k": by, "b": by.copy()})


def _greatest(call: Call) -> exp.Expr:
    """In Flink nothing is greater than NaN, or less."""
    if not (call.is_flink and call.kind.root in ("FLOAT", "DOUBLE")):
        return _least(call, "max")
    made = filled("COALESCE(max(a) FILTER (WHERE NOT isnan(a)), max(a))", {"a": call.nodes[0]})
    return _first_zero(call, made)


def _seen_kind(call: Call) -> DataType | None:
    """Of FIRST_VALUE and LAST_VALUE in Flink."""
    kind = call.kinds[0]
    known = kind.is_string or kinds.is_number(kind) or kind.root == "BOOLEAN"
    return kind if known and call.arguments[0].char_length is None else None


def _counted(call: Call) -> exp.Expr:
    """How often each value is there; an empty map if there is none."""
    counted = exp.Anonymous(this="histogram", expressions=[call.nodes[0]])
    template = (
        "CASE WHEN count(a) = 0 THEN map([], []) ELSE"
        " map(map_keys(h), list_transform(map_values(h), lambda _c: CAST(_c AS INTEGER))) END"
    )
    made = cast_node(filled(template, {"h": counted, "a": call.nodes[0].copy()}), call.kind)
    if not has_signs(call.kinds[0]):
        return made
    both = "bool_or(a = 0 AND 1 / a < 0) AND bool_or(a = 0 AND 1 / a > 0)"
    wrong = "error('COLLECT of zeros of both signs is not supported: run it in Flink')"
    return filled(f"CASE WHEN {both} THEN {wrong} ELSE m END", {"a": call.nodes[0].copy(), "m": made})


ENTRIES: Sequence[Entry] = (
    aggregate("count", "ANY...", "BIGINT", _count, SPARK),
    aggregate("count", "ANY", "BIGINT", _count, FLINK),
    aggregate("sum", "NUMBER", _sum_kind, _sum),
    aggregate("avg", "NUMBER", _average_kind, _average),
    aggregate("mean", "NUMBER", _average_kind, _average, SPARK),
    aggregate("min", "T", _ordered_kind, lambda call: _least(call, "min")),
    aggregate("max", "T", _ordered_kind, _greatest),
    aggregate("count_if", "BOOLEAN", "BIGINT", "count(CASE WHEN a THEN 1 END)", SPARK),
    aggregate("bool_and every", "BOOLEAN", "BOOLEAN", "bool_and(a)", SPARK),
    aggregate("bool_or any some", "BOOLEAN", "BOOLEAN", "bool_or(a)", SPARK),
    aggregate("bit_and", "INTEGER", "1", "bit_and(a)", SPARK),
    aggregate("bit_or", "INTEGER", "1", "bit_or(a)", SPARK),
    aggregate("bit_xor", "INTEGER", "1", "bit_xor(a)", SPARK),
    aggregate("first first_value any_value", "T", "T", lambda call: _one_of(call, "first"), SPARK),
    aggregate("first first_value any_value", "T, BOOLEAN=!", "T", lambda call: _first(call, "first"), SPARK),
    aggregate("last last_value", "T", "T", lambda call: _one_of(call, "last"), SPARK),
    aggregate("last last_value", "T, BOOLEAN=!", "T", lambda call: _first(call, "last"), SPARK),
    *(
        aggregate(f"{name}.ignoring_nulls", "T", "T", lambda call, of=kind: seen(call, of), SPARK)  # type: ignore[misc]
        for name, kind in (("first", "first"), ("first_value", "first"), ("any_value", "first"), ("last", "last"),
              ("last_value", "last"))
    ),
    aggregate("first_value", "T", _seen_kind, lambda call: seen(call, "first"), FLINK),
    aggregate("last_value", "T", _seen_kind, lambda call: seen(call, "last"), FLINK),
    *(aggregate(f"{name}_by", "T, U", "T", lambda call, of=name: _by(call, of), SPARK) for name in ("max", "min")),  # type: ignore[misc]
    aggregate("collect_list array_agg", "T", "ARRAY<T>", _NONE.format(_SEEN), SPARK),
    aggregate("collect_set", "T", _set_kind, _set, SPARK),
    aggregate("array_agg", "T", "ARRAY<T>", "list(a)", FLINK),
    aggregate("collect", "T", lambda call: map_of(call.kinds[0], kinds.INT), _counted, FLINK),
    *(aggregate(names, "DOUBLE", "DOUBLE",
                _OF_POPULATION.format(function) if function.endswith("pop") else f"{function}(a)", SPARK)
      for names, function in _STATISTICS.items()),
    *(aggregate(names.removesuffix(" std"), "NUMBER", _average_kind, lambda call, f=function: _spread(call, f), FLINK)  # type: ignore[misc]
      for names, function in _STATISTICS.items()),
    aggregate("skewness", "DOUBLE", "DOUBLE", _SKEWNESS, SPARK),
    aggregate("kurtosis", "DOUBLE", "DOUBLE",
          f"CASE WHEN {_NO_NUMBER} THEN {_NAN} WHEN var_pop(a) <> 0 THEN"
          " kurtosis_pop(CASE WHEN isfinite(a) THEN a END) END",
          SPARK),
    *(aggregate(name, "DOUBLE, DOUBLE", "DOUBLE", template, SPARK) for name, template in _OF_PAIRS.items()),
    aggregate("regr_avgx", "NUMBER, NUMBER", lambda call: _average_kind(_beside(call)),
              lambda call: _average(_beside(call)), SPARK),
    aggregate("regr_avgy", "NUMBER, NUMBER", lambda call: _average_kind(_beside(call)),
              lambda call: _average(_beside(call)), SPARK),
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
    aggregate("mode", "T, BOOLEAN!", _mode_kind, _least_mode, SPARK),
    aggregate("mode.within", "T", _mode_kind, lambda call: _mode(call, _MODE.format("histogram(a)")), SPARK),
    aggregate("mode.within_descending", "T", _mode_kind,
              lambda call: _mode(call, _LAST_MODE.format("histogram(a)")), SPARK),
    aggregate("try_sum", "NUMBER", _sum_kind, lambda call: tried(_sum(_kept(call))), SPARK),
    aggregate("try_avg", "NUMBER", _average_kind, lambda call: tried(_average(_kept(call))), SPARK),
    aggregate("median", "DOUBLE", "DOUBLE", "CAST(median(a) AS DOUBLE)", SPARK),
    aggregate("mode", "T", _mode_kind, lambda call: _mode(call, _ONE_MODE), SPARK, samples=("b",)),
    aggregate("approx_count_distinct", "ANY", "BIGINT", "approx_count_distinct(a)"),
    aggregate("listagg", "STRING", "STRING", _texts),
    aggregate("listagg", "STRING, STRING!", "STRING", _texts),
    aggregate("string_agg", "STRING", "STRING", _texts, SPARK),
    aggregate("string_agg", "STRING, STRING!", "STRING", _texts, SPARK),
    aggregate("listagg.within string_agg.within listagg.within_descending string_agg.within_descending",
              "STRING, ANY...", "STRING", _ordered_texts, SPARK),
    aggregate("grouping", "ANY", "TINYINT", "CAST(grouping(a) AS TINYINT)", SPARK),
    aggregate("grouping", "ANY", "BIGINT", "CAST(grouping(a) AS BIGINT)", FLINK),
    aggregate("grouping_id", "ANY...", "BIGINT", "CAST(grouping_id(rest) AS BIGINT)"),
)  # fmt: skip
