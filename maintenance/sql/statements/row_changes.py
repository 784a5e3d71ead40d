"""DELETE and UPDATE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.operations import delete, update
from maintenance.sql.cursor import Cursor
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session import Session


@dataclass(frozen=True, slots=True)
class Delete:
    path: tuple[str, ...]
    where: str | None

    def run(self, session: "Session") -> Result:
        delete(session.spark, session.table(self.path), self.where)
        return Result()


@dataclass(frozen=True, slots=True)
class Update:
    path: tuple[str, ...]
    assignments: Mapping[str, str]
    where: str | None

    def run(self, session: "Session") -> Result:
        update(session.spark, session.table(self.path), self.assignments, self.where)
        return Result()


def _text(node: exp.Expr, names: tuple[str, ...]) -> str:
    """A condition or value in Spark's dialect, over the table's plain columns."""
    node = node.copy()
    for column in node.find_all(exp.Column):
        if column.table in names and column.find_ancestor(exp.Query) is None:
            column.set("table", None)
    return node.sql("spark", comments=False)


def _alias(cursor: Cursor) -> str | None:
    if cursor.take("AS"):
        return cursor.name("an alias")
    if cursor.at_end() or cursor.peek("SET") or cursor.peek("WHERE") or cursor.peek("USING"):
        return None
    return cursor.name("an alias")


def _delete(cursor: Cursor) -> Delete:
    path = cursor.path("the name of a table")
    names = (path[-1], _alias(cursor) or path[-1])
    return Delete(path, _text(cursor.expression(), names) if cursor.take("WHERE") else None)


def _update(cursor: Cursor) -> Update:
    path = cursor.path("the name of a table")
    names = (path[-1], _alias(cursor) or path[-1])
    cursor.expect("SET")
    assignments: dict[str, str] = {}
    while True:
        column = cursor.path("the name of a column")[-1]
        cursor.expect("=")
        assignments[column] = _text(cursor.expression(",", "WHERE"), names)
        if not cursor.take(","):
            break
    return Update(path, assignments, _text(cursor.expression(), names) if cursor.take("WHERE") else None)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {("DELETE", "FROM"): _delete, ("UPDATE",): _update}
