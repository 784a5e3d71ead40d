"""The query of a materialized table, read so that it means the same whoever asks and wherever it was written.

Paimon stores it with the catalog's name as the engine that created the table knew it. Where that name is not known here
and all tables that it is written before are in the materialized table's own catalog, it is taken for that one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sqlglot import exp

from maintenance.catalog import Catalog
from maintenance.errors import SqlError
from maintenance.options.materialized import Definition
from maintenance.sql.cursor import Source, statements_of
from maintenance.sql.query.resolve import Resolved, is_of_with
from maintenance.sql.query.run import over_relations, prepared
from maintenance.sql.zones import SETTINGS
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class DefiningQuery:
    """Attributes: `session`: knows the catalogs by the names that the query has for them, and is in its time zone."""

    session: "SessionState"
    definition: Definition
    source: Source
    tree: exp.Expr

    def resolved(self) -> Resolved:
        """The query over relations, views in place of their names, and nothing else changed. Raises: SqlError."""
        return over_relations(self.session, self.tree, self.source)

    def prepared(self, tree: exp.Expr) -> Resolved:
        """A tree made of the query's, as the engine runs it. Raises: SqlError."""
        return prepared(self.session, tree, self.source)

    @classmethod
    def of(cls, session: "SessionState", table: Table, catalog: str) -> Self:
        """The query of a materialized table.

        Args: `session`: knows catalogs, and runs the query; `catalog`: that of the table, as the session calls it.
        Raises: OptionError: it is not a materialized table; SqlError: the query cannot be read, or names a catalog
            that is not known.
        """
        where = f"the definition of {table.identifier}"
        definition = Definition.of(table.options, f"table {table.identifier}")
        inner = session.in_dialect("spark" if definition.dialect == "spark" else "flink")
        if definition.zone is not None:
            inner.settings[SETTINGS[inner.dialect]] = definition.zone
        source = Source(definition.query, inner.sql_dialect)
        statements = statements_of(source)
        if len(statements) != 1:
            raise SqlError("the query is not one statement", where, "Drop the materialized table and create it again.")
        tree = statements[0].query()
        own = session.catalog_of(catalog)
        for name in sorted({node.catalog for node in _tables(tree) if node.catalog} - set(inner.catalogs)):
            _check_same(name, tree, own, table.identifier)
            inner.catalogs[name] = own
        return cls(inner, definition, source, tree)


def _tables(tree: exp.Expr) -> list[exp.Table]:
    tables = tree.find_all(exp.Table)
    return [node for node in tables if isinstance(node.this, exp.Identifier) and not is_of_with(node)]


def _check_same(name: str, tree: exp.Expr, own: Catalog, table: str) -> None:
    """Raises: SqlError: a table of the catalog of that name is not in the own one."""
    for node in _tables(tree):
        if node.catalog != name:
            continue
        base = node.name.partition("$")[0]
        databases = own.list_databases()
        there = node.db in databases and base in {*own.list_tables(node.db), *own.list_views(node.db)}
        if not there:
            raise SqlError(
                f"the query of {table} reads {node.db}.{base} of the catalog '{name}', which is not known here",
                f"the definition of {table}",
                f"The warehouse of {table} has no table {node.db}.{base}: refresh the table with the engine that knows"
                f" '{name}', or define it over tables of this warehouse.",
            )
