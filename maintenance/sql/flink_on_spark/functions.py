"""Functions with the condition and the window that belong to them."""

from sqlglot import exp


def function_place(node: exp.Expr) -> exp.Expr:
    """A function with the condition and the window that belong to it."""
    parent = node.parent
    while isinstance(parent, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls) and node.arg_key == "this":
        node, parent = parent, parent.parent
    return node


def in_place_of(node: exp.Expr, instead: exp.Expr) -> exp.Expr:
    """Another function with the window and the condition that belong to one."""
    place = function_place(node)
    while node is not place:
        around = node.parent
        assert around is not None
        copied = around.copy()
        copied.set("this", instead)
        node, instead = around, copied
    return instead
