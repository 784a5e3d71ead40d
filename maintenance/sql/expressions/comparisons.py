"""Comparisons, logic, and what chooses among values.

Source: Spark's `AnsiTypeCoercion`, `predicates.scala`; Flink's `ScalarOperatorGens`.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.conversions import Wanted, cast_node, converted, is_plain, tried
from maintenance.sql.expressions.declared import of_one_length
from maintenance.sql.expressions.entries import FLINK, SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.kinds import STRING
from maintenance.sql.expressions.ordering import is_nested, key
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
        if common == kinds.NULL:
            return STRING
        return common if kinds.is_number(common) or kinds.is_time(common) or common.root == "TIME" else None
    common = kinds.widest(found, is_flink=False)
    return common if common is not None and kinds.has_order(common) else None


def _compared_kind(found: Sequence[DataType], *, is_flink: bool) -> DataType | None:
    """The same of an operator, for which Spark makes no third type of two arrays, maps or rows."""
    if not is_flink and all(is_nested(kind) or kind.root == "MAP" for kind in found):
        common = kinds.closest(found, of_float=kinds.DOUBLE)
        return common if common is not None and kinds.has_order(common) else None
    return compared_kind(found, is_flink=is_flink)


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
    if call.is_flink and _is_truth_with_text(call.kinds):
        return _never_equal(call)
    common = _compared_kind(call.kinds, is_flink=call.is_flink)
    assert common is not None
    if not call.is_flink:
        if not isinstance(call.written, exp.Between):
            call.arguments = of_one_length(call.arguments)
        made = comparison(call.name, alike(call.arguments, common, is_flink=False), common)
        return made if call.name in ("<=>", "distinct") else where_known(call.arguments, common, made)
    sides = alike(call.arguments, common, is_flink=True)
    if call.name in _ORDERED and {"DECIMAL"} < {kind.root for kind in call.kinds} and common == kinds.DOUBLE:
        # Beside a decimal a float is compared as Java's `Double.compare` does, to which -0.0 is less than 0.0.
        sides = [filled("paimon_below_zero(a)", {"a": node}) if each.kind.root in ("FLOAT", "DOUBLE") else node
                 for node, each in zip(sides, call.arguments, strict=True)]  # fmt: skip
    if call.name in _EQUALITIES and STRING in call.kinds:
        # What is no such value is equal to none.
        sides = [tried(node) if each.kind == STRING and common != STRING else node
                 for node, each in zip(sides, call.arguments, strict=True)]  # fmt: skip
    return _with_nan(call, comparison(call.name, sides, common), sides)


def _is_truth_with_text(found: Sequence[DataType]) -> bool:
    return {kinds.BOOLEAN, STRING} == set(found)


def _never_equal(call: Call) -> exp.Expr:
    """A BOOLEAN beside a text in Flink 1.20, which compares the two as they are: they are never equal."""
    template = {
        "=": "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN FALSE END",
        "<>": "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN TRUE END",
        "<=>": "a IS NULL AND b IS NULL",
    }
    return filled(template.get(call.name, "a IS NOT NULL OR b IS NOT NULL"), dict(zip("ab", call.nodes, strict=True)))


def where_known(values: Sequence[Typed], common: DataType, made: exp.Expr) -> exp.Expr:
    """A comparison in Spark, which reads no text as another value where the first side is NULL."""
    first, *others = values
    if not any(may_fail(each, common) for each in others) or not isinstance(first.node, exp.Column):
        return made
    return filled("CASE WHEN a IS NOT NULL THEN b END", {"a": first.node.copy(), "b": made})


def may_fail(value: Typed, common: DataType) -> bool:
    """Whether a value is a text that becomes a value of another type, and is not one that is known to."""
    return value.kind == STRING and common not in (STRING, kinds.BINARY) and not is_plain(value, common)


_EQUALITIES = ("=", "<>", "<=>", "distinct")


def _with_nan(call: Call, made: exp.Expr, sides: Sequence[exp.Expr]) -> exp.Expr:
    """A comparison in Flink, where NaN is like Java's: nothing is equal to it, less or greater."""
    found = [each for each in zip(call.kinds, sides, strict=True) if each[0].root in ("FLOAT", "DOUBLE")]
    floats = [node for _, node in found if not isinstance(node, exp.Literal)]
    if not floats or any(kind.root == "DECIMAL" for kind in call.kinds) or call.name not in _NODES:
        return made
    if len(sides) > 1 and sides[0] == sides[1]:
        return made
    if call.name in ("<=>", "distinct"):
        template = "m OR COALESCE(isnan(a), FALSE)" if call.name == "distinct" else "m AND COALESCE(NOT isnan(a), TRUE)"
        for node in floats:
            made = exp.Paren(this=filled(template, {"m": exp.Paren(this=made), "a": node.copy()}))
        return made
    for node in floats:
        # TRUE is greater than FALSE, and nothing than NULL.
        template = "(m) >= NOT isnan(a)" if call.name == "<>" else "(m) > isnan(a)"
        made = exp.Paren(this=filled(template, {"m": made, "a": node.copy()}))
    return made


