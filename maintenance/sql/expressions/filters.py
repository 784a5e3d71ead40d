"""Columns that a condition compares with themselves: in WHERE Flink's planner decides that without the rows.

So a row whose column is NULL is found as well by ``s = s``. What is computed, such as ``UPPER(s)``, is compared.
"""

from collections.abc import Collection

from sqlglot import exp

_TRUE, _FALSE = (exp.EQ, exp.GTE, exp.LTE), (exp.NEQ, exp.GT, exp.LT)


def with_itself(condition: exp.Expr, tables: Collection[str]) -> exp.Expr | None:
    """The condition with truth values in the place of such comparisons; None if there is none.

    `tables`: the names in small letters under which columns are known: what stands behind another is a field of a ROW.
    """
    if not any(_replaced(node, tables) for node in condition.find_all(*_TRUE, *_FALSE, exp.In, exp.Between)):
        return None
    made: exp.Expr = condition.copy().transform(lambda node: _replaced(node, tables) or node)
    return made


def _replaced(node: exp.Expr, tables: Collection[str]) -> exp.Expr | None:
    if isinstance(node, _TRUE) and _is_same(node.this, node.expression, tables):
        return exp.true()
    if isinstance(node, _FALSE) and _is_same(node.this, node.expression, tables):
        return exp.false()
    if isinstance(node, exp.In) and any(_is_same(node.this, each, tables) for each in node.expressions):
        return exp.true()
    if isinstance(node, exp.Between):
        low, high = node.args["low"], node.args["high"]
        over, under = _is_same(node.this, low, tables), _is_same(node.this, high, tables)
        if over and under:
            return exp.true()
        if over:
            return exp.LTE(this=node.this.copy(), expression=high.copy())
        if under:
            return exp.GTE(this=node.this.copy(), expression=low.copy())
    return None


def _is_same(one: exp.Expr, other: exp.Expr, tables: Collection[str]) -> bool:
    """Whether both are one column."""
    one, other = one.unnest(), other.unnest()
    if not isinstance(one, exp.Column) or not isinstance(other, exp.Column) or one.name != other.name:
        return False
    given = {column.table.lower() for column in (one, other)} - {""}
    return len(given) < 2 and given <= set(tables)
