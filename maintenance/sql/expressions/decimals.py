"""Exact arithmetic: which decimals sums, products and quotients are, and how DuckDB reckons them.

Inside other arithmetic an exact result may have any digits; what takes it as a value casts it. Source: Spark's
`DecimalPrecision` and `Average`, Flink's `LogicalTypeMerging`.
"""

from sqlglot import exp

from maintenance.sql.duckdb.quotients import product_function, quotient_function, total_function
from maintenance.sql.expressions.conversions import KEPT, cast_node
from maintenance.sql.expressions.entries import Call, Typed
from maintenance.sql.expressions.kinds import BITS, LEAST_SCALE, MOST_DIGITS, decimal, digits, fitting, is_integer
from maintenance.sql.expressions.templates import apart, filled
from maintenance.types.data_type import DataType

# The narrowest decimal that DuckDB holds in 128 bits.
_WIDE = 19
OPERANDS = "paimon_digits"
"""Under this key arithmetic with decimals has the types of its operands, in `meta`."""
WRAPS = "paimon_wraps"
"""Under this key arithmetic with integers has its type, in `meta`, if it wraps around at its ends, as in Flink."""
_NODES: dict[str, type[exp.Binary]] = {"+": exp.Add, "-": exp.Sub, "*": exp.Mul, "%": exp.Mod}


def operand(value: Typed, *, is_flink: bool) -> DataType:
    """The decimal that a side of arithmetic counts as. Spark counts the digits of a whole number as written."""
    if not is_integer(value.kind):
        return value.kind
    if is_flink:
        return decimal(19 if value.kind.root == "BIGINT" else digits(value.kind)[0], 0)
    written = value.whole
    return decimal(digits(value.kind)[0] if written is None else max(1, len(str(abs(written)))), 0)


def combined(name: str, left: DataType, right: DataType, *, is_flink: bool) -> DataType:
    """The type of a result. `name`: of the operator."""
    (p1, s1), (p2, s2) = digits(left), digits(right)
    if name == "*":
        return fitting(p1 + p2 + 1, s1 + s2)
    if name == "/":
        scale = max(LEAST_SCALE, s1 + p2 + 1)
        return fitting(p1 - s1 + s2 + scale, scale)
    scale = max(s1, s2)
    if name == "%":
        return fitting(min(p1 - s1, p2 - s2) + scale, scale)
    return fitting(max(p1 - s1, p2 - s2) + scale + 1, scale)


def exact(call: Call, left: DataType, right: DataType) -> Typed:
    """A sum, difference, product or rest of decimals."""
    one, other = call.arguments
    if call.name == "%":
        return Typed(cast_node(rest(one.node, other.node, left, right), call.kind), call.kind, call.written)
    node = _NODES[call.name](this=apart(one.node), expression=apart(other.node))
    (_, s1), (_, s2) = digits(left), digits(right)
    full = s1 + s2 if call.name == "*" else max(s1, s2)
    node.meta[OPERANDS] = (left, right)
    if call.name in ("+", "-") and full != (call.kind.scale or 0):
        # The least number of an integer's type has no opposite there.
        second = other.node if call.name == "+" else exp.Neg(this=cast_node(other.node, decimal(MOST_DIGITS, s2)))
        return Typed(total(one.node, second, (s1, s2), call), call.kind, call.written)
    if call.name == "*" and full != (call.kind.scale or 0):
        # More digits than DuckDB has.
        made = product(one.node, other.node, (s1, s2), call)
        return Typed(made, call.kind, call.written)
    if full == (call.kind.scale or 0):
        return Typed(node, call.kind, call.written, is_loose=True)
    return Typed(cast_node(node, call.kind), call.kind, call.written)


_TOO_LONG = "error('a rest of decimals needs more than 38 digits: cast to fewer first, or run it with --engine spark')"


def rest(one: exp.Expr, other: exp.Expr, left: DataType, right: DataType) -> exp.Expr:
    """The rest of a division of decimals. Where both sides together have more digits than DuckDB's decimals, it would
    reckon with doubles.
    """
    (p1, s1), (p2, s2) = digits(left), digits(right)
    if max(p1 - s1, p2 - s2) + max(s1, s2) > MOST_DIGITS:
        wide = decimal(MOST_DIGITS, max(s1, s2))
        template = f"CASE WHEN a IS NOT NULL THEN COALESCE(TRY_CAST(a AS {wide}), {_TOO_LONG}) END"
        one, other = (filled(template, {"a": part}) for part in (one, other))
        for wrong in (*one.find_all(exp.Anonymous), *other.find_all(exp.Anonymous)):
            if wrong.name == "error":
                wrong.meta[KEPT] = True  # Spark has a value there, so that of TRY_MOD is not NULL
    return exp.Mod(this=apart(one), expression=apart(other))


