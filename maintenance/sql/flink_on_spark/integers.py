"""Totals, quotients and averages of integers are of the type that they are made of in Flink, cut off.

Source: Flink's `LogicalTypeMerging` and `AvgAggFunction`.
"""

from sqlglot import exp

from maintenance.sql.flink_on_spark.decimal_types import Rules
from maintenance.sql.flink_on_spark.decimals import total_and_count
from maintenance.sql.flink_on_spark.functions import function_place


def shape_integers(tree: exp.Expr, rules: Rules) -> None:
    """Put whole quotients in the place of `/`, SUM and AVG over integers, for either engine."""
    found = [(node, rules.of(node)) for node in tree.find_all(exp.Div, exp.Avg, exp.Sum)]
    # From the inside out, as what is replaced is copied with all that it contains.
    for node, number in reversed(found):
        if number is None or number.is_decimal:
            continue
        if isinstance(node, exp.Sum):
            place = function_place(node)
            place.replace(exp.cast(place.copy(), number.cast))
        elif isinstance(node, exp.Avg):
            function_place(node).replace(exp.cast(_average(node), number.cast))
        else:
            node.replace(exp.cast(exp.IntDiv(this=node.this.copy(), expression=node.expression.copy()), number.cast))


def _average(node: exp.Avg) -> exp.Expr:
    total, count = total_and_count(node)
    return exp.IntDiv(this=total, expression=count)
