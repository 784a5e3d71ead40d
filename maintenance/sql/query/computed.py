"""Flink's computed columns in queries: a table that has some is read through a query that computes them."""

from dataclasses import replace

from sqlglot import exp

from maintenance.sql.cursor import Source, statements_of
from maintenance.sql.flink_columns import ComputedColumn, computed_columns, placed
from maintenance.sql.query.relations import Readable, Relation, own_alias, place_at
from maintenance.table.system.audit_log import AUDIT_LOG, AuditLogView
from maintenance.table.table import Table

RELATION = "paimon_relation"
"""Under this key the query in the place of a table has the name of its relation, in `meta`."""


def computed_of(view: Readable) -> list[ComputedColumn]:
    """What Flink computes beside the columns of a table, behind them in its audit log. Source: `SystemCatalogTable`."""
    if isinstance(view, Table) and not view.read_optimized:
        return computed_columns(view.schema.options)
    if isinstance(view, AuditLogView) and view.name == AUDIT_LOG:
        found, last = computed_columns(view.table.schema.options), len(view.fields)
        return [replace(column, number=last + behind) for behind, column in enumerate(found)]
    return []


def compute_columns(node: exp.Table, relation: Relation, source: Source) -> None:
    """Put a query in the place of a table's node, if the table has computed columns."""
    computed = computed_of(relation.opened())
    if not computed:
        return
    inner = node.copy()
    inner.set("alias", None)
    stored = [field.name for field in relation.fields()]
    query = exp.select(*(exp.column(name, quoted=True) for name in stored)).from_(inner)
    # One after the other, as one may be made of those before it.
    for number, column in enumerate(computed):
        value = statements_of(Source(f"SELECT {column.text}", source.dialect))[0].query().expressions[0]
        place_at(value, node)
        made = exp.alias_(value, column.name, quoted=True)
        step = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(f"computed_{number}")))
        query = exp.select(exp.Star(), made).from_(step)
    names = [column.name if isinstance(column, ComputedColumn) else column for column in placed(stored, computed)]
    last = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("computed")))
    ordered = exp.select(*(exp.column(name, quoted=True) for name in names)).from_(last)
    old = node.args.get("alias")
    columns = old.args.get("columns") if old is not None else None
    alias = exp.TableAlias(this=exp.to_identifier(own_alias(node), quoted=True), columns=columns)
    whole = exp.Subquery(this=ordered, alias=alias)
    whole.meta[RELATION] = relation.name
    node.replace(whole)
