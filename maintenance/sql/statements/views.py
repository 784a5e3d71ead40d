"""Views: those of a catalog, and temporary ones of the session."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.errors import NotFoundError, SqlError
from maintenance.metastore.view import View
from maintenance.spelling import meant
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import unknown
from maintenance.sql.query.qualified import qualified_text
from maintenance.sql.query.relations import fields_of_view
from maintenance.sql.query.run import run_query
from maintenance.sql.result import Result
from maintenance.sql.statements.describe import quoted, spark_statement
from maintenance.sql.statements.statement import Parse
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class CreateView:
    """`columns`: names of the view's columns and their comments; none = those of the query."""

    path: tuple[str, ...]
    columns: Mapping[str, str | None]
    comment: str | None
    options: Mapping[str, str]
    if_not_exists: bool
    replaces: bool
    temporary: bool
    query: exp.Expr
    span: tuple[int, int]
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        name = session.table_name(self.path)
        fields = self._fields(session)  # names that do not exist are refused here
        text = self._text(session)
        view = View(fields, text, {session.dialect: text}, self.comment, self.options)
        if not self.temporary:
            catalog = session.catalog_of(name.catalog)
            if self.replaces:
                catalog.drop_view(name.identifier, ignore_if_not_exists=True)
            catalog.create_view(name.identifier, view, self.if_not_exists)
            return Result()
        if name in session.views and not self.replaces:
            if self.if_not_exists:
                return Result()
            raise SqlError(f"view '{name.table}' exists", "session", "Drop it first, or choose another name.")
        session.views[name] = view
        return Result()

    def _text(self, session: "SessionState") -> str:
        """What is stored: in Spark the text as it was written, else with the whole name of every table."""
        source = self.cursor.source
        if self.cursor.is_spark and not self.temporary:
            return source.text[self.span[0] : self.span[1] + 1]
        return qualified_text(session, self.query, source, self.span)

    def _fields(self, session: "SessionState") -> list[DataField]:
        empty = exp.select("*").from_(exp.Subquery(this=self.query.copy(), alias=exp.TableAlias(
            this=exp.to_identifier("view_query")))).limit(0)  # fmt: skip
        schema = run_query(session.writing, empty, self.cursor).schema
        names = list(self.columns) or list(schema.names)
        if len(names) != len(schema.names):
            raise self.cursor.error(
                f"the view has {len(names)} columns and its query {len(schema.names)}",
                f"The query gives {', '.join(schema.names)}.",
                token=self.cursor.find("column", names[0]),
            )
        origins = origins_of(session, self.query)
        if len(origins) != len(names):
            origins = [None] * len(names)
        return [
            DataField(
                number,
                name,
                data_type_of_arrow(column.type) if origin is None else origin.type,
                self.columns.get(name) or (origin.description if origin is not None else None),
            )
            for number, (name, column, origin) in enumerate(zip(names, schema, origins, strict=True))
        ]


def origins_of(session: "SessionState", query: exp.Expr) -> list[DataField | None]:
    """The columns that those of a query are, unchanged, so that they keep type and comment; None for those it computes.

    Of a query over one table or view alone: a join may bring nulls.
    """
    from_ = query.args.get("from_") or query.args.get("from")
    if not isinstance(query, exp.Select) or from_ is None or query.args.get("joins") or query.args.get("with_"):
        return []
    table = from_.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return []
    path = tuple(part.name for part in table.parts)
    view = None if session.is_table(path) else session.sql_view(path)
    fields = fields_of_view(session.view(path)) if view is None else view.columns()
    by_name = {field.name: field for field in fields}
    origins: list[DataField | None] = []
    for projection in query.expressions:
        if isinstance(projection, exp.Star):
            origins += fields
            continue
        column = projection.unalias()
        names = meant(by_name, column.name) if isinstance(column, exp.Column) else []
        origins.append(by_name[names[0]] if len(names) == 1 else None)
    return origins


