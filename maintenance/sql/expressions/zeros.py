"""Signs of zeros where rows are compared, which DuckDB passes over.

Spark groups -0.0 with 0.0, and shows 0.0. To Flink they are two values, but for equality. Source:
`NormalizeFloatingNumbers`; Flink's `BinaryRowData`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

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
                replace_in(output, columns)
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


def replace_in(output: exp.Expr, columns: Columns) -> None:
    """Show all columns, of which these may have signs."""
    star = output.this if isinstance(output, exp.Column) else output
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
    return all(is_decided(each) for each in written.find_all(exp.Column, exp.Query)) and not any(
        str(call.this).lower() in _RANDOM for call in written.find_all(exp.Anonymous)
    )


_DECIDED = "paimon_decided"
"""This key is in the `meta` of columns that a condition makes equal to a constant, which Flink puts in their place."""


def is_decided(column: exp.Expr) -> bool:
    return _DECIDED in column.meta


def decide(select: exp.Select) -> set[str]:
    """Mark the columns that WHERE, HAVING and inner joins make constants in a query of Flink; their names, lowered."""
    source = select.args.get("from_") or select.args.get("from")
    around = [select] if source is None else [select, source.this]
    joins = [each for node in around for each in node.args.get("joins") or () if not each.side]
    given = [select.args.get("where"), *(each.args.get("on") for each in joins)]
    found = _decided(part for each in given if each is not None for part in _conditions(each))
    own = [*select.expressions, *(select.args.get(key) for key in ("group", "having", "qualify", "order"))]
    _mark(found, own)
    having = select.args.get("having")
    behind = _decided(_conditions(having)) if having is not None else set()
    _mark(behind, [*select.expressions, select.args.get("order")])
    return {name for _, name in found | behind}


def _mark(found: set[tuple[str, str]], places: Sequence[exp.Expr | None]) -> None:
    if not found:
        return
    for place in places:
        for node in () if place is None else place.walk(prune=lambda each: isinstance(each, exp.Query)):
            if isinstance(node, exp.Column) and any(_is_column(node, table, name) for table, name in found):
                node.meta[_DECIDED] = True


def _is_column(node: exp.Column, table: str, name: str) -> bool:
    return node.name.lower() == name and (not table or node.table.lower() in ("", table))


def _conditions(node: exp.Expr) -> Iterator[exp.Expr]:
    """What holds of all rows that a condition lets through."""
    match node:
        case exp.Where() | exp.Having() | exp.Paren():
            yield from _conditions(node.this)
        case exp.And():
            yield from _conditions(node.this)
            yield from _conditions(node.expression)
        case exp.Is(expression=exp.Boolean(this=True)):
            yield from _conditions(node.this)
        case exp.Not() if isinstance(node.this.unnest(), exp.NEQ | exp.NullSafeNEQ):
            yield exp.EQ(this=node.this.unnest().this, expression=node.this.unnest().expression)
        case exp.Between():
            yield exp.GTE(this=node.this, expression=node.args["low"])
            yield exp.LTE(this=node.this, expression=node.args["high"])
        case _:
            yield node


def _decided(conditions: Iterable[exp.Expr]) -> set[tuple[str, str]]:
    """Tables and names of columns that are equal to a constant, or to such a column."""
    pairs: list[tuple[tuple[str, str], exp.Expr]] = []
    bounds: dict[type[exp.Expr], set[tuple[tuple[str, str], str]]] = {exp.LTE: set(), exp.GTE: set()}
    turned = {exp.LTE: exp.GTE, exp.GTE: exp.LTE}
    for each in conditions:
        if not isinstance(each, exp.EQ | exp.NullSafeEQ | exp.LTE | exp.GTE):
            continue
        for one, other, sign in ((each.this, each.expression, type(each)),
                                 (each.expression, each.this, turned.get(type(each), type(each)))):  # fmt: skip
            column = _bare(one)
            if column is None:
                continue
            key = (column.table.lower(), column.name.lower())
            if sign in bounds:
                bounds[sign].add((key, other.sql()))
            elif _bare(other) is not None or is_constant(other):
                pairs.append((key, other))
    found = {key for key, other in pairs if _bare(other) is None}
    found |= {key for key, _ in bounds[exp.LTE] & bounds[exp.GTE]}
    for _ in pairs:
        found |= {key for key, other in pairs if (column := _bare(other)) is not None
                  and any(_is_column(column, table, name) for table, name in found)}  # fmt: skip
    return found


_KEEPS: Mapping[type[exp.Expr], str] = {exp.Mul: "1", exp.Div: "1", exp.Add: "0", exp.Sub: "0"}


def _bare(node: exp.Expr) -> exp.Column | None:
    """The column that an expression is to Flink, which drops casts to a float and what changes nothing."""
    node = node.unnest()
    if type(node) in _KEEPS and node.expression.name == _KEEPS[type(node)]:
        return _bare(node.this)
    if isinstance(node, exp.Cast) and node.to.is_type(exp.DType.FLOAT, exp.DType.DOUBLE):
        return _bare(node.this)
    return node if isinstance(node, exp.Column) else None


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
