"""AND and OR, which the engines read from the left, no further than to what decides.

DuckDB reads all sides of them. So a side that may fail stands behind those in front of it. Source: Spark's
`predicates.scala`; Flink's `ScalarOperatorGens`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.kinds import BOOLEAN
from maintenance.sql.expressions.scopes import Scope
from maintenance.sql.expressions.templates import apart, filled
from maintenance.sql.expressions.typing import Typing

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg)
_NEVER_FAILS = frozenset(
    [
        "abs",
        "coalesce",
        "contains",
        "ends_with",
        "hour",
        "isfinite",
        "isnan",
        "left",
        "length",
        "list_contains",
        "lower",
        "ltrim",
        "minute",
        "month",
        "paimon_text",
        "quarter",
        "regexp_full_match",
        "regexp_matches",
        "replace",
        "right",
        "rtrim",
        "second",
        "starts_with",
        "strlen",
        "strpos",
        "struct_extract",
        "substring",
        "trim",
        "upper",
        "year",
    ]
)


def _joined(kind: type[exp.Connector]) -> Callable[[Typing, exp.Connector, Scope], Typed]:
    def typed(typing: Typing, node: exp.Connector, scope: Scope) -> Typed:
        pairs: list[exp.Connector] = [node]
        while isinstance(pairs[-1].this, kind):
            pairs.append(pairs[-1].this)
        first = typing.of(pairs[-1].this, scope)
        parts: list[exp.Expr] = []
        for pair in reversed(pairs):
            both = typing.called(kind.key, [first, typing.of(pair.expression, scope)], pair, scope)
            sides = [both.node.this.unnest(), both.node.expression.unnest()]
            parts += sides[1:] if parts else sides
            first = Typed(exp.null(), BOOLEAN, pair, declared=both.declared)
        return Typed(joined(kind, parts, is_join=len(scope.sources) > 1), BOOLEAN, node, declared=first.declared)

    return typed


def joined(kind: type[exp.Connector], parts: Sequence[exp.Expr], *, is_join: bool = False) -> exp.Expr:
    """Truths joined by AND or OR, of which those that may fail are read where no other one in front decides."""
    first = next((place for place, part in enumerate(parts) if place and can_fail(part, is_join=is_join)), len(parts))
    front = _chain(kind, parts[:first])
    if first == len(parts):
        return front
    template = "CASE WHEN a IS DISTINCT FROM x THEN b ELSE x END".replace("x", str(kind is exp.Or).upper())
    behind = filled(template, {"a": front.copy(), "b": joined(kind, parts[first:], is_join=is_join)})
    return kind(this=front if isinstance(front, kind) else apart(front), expression=behind)


def _chain(kind: type[exp.Connector], parts: Sequence[exp.Expr]) -> exp.Expr:
    made = parts[0]
    for number, part in enumerate(parts[1:]):
        made = kind(this=made if number else apart(made), expression=apart(part))
    return made


def can_fail(node: exp.Expr, *, is_join: bool = False) -> bool:
    """Whether a value may be an error for some row, and is read only of some.

    An equality may be the key of a join, which is read of all rows; a query reads its own.
    """
    if node.find(exp.Query) is not None:
        return False
    if is_join and isinstance(node, exp.EQ) and all(side.find(exp.Column) for side in (node.this, node.expression)):
        return False
    return any(_fails(part) and part.find(exp.Column) is not None for part in node.walk())


def _fails(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower() not in _NEVER_FAILS
    is_cast = type(node) is exp.Cast and not node.to.is_type(exp.DataType.Type.VARCHAR, exp.DataType.Type.TEXT)
    return is_cast or isinstance(node, _ARITHMETIC)


_OPPOSITES: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE, exp.GTE: exp.LT,
}  # fmt: skip


def _not(typing: Typing, node: exp.Not, scope: Scope) -> Typed:
    """NOT. Flink turns around what stands in it, which is something else beside NaN: nothing is less or greater."""
    turned = _turned(node.this) if typing.is_flink else None
    if turned is None:
        return typing.call("not", [node.this], node, scope)
    made = typing.of(turned, scope)
    return Typed(made.node, made.kind, node, declared=made.declared)


def _turned(node: exp.Expr) -> exp.Expr | None:
    """The opposite of a comparison, or of several; None if it is none."""
    plain, sides = node.unnest(), list[exp.Expr]()
    made: exp.Expr | None = None
    if type(plain) in _OPPOSITES:
        made = _OPPOSITES[type(plain)](this=plain.this.copy(), expression=plain.expression.copy())
    elif isinstance(plain, exp.And | exp.Or):
        sides = [_turned(side) or exp.Not(this=apart(side.copy())) for side in (plain.this, plain.expression)]
        kind = exp.Or if isinstance(plain, exp.And) else exp.And
        made = kind(this=apart(sides[0]), expression=apart(sides[1]))
    elif isinstance(plain, exp.Between) and not plain.args.get("symmetric"):
        sides = [exp.LT(this=plain.this.copy(), expression=plain.args["low"].copy()),
                 exp.GT(this=plain.this.copy(), expression=plain.args["high"].copy())]  # fmt: skip
        made = exp.Or(this=sides[0], expression=sides[1])
    elif isinstance(plain, exp.Not):
        made = plain.this.copy()
    if made is not None:
        made.meta.update(plain.meta)
    return made


FORMS: Mapping[type[exp.Expr], Callable[[Typing, Any, Scope], Typed]] = {
    exp.And: _joined(exp.And),
    exp.Or: _joined(exp.Or),
    exp.Not: _not,
}