@dataclass(frozen=True, slots=True)
class DropView:
    path: tuple[str, ...]
    if_exists: bool
    temporary: bool
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        name = session.table_name(self.path)
        if session.views.pop(name, None) is not None:
            return Result()
        if not self.temporary:
            try:
                session.catalog_of(name.catalog).drop_view(name.identifier, self.if_exists)
                return Result()
            except NotFoundError:
                pass
        if not self.if_exists:
            views = session.view_names(name.catalog, name.database)
            token = self.cursor.find("view", name.identifier)
            raise self.cursor.error(*unknown("view", name.table, views), token=token, kind=NotFoundError)
        return Result()


@dataclass(frozen=True, slots=True)
class RenameView:
    path: tuple[str, ...]
    new: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        old = session.table_name(self.path)
        new = session.table_name(self.new if len(self.new) > 1 else (old.catalog, old.database, *self.new))
        session.catalog_of(old.catalog).rename_view(old.identifier, new.identifier)
        return Result()


@dataclass(frozen=True, slots=True)
class ShowCreateView:
    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        name = session.table_name(self.path)
        view = session.sql_view(self.path)
        if view is None:
            views = session.view_names(name.catalog, name.database)
            raise SqlError(*_where(*unknown("view", name.table, views)))
        if session.dialect == "spark":
            return Result.of_texts(("createtab_stmt",), [(spark_statement(f"{name.database}.{name.table}", view),)])
        columns = ", ".join(map(quoted, (field.name for field in view.columns())))
        full = ".".join(map(quoted, (name.catalog, name.database, name.table)))
        comment = "" if view.comment is None else " COMMENT '" + view.comment.replace("'", "''") + "'"
        text = f"CREATE VIEW {full} ({columns}){comment} AS {view.query_for(session.dialect)}"
        return Result.of_texts(("result",), [(text,)])


def _where(problem: str, fix: str) -> tuple[str, str, str]:
    return problem, "catalog", fix


def _create(cursor: Cursor, *, replaces: bool = False, temporary: bool = False) -> CreateView:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path("the name of a view")
    columns: dict[str, str | None] = {}
    if cursor.take("("):
        while not cursor.take(")"):
            name = cursor.name("the name of a column")
            columns[name] = cursor.comment()
            if not cursor.take(","):
                cursor.expect(")")
                break
    comment = cursor.comment()
    options = cursor.options() if cursor.take("TBLPROPERTIES") else {}
    cursor.expect("AS")
    start = cursor.index
    span = cursor.span()
    cursor.index = start
    query = cursor.query()
    return CreateView(path, columns, comment, options, if_not_exists, replaces, temporary, query, span, cursor)


def _drop(cursor: Cursor, *, temporary: bool = False) -> DropView:
    if_exists = cursor.if_exists()
    return DropView(cursor.path("the name of a view"), if_exists, temporary, cursor)


def _alter(cursor: Cursor) -> RenameView:
    if cursor.is_spark:
        fix = "Call sys.alter_view_dialect, or use CREATE OR REPLACE VIEW or Flink's dialect."
        raise cursor.error("Spark cannot alter views of Paimon's catalogs", fix)
    path = cursor.path("the name of a view")
    cursor.expect("RENAME", "TO")
    return RenameView(path, cursor.path("the new name"))


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "VIEW"): _create,
    ("CREATE", "OR", "REPLACE", "VIEW"): lambda cursor: _create(cursor, replaces=True),
    ("CREATE", "TEMPORARY", "VIEW"): lambda cursor: _create(cursor, temporary=True),
    ("CREATE", "TEMP", "VIEW"): lambda cursor: _create(cursor, temporary=True),
    ("CREATE", "OR", "REPLACE", "TEMPORARY", "VIEW"): lambda cursor: _create(cursor, replaces=True, temporary=True),
    ("CREATE", "OR", "REPLACE", "TEMP", "VIEW"): lambda cursor: _create(cursor, replaces=True, temporary=True),
    ("ALTER", "VIEW"): _alter,
    ("DROP", "VIEW"): _drop,
    ("DROP", "TEMPORARY", "VIEW"): lambda cursor: _drop(cursor, temporary=True),
    ("SHOW", "CREATE", "VIEW"): lambda cursor: ShowCreateView(cursor.path("the name of a view")),
}
