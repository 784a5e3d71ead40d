"""SELECT, WITH, VALUES and TABLE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.sql.cursor import Cursor
from maintenance.sql.duckdb.repeated import RepeatedQuery
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


def _select(cursor: Cursor) -> Select:
    cursor.index = 0
    return Select.of(cursor.query(), cursor)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("SELECT",): _select,
    ("VALUES",): _select,
    ("(",): _select,
    ("TABLE",): _select,
}
