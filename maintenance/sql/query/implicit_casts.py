"""Casts that a dialect makes by itself and DuckDB does not: a text beside a number, a value where a text is taken.

Source: Spark's `AnsiTypeCoercion`; Flink compares texts with numbers, and refuses the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from maintenance.sql.query.decimal_types import Rules
from maintenance.sql.query.expression_types import ExpressionTypes
from maintenance.sql.query.resolve import Resolved

Kind = Literal["text", "integer", "fraction", "truth", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ"]
_OF_ROOTS: Mapping[str, Kind] = {
    **dict.fromkeys(("CHAR", "VARCHAR"), "text"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), "fraction"),
    "BOOLEAN": "truth",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMP_LTZ",
}
_CASTS: Mapping[Kind, exp.DType] = {
    "text": exp.DType.TEXT,
    "integer": exp.DType.BIGINT,
    "fraction": exp.DType.DOUBLE,
    "truth": exp.DType.BOOLEAN,
    "DATE": exp.DType.DATE,
    "TIMESTAMP": exp.DType.TIMESTAMPNTZ,
    "TIMESTAMP_LTZ": exp.DType.TIMESTAMPLTZ,
}
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_COMPUTED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_MATCHED = (exp.Like, exp.ILike, exp.RegexpLike)
# What they take first is a text.
_TAKE_TEXTS = (exp.Substring, exp.Upper, exp.Lower, exp.Trim, exp.Left, exp.Right, exp.Replace, exp.Initcap, exp.Pad,
               exp.Repeat, exp.RegexpReplace, exp.RegexpExtract, exp.SubstringIndex, exp.Length, exp.StrPosition,
               exp.StartsWith, exp.EndsWith, exp.Contains, exp.Split, exp.Ascii)  # fmt: skip
CASTING = (*_COMPARED, exp.Between, exp.In, *_COMPUTED, *_MATCHED, *_TAKE_TEXTS)


def cast_implicitly(resolved: Resolved, rules: Rules) -> None:
    """Write out the casts of a query. What is of an unknown type stays as it is."""
    kinds = _Kinds(ExpressionTypes(resolved, rules.is_flink), rules)
    # Types are known of a tree that stays as it is, so all are found first; then from the inside out.
    found = [cast for node in resolved.tree.find_all(*CASTING) for cast in _casts(kinds, node)]
    for node, to in reversed(found):
        node.replace(exp.cast(node.copy(), _CASTS[to]))


def _casts(kinds: "_Kinds", node: exp.Expr) -> list[tuple[exp.Expr, Kind]]:
    """What is cast in an expression, and to what."""
    match node:
        case exp.Between():
            return _like_each_other(kinds, [node.this, node.args["low"], node.args["high"]])
        case exp.In():
            return _like_each_other(kinds, [node.this, *node.expressions])
    if isinstance(node, _COMPARED):
        return _like_each_other(kinds, [node.this, node.expression])
    if kinds.rules.is_flink:
        return []
    if isinstance(node, _COMPUTED):
        sides = [node.this, node.expression]
        found = {kinds.of(side) for side in sides} - {"text"}
        return _texts(kinds, sides, found.pop()) if found in ({"integer"}, {"fraction"}) else []
    return [(node.this, "text")] if kinds.of(node.this) not in ("text", None) else []


def _like_each_other(kinds: "_Kinds", sides: Sequence[exp.Expr]) -> list[tuple[exp.Expr, Kind]]:
    """Texts become what the other values are."""
    found = {kinds.of(side) for side in sides} - {"text", None}
    if found == {"integer", "fraction"}:
        return _texts(kinds, sides, "fraction")
    return _texts(kinds, sides, found.pop()) if len(found) == 1 else []


def _texts(kinds: "_Kinds", sides: Sequence[exp.Expr], to: Kind | None) -> list[tuple[exp.Expr, Kind]]:
    """The texts among some values, apart from those in quotes, which DuckDB casts by itself."""
    texts = [side for side in sides if kinds.of(side) == "text" and not isinstance(side.unnest(), exp.Literal)]
    return [] if to is None else [(side, to) for side in texts]


@dataclass(frozen=True, slots=True)
class _Kinds:
    """What kinds of values expressions give."""

    types: ExpressionTypes
    rules: Rules

    def of(self, node: exp.Expr) -> Kind | None:
        """None: it is not known."""
        kind = self.types.of(node)
        if kind is not None:
            return _OF_ROOTS.get(kind.root)
        if isinstance(node.unnest(), exp.Length | exp.StrPosition):
            return "integer"
        number = self.rules.of(node)
        return None if number is None else "fraction" if number.is_decimal else "integer"