def comparison(name: str, sides: Sequence[exp.Expr], kind: DataType) -> exp.Expr:
    one, other = sides
    if is_wide(kind) and name in _ORDERED:
        macro, is_swapped = _ORDERED[name]
        return exp.Anonymous(this=macro, expressions=[other, one] if is_swapped else [one, other])
    if is_nested(kind) and name in _ORDERED:
        one, other = key(one, kind), key(other, kind)
    return _NODES[name](this=apart(one), expression=apart(other))


def _truth(call: Call) -> DataType | None:
    if call.is_flink and call.name in _EQUALITIES and _is_text_with_number(call.kinds):
        return None
    if call.is_flink and call.name in _EQUALITIES and _is_truth_with_text(call.kinds):
        return kinds.BOOLEAN
    if call.is_flink and all(_is_row_of_parts(each.written.unnest()) for each in call.arguments):
        return None  # Flink compares the parts of the two, of which a NULL is equal to none
    common = _compared_kind(call.kinds, is_flink=call.is_flink)
    return None if common is None or common.root in ("MAP", "VARIANT") else kinds.BOOLEAN


def _is_row_of_parts(node: exp.Expr) -> bool:
    return isinstance(node, exp.Struct | exp.Tuple) or (isinstance(node, exp.Anonymous) and node.name.upper() == "ROW")


def _is_text_with_number(found: Sequence[DataType]) -> bool:
    """Flink 1.20 has no equality of the two, though it orders them."""
    return any(kind.is_string for kind in found) and any(kinds.is_number(kind) for kind in found)


def _nullif(call: Call) -> exp.Expr:
    first = call.arguments[0]
    same = Call("=", [Typed(first.node.copy(), first.kind, first.written), call.arguments[1]], call.is_flink)
    return filled("CASE WHEN b THEN NULL ELSE a END", {"a": first.node, "b": _compared(same)})


def _nullif_kind(call: Call) -> DataType | None:
    return None if _truth(Call("=", call.arguments, call.is_flink)) is None else call.kinds[0]


def _chosen_kind(call: Call) -> DataType | None:
    found = call.kinds[1:]
    if len({(kind.root, kind.precision) for kind in found if kind.is_timestamp}) > 1:
        return None  # Flink gives it the type of the first one, whose digits it has not
    if not all(map(kinds.is_atomic, found)):
        return None
    return kinds.first_of(found, kinds.widest(found, is_flink=True))


def _chosen(call: Call) -> exp.Expr:
    branches = [call.typing.in_type(each, call.kind) for each in call.arguments[1:]]
    typed = [
        Typed(node, call.kind, each.written, declared=each.declared)
        for node, each in zip(branches, call.arguments[1:], strict=True)
    ]
    call.arguments = [call.arguments[0], *typed]
    return _if(call)


def _nonzero(call: Call) -> exp.Expr:
    zero = exp.Literal.number(0)
    call.arguments.append(Typed(zero, kinds.INT, zero))
    return _nullif(call)


def _if(call: Call) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=call.nodes[0], true=call.nodes[1])], default=call.nodes[2])


def _of_all(call: Call) -> exp.Expr:
    """The greatest or least value, if there is no NULL among them. To Java -0.0 is less than 0.0."""
    nodes = [call.typing.in_type(each, call.kind) for each in call.arguments]
    chosen: exp.Expr = exp.Anonymous(this=call.name, expressions=nodes)
    if call.kind.root in ("FLOAT", "DOUBLE"):
        template = "a = 0 AND 1 / a < 0" if call.name == "least" else "NOT (a = 0 AND 1 / a > 0)"
        found = [filled(template, {"a": node.copy()}) for node in nodes]
        is_below = exp.or_(*found) if call.name == "least" else exp.and_(*found)
        zero = cast_node(filled("CASE WHEN a THEN '-0.0' ELSE '0.0' END", {"a": is_below}), call.kind)
        chosen = filled("CASE WHEN a = 0 THEN z ELSE a END", {"a": chosen, "z": zero})
    there = exp.and_(*(filled("a IS NOT NULL", {"a": node.copy()}) for node in nodes))
    return exp.Case(ifs=[exp.If(this=there, true=chosen), *_failing(call, nodes)])


