"""Comparisons, logic, and what chooses among values.

Source: Spark's `AnsiTypeCoercion`, `predicates.scala`; Flink's `ScalarOperatorGens`.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.conversions import Wanted, converted
from maintenance.sql.expressions.entries import SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.kinds import STRING
from maintenance.sql.expressions.stamps import is_wide
from maintenance.sql.expressions.templates import apart, filled
from maintenance.types.data_type import DataType

_NODES: Mapping[str, type[exp.Binary]] = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE, "<=>": exp.NullSafeEQ,
    "distinct": exp.NullSafeNEQ,
}  # fmt: skip
# DuckDB cannot order such structs in all places.
_ORDERED = {"<": ("paimon_before", False), ">": ("paimon_before", True), "<=": ("paimon_until", False),
            ">=": ("paimon_until", True)}  # fmt: skip


def compared_kind(found: Sequence[DataType], *, is_flink: bool) -> DataType | None:
    """The type in which values are compared; None if they are not."""
    if is_flink:
        others = [kind for kind in found if not kind.is_string]
        texts = len(others) < len(found)
        common = kinds.widest(others, is_flink=True)
        if not texts or common is None:
            return common
        return STRING if common == kinds.NULL else common if kinds.is_atomic(common) else None
    return kinds.widest(found, is_flink=False)


def alike(values: Sequence[Typed], common: DataType, *, is_flink: bool) -> list[exp.Expr]:
    """Values in one type. DuckDB compares integers and decimals of any digits by itself."""
    made: list[exp.Expr] = []
    for value in values:
        is_plain = value.kind == common or (
            value.kind.root != "FLOAT" and kinds.is_number(value.kind) and common.root not in ("FLOAT", "DOUBLE")
        )
        is_number = isinstance(value.node, exp.Literal) and not value.node.is_string and kinds.is_number(common)
        node = value.node if is_plain or is_number else converted(value, Wanted(common, is_flink))
        assert node is not None
        made.append(node)
    return made


def _compared(call: Call) -> exp.Expr:
    common = compared_kind(call.kinds, is_flink=call.is_flink)
    assert common is not None
    return comparison(call.name, alike(call.arguments, common, is_flink=call.is_flink), common)


def comparison(name: str, sides: Sequence[exp.Expr], kind: DataType) -> exp.Expr:
    one, other = sides
    if is_wide(kind) and name in _ORDERED:
        macro, is_swapped = _ORDERED[name]
        return exp.Anonymous(this=macro, expressions=[other, one] if is_swapped else [one, other])
    return _NODES[name](this=apart(one), expression=apart(other))


def _truth(call: Call) -> DataType | None:
    if call.is_flink and call.name == "=" and _is_text_beside_number(call.kinds):
        return None
    common = compared_kind(call.kinds, is_flink=call.is_flink)
    return None if common is None or common.root in ("MAP", "VARIANT") else kinds.BOOLEAN


def _is_text_beside_number(found: Sequence[DataType]) -> bool:
    """Flink 1.20 has no equality of the two, though it orders them."""
    return any(kind.is_string for kind in found) and any(kinds.is_number(kind) for kind in found)


def _nullif(call: Call) -> exp.Expr:
    common = compared_kind(call.kinds, is_flink=call.is_flink)
    assert common is not None
    first = call.arguments[0]
    sides = alike(
        [Typed(first.node.copy(), first.kind, first.written), call.arguments[1]], common, is_flink=call.is_flink
    )
    return filled("CASE WHEN b THEN NULL ELSE a END", {"a": first.node, "b": comparison("=", sides, common)})


def _nonzero(call: Call) -> exp.Expr:
    zero = exp.Literal.number(0)
    call.arguments.append(Typed(zero, kinds.INT, zero))
    return _nullif(call)


def _if(call: Call) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=call.nodes[0], true=call.nodes[1])], default=call.nodes[2])


def _compared_as(call: Call, name: str) -> exp.Expr:
    call.name = name
    return _compared(call)


ENTRIES: Sequence[Entry] = (
    entry("= <> < <= > >= <=> distinct", "ANY, ANY", _truth, _compared),
    entry(
        "and",
        "BOOLEAN, BOOLEAN",
        "BOOLEAN",
        lambda call: exp.And(this=apart(call.nodes[0]), expression=apart(call.nodes[1])),
    ),
    entry(
        "or",
        "BOOLEAN, BOOLEAN",
        "BOOLEAN",
        lambda call: exp.Or(this=apart(call.nodes[0]), expression=apart(call.nodes[1])),
    ),
    entry("not", "BOOLEAN", "BOOLEAN", lambda call: exp.Not(this=apart(call.nodes[0]))),
    entry("is_null isnull", "ANY", "BOOLEAN", "a IS NULL"),
    entry("is_not_null isnotnull", "ANY", "BOOLEAN", "a IS NOT NULL"),
    entry("is_true", "BOOLEAN", "BOOLEAN", "COALESCE(a, FALSE)"),
    entry("is_false", "BOOLEAN", "BOOLEAN", "NOT COALESCE(a, TRUE)"),
    entry("is_not_true", "BOOLEAN", "BOOLEAN", "NOT COALESCE(a, FALSE)"),
    entry("is_not_false", "BOOLEAN", "BOOLEAN", "COALESCE(a, TRUE)"),
    entry("is_unknown", "BOOLEAN", "BOOLEAN", "a IS NULL"),
    entry("coalesce", "T...", "T", lambda call: exp.Coalesce(this=call.nodes[0], expressions=call.nodes[1:])),
    entry("ifnull nvl", "T, T", "T", "COALESCE(a, b)"),
    entry("nvl2", "ANY, T, T", "T", "CASE WHEN a IS NOT NULL THEN b ELSE c END"),
    entry("nullif", "ANY, ANY", "1", _nullif),
    entry("nullifzero", "NUMBER|TEXT", "1", _nonzero, SPARK),
    entry("zeroifnull", "NUMBER|TEXT", lambda call: kinds.widest([kinds.INT, call.kinds[0]], is_flink=False),
          lambda call: filled("COALESCE(a, 0)", {"a": call.typing.in_type(call.arguments[0], call.kind)}), SPARK),
    entry("if", "BOOLEAN, T, T", "T", _if),
    entry("greatest", "T, T...", "T", "greatest(a, b, rest)", samples=("1, 2",)),
    entry("least", "T, T...", "T", "least(a, b, rest)", samples=("1, 2",)),
    entry("isnan", "FLOATING", "BOOLEAN", "COALESCE(isnan(a), FALSE)", SPARK),
    entry("nanvl", "DOUBLE, DOUBLE", "DOUBLE", "CASE WHEN isnan(a) THEN b ELSE a END", SPARK),
    entry("equal_null", "ANY, ANY", _truth, lambda call: _compared_as(call, "<=>"), SPARK),
)  # fmt: skip
