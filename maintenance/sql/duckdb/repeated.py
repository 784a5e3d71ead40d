"""A query that is run more than once: what was made of it serves as long as the schemas of its tables stay.

Only names, schemas and settings shape a query. Which rows a table has is looked up again at each run.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from maintenance.sql.cursor import Source
from maintenance.sql.query.relations import Relation
from maintenance.sql.query.resolve import MAX_PT, Resolved, is_of_with
from maintenance.sql.query.run import prepared, run_query
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.duckdb.embedded import BoundQuery
    from maintenance.sql.session_state import SessionState


@dataclass(slots=True)
class RepeatedQuery:
    """A query as it was read; what it was turned into is kept for the next run."""

    tree: exp.Expr
    source: Source
    _made: Resolved | None = field(default=None, init=False, repr=False)
    _bound: "BoundQuery | None" = field(default=None, init=False, repr=False)
    _setting: Any = field(default=None, init=False, repr=False)

    def run(self, session: "SessionState") -> pa.Table:
        """The rows. Raises: SqlError; errors of reading the tables."""
        if not session.engine.is_embedded:
            return run_query(session, self.tree, self.source)
        from maintenance.sql.duckdb.embedded import BoundQuery, run_embedded, translated

        setting = _setting_of(session)
        again = _again(session, self._made) if self._made is not None and setting == self._setting else None
        if again is None:
            again = prepared(session, self.tree, self.source)
            again = replace(again, text=translated(again))
            self._made, self._setting = (again if _lasts(self.tree, again) else None), setting
            self._bound = BoundQuery()
        return run_embedded(again, bound=self._bound)


def _setting_of(session: "SessionState") -> Any:
    """What a query means depends on it, besides the tables."""
    return session.current_catalog, session.current_database, dict(session.settings), session.zone


def _again(session: "SessionState", made: Resolved) -> Resolved | None:
    """The query over the tables as they are now; None if one of them is another."""
    tables: dict[tuple[str, ...], Table] = {}
    relations: dict[str, Relation] = {}
    for name, relation in made.relations.items():
        before = relation.view
        table = tables.get(relation.path) or session.existing(relation.path)
        if not isinstance(before, Table) or not isinstance(table, Table) or table.schema != before.schema:
            return None
        tables[relation.path] = table
        relations[name] = relation.over(table)
    return replace(made, relations=relations)


def _lasts(tree: exp.Expr, made: Resolved) -> bool:
    """Whether the query was shaped by nothing but tables: not by views, options of a read, or rows."""
    nodes = (node for node in tree.find_all(exp.Table) if not is_of_with(node))
    named = {tuple(part.name for part in node.parts) for node in nodes if isinstance(node.this, exp.Identifier)}
    return (
        named == {relation.path for relation in made.relations.values()}
        and all(relation.sees_newest for relation in made.relations.values())
        and not any(str(node.this).lower() == MAX_PT for node in tree.find_all(exp.Anonymous))
    )
