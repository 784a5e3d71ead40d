"""Names of columns to which a query gives none. Source: Spark's `toPrettySQL`, and Flink's, which counts them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from maintenance.sql.dialects import PaimonSpark
from maintenance.sql.expressions.generators import name_of


def name_outputs(tree: exp.Expr, *, is_flink: bool) -> None:
    """An output without a name is EXPR$ and its position in Flink, and what it computes in Spark."""
    query = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    for number, output in enumerate(query.expressions):
        plain = output.unnest()
        if not (isinstance(plain, exp.Alias | exp.Aliases | exp.Column | exp.Star | exp.Dot) or name_of(plain)):
            name = f"EXPR${number}" if is_flink else _shown(plain)
            output.replace(exp.alias_(output.copy(), name, quoted=True))


_SIGNS: Mapping[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=", exp.GT: ">",
    exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.NullSafeEQ: "<=>", exp.And: "AND", exp.Or: "OR", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^",
}  # fmt: skip
_SUFFIXED = (exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT)
_TIMES = {exp.DType.DATE: "DATE", exp.DType.TIMESTAMPLTZ: "TIMESTAMP", exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ"}
_RANKS = ("rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "row_number")
_IN_CAPITALS = ("rank", "dense_rank", "percent_rank", "ceil", "floor")


def _shown(node: exp.Expr | None) -> str:
    """An expression as Spark shows it: in parentheses, and texts without quotes."""
    if node is None:
        return ""
    if type(node) in _SIGNS:
        return f"({_shown(node.this)} {_SIGNS[type(node)]} {_shown(node.expression)})"
    form = next((_FORMS[kind] for kind in type(node).__mro__ if kind in _FORMS), None)
    shown = None if form is None else form(node)
    return node.sql(PaimonSpark, normalize_functions="lower", comments=False) if shown is None else shown


def _listed(nodes: Sequence[exp.Expr]) -> str:
    return ", ".join(map(_shown, nodes))


def _call(node: exp.Anonymous) -> str:
    name, given = node.name.lower(), list(node.expressions)
    if name == "count" and given and isinstance(given[0], exp.Star):
        return "count(1)"
    if any(isinstance(each, exp.Lambda) for each in given):
        return node.sql(PaimonSpark, normalize_functions="lower", comments=False)
    if name == "if":
        return f"(IF({_listed(given)}))"
    if name in ("first", "last", "first_value", "last_value", "any_value"):
        given = given[:1]
    return f"{name.upper() if name in _IN_CAPITALS else name}({_listed(given)})"


def _case(node: exp.Case) -> str:
    subject = node.this
    parts = ["CASE"]
    for each in node.args["ifs"]:
        condition = each.this if subject is None else exp.EQ(this=subject, expression=each.this)
        parts.append(f"WHEN {_shown(condition)} THEN {_shown(each.args['true'])}")
    default = node.args.get("default")
    return " ".join([*parts, *([] if default is None else [f"ELSE {_shown(default)}"]), "END"])


def _order(order: exp.Expr) -> str:
    keys = []
    for each in order.expressions:
        falls = bool(each.args.get("desc"))
        first = each.args.get("nulls_first", not falls)
        keys.append(f"{_shown(each.this)} {'DESC' if falls else 'ASC'} NULLS {'FIRST' if first else 'LAST'}")
    return f"ORDER BY {', '.join(keys)}"


def _window(node: exp.Window) -> str:
    name = node.this.name.lower() if isinstance(node.this, exp.Anonymous) else ""
    keys, order, frame = node.args.get("partition_by"), node.args.get("order"), node.args.get("spec")
    call = _shown(node.this)
    if node.args.get("alias") is not None:
        return f"{call} OVER {node.args['alias'].name}"
    if name in ("lag", "lead"):
        given = node.this.expressions
        place = _shown(given[1]) if len(given) > 1 else "1"
        bound = f"{'-' if name == 'lag' else ''}{place} FOLLOWING"
        shown = f"ROWS BETWEEN {bound} AND {bound}"
        call = f"{name}({_shown(given[0])}, {place}, {_shown(given[2]) if len(given) > 2 else 'NULL'})"
    elif frame is not None:
        sides = (f"{_bound(frame.args.get(side))} {frame.args.get(f'{side}_side') or ''}".strip()
                 for side in ("start", "end"))  # fmt: skip
        shown = f"{frame.args.get('kind')} BETWEEN {' AND '.join(side or 'CURRENT ROW' for side in sides)}"
    elif order is None:
        shown = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    else:
        kind = "ROWS" if name in _RANKS and name != "cume_dist" else "RANGE"
        shown = f"{kind} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    parts = [f"PARTITION BY {_listed(keys)}"] if keys else []
    parts += [_order(order)] if order is not None else []
    return f"{call} OVER ({' '.join([*parts, shown])})"


def _bound(bound: object) -> str:
    return _shown(bound) if isinstance(bound, exp.Expr) else str(bound or "")


def _not(node: exp.Not) -> str:
    inner = node.this
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
        return f"({_shown(inner.this)} IS NOT NULL)"
    return f"(NOT {_shown(inner)})"


def _like(node: exp.Like) -> str | None:
    several = isinstance(node.expression, exp.Any | exp.All | exp.Tuple)
    return None if several else f"{_shown(node.this)} LIKE {_shown(node.expression)}"


def _in(node: exp.In) -> str:
    listed = "listquery()" if node.args.get("query") is not None else _listed(node.expressions)
    return f"({_shown(node.this)} IN ({listed}))"


def _within(node: exp.WithinGroup) -> str:
    is_list = node.this.name.lower() in ("listagg", "string_agg")
    order = _order(node.expression) if is_list else f"ORDER BY {_listed(node.expression.expressions)}"
    return f"{_shown(node.this)} WITHIN GROUP ({order})"


def _cast(node: exp.Cast) -> str:
    inner = node.this
    if isinstance(inner, exp.Literal):
        if inner.is_string and node.to.this in _TIMES:
            return f"{_TIMES[node.to.this]} '{inner.name}'"
        if not inner.is_string and node.to.this in _SUFFIXED:
            return str(inner.name)  # 2.5D
    return f"{'TRY_CAST' if isinstance(node, exp.TryCast) else 'CAST'}({_shown(inner)} AS {node.to.sql(PaimonSpark)})"


_FORMS: Mapping[type, Callable[[Any], str | None]] = {
    exp.Anonymous: _call,
    exp.Between: lambda node: f"between({_listed([node.this, node.args['low'], node.args['high']])})",
    exp.Boolean: lambda node: str(node.this).lower(),
    exp.Bracket: lambda node: f"{_shown(node.this)}[{_listed(node.expressions)}]",
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Column: lambda node: node.name,
    exp.Distinct: lambda node: f"DISTINCT {_listed(node.expressions)}",
    exp.DPipe: lambda node: f"concat({_shown(node.this)}, {_shown(node.expression)})",
    exp.Filter: lambda node: f"{_shown(node.this)} FILTER (WHERE {_shown(node.expression.this)})",
    exp.IgnoreNulls: lambda node: _shown(node.this),
    exp.In: _in,
    exp.Is: lambda node: f"({_shown(node.this)} IS NULL)" if isinstance(node.expression, exp.Null) else None,
    exp.Like: _like,
    exp.Literal: lambda node: node.name,
    exp.Neg: lambda node: f"-{node.this.name}" if isinstance(node.this, exp.Literal) else f"(- {_shown(node.this)})",
    exp.NEQ: lambda node: f"(NOT ({_shown(node.this)} = {_shown(node.expression)}))",
    exp.Not: _not,
    exp.Ordered: lambda node: f"{_shown(node.this)}{' DESC' if node.args.get('desc') else ''}",
    exp.Paren: lambda node: _shown(node.this),
    exp.Query: lambda _: "scalarsubquery()",
    exp.RespectNulls: lambda node: _shown(node.this),
    exp.Window: _window,
    exp.WithinGroup: _within,
}
