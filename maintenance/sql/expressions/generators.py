"""Functions that give several rows: in DuckDB lists that are unnested side by side."""

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.kinds import INT, NULL
from maintenance.sql.expressions.scopes import Scope
from maintenance.sql.expressions.table import GENERATORS
from maintenance.sql.expressions.templates import filled
from maintenance.sql.expressions.typing import Typing
from maintenance.types.data_type import DataType

Rows = list[tuple[str, Typed]]
_AT_LEAST_ONE = "CASE WHEN a IS NULL OR len(a) = 0 THEN [NULL] ELSE a END"


def name_of(node: exp.Expr) -> str:
    """The name of such a function; empty if it is none."""
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
    elif isinstance(node, exp.Func):
        name = node.sql_name().lower()
    else:
        return ""
    return name if name.removesuffix("_outer") in GENERATORS else ""


def rows_of(typing: Typing, node: exp.Expr, scope: Scope, *, is_outer: bool = False) -> Rows:
    """The columns of the rows that a function gives, each an unnested list. Raises: SqlError."""
    name = name_of(node)
    given = node.expressions if isinstance(node, exp.Anonymous) else list(node.iter_expressions())
    values = [typing.value(part.expression if isinstance(part, exp.Kwarg) else part, scope) for part in given]
    if name == "stack":
        return _stack(typing, node, values)
    made = _MADE[name.removesuffix("_outer")]
    if len(values) != 1:
        raise refusals.error_at(
            typing.source, node, f"{name.upper()} takes 1 argument, and gets {len(values)}", "Give as many."
        )
    found = made(values[0])
    if found is None:
        raise refusals.no_such_types(typing.source, node, name, [values[0].kind])
    template = f"unnest({_AT_LEAST_ONE})" if is_outer or name.endswith("_outer") else "unnest(a)"
    return [(each, Typed(filled(template, {"a": listed}), kind, node)) for each, listed, kind in found]


Lists = Sequence[tuple[str, exp.Expr, DataType]]


def exploded(value: Typed) -> Lists | None:
    node, kind = value.node, value.kind
    if kind.root == "ARRAY" and kind.element is not None:
        return [("col", node, kind.element)]
    if kind.root == "MAP" and kind.key is not None and kind.value is not None:
        keys, values = filled("map_keys(a)", {"a": node}), filled("map_values(a)", {"a": node.copy()})
        return [("key", keys, kind.key), ("value", values, kind.value)]
    return None


def _with_place(value: Typed) -> Lists | None:
    found = exploded(value)
    if found is None:
        return None
    size = "len(a)" if value.kind.root == "ARRAY" else "cardinality(a)"
    places = filled(
        f"list_transform(range(CAST({size} AS BIGINT)), lambda _e: CAST(_e AS INTEGER))", {"a": value.node.copy()}
    )
    return [("pos", places, INT), *found]


def _inlined(value: Typed) -> Lists | None:
    element = value.kind.element
    if value.kind.root != "ARRAY" or element is None or element.root != "ROW":
        return None
    return [
        (part.name, filled("list_transform(a, lambda _e: struct_extract_at(_e, b))",
                           {"a": value.node.copy(), "b": exp.Literal.number(number)}), part.type)
        for number, part in enumerate(element.fields, start=1)
    ]  # fmt: skip


def unnested(value: Typed) -> Lists | None:
    """UNNEST of Flink, which spreads rows."""
    return _inlined(value) or exploded(value)


_MADE: Mapping[str, Callable[[Typed], Lists | None]] = {
    "explode": exploded, "posexplode": _with_place, "inline": _inlined,
}  # fmt: skip


def _stack(typing: Typing, node: exp.Expr, values: list[Typed]) -> Rows:
    """``stack(n, a, b, …)``: rows that are cut short end with nulls."""
    count = (values[0].whole if values else None) or 0
    if count < 1:
        raise refusals.error_at(
            typing.source, node, "the first argument of stack is the number of rows", "Write a number above 0."
        )
    cells = values[1:]
    width = -(-len(cells) // count)
    columns: Rows = []
    for number in range(width):
        own = cells[number::width]
        given = [cell.kind for cell in own if cell.kind != NULL]
        if any(kind != given[0] for kind in given):
            raise refusals.no_such_types(typing.source, node, "stack", given)
        kind, nodes = typing.common(own, node)
        nodes += [exp.Null() for _ in range(count - len(own))]
        listed = exp.Anonymous(this="list_value", expressions=nodes)
        columns.append((f"col{number}", Typed(filled("unnest(a)", {"a": listed}), kind, node)))
    return columns


def with_places(lists: Lists, value: Typed) -> Lists:
    """The same with the number of each element behind it, from 1."""
    places = filled(
        "list_transform(range(CAST(len(a) AS BIGINT)), lambda _e: CAST(_e + 1 AS INTEGER))", {"a": lists[0][1].copy()}
    )
    return [*lists, ("ordinality", places, kinds.INT)]
