"""Expressions that are no calls: literals, casts, CASE, IN, LIKE, OVER and others with a syntax of their own."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from maintenance.sql.dialects import DIGITS, UNSIGNED
from maintenance.sql.expressions import kinds, logic, refusals
from maintenance.sql.expressions.aggregates import SPREADS
from maintenance.sql.expressions.comparisons import alike, compared_kind, may_fail, where_known
from maintenance.sql.expressions.conversions import Wanted, cast_node, converted
from maintenance.sql.expressions.declared import as_first, common_char, of_one_length
from maintenance.sql.expressions.duck_aggregates import gathers
from maintenance.sql.expressions.encodings import escaping
from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.json_functions import json_value
from maintenance.sql.expressions.kinds import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, decimal
from maintenance.sql.expressions.named_types import named_type
from maintenance.sql.expressions.ordering import key
from maintenance.sql.expressions.scopes import Scope
from maintenance.sql.expressions.stamps import is_wide
from maintenance.sql.expressions.templates import apart, filled
from maintenance.sql.expressions.typing import Typing, settled
from maintenance.sql.expressions.zeros import is_constant
from maintenance.types.data_type import DataType

_INT_LIMIT, _BIGINT_LIMIT = 1 << 31, 1 << 63


def _literal(typing: Typing, node: exp.Literal, scope: Scope) -> Typed:
    if node.is_string:
        return Typed(node, STRING, node, declared=DataType("CHAR", nullable=False, length=len(node.name)))
    text = str(node.this)
    if text.isdecimal():
        number = int(text)
        if number < _INT_LIMIT:
            return Typed(node, INT, node)
        if number < _BIGINT_LIMIT:
            return Typed(node, BIGINT, node)
        return Typed(cast_node(exp.Literal.string(text), decimal(len(text), 0)), decimal(len(text), 0), node)
    if "e" in text.lower():
        return Typed(cast_node(exp.Literal.string(text), DOUBLE), DOUBLE, node)
    whole, _point, fraction = text.partition(".")
    if typing.is_flink and not fraction:
        return _literal(typing, exp.Literal(this=whole, is_string=False), scope)
    if typing.is_flink and whole == "0" and "start" not in node.meta:
        whole = ""  # sqlglot puts it in front of a point, and then knows no place
    digits = len(whole if typing.is_flink else whole.lstrip("0")) + len(fraction)
    kind = decimal(max(1, digits, len(fraction)), len(fraction))
    made = cast_node(node, kind) if fraction == "" or not whole else node
    return Typed(made, kind, node, is_loose=digits < len(whole) + len(fraction))


def _raw(typing: Typing, node: exp.RawString, scope: Scope) -> Typed:
    """A text in which a backslash is itself."""
    plain = exp.Literal.string(node.name)
    plain.meta.update(node.meta)
    return _literal(typing, plain, scope)


def _boolean(_: Typing, node: exp.Boolean, __: Scope) -> Typed:
    return Typed(node, BOOLEAN, node)


def _null(_: Typing, node: exp.Null, __: Scope) -> Typed:
    return Typed(node, NULL, node)


def _bytes(_: Typing, node: exp.HexString, __: Scope) -> Typed:
    declared = DataType("BINARY", nullable=False, length=len(node.name) // 2)
    return Typed(filled("unhex(a)", {"a": exp.Literal.string(node.name)}), kinds.BINARY, node, declared=declared)


def _paren(typing: Typing, node: exp.Paren, scope: Scope) -> Typed:
    inner = typing.of(node.this, scope)
    # What stands around it puts it into brackets where these are needed.
    return Typed(inner.node, inner.kind, inner.written, inner.is_loose, inner.declared)


def _alias(typing: Typing, node: exp.Alias, scope: Scope) -> Typed:
    raise refusals.unsupported(typing.source, node, "a name inside a call", "Leave it out.")


def _cast(typing: Typing, node: exp.Cast, scope: Scope) -> Typed:
    target = named_type(node.to, typing.source, is_flink=typing.is_flink)
    is_literal = DIGITS in node.to.meta and is_wide(target.kind)
    if is_literal and not typing.is_flink and scope.sources and not scope.has(is_wide):
        # Digits behind microseconds count beside a column that has such ones.
        target = replace(target, kind=DataType(target.kind.root, precision=kinds.LTZ.precision))
    value = typing.of(node.this, scope)
    if typing.is_flink and DIGITS in node.to.meta and target.kind.root != "TIMESTAMP_LTZ":
        _check_literal(typing, node)
    is_try = isinstance(node, exp.TryCast)
    made = converted(value, Wanted(target.kind, typing.is_flink, is_try=is_try, is_written=True))
    if made is None:
        shown = f"a cast of {kinds.shown(value.kind)} to {kinds.shown(target.kind)}"
        raise refusals.unsupported(typing.source, node, shown)
    if target.kind.root == "TIME" and not node.to.expressions and DIGITS not in node.to.meta and value.is_never_null:
        # Flink reckons with milliseconds, which what is known when it plans loses.
        made = filled("CAST(left(CAST(a AS VARCHAR), 8) AS TIME)", {"a": made})
    declared = target.declared.as_nullable(is_try or not value.is_never_null)
    made = typing.without_sign(made, target.kind, node) if typing.is_flink else made
    return Typed(target.cut(made), target.kind, node, declared=declared)


def _check_literal(typing: Typing, node: exp.Cast) -> None:
    """Raises: SqlError: Flink knows no such time."""
    text = re.sub(r"\.\d*$", "", node.this.name)
    try:
        dt.datetime.strptime(text, "%H:%M:%S" if node.to.is_type(exp.DType.TIME) else "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise refusals.error_at(typing.source, node, f"there is no time {node.this.name}", "Write another.") from None


def _case(typing: Typing, node: exp.Case, scope: Scope) -> Typed:
    subject, branches = node.this, node.args["ifs"]
    default = node.args.get("default")
    results = [typing.of(branch.args["true"], scope) for branch in branches]
    if default is not None:
        results.append(typing.of(default, scope))
    if subject is None:
        conditions = [_condition(typing, branch.this, scope) for branch in branches]
    else:
        conditions = [typing.call("=", [subject.copy(), branch.this], branch.this, scope).node for branch in branches]
    kind, nodes = typing.common(results, node)
    if typing.is_flink and kind == NULL:
        raise refusals.error_at(typing.source, node, "a CASE of NULLs has no type", "Write CAST(NULL AS INT).")
    ifs = [exp.If(this=condition, true=result) for condition, result in zip(conditions, nodes, strict=False)]
    last = nodes[-1] if default is not None else None
    declared = common_char([each for each in results if each.kind != NULL])
    if declared is not None and (default is None or any(each.kind == NULL for each in results)):
        declared = declared.as_nullable()
    return Typed(exp.Case(ifs=ifs, default=last), kind, node, declared=declared)


def _condition(typing: Typing, node: exp.Expr, scope: Scope) -> exp.Expr:
    """What stands behind WHEN, which Spark gives no type if it has none."""
    if not typing.is_flink and isinstance(node.unnest(), exp.Null):
        raise refusals.error_at(typing.source, node, "a NULL behind WHEN is no BOOLEAN", "Write FALSE.")
    return typing.truth(node, scope)


def _if(typing: Typing, node: exp.If, scope: Scope) -> Typed:
    default = node.args.get("false") or exp.Null()
    return typing.call("if", [node.this, node.args["true"], default], node, scope)


def _between(typing: Typing, node: exp.Between, scope: Scope) -> Typed:
    """Each bound is compared by itself, in the type that the value and this bound have in common."""
    if node.args.get("symmetric"):
        return _between_any(typing, node, scope)
    lower, upper = (
        typing.call(name, [node.this.copy(), node.args[side]], node, scope).node
        for name, side in ((">=", "low"), ("<=", "high"))
    )
    return Typed(logic.joined(exp.And, [lower, upper]), BOOLEAN, node)


def _between_any(typing: Typing, node: exp.Between, scope: Scope) -> Typed:
    values = [typing.of(part, scope) for part in (node.this, node.args["low"], node.args["high"])]
    kind = compared_kind([value.kind for value in values], is_flink=typing.is_flink)
    if kind is None or is_wide(kind):
        raise refusals.no_such_types(typing.source, node, "between", [value.kind for value in values])
    value, low, high = alike(values, kind, is_flink=typing.is_flink)
    made: exp.Expr = exp.Between(this=apart(value), low=apart(low), high=apart(high), symmetric=True)
    return Typed(made if typing.is_flink else where_known(values, kind, made), BOOLEAN, node)


def _in(typing: Typing, node: exp.In, scope: Scope) -> Typed:
    query = node.args.get("query")
    if query is not None:
        return _in_query(typing, node, query, scope)
    values = [typing.of(part, scope) for part in (node.this, *node.expressions)]
    if typing.is_flink and _is_number_in_numbers(values):
        return Typed(_in_numbers(typing, node, values), BOOLEAN, node)
    kind = compared_kind([value.kind for value in values], is_flink=typing.is_flink)
    if kind is None:
        raise refusals.no_such_types(typing.source, node, "in", [value.kind for value in values])
    compared = as_first(values) if typing.is_flink else of_one_length(values)
    value, *listed = alike(compared, kind, is_flink=typing.is_flink)
    made: exp.Expr = exp.In(this=apart(value), expressions=listed)
    fails = [may_fail(each, kind) or logic.can_fail(node) for each, node in zip(values[2:], listed[1:], strict=True)]
    if not typing.is_flink and any(fails):
        # Spark reads no further than to the first that is equal.
        first = exp.In(this=apart(value.copy()), expressions=[each.copy() for each in listed[: fails.index(True) + 1]])
        made = filled("CASE WHEN a THEN TRUE ELSE b END", {"a": first, "b": made})
    if not typing.is_flink and (any(fails) or logic.can_fail(listed[0])):
        made = filled("CASE WHEN a IS NOT NULL THEN b END", {"a": value.copy(), "b": made})
    return Typed(made if typing.is_flink else where_known(values, kind, made), BOOLEAN, node)


def _is_number_in_numbers(values: Sequence[Typed]) -> bool:
    first, *others = (value.kind for value in values)
    return (kinds.is_number(first) or first == STRING) and any(map(kinds.is_number, others)) and all(
        kinds.is_number(kind) or kind in (STRING, NULL) for kind in others)  # fmt: skip


def _in_numbers(typing: Typing, node: exp.In, values: Sequence[Typed]) -> exp.Expr:
    """IN of numbers in Flink: what is listed takes the type of the first value, as a cast makes it."""
    first, *others = (settled(value) for value in values)
    is_float = first.kind.root in ("FLOAT", "DOUBLE")
    written = [each.written.unnest() for each in others]
    zeros = any(isinstance(each, exp.Literal) and not each.is_string and not float(each.name) for each in written)
    is_of_texts = first.kind != STRING and any(each.kind == STRING for each in others)
    if is_of_texts or (is_float and zeros):
        # A zero in a list has a sign, if the list has only numbers as written.
        raise refusals.no_such_types(typing.source, node, "in", [value.kind for value in values])
    # Decimals are compared with all their digits.
    listed = [
        each.node if each.kind.root == first.kind.root == "DECIMAL" else typing.in_type(each, first.kind)
        for each in others
    ]
    made: exp.Expr = exp.In(this=apart(first.node), expressions=listed)
    if not is_float or first.node in listed:
        return made
    return filled("(m) > isnan(a)", {"m": made, "a": first.node.copy()})


def _in_query(typing: Typing, node: exp.In, query: exp.Expr, scope: Scope) -> Typed:
    columns = typing.query(query, scope)
    row = node.this.unnest()
    is_row = isinstance(row, exp.Tuple) and len(columns) > 1
    values = [typing.value(part, scope) for part in (row.expressions if is_row else [node.this])]
    if is_row and typing.is_flink:
        several = exp.In(this=exp.Tuple(expressions=[value.node for value in values]), query=query)
        return Typed(several, BOOLEAN, node)
    if len(columns) != len(values):
        wanted = "one is" if len(values) == 1 else f"{len(values)} are"
        problem = f"a subquery gives {len(columns)} columns where {wanted} needed"
        raise refusals.error_at(typing.source, node, problem, f"Select {'one' if len(values) == 1 else len(values)}.")
    names = [f"paimon_in_{number}" for number in range(len(values))]
    given, cast, is_floating = list[exp.Expr](), list[exp.Expr](), False
    for value, name, (_, inner) in zip(values, names, columns, strict=True):
        kind = compared_kind([value.kind, inner], is_flink=typing.is_flink)
        if kind is None:
            raise refusals.no_such_types(typing.source, node, "in", [value.kind, inner])
        both = alike([value, Typed(exp.column(name), inner, node)], kind, is_flink=typing.is_flink)
        given.append(both[0])
        cast.append(both[1])
        is_floating = kind.root in ("FLOAT", "DOUBLE")
    if not all(isinstance(each, exp.Column) for each in cast):
        alias = exp.TableAlias(this=exp.to_identifier("paimon_in_rows"), columns=list(map(exp.to_identifier, names)))
        rows = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query)
        rows.set("alias", alias)
        query = exp.Subquery(this=exp.select(*cast).from_(rows))
    found: exp.Expr = exp.In(this=exp.Tuple(expressions=given) if is_row else apart(given[0]), query=query)
    if typing.is_flink and is_floating:
        # No NaN is equal to another.
        found = filled("(m) > isnan(a)", {"m": found, "a": given[0].copy()})
    return Typed(found if typing.is_flink else _found_or_not(node, found), BOOLEAN, node)


_CONDITIONS = (exp.Where, exp.Having, exp.Qualify, exp.Join, exp.If)


def _found_or_not(node: exp.In, found: exp.Expr) -> exp.Expr:
    """IN of a query, which Spark makes a join: as a value it is never NULL. Source: `RewritePredicateSubquery`."""
    is_negated = False
    child: exp.Expr = node
    around = node.parent
    while isinstance(around, exp.And | exp.Or | exp.Not | exp.Paren):
        is_negated ^= isinstance(around, exp.Not)
        child, around = around, around.parent
    is_condition = isinstance(around, _CONDITIONS) and child.arg_key in ("this", "on")
    if is_condition or isinstance(node.this.unnest(), exp.Null):
        return found
    if is_constant(node.this) and not isinstance(node.this.unnest(), exp.Tuple):
        # Spark knows before whether it is NULL.
        known = exp.Coalesce(this=found, expressions=[exp.Boolean(this=is_negated)])
        return filled("CASE WHEN a IS NOT NULL THEN b END", {"a": found.this.copy(), "b": known})
    return exp.Coalesce(this=found, expressions=[exp.Boolean(this=is_negated)])


def _is(typing: Typing, node: exp.Is, scope: Scope) -> Typed:
    what = node.expression
    is_not = isinstance(what, exp.Not)
    what = what.this if is_not else what
    name = "null" if isinstance(what, exp.Null) else str(what.this).lower() if isinstance(what, exp.Boolean) else ""
    if not name:
        raise refusals.unsupported(typing.source, node, f"IS {what.sql().upper()}")
    return typing.call(f"is_{'not_' if is_not else ''}{name}", [node.this], node, scope)


def _like(typing: Typing, node: exp.Expr, scope: Scope) -> Typed:
    return _matched(typing, node, scope, None)


def _escape(typing: Typing, node: exp.Escape, scope: Scope) -> Typed:
    return _matched(typing, node.this, scope, node.expression.name)


def _matched(typing: Typing, node: exp.Expr, scope: Scope, escape: str | None) -> Typed:
    """LIKE and ILIKE. In Spark a backslash makes a sign one of itself."""
    if isinstance(node.expression, exp.Any | exp.All | exp.Tuple):
        return _like_several(typing, node, scope, escape)
    value, pattern = (typing.of(part, scope) for part in (node.this, node.expression))
    if typing.is_flink and any(side.kind != STRING for side in (value, pattern)):
        raise refusals.no_such_types(typing.source, node, "LIKE", [value.kind, pattern.kind], is_operator=True)
    sides = [_signs(typing, side) for side in (value, pattern)]
    made: exp.Expr = type(node)(this=apart(sides[0]), expression=apart(sides[1]))
    text = pattern.text
    sign = escape or (None if typing.is_flink else "\\")
    if sign is not None and (text is None or sign in text):
        if not typing.is_flink:
            made.set("expression", escaping(typing, pattern, apart(sides[1]), sign))
        made = exp.Escape(this=made, expression=exp.Literal.string(sign))
    return Typed(exp.Not(this=made) if node.args.get("negate") else made, BOOLEAN, node)


def _signs(typing: Typing, side: Typed) -> exp.Expr:
    """A side of LIKE as a text. Of bytes that are no UTF-8 each is a sign of its own, as Java reads them."""
    if side.kind.is_bytes and not typing.is_flink:
        return filled("paimon_signs(a)", {"a": side.node})
    return typing.in_type(side, STRING)


def _like_several(typing: Typing, node: exp.Expr, scope: Scope, escape: str | None) -> Typed:
    if typing.is_flink:
        raise refusals.error_at(typing.source, node, "Flink has no LIKE of several patterns", "Combine them with OR.")
    listed = node.expression
    patterns = listed if isinstance(listed, exp.Tuple) else listed.this.unnest()
    parts = patterns.expressions if isinstance(patterns, exp.Tuple) else [patterns]
    negate = node.args.get("negate")
    single = [type(node)(this=node.this.copy(), expression=part, negate=negate) for part in parts]
    each = [_matched(typing, like, scope, escape).node for like in single]
    joined = exp.and_(*each) if isinstance(listed, exp.All) else exp.or_(*each)
    return Typed(joined, BOOLEAN, node)


def _similar(typing: Typing, node: exp.SimilarTo, scope: Scope) -> Typed:
    """SIMILAR TO with a pattern in quotes, which is a regular expression but for ``%`` and ``_``."""
    value, pattern = (typing.of(part, scope) for part in (node.this, node.expression))
    if pattern.text is None or re.search(r"[\\.^$]", pattern.text):
        raise refusals.unsupported(typing.source, node, "SIMILAR TO with this pattern", "Use REGEXP.")
    text = pattern.text.replace("%", ".*").replace("_", ".")
    parts = {"a": typing.in_type(value, STRING), "b": exp.Literal.string(f"(?s:{text})")}
    return Typed(filled("regexp_full_match(a, b)", parts), BOOLEAN, node)


_UNITS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_SECONDS = {
    "WEEK": 604800,
    "DAY": 86400,
    "HOUR": 3600,
    "MINUTE": 60,
    "SECOND": 1,
    "MILLISECOND": None,
    "MICROSECOND": None,
}


def _interval(typing: Typing, node: exp.Interval, scope: Scope) -> Typed:
    """An interval, which is of months or of microseconds."""
    unit = node.args.get("unit")
    if isinstance(unit, exp.Func):
        unit = exp.var(unit.key.upper())
    if unit is None or isinstance(unit, exp.IntervalSpan):
        # Several units were written as one text that DuckDB reads.
        text = node.this.name
        months = bool(re.search(r"year|month", text, re.IGNORECASE))
        return Typed(
            exp.Cast(this=node.this, to=exp.DataType.build("INTERVAL")), kinds.MONTHS if months else kinds.MICROS, node
        )
    name = unit.name.upper().rstrip("S")
    if name not in _UNITS and name not in _SECONDS:
        raise refusals.unsupported(typing.source, node, f"an interval in {name}")
    value = node.this
    if isinstance(value, exp.Literal) and re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", value.name):
        text = exp.Literal.string(f"{value.name.strip()} {name}")
        made: exp.Expr = exp.Cast(this=text, to=exp.DataType.build("INTERVAL"))
    else:
        amount = typing.in_type(typing.of(value, scope), BIGINT)
        made = filled(f"a * CAST('1 {name}' AS INTERVAL)", {"a": amount})
    return Typed(made, kinds.MONTHS if name in _UNITS else kinds.MICROS, node)


def _dot(typing: Typing, node: exp.Dot, scope: Scope) -> Typed:
    if isinstance(node.expression, exp.Anonymous | exp.Func):
        raise refusals.unknown_function(typing.source, node.expression, node.sql(), [])
    names, first = [node.expression], node.this
    while isinstance(first, exp.Dot):
        names.insert(0, first.expression)
        first = first.this
    if isinstance(first, exp.Column) and not typing.knows(first, scope):
        if first.table or not scope.reads(first.name):
            table = node.this.sql(identify=False)
            fix = "Name it there, or leave it out here."
            raise refusals.error_at(typing.source, first, f"'{table}' is not in FROM", fix)
        value = typing.column(exp.Column(this=names[0].copy(), table=first.this.copy()), scope)
        for name in names[1:]:
            value = typing.field(value, name.name, node)
        return value
    return typing.field(typing.value(node.this, scope), node.expression.name, node)


def _bracket(typing: Typing, node: exp.Bracket, scope: Scope) -> Typed:
    """An element of an array or a map; in Spark also a field of a row. Flink counts from 1, and MAP[…] makes a map."""
    operand = node.this
    if typing.is_flink and isinstance(operand, exp.Column) and not operand.table and operand.name.upper() == "MAP":
        return typing.call("map", node.expressions, node, scope)
    if len(node.expressions) != 1:
        raise refusals.unsupported(typing.source, node, "several places in brackets")
    place = node.expressions[0]
    value = typing.value(operand, scope)
    if not typing.is_flink and value.kind.root == "ROW" and isinstance(place, exp.Literal) and place.is_string:
        return typing.field(value, place.name, node)
    at = typing.value(place, scope)
    if typing.is_flink and value.kind.root == "ARRAY" and at.whole is not None and at.whole < 1:
        problem = f"Flink's arrays begin at 1, and {at.whole} is asked for"
        raise refusals.error_at(typing.source, place, problem, "Write 1.")
    made = typing.called("[]", [value, at], node, scope)
    made.declared = None if made.kind.is_string else made.kind
    return made


def _subquery(typing: Typing, node: exp.Expr, scope: Scope) -> Typed:
    columns = typing.query(node, scope)
    if len(columns) != 1:
        problem = f"a subquery gives {len(columns)} columns where one is needed"
        raise refusals.error_at(typing.source, node, problem, "Select one.")
    return Typed(node if isinstance(node, exp.Subquery) else exp.Subquery(this=node), columns[0][1], node)


def _exists(typing: Typing, node: exp.Exists, scope: Scope) -> Typed:
    if isinstance(node.expression, exp.Lambda):
        return typing.call("exists", [node.this, node.expression], node, scope)
    typing.query(node.this, scope)
    return Typed(node, BOOLEAN, node)


def _quantified(typing: Typing, node: exp.Expr, scope: Scope) -> Typed:
    if isinstance(node, exp.Any) and node.this.find(exp.Query) is None:
        # The aggregate of this name.
        return typing.call("any", [node.this.unnest()], node, scope)
    if not typing.is_flink:
        problem, fix = f"Spark has no {node.key.upper()} of a subquery", "Use IN or EXISTS, or compare with MIN or MAX."
        raise refusals.error_at(typing.source, node, problem, fix)
    columns = typing.query(node.this, scope)
    return Typed(node, columns[0][1], node)


# Aggregates and windows


def _function(node: exp.Expr) -> tuple[exp.Expr, bool, list[exp.Expr]]:
    """A call with what stands around it: whether nulls are passed over, and the order of WITHIN GROUP."""
    ignores, order = False, list[exp.Expr]()
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        if isinstance(node, exp.WithinGroup):
            order = node.expression.expressions
        else:
            ignores = isinstance(node, exp.IgnoreNulls)
        node = node.this
    return node, ignores, order


_OF_ORDER = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead",
             "nth_value")  # fmt: skip

_OF_ALL = ("median", "percentile_cont", "percentile_disc")
# Spark reckons the truth before it counts.
_EARLY = ("count_if",)


def _around(typing: Typing, node: exp.Expr, scope: Scope) -> Typed:
    """A call with FILTER, OVER, WITHIN GROUP or IGNORE NULLS."""
    window = node if isinstance(node, exp.Window) else None
    inner = node.this if window is not None else node
    condition: exp.Expr | None = None
    if isinstance(inner, exp.IgnoreNulls | exp.RespectNulls) and isinstance(inner.this, exp.Filter):
        inner = inner.this
    if isinstance(inner, exp.Filter):
        condition = typing.truth(inner.expression.this, scope)
        inner = inner.this
    call, ignores, order = _function(inner)
    if not isinstance(call, exp.Func):
        raise refusals.unsupported(typing.source, node, "OVER behind what is no function")
    arguments = _arguments_of(call)
    if len(arguments) == 1 and isinstance(arguments[0], exp.IgnoreNulls | exp.RespectNulls):
        ignores, arguments = isinstance(arguments[0], exp.IgnoreNulls), [arguments[0].this]
    name = call.name if isinstance(call, exp.Anonymous) else call.sql_name()
    if order:
        by = [each.this for each in order]
        distinct = arguments[0] if arguments and isinstance(arguments[0], exp.Distinct) else None
        arguments = [*arguments, *by] if distinct is None else [exp.Distinct(expressions=[*distinct.expressions, *by])]
        name = f"{name}.within{'_descending' if order[0].args.get('desc') else ''}"
    name += ".ignoring_nulls" if ignores else ""
    if condition is not None and typing.is_flink and name.lower() in SPREADS:
        # Flink takes the condition for some of the sums in them only.
        raise refusals.unsupported(typing.source, node, f"FILTER with {name.upper()}", "Use a subquery.")
    if window is not None and any(isinstance(part, exp.Distinct) for part in arguments):
        raise refusals.unsupported(typing.source, node, "DISTINCT over a window", "Use a subquery.")
    over = None if window is None else specification(typing, window, scope)
    is_ordered = over is None or bool(over.args.get("order") or over.args.get("alias"))
    if not is_ordered and name.lower().partition(".")[0] in _OF_ORDER:
        raise refusals.error_at(
            typing.source, node, f"{name.upper()} without an order of rows", "Add ORDER BY in OVER."
        )
    if over is not None and name.lower().partition(".")[0] in _OF_ALL and (over.args["order"] or over.args["spec"]):
        problem = f"{name.partition('.')[0].upper()} is of all rows of a partition"
        raise refusals.error_at(typing.source, node, problem, "Leave out ORDER BY and the frame in OVER.")

    # These have their arguments of all rows, as all aggregates of Flink do.
    is_distinct = any(isinstance(part, exp.Distinct) for part in arguments)
    is_early = typing.is_flink or window is not None or is_distinct or name.lower() in _EARLY

    def wrap(made: exp.Expr) -> exp.Expr:
        made = _filtered(made, condition, is_early=is_early)
        if over is None:
            return made
        copied = over.copy()
        copied.set("this", made)
        return copied

    plain = condition is None and window is None
    return typing.call(name, arguments, call, scope, None if plain else wrap, is_over=window is not None)


def _filtered(node: exp.Expr, condition: exp.Expr | None, *, is_early: bool) -> exp.Expr:
    """An aggregate with FILTER. `is_early`: its arguments are read of all rows."""
    if condition is None:
        return node
    call = node.this if isinstance(node, exp.Filter) else node
    where = condition.copy()
    if call is not node:
        where = logic.joined(exp.And, [where, node.expression.this])
    return exp.Filter(this=call if is_early else _guarded(call, condition), expression=exp.Where(this=where))


def _guarded(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """An aggregate whose arguments are read of the rows that FILTER leaves alone. DuckDB reads them of all rows."""
    for part in list(call.iter_expressions()):
        if isinstance(part, exp.Distinct | exp.Order | exp.Ordered) or gathers(part):
            _guarded(part, condition)
        elif logic.can_fail(part):
            part.replace(filled("CASE WHEN c THEN a END", {"c": condition.copy(), "a": part.copy()}))
    return call


def _arguments_of(call: exp.Func) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    given = [part for value in call.args.values() for part in (value if isinstance(value, list) else [value])]
    return [part for part in given if isinstance(part, exp.Expr)]


def specification(typing: Typing, window: exp.Window, scope: Scope) -> exp.Window:
    """What stands behind OVER, with its expressions typed."""
    return exp.Window(
        partition_by=[_partition(typing, typing.value(part, scope)) for part in window.args.get("partition_by") or ()],
        over=window.args.get("over"),
        alias=window.args.get("alias"),
        spec=_frame(typing, window.args.get("spec"), scope),
        order=_ordered_by(typing, window.args.get("order"), scope),
    )


def _partition(typing: Typing, value: Typed) -> exp.Expr:
    """What divides rows over windows. To Flink NaN is like any float that is sorted beside it."""
    if typing.is_flink and value.kind.root in ("FLOAT", "DOUBLE"):
        what = f"PARTITION BY of {kinds.shown(value.kind)}"
        raise refusals.unsupported(typing.source, value.written, what, "Cast it to DECIMAL.")
    return value.node


def _ordered_by(typing: Typing, order: exp.Order | None, scope: Scope) -> exp.Order | None:
    if order is None:
        return None
    return exp.Order(expressions=[ordered(typing, each, scope) for each in order.expressions])


def ordered(typing: Typing, node: exp.Expr, scope: Scope) -> exp.Expr:
    """A part of ORDER BY."""
    is_plain = not isinstance(node, exp.Ordered)
    value = typing.value(node if is_plain else node.this, scope)
    if not typing.is_flink and not kinds.has_order(value.kind):
        problem = f"{kinds.shown(value.kind)} has no order"
        raise refusals.error_at(typing.source, value.written, problem, "Order by something in it.")
    by = key(value.node, value.kind)
    if is_plain:
        return by
    made = node.copy()
    made.set("this", by)
    return made


def _frame(typing: Typing, spec: exp.WindowSpec | None, scope: Scope) -> exp.WindowSpec | None:
    if spec is None:
        return None
    copied = spec.copy()
    for side in ("start", "end"):
        bound = copied.args.get(side)
        if isinstance(bound, exp.Interval) and typing.is_flink:
            what, fix = "RANGE with an interval", "Compute the distance as a number."
            raise refusals.unsupported(typing.source, bound, what, fix)
        if isinstance(bound, exp.Expr):
            copied.set(side, typing.value(bound, scope).node)
    return copied


# Functions with words among their arguments


def _extract(typing: Typing, node: exp.Extract, scope: Scope) -> Typed:
    unit = exp.Literal.string(node.name.lower())
    value = typing.value(node.expression, scope)
    return typing.called("extract", [Typed(unit, STRING, unit), value], node, scope)


def _trim(typing: Typing, node: exp.Trim, scope: Scope) -> Typed:
    where = str(node.args.get("position") or "BOTH").lower()
    name = {"leading": "ltrim", "trailing": "rtrim", "both": "trim"}[where]
    signs = node.args.get("expression")
    given = [node.this] if signs is None else [node.this, signs]
    return typing.call(f"{name}.from" if signs is not None else name, given, node, scope)


def _floor(typing: Typing, node: exp.Floor | exp.Ceil, scope: Scope) -> Typed:
    to, decimals = node.args.get("to"), node.args.get("decimals")
    name = "floor" if isinstance(node, exp.Floor) else "ceil"
    if to is not None:
        unit = exp.Literal.string(to.name.lower())
        return typing.called(f"{name}.to", [typing.value(node.this, scope), Typed(unit, STRING, unit)], node, scope)
    return typing.call(name, [node.this] if decimals is None else [node.this, decimals], node, scope)


def _array(typing: Typing, node: exp.Array, scope: Scope) -> Typed:
    return typing.call("array", node.expressions, node, scope)


def _struct(typing: Typing, node: exp.Struct | exp.Tuple, scope: Scope) -> Typed:
    """A row, whose parts may have names."""
    parts: list[tuple[str, Typed]] = []
    for number, each in enumerate(node.expressions, start=1):
        is_named = isinstance(each, exp.PropertyEQ | exp.Alias)
        inner = each if not is_named else each.expression if isinstance(each, exp.PropertyEQ) else each.this
        name = each.this.name if isinstance(each, exp.PropertyEQ) else each.alias if is_named else ""
        plain = inner.unnest()
        if not name:
            own = "" if typing.is_flink else _own_name(plain)
            name = own if own else f"EXPR${number - 1}" if typing.is_flink else f"col{number}"
        parts.append((name, typing.value(inner, scope)))
    return row_of(parts, node)


def _own_name(node: exp.Expr) -> str:
    """The name that a part of a row has in Spark without an alias; none if it is a value of its own."""
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        place = node.expressions[0]
        return place.name if isinstance(place, exp.Literal) and place.is_string else ""
    return node.name if isinstance(node, exp.Column | exp.Identifier | exp.Dot) else ""


def row_of(parts: list[tuple[str, Typed]], written: exp.Expr) -> Typed:
    """A row of named parts."""
    listed = [exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value.node) for name, value in parts]
    return Typed(exp.Struct(expressions=listed), kinds.row((name, value.kind) for name, value in parts), written)


_OF_UNITS = ("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff")


def _anonymous(typing: Typing, node: exp.Anonymous, scope: Scope) -> Typed:
    name = node.name.lower()
    if name == ("row" if typing.is_flink else "struct") or (name == "named_struct" and not typing.is_flink):
        return _named_struct(typing, node, scope) if name == "named_struct" else _struct(typing, node, scope)  # type: ignore[arg-type]
    given = node.expressions
    if name in _OF_UNITS and len(given) == 3 and isinstance(given[0], exp.Column | exp.Var):
        given = [exp.Literal.string(given[0].name), *given[1:]]
    if len(given) >= 1 and isinstance(given[0], exp.IgnoreNulls | exp.RespectNulls):
        return _around(typing, node, scope)
    return typing.call(name, given, node, scope)


def _named_struct(typing: Typing, node: exp.Anonymous, scope: Scope) -> Typed:
    given = node.expressions
    names = given[::2]
    if not given or len(given) % 2 or any(not (isinstance(name, exp.Literal) and name.is_string) for name in names):
        raise refusals.error_at(
            typing.source, node, "NAMED_STRUCT takes names in quotes and values in turn", "Write named_struct('a', 1)."
        )
    return row_of(
        [(name.name, typing.value(value, scope)) for name, value in zip(names, given[1::2], strict=True)], node
    )


def _named_call(name: str) -> Callable[[Typing, Any, Scope], Typed]:
    return lambda typing, node, scope: typing.call(name, [], node, scope)


def _position(typing: Typing, node: exp.StrPosition, scope: Scope) -> Typed:
    place = node.args.get("position")
    if place is not None:
        return typing.call("position", [node.args["substr"], node.this, place], node, scope)
    return typing.call("position.in", [node.args["substr"], node.this], node, scope)


def _substring(typing: Typing, node: exp.Substring, scope: Scope) -> Typed:
    given = [node.this, node.args.get("start") or exp.Literal.number(1), node.args.get("length")]
    return typing.call("substring", [part for part in given if part is not None], node, scope)


def _json_path(typing: Typing, node: exp.Expr, scope: Scope) -> Typed:
    raise refusals.unsupported(typing.source, node, "a path behind a colon")


def _at_zone(typing: Typing, node: exp.AtTimeZone, scope: Scope) -> Typed:
    raise refusals.unsupported(typing.source, node, "AT TIME ZONE")


def _shifted(typing: Typing, node: exp.BitwiseRightShift, scope: Scope) -> Typed:
    name = ">>>" if UNSIGNED in node.expression.meta else ">>"
    return typing.call(name, [node.this, node.expression], node, scope)


def _local(typing: Typing, node: exp.Identifier, scope: Scope) -> Typed:
    """The argument of a lambda."""
    return typing.column(exp.Column(this=node.copy()), scope)


FORMS: Mapping[type[exp.Expr], Callable[[Typing, Any, Scope], Typed]] = {
    exp.Column: lambda typing, node, scope: typing.column(node, scope),
    exp.Identifier: _local,
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.RawString: _raw,
    exp.HexString: _bytes,
    exp.Paren: _paren,
    exp.Alias: _alias,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: _if,
    **logic.FORMS,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.SimilarTo: _similar,
    exp.Interval: _interval,
    exp.Dot: _dot,
    exp.Bracket: _bracket,
    exp.Subquery: _subquery,
    exp.Select: _subquery,
    exp.Union: _subquery,
    exp.Exists: _exists,
    exp.Any: _quantified,
    exp.All: _quantified,
    exp.Window: _around,
    exp.Filter: _around,
    exp.WithinGroup: _around,
    exp.IgnoreNulls: _around,
    exp.RespectNulls: _around,
    exp.Extract: _extract,
    exp.Trim: _trim,
    exp.Floor: _floor,
    exp.Ceil: _floor,
    exp.Array: _array,
    exp.Tuple: _struct,
    exp.Struct: _struct,
    exp.Anonymous: _anonymous,
    exp.StrPosition: _position,
    exp.Substring: _substring,
    exp.BitwiseRightShift: _shifted,
    exp.JSONExtract: _json_path,
    exp.JSONValue: json_value,
    exp.AtTimeZone: _at_zone,
    exp.CurrentDate: _named_call("current_date"),
    exp.CurrentTimestamp: _named_call("current_timestamp"),
    exp.Localtimestamp: _named_call("localtimestamp"),
    exp.CurrentTime: _named_call("current_time"),
    exp.Localtime: _named_call("localtime"),
    exp.CurrentUser: _named_call("current_user"),
}
