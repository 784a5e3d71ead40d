"""What arrays and rows are ordered by: a NULL inside of them is less than anything, and the greatest to DuckDB.

Source: Spark's `InterpretedOrdering`, `PhysicalArrayType`; Flink's `GenerateUtils`.
"""

from collections.abc import Callable

from sqlglot import exp

from maintenance.sql.expressions.entries import Call
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

_PART = "{{'known': {0} IS NOT NULL, 'value': {1}}}"


def is_nested(kind: DataType) -> bool:
    return kind.root in ("ARRAY", "ROW")


def key(node: exp.Expr, kind: DataType, depth: int = 0) -> exp.Expr:
    """A value that DuckDB orders as Spark does this one."""
    if kind.root == "ARRAY" and kind.element is not None:
        element = f"_k{depth}"
        inner = key(filled(element, {}), kind.element, depth + 1)
        template = f"list_transform(a, lambda {element}: {_PART.format(element, 'b')})"
        return filled(template, {"a": node, "b": inner})
    if kind.root != "ROW":
        return node
    parts: list[exp.Expr] = []
    for number, field in enumerate(kind.fields, start=1):
        taken = filled("struct_extract_at(a, n)", {"a": node.copy(), "n": exp.Literal.number(number)})
        made = filled(_PART.format("a", "b"), {"a": taken, "b": key(taken.copy(), field.type, depth)})
        parts.append(exp.PropertyEQ(this=exp.to_identifier(f"part{number}"), expression=made))
    return filled("CASE WHEN a IS NOT NULL THEN b END", {"a": node, "b": exp.Struct(expressions=parts)})


# Sorted beside their keys: nulls are first where what is first is `known`.
_SORTED = (
    "list_transform(list_sort(list_transform(a, lambda _e: {{'first': _e IS {0}NULL, 'key': k, 'value': _e}}), '{1}'),"
    " lambda _s: struct_extract(_s, 'value'))"
)


def in_order(plain: str, *, nulls_last: bool = False, descending: bool = False) -> Callable[[Call], exp.Expr]:
    """A function that sorts an array. `plain`: the template for elements that are not nested."""

    def says(call: Call) -> exp.Expr:
        element = call.kinds[0].element
        if element is None or not is_nested(element):
            return filled(plain, {"a": call.nodes[0]})
        return nested_in_order(call.nodes[0], element, nulls_last=nulls_last, descending=descending)

    return says


def nested_in_order(
    node: exp.Expr, element: DataType, *, nulls_last: bool = False, descending: bool = False
) -> exp.Expr:
    template = _SORTED.format("" if nulls_last else "NOT ", "DESC" if descending else "ASC")
    return filled(template, {"a": node, "k": key(filled("_e", {}), element)})


def least_of(plain: str, *, greatest: bool) -> Callable[[Call], exp.Expr]:
    """The least or greatest element of an array."""

    def says(call: Call) -> exp.Expr:
        element = call.kinds[0].element
        if element is None or not is_nested(element):
            return filled(plain, {"a": call.nodes[0]})
        listed = filled("list_filter(a, lambda _n: _n IS NOT NULL)", {"a": call.nodes[0]})
        made = nested_in_order(listed, element, descending=greatest)
        return filled("list_extract(a, 1)", {"a": made})

    return says
