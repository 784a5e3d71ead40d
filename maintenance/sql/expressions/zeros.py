"""Signs of zeros where rows are compared, which DuckDB passes over.

Spark groups -0.0 with 0.0, and shows 0.0. To Flink they are two values, but for equality. Source:
`NormalizeFloatingNumbers`; Flink's `BinaryRowData`.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from maintenance.sql.expressions.duck_aggregates import is_of_groups
from maintenance.sql.expressions.scopes import Columns
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

_SIGNS = "paimon_signs"
"""Under this key a key of GROUP BY that is a float, or has one in it, has its type in `meta`."""


def without_signs(select: exp.Select, given: Sequence[Columns]) -> None:
    """Show the keys of groups, and all values of DISTINCT, as Spark does. `given`: what each output gives, typed."""
    group, is_distinct = select.args.get("group"), select.args.get("distinct") is not None
    keys = [] if group is None else list(_keys(group))
    takes_all = group is not None and group.args.get("all")
    place = 0
    for number, (output, columns) in enumerate(zip(select.expressions, given, strict=True)):
        place += len(columns)
        if output.is_star:
            if is_distinct:
                _replace(output.this if isinstance(output, exp.Column) else output, columns)
            continue
        inner = output.this if isinstance(output, exp.Alias) else output
        is_plain = bool(takes_all) and not any(map(is_of_groups, output.walk()))
        if is_distinct or is_plain or _is_key(place, output, keys):
            made = unsigned(inner, columns[0][1])
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
    found = [(name, kind) for name, kind in columns if has_signs(kind) and names.count(name.lower()) == 1]
    listed = [(exp.to_identifier(name, quoted=True), kind) for name, kind in found]
    star.set("replace", [
        exp.Alias(this=unsigned(exp.Column(this=name), kind), alias=name.copy()) for name, kind in listed
    ])  # fmt: skip


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
    if has_signs(kind):
        key.meta[_SIGNS] = kind
    return key


def unsigned(node: exp.Expr, kind: DataType) -> exp.Expr:
    """A value, or an array or row of such, without the sign of zeros."""
    if not has_signs(kind):
        return node
    if kind.root == "ARRAY" and kind.element is not None:
        inner = unsigned(exp.column("paimon_z"), kind.element)
        return filled("list_transform(a, lambda _z: b)", {"a": node.copy(), "b": inner})
    if kind.root == "ROW":
        return filled("CASE WHEN a IS NOT NULL THEN b END", {"a": node.copy(), "b": _unsigned_row(node, kind)})
    return filled("paimon_unsigned(a)", {"a": node.copy()})


def sign(node: exp.Expr, kind: DataType) -> exp.Expr:
    """What tells values apart whose zeros have other signs."""
    if kind.root == "ARRAY" and kind.element is not None:
        inner = sign(exp.column("paimon_z"), kind.element)
        return filled("list_transform(a, lambda _z: b)", {"a": node.copy(), "b": inner})
    if kind.root == "ROW":
        taken = [filled("struct_extract_at(a, b)", {"a": node.copy(), "b": exp.Literal.number(number)})
                 for number in range(1, len(kind.fields) + 1)]  # fmt: skip
        signs = [sign(each, part.type) for each, part in zip(taken, kind.fields, strict=True) if has_signs(part.type)]
        return exp.Anonymous(
            this="list_value", expressions=[filled("CAST(a AS VARCHAR)", {"a": each}) for each in signs]
        )
    # A NaN that is reckoned has a sign, and one that is read has none.
    return filled("(a = 0 OR isnan(a)) AND signbit(a)", {"a": node.copy()})


def with_sign(key: exp.Expr, kind: DataType) -> list[exp.Expr]:
    """A key by which rows are grouped in Flink."""
    return [key, sign(key, kind)] if has_signs(kind) else [key]


def different(query: exp.Expr, columns: Columns) -> exp.Select:
    """The rows of a query, each once; zeros of both signs are two values. Flink's INTERSECT and EXCEPT take those of
    their first side that the other one has, or has not.
    """
    names = [exp.to_identifier(f"column_{number}") for number in range(len(columns))]
    alone = query.copy()
    moved = {key: alone.args[key] for key in ("with_", "with", "order", "limit", "offset") if alone.args.get(key)}
    for key in moved:
        alone.set(key, None)
    inner = alone if isinstance(alone, exp.Union | exp.Select) else alone.this
    if isinstance(alone, exp.Union | exp.Select):
        alone.set("distinct", isinstance(alone, exp.Select) and None)
    made = exp.select(*(exp.alias_(exp.column(own.copy(), "paimon_rows"), name or own.name, quoted=True)
                        for own, (name, _) in zip(names, columns, strict=True)))  # fmt: skip
    made = made.from_(_listed(inner, "paimon_rows", names))
    if not isinstance(alone, exp.Union | exp.Select):
        same = [exp.NullSafeEQ(this=exp.column(name.copy(), "paimon_rows"),
                               expression=exp.column(name.copy(), "paimon_others")) for name in names]  # fmt: skip
        others = exp.select("1").from_(_listed(alone.expression, "paimon_others", names)).where(*same)
        exists: exp.Expr = exp.Exists(this=others)
        made = made.where(exists if isinstance(alone, exp.Intersect) else exp.Not(this=exists))
    keys = [part for name, (_, kind) in zip(names, columns, strict=True)
            for part in with_sign(exp.column(name.copy(), "paimon_rows"), kind)]  # fmt: skip
    made.set("distinct", exp.Distinct(on=exp.Tuple(expressions=keys)))
    for key, value in moved.items():
        made.set(key, value)
    return made


def _listed(query: exp.Expr, name: str, columns: Sequence[exp.Identifier]) -> exp.Subquery:
    inner = query if isinstance(query, exp.Subquery) and not query.alias else exp.Subquery(this=query)
    inner.set("alias", exp.TableAlias(this=exp.to_identifier(name), columns=[each.copy() for each in columns]))
    return inner


_RANDOM = ("rand", "rand_integer")


def is_constant(written: exp.Expr) -> bool:
    """Whether Flink reckons an expression when it plans, which takes the sign of a zero away."""
    return written.find(exp.Column, exp.Query) is None and not any(
        str(call.this).lower() in _RANDOM for call in written.find_all(exp.Anonymous)
    )


def is_float(kind: DataType) -> bool:
    return kind.root in ("FLOAT", "DOUBLE")


def has_signs(kind: DataType) -> bool:
    """Whether zeros of a type, or of a part of it, may have signs."""
    inner = [part.type for part in kind.fields] if kind.root == "ROW" else []
    if kind.root == "ARRAY" and kind.element is not None:
        inner = [kind.element]
    return is_float(kind) or any(map(has_signs, inner))


def _unsigned_row(node: exp.Expr, kind: DataType) -> exp.Expr:
    parts = [
        exp.PropertyEQ(
            this=exp.to_identifier(part.name, quoted=True),
            expression=unsigned(
                filled("struct_extract_at(a, b)", {"a": node.copy(), "b": exp.Literal.number(number)}), part.type
            ),
        )
        for number, part in enumerate(kind.fields, start=1)
    ]
    return exp.Struct(expressions=parts)


def _is_key(place: int, output: exp.Expr, keys: list[exp.Expr]) -> bool:
    """Whether an output is a key by its number or its alias."""
    for key in keys:
        if isinstance(key, exp.Literal) and not key.is_string and key.name == str(place):
            return True
        if isinstance(output, exp.Alias) and isinstance(key, exp.Column) and key.name == output.alias:
            return True
    return False


def _with_keys(node: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
    """An output with the keys in it unsigned, but not those that aggregates are of."""
    same = next((key for key in keys if _SIGNS in key.meta and _is_same(node, key)), None)
    if same is not None:
        return unsigned(node, same.meta[_SIGNS])
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
