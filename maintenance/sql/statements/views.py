"""Views of the session: CREATE TEMPORARY VIEW and DROP TEMPORARY VIEW."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.cursor import Cursor
from maintenance.sql.query.run import prepared
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session import Session


@dataclass(frozen=True, slots=True)
class CreateTemporaryView:
    path: tuple[str, ...]
    columns: tuple[str, ...]
    if_not_exists: bool
    replaces: bool
    query: exp.Expr
    text: str
    cursor: Cursor

    def run(self, session: "Session") -> Result:
        name = session.table_name(self.path)
        if name in session.views and not self.replaces:
            if self.if_not_exists:
                return Result()
            raise SqlError(f"view '{name.table}' exists", "session", "Drop it first, or choose another name.")
        prepared(session, self.query, self.cursor.source)  # names that do not exist are refused now
        session.views[name] = renamed_columns(self.text, self.columns)
        return Result()


def renamed_columns(text: str, columns: tuple[str, ...]) -> str:
    """The query of a view whose columns have names of their own."""
    if not columns:
        return text
    listed = ", ".join(f"`{name.replace('`', '``')}`" for name in columns)
    return f"SELECT * FROM ({text}) AS view_query ({listed})"


@dataclass(frozen=True, slots=True)
class DropTemporaryView:
    path: tuple[str, ...]
    if_exists: bool

    def run(self, session: "Session") -> Result:
        name = session.table_name(self.path)
        if session.views.pop(name, None) is None and not self.if_exists:
            raise SqlError(f"view '{name.table}' does not exist", "session", "SHOW VIEWS lists them.")
        return Result()


def _create(cursor: Cursor, *, replaces: bool = False) -> CreateTemporaryView:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path("the name of a view")
    columns = cursor.names() if cursor.peek("(") else ()
    cursor.comment()
    cursor.expect("AS")
    start = cursor.index
    text = cursor.text(cursor.span())
    cursor.index = start
    return CreateTemporaryView(path, columns, if_not_exists, replaces, cursor.query(), text, cursor)


def _drop(cursor: Cursor) -> DropTemporaryView:
    if_exists = cursor.if_exists()
    return DropTemporaryView(cursor.path("the name of a view"), if_exists)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "TEMPORARY", "VIEW"): _create,
    ("CREATE", "OR", "REPLACE", "TEMPORARY", "VIEW"): lambda cursor: _create(cursor, replaces=True),
    ("DROP", "TEMPORARY", "VIEW"): _drop,
}
