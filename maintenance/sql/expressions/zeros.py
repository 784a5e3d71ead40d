"""Zeros without a sign: Spark groups -0.0 with 0.0, and shows 0.0. Source: `NormalizeFloatingNumbers`."""

from collections.abc import Iterator

from sqlglot import exp

from maintenance.sql.expressions.duck_aggregates import is_of_groups
from maintenance.sql.expressions.scopes import Columns
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

_SIGNS = "paimon_signs"
"""This key is in the `meta` of a key of GROUP BY that is a float."""


def without_signs(select: exp.Select, columns: Columns) -> None:
    """Show the keys of groups, and all values of DISTINCT, as Spark does. `columns`: what the query gives, typed."""
    group, is_distinct = select.args.get("group"), select.args.get("distinct") is not None
    stars = [output for output in select.expressions if output.is_star]
    if stars:
        if is_distinct and len(select.expressions) == 1:
            _replace(stars[0].this if isinstance(stars[0], exp.Column) else stars[0], columns)
        return
    keys = [] if group is None else list(_keys(group))
    takes_all = group is not None and group.args.get("all")
    for number, (output, (_, kind)) in enumerate(zip(select.expressions, columns, strict=True)):
        inner = output.this if isinstance(output, exp.Alias) else output
        is_plain = bool(takes_all) and not any(map(is_of_groups, output.walk()))
        if is_distinct or is_plain or _is_key(number, output, keys):
            made = _unsigned(inner) if _has_signs(kind) else inner
        else:
            made = _with_keys(inner, keys)
        if made is not inner:
            named = output if isinstance(output, exp.Alias) else exp.alias_(made, output.output_name, quoted=True)
            named.set("this", made)
            select.expressions[number] = named
    select.set("expressions", select.expressions)


def _replace(star: exp.Expr, columns: Columns) -> None:
    """Show all columns, of which some have signs."""
    names = [name.lower() for name, _ in columns]
    found = [name for name, kind in columns if _has_signs(kind) and names.count(name.lower()) == 1]
    columns_of = [exp.to_identifier(name, quoted=True) for name in found]
    star.set("replace", [exp.Alias(this=_unsigned(exp.Column(this=name)), alias=name.copy()) for name in columns_of])


def _keys(group: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions that are grouped by, those inside of ROLLUP and its like as well."""
    for value in group.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Cube | exp.Rollup | exp.GroupingSets | exp.Tuple | exp.Paren):
                yield from _keys(part)
            elif isinstance(part, exp.Expr):
                yield part


def mark(key: exp.Expr, kind: DataType) -> exp.Expr:
    """A key of GROUP BY, which says itself that its values have signs."""
    if _has_signs(kind):
        key.meta[_SIGNS] = True
    return key


def unsigned(node: exp.Expr, kind: DataType) -> exp.Expr:
    """A value, or an array of such, without the sign of zeros."""
    if _has_signs(kind):
        return _unsigned(node)
    if kind.root == "ARRAY" and kind.element is not None:
        inner = unsigned(exp.column("paimon_z"), kind.element)
        if not isinstance(inner, exp.Column):
            return filled("list_transform(a, lambda _z: b)", {"a": node, "b": inner})
    return node


def _has_signs(kind: DataType) -> bool:
    return kind.root in ("FLOAT", "DOUBLE")


def _unsigned(node: exp.Expr) -> exp.Expr:
    return filled("paimon_unsigned(a)", {"a": node.copy()})


def _is_key(number: int, output: exp.Expr, keys: list[exp.Expr]) -> bool:
    """Whether an output is a key by its number or its alias."""
    for key in keys:
        if isinstance(key, exp.Literal) and not key.is_string and key.name == str(number + 1):
            return True
        if isinstance(output, exp.Alias) and isinstance(key, exp.Column) and key.name == output.alias:
            return True
    return False


def _with_keys(node: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
    """An output with the keys in it unsigned, but not those that aggregates are of."""
    if any(_SIGNS in key.meta and _is_same(node, key) for key in keys):
        return _unsigned(node)
    if isinstance(node, exp.Query | exp.Window) or is_of_groups(node):
        return node
    for child in list(node.iter_expressions()):
        made = _with_keys(child, keys)
        if made is not child:
            child.replace(made)
    return node


def _is_same(node: exp.Expr, key: exp.Expr) -> bool:
    if isinstance(node, exp.Column) and isinstance(key, exp.Column):
        tables = {node.table.lower(), key.table.lower()} - {""}
        return node.name.lower() == key.name.lower() and len(tables) < 2
    return node == key
