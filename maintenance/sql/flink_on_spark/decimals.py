"""Decimal arithmetic of Flink's dialect in queries that Spark runs.

An expression is cast to its type where everything in it is surely a decimal or an integer.
"""

from sqlglot import exp

from maintenance.sql.flink_on_spark.decimal_types import MOST_DIGITS, Number, Rules
from maintenance.sql.flink_on_spark.functions import function_place, in_place_of

_COUNT = Number(19, 0, is_decimal=False)
_QUOTIENTS = (exp.Div, exp.SafeDivide)
_CAST = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.Sum, exp.Round, exp.Ceil, exp.Floor)


def cast_decimals(tree: exp.Expr, rules: Rules) -> None:
    """Give arithmetic and totals of decimals their types and values."""
    wanted = [(node, rules.of(node)) for node in tree.find_all(*_CAST, *_QUOTIENTS, exp.Avg)]
    decimals = [(node, number) for node, number in wanted if number is not None and number.is_decimal]
    operands = {id(node): _operands(node, rules) for node, _ in decimals}
    # Inside other arithmetic an exact result may have any type.
    exact = {id(node) for node, number in decimals if number.scale == rules.full_scale(node)}
    outer = {id(node) for node, _ in decimals}
    # From the inside out, as what is replaced is copied with all that it contains.
    for node, number in reversed(decimals):
        if isinstance(node, _QUOTIENTS):
            left, right = operands[id(node)]
            node.replace(_of_spark(node.this.unnest().copy(), _divisor(node), left, right, number))
        elif isinstance(node, exp.Avg):
            total, count = Number(MOST_DIGITS, operands[id(node)][0].scale, is_decimal=True), _COUNT
            function_place(node).replace(_of_spark(*total_and_count(node), total, count, number))
        elif id(node) not in exact or id(_around(node)) not in outer:
            place = function_place(node)
            place.replace(exp.cast(place.copy(), number.cast))


def _operands(node: exp.Expr, rules: Rules) -> list[Number]:
    parts = [node.this, node.expression] if isinstance(node, exp.Binary | exp.SafeDivide) else [node.this]
    return [number for number in map(rules.of, parts) if number is not None]


def _divisor(node: exp.Expr) -> exp.Expr:
    divisor: exp.Expr = node.expression.unnest().copy()
    return exp.Nullif(this=divisor, expression=_zero()) if isinstance(node, exp.SafeDivide) else divisor


def _zero() -> exp.Expr:
    return exp.Literal.number(0)


def total_and_count(node: exp.Avg) -> tuple[exp.Expr, exp.Expr]:
    """What an average is the quotient of; both are NULL where there is no value."""
    total, count = (in_place_of(node, kind(this=node.this.copy())) for kind in (exp.Sum, exp.Count))
    return total, exp.Nullif(this=count, expression=_zero())


def _of_spark(dividend: exp.Expr, divisor: exp.Expr, left: Number, right: Number, number: Number) -> exp.Expr:
    """A quotient that Spark reckons, of operands that have Flink's types."""
    kinds = [replaced._replace(is_decimal=True).cast for replaced in (left, right)]
    quotient = exp.Div(this=exp.cast(dividend, kinds[0]), expression=exp.cast(divisor, kinds[1]))
    return exp.cast(quotient, number.cast)


def _around(node: exp.Expr) -> exp.Expr | None:
    """The expression that a value goes into."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        parent = parent.parent
    return parent
