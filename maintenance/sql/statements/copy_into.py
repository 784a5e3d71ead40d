"""COPY INTO, an extension that Paimon makes to Spark's SQL.

Source: Java `PaimonSqlExtensionsAstBuilder`. Its texts know fewer signs behind a backslash than Spark's: ``'\\.'`` is
these two characters.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from sqlglot import exp
from sqlglot.tokens import TokenType

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.spelling import meant
from maintenance.sql.copying.file_format import FileFormat, Value
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import unknown_column
from maintenance.sql.query.run import run_query
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse, Statement
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.sql.copying.loading import OnError
    from maintenance.sql.session_state import SessionState

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
_ON_ERROR = ("ABORT_STATEMENT", "CONTINUE", "SKIP_FILE")


@dataclass(frozen=True, slots=True)
class CopyIntoTable:
    """Attributes: `clauses`: what stands behind FILE_FORMAT, as text."""

    path: tuple[str, ...]
    columns: tuple[str, ...] | None
    folder: str
    form: FileFormat
    clauses: Mapping[str, str]
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        # Readers of files take long to import.
        from maintenance.sql.copying.loading import Load, load

        table = session.changed(self.path)
        assert isinstance(table, CatalogTable)
        pattern = self.clauses.get("PATTERN")
        try:
            re.compile(pattern or "")
        except re.error as error:
            problem = f"PATTERN is no regular expression: {error}"
            raise OptionError(problem, "COPY INTO", "Correct the options behind COPY INTO.") from error
        chosen = Load(
            self.folder,
            self.form,
            session.zone,
            pattern,
            self.clauses.get("FORCE") == "TRUE",
            cast("OnError", self.clauses.get("ON_ERROR", "ABORT_STATEMENT")),
        )
        return load(table, self._targets(table.schema.fields), chosen)

    def _targets(self, fields: tuple[DataField, ...]) -> list[DataField]:
        """The columns that files have, in order. Raises: SqlError: one does not exist, is given twice, or lacks."""
        if self.columns is None:
            return list(fields)
        by_name = {field.name: field for field in fields}
        chosen: list[DataField] = []
        for name in self.columns:
            token, matches = self.cursor.find("column", name), meant(by_name, name)
            if len(matches) != 1:
                raise self.cursor.error(*unknown_column(name, list(by_name)), token=token)
            if by_name[matches[0]] in chosen:
                raise self.cursor.error(f"column '{name}' is given twice", "Give it once.", token=token)
            chosen.append(by_name[matches[0]])
        for field in fields:
            if field not in chosen and not field.type.nullable and field.default_value is None:
                raise self.cursor.error(f"column '{field.name}' needs a value", "Name it among the columns.")
        return chosen


@dataclass(frozen=True, slots=True)
class CopyIntoFiles:
    folder: str
    query: exp.Expr
    form: FileFormat
    overwrites: bool
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        from maintenance.sql.copying.writing import write

        rows = run_query(session.writing, self.query, self.cursor)
        catalog = session.current()
        file_io = FileIO.of(catalog.options)
        return write(file_io, catalog.warehouse, self.folder, rows, self.form, session.zone, overwrites=self.overwrites)


def _copy(cursor: Cursor) -> Statement:
    token = cursor.token
    if not cursor.is_spark:
        raise cursor.error("COPY INTO is a statement of Spark's dialect", "Use Spark's dialect.", kind=UnsupportedError)
    if token is not None and token.token_type is TokenType.STRING:
        return _copy_out(cursor)
    path = cursor.path("the name of a table, or a folder in quotes")
    columns = cursor.names() if cursor.peek("(") else None
    cursor.expect("FROM")
    folder = _text(cursor, "a folder in quotes")
    options = _file_format(cursor)
    clauses = {}
    while not cursor.at_end():
        clause = cursor.take_one_of("PATTERN", "FORCE", "ON_ERROR")
        if clause is None or clause in clauses:
            raise cursor.unexpected("PATTERN, FORCE or ON_ERROR, each once,")
        cursor.expect("=")
        if clause == "PATTERN":
            clauses[clause] = _text(cursor, "a regular expression in quotes")
        else:
            clauses[clause] = _one_of(cursor, *(_ON_ERROR if clause == "ON_ERROR" else ("TRUE", "FALSE")))
    return CopyIntoTable(path, columns, folder, FileFormat.to_load(options), clauses, cursor)


def _copy_out(cursor: Cursor) -> CopyIntoFiles:
    folder = _text(cursor, "a folder in quotes")
    cursor.expect("FROM")
    if cursor.take("("):
        query = cursor.parsed(cursor.span(")"))
        if not isinstance(query, exp.Query | exp.Values):
            raise cursor.error("only a query has rows to write", "Write SELECT, WITH or VALUES.")
        cursor.expect(")")
    else:
        start = cursor.index
        cursor.path("the name of a table")
        name = cursor.text((cursor.words[start].start, cursor.words[cursor.index - 1].end))
        query = exp.select("*").from_(exp.to_table(name, dialect=cursor.source.dialect))
    options = _file_format(cursor)
    overwrites = False
    if cursor.take("OVERWRITE"):
        cursor.expect("=")
        overwrites = _one_of(cursor, "TRUE", "FALSE") == "TRUE"
    return CopyIntoFiles(folder, query, FileFormat.to_write(options), overwrites, cursor)


def _file_format(cursor: Cursor) -> dict[str, Value]:
    """``FILE_FORMAT = (TYPE = CSV, …)``. Raises: SqlError: an option is given twice."""
    cursor.expect("FILE_FORMAT", "=")
    options: dict[str, Value] = {}

    def option() -> None:
        key = cursor.name("an option of the files").upper()
        if key in options:
            raise cursor.error(f"{key} is given twice", "Give it once.")
        cursor.expect("=")
        options[key] = _value(cursor)

    cursor.listed(option)
    return options


def _value(cursor: Cursor) -> Value:
    if cursor.peek("("):
        return cursor.listed(lambda: _text(cursor))
    token = cursor.token
    if token is not None and token.token_type is TokenType.STRING:
        return _text(cursor)
    return cursor.name("a value")


def _one_of(cursor: Cursor, *words: str) -> str:
    found = cursor.take_one_of(*words)
    if found is None:
        raise cursor.unexpected(*words)
    return found


def _text(cursor: Cursor, expected: str = "a text in quotes") -> str:
    token = cursor.token
    cursor.string(expected)
    assert token is not None
    written = cursor.source.text[token.start : token.end + 1]
    quote = written[0]
    pattern = rf"\\(.)|{quote}{quote}"
    return re.sub(pattern, lambda found: _unescaped(found, quote), written[1:-1], flags=re.DOTALL)


def _unescaped(found: re.Match[str], quote: str) -> str:
    sign = found[1]
    if sign is None or sign == quote:
        return quote
    return _ESCAPED.get(sign, found[0])


STATEMENTS: Mapping[tuple[str, ...], Parse] = {("COPY", "INTO"): _copy}