def quotient(
    dividend: exp.Expr, divisor: exp.Expr, scales: tuple[int, int], kind: DataType, *, is_null: bool = False
) -> exp.Expr:
    """A quotient by a function of ours: DuckDB's is a double. `scales`: of the two sides."""
    name = quotient_function(*scales, kind.precision or 0, kind.scale or 0, is_null=is_null)
    # The function takes decimals; a total of integers may be wider than what DuckDB turns into one by itself.
    widest = [
        cast_node(part, decimal(MOST_DIGITS, scale)) for part, scale in zip((dividend, divisor), scales, strict=True)
    ]
    return exp.Anonymous(this=name, expressions=widest)


def product(one: exp.Expr, other: exp.Expr, scales: tuple[int, int], call: Call) -> exp.Expr:
    """A product by a function of ours, which rounds it. In Flink one that is too large is NULL."""
    name = product_function(*scales, call.kind.scale or 0, is_null=call.is_flink)
    sides = [cast_node(part, decimal(MOST_DIGITS, scale)) for part, scale in zip((one, other), scales, strict=True)]
    return exp.Anonymous(this=name, expressions=sides)


def total(one: exp.Expr, other: exp.Expr, scales: tuple[int, int], call: Call) -> exp.Expr:
    """A sum by a function of ours, as `product` is one."""
    name = total_function(*scales, call.kind.scale or 0, is_null=call.is_flink)
    sides = [cast_node(part, decimal(MOST_DIGITS, scale)) for part, scale in zip((one, other), scales, strict=True)]
    return exp.Anonymous(this=name, expressions=sides)


def divided(call: Call, left: DataType, right: DataType) -> exp.Expr:
    one, other = call.nodes
    return quotient(one, other, (left.scale or 0, right.scale or 0), call.kind)


def divided_whole(call: Call, left: DataType, right: DataType) -> exp.Expr:
    """A quotient of decimals without its fraction."""
    one, other = call.nodes
    scale = max(left.scale or 0, right.scale or 0)
    whole = filled("a - r", {"a": one, "r": rest(one.copy(), other.copy(), left, right)})
    return filled(
        "CAST(q AS BIGINT)", {"q": quotient(whole, other, (scale, right.scale or 0), decimal(MOST_DIGITS, 0))}
    )


def around(node: exp.Expr, kind: DataType) -> exp.Expr:
    """An integer of any size as one of a type, whose bits are its last ones."""
    return filled(f"CAST(paimon_wrapped(a, CAST('{1 << BITS[kind.root]}' AS HUGEINT)) AS {kind.root})", {"a": node})


def _huge(node: exp.Expr) -> exp.Expr:
    return filled("CAST(a AS HUGEINT)", {"a": node.copy()})


def widened(tree: exp.Expr) -> exp.Expr:
    """The query for 128 bits where DuckDB has taken fewer: with wider decimals, and with integers that wrap around."""
    tree = tree.copy()
    for node in reversed([node for node in tree.find_all(exp.Add, exp.Sub, exp.Mul, exp.Neg) if WRAPS in node.meta]):
        parts = [node.args[side] for side in ("this", "expression") if side in node.args]
        made = type(node)(**dict(zip(("this", "expression"), map(_huge, parts), strict=False)))
        wrapped = around(made, node.meta[WRAPS])
        if node is tree:
            tree = wrapped
        else:
            node.replace(wrapped)
    for node in reversed([node for node in tree.find_all(exp.Add, exp.Sub, exp.Mul) if OPERANDS in node.meta]):
        for side, kind in zip(("this", "expression"), node.meta[OPERANDS], strict=True):
            precision, scale = digits(kind)
            wide = decimal(min(MOST_DIGITS, max(_WIDE, precision)), scale)
            node.set(side, cast_node(node.args[side].copy(), wide))
    return tree
