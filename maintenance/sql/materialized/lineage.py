"""Where a materialized table's rows come from: its sources, and for each column the columns that it is made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, to_node
from sqlglot.optimizer.scope import build_scope
from sqlglot.schema import MappingSchema

from maintenance.errors import PaimonError
from maintenance.sql.materialized.alignment import CASE_SENSITIVE, qualified
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.query.resolve import Resolved
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Lineage:
    """Attributes: `sources`: source (``database.table``, of another catalog with its name in front) -> column of the
    table -> columns of the source that it is made from."""

    sources: Mapping[str, Mapping[str, tuple[str, ...]]]


def lineage_of(session: "SessionState", table: Table, catalog: str) -> Lineage:
    """The lineage of a materialized table. Columns are left out where the query is not understood.

    Args: `catalog`: that of the table, as the session calls it.
    Raises: OptionError: it is not a materialized table; SqlError: its query cannot be read, or a source is not there.
    """
    query = DefiningQuery.of(session, table, catalog)
    resolved = query.resolved()
    names = {name: _name(query, relation.path, catalog) for name, relation in resolved.relations.items()}
    reached: dict[str, dict[str, set[str]]] = {name: {} for name in names.values()}
    for column, origins in zip(table.schema.field_names, _origins(resolved), strict=False):
        for relation, source in origins:
            reached[names[relation]].setdefault(column, set()).add(source)
    return Lineage({name: {c: tuple(sorted(s)) for c, s in columns.items()} for name, columns in reached.items()})


def lineage_or_none(session: "SessionState", table: Table, catalog: str) -> Lineage | None:
    """The same; None where the query cannot be read, which a refresh reports."""
    try:
        return lineage_of(session, table, catalog)
    except PaimonError:
        return None


def _name(query: DefiningQuery, path: tuple[str, ...], catalog: str) -> str:
    name = query.session.table_name(path)
    base = f"{name.database}.{name.table.partition('$')[0]}"
    own = query.session.catalog_of(name.catalog) is query.session.catalog_of(catalog)
    return base if own else f"{name.catalog}.{base}"


def _origins(resolved: Resolved) -> list[set[tuple[str, str]]]:
    """For each output column the columns of relations that it is made from."""
    columns: dict[str, object] = {
        name: {f.name: "STRING" for f in relation.fields()} for name, relation in resolved.relations.items()
    }
    schema = MappingSchema(columns, dialect=CASE_SENSITIVE)
    try:
        tree = qualified(resolved)
        scope = build_scope(tree)
        if scope is None:
            return []
        numbers = range(len(tree.named_selects))
        return [_leaves(to_node(n, scope, CASE_SENSITIVE, schema, trim_selects=False), resolved) for n in numbers]
    except (SqlglotError, ValueError, RecursionError):
        return []


def _leaves(node: Node, resolved: Resolved) -> set[tuple[str, str]]:
    names = set()
    for leaf in node.walk():
        if isinstance(leaf.expression, exp.Table) and leaf.expression.name in resolved.relations:
            names.add((leaf.expression.name, leaf.name.rpartition(".")[2].strip('`"')))
    return names
