"""SELECT, WITH, VALUES, and EXPLAIN of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.sql.cursor import Cursor
from maintenance.sql.duckdb.repeated import RepeatedQuery
from maintenance.sql.query.case_names import plain
from maintenance.sql.query.run import prepared
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Select:
    query: RepeatedQuery

    @classmethod
    def of(cls, tree: exp.Expr, cursor: Cursor) -> "Select":
        return cls(RepeatedQuery(tree, cursor.source))

    def run(self, session: "SessionState") -> Result:
        return Result(self.query.run(session))


@dataclass(frozen=True, slots=True)
class Explain:
    """Shows what each scan is asked for, and the query as the engine gets it."""

    tree: exp.Expr
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        resolved = prepared(session, self.tree, self.cursor.source)
        lines = [f"Engine: {session.engine.told()}"]
        for relation in resolved.relations.values():
            view = relation.opened()
            columns = [plain(f.name) for f in relation.fields() if f.name.lower() in relation.mentioned]
            lines.append(f"Scan {view.identifier} as {relation.name}")
            lines.append(f"  columns: {', '.join(columns) or 'none'}")
            lines.append(f"  filter: {relation.condition or 'none'}")
            lines.append(f"  limit: {'none' if relation.limit is None else relation.limit}")
            if relation.options:
                lines.append(f"  options: {', '.join(f'{k} = {v}' for k, v in relation.options.items())}")
        dialect = "duckdb" if session.engine.is_embedded else "spark"
        lines.append(f"Query for {dialect}: {plain(resolved.tree.sql(dialect, comments=False))}")
        return Result.of_texts(("plan",), [(line,) for line in lines])


def _select(cursor: Cursor) -> Select:
    cursor.index = 0
    return Select.of(cursor.query(), cursor)


def _table(cursor: Cursor) -> Select:
    """``TABLE t``: all of it."""
    names = cursor.path("the name of a table")
    if len(names) > 3:
        raise cursor.error(f"'{'.'.join(names)}' is not the name of a table", "Write catalog.database.table.")
    parts = [exp.to_identifier(name, quoted=True) for name in names]
    table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
    return Select.of(exp.select("*").from_(table), cursor)


def _explain(cursor: Cursor) -> Explain:
    if not cursor.take("PLAN", "FOR"):
        while cursor.take_one_of(*_DETAILS):
            cursor.take(",")
    return Explain(cursor.query(), cursor)


# More that the engines tell: here each scan is shown in any case.
_DETAILS = ("EXTENDED", "FORMATTED", "COST", "CODEGEN", "ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN")

STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("SELECT",): _select,
    ("WITH",): _select,
    ("VALUES",): _select,
    ("FROM",): _select,
    ("(",): _select,
    ("TABLE",): _table,
    ("EXPLAIN",): _explain,
}