def _failing(call: Call, nodes: Sequence[exp.Expr]) -> list[exp.If]:
    """What becomes of the first NULL: Flink fails at a decimal that it gives more digits."""
    widened = [each.kind.root == "DECIMAL" and each.kind != call.kind for each in call.arguments]
    if not any(widened):
        return []
    wrong = f"error('{call.name.upper()} of a decimal that is NULL is not supported: run it in Flink')"
    return [
        exp.If(this=filled("a IS NULL", {"a": node.copy()}), true=filled(wrong if is_widened else "NULL", {}))
        for node, is_widened in zip(nodes, widened, strict=True)
    ]


def _first_known(call: Call) -> exp.Expr:
    """The first value that is not NULL. Those behind it are not read, as DuckDB reads what stands in COALESCE twice."""
    first, *others = call.nodes
    made, before = [first], [first]
    for node in others:
        is_read = isinstance(node.unnest(), exp.Column) or node.find(exp.Column) is None
        none = exp.and_(*(filled("a IS NULL", {"a": each.copy()}) for each in before))
        made.append(node if is_read else exp.Case(ifs=[exp.If(this=none, true=node)]))
        before.append(node)
    return exp.Coalesce(this=made[0], expressions=made[1:])


def _atomic(call: Call) -> DataType | None:
    return None if is_nested(call.bound["T"]) else call.bound["T"]


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
    entry("is_null", "ANY", "BOOLEAN", "a IS NULL"),
    entry("is_not_null", "ANY", "BOOLEAN", "a IS NOT NULL"),
    entry("isnull", "ANY", "BOOLEAN", "a IS NULL", SPARK),
    entry("isnotnull", "ANY", "BOOLEAN", "a IS NOT NULL", SPARK),
    entry("is_true", "BOOLEAN", "BOOLEAN", "COALESCE(a, FALSE)"),
    entry("is_false", "BOOLEAN", "BOOLEAN", "NOT COALESCE(a, TRUE)"),
    entry("is_not_true", "BOOLEAN", "BOOLEAN", "NOT COALESCE(a, FALSE)"),
    entry("is_not_false", "BOOLEAN", "BOOLEAN", "COALESCE(a, TRUE)"),
    entry("is_unknown", "BOOLEAN", "BOOLEAN", "a IS NULL"),
    entry("coalesce", "T...", "T", _first_known),
    entry("ifnull", "T, T", "T", _first_known),
    entry("nvl", "T, T", "T", _first_known, SPARK),
    entry("nvl2", "ANY, T, T", "T", "CASE WHEN a IS NOT NULL THEN b ELSE c END", SPARK),
    entry("nullif", "ANY, ANY", _nullif_kind, _nullif),
    entry("nullifzero", "NULL=", "NULL", "a", SPARK),
    entry("nullifzero", "NUMBER|TEXT", "1", _nonzero, SPARK),
    entry("zeroifnull", "INT|NUMBER|TEXT", lambda call: kinds.widest([kinds.INT, call.kinds[0]], is_flink=False),
          lambda call: filled("COALESCE(a, 0)", {"a": call.typing.in_type(call.arguments[0], call.kind)}), SPARK),
    entry("if", "BOOLEAN, T, T", "T", _if, SPARK),
    entry("if", "BOOLEAN, ANY, ANY", _chosen_kind, _chosen, FLINK, samples=("b, i32, i64", "b, s, n", "b, f32, d")),
    entry("greatest", "T, T...", _atomic, "greatest(a, b, rest)", SPARK, samples=("1, 2",)),
    entry("least", "T, T...", _atomic, "least(a, b, rest)", SPARK, samples=("1, 2",)),
    entry("greatest least", "ANY...", lambda call: kinds.merged(call.kinds), _of_all, FLINK,
          samples=("1, 2", "k, i64", "s, n", "d, w")),
    entry("isnan", "FLOATING", "BOOLEAN", "COALESCE(isnan(a), FALSE)", SPARK),
    entry("nanvl", "FLOAT=, FLOAT=", "FLOAT", "CASE WHEN isnan(a) THEN b ELSE a END", SPARK),
    entry("nanvl", "DOUBLE, DOUBLE", "DOUBLE", "CASE WHEN isnan(a) THEN b ELSE a END", SPARK),
    entry("equal_null", "ANY, ANY", _truth, lambda call: _compared_as(call, "<=>"), SPARK),
)  # fmt: skip
