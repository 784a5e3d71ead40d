"""Where the dialects mean something that sqlglot does not translate by itself."""

from sqlglot import exp

from maintenance.sql.dialects import Flink
from maintenance.sql.query.relations import fields_of_view
from maintenance.sql.query.resolve import Resolved


def shaped(resolved: Resolved) -> None:
    """Change the tree of a query in Flink's dialect to what it means there."""
    if resolved.source.dialect is not Flink:
        return
    _name_outputs(resolved.tree)
    _unnest_rows(resolved)


def _name_outputs(tree: exp.Expr) -> None:
    """Flink calls an output without a name EXPR$ and its position."""
    query = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    for number, output in enumerate(query.expressions):
        if not isinstance(output, exp.Alias | exp.Column | exp.Star | exp.Dot):
            output.replace(exp.alias_(output.copy(), f"EXPR${number}", quoted=True))


def _unnest_rows(resolved: Resolved) -> None:
    """UNNEST of an ARRAY of ROWs, or of a MAP, gives a column for each part of the elements."""
    types = {
        field.name: field.type
        for relation in resolved.relations.values()
        for field in fields_of_view(relation.opened())
    }
    for unnest in list(resolved.tree.find_all(exp.Unnest)):
        operand = unnest.expressions[0] if unnest.expressions else None
        alias = unnest.args.get("alias")
        if operand is None or alias is None:
            continue
        data_type = types.get(operand.name) if isinstance(operand, exp.Column) else None
        is_map = data_type is not None and data_type.root == "MAP"
        is_rows = data_type is not None and data_type.element is not None and data_type.element.root == "ROW"
        if is_map or is_rows or len(alias.columns) > 1:
            _spread(unnest, operand, alias, is_map=is_map)


def _spread(unnest: exp.Unnest, operand: exp.Expr, alias: exp.TableAlias, *, is_map: bool) -> None:
    entries: exp.Expr = exp.Anonymous(this="map_entries", expressions=[operand]) if is_map else operand
    depth = exp.PropertyEQ(this=exp.to_identifier("max_depth"), expression=exp.Literal.number(2))
    spread = exp.Anonymous(this="unnest", expressions=[entries, depth])
    unnest.replace(exp.Lateral(this=exp.Subquery(this=exp.select(spread)), alias=alias))
