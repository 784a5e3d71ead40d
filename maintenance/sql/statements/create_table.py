"""CREATE TABLE, with columns, LIKE another table, or AS a query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokens import Token

from maintenance.catalog import Catalog, Schema
from maintenance.errors import AlreadyExistsError, NotFoundError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.schemas import Schemas
from maintenance.metastore.column_directives import named_by_options
from maintenance.metastore.hive.parameters import METASTORE_PARAMETERS
from maintenance.options import table as table_options
from maintenance.options.known import AUDIT
from maintenance.sql.created_table import created_table
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import unknown
from maintenance.sql.query.run import run_for_table
from maintenance.sql.result import Result
from maintenance.sql.statements.columns import Column, Computed, not_enforced, read_column, read_type
from maintenance.sql.statements.computed import options_of_computed, read_watermark
from maintenance.sql.statements.statement import Parse
from maintenance.table import format_table, object_table
from maintenance.table.table import Table
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


# What LIKE copies; no table has anything of the last three.
_OF_LIKE = ("OPTIONS", "CONSTRAINTS", "PARTITIONS", "DISTRIBUTION", "GENERATED", "METADATA", "WATERMARKS")


_OF_ONE_TABLE = frozenset({table_options.PATH_KEY, table_options.BRANCH.key, *METASTORE_PARAMETERS, *AUDIT})


@dataclass(slots=True)
class _Definition:
    """What has been read of a statement.

    Attributes:
        order: names of all columns, computed ones among them.
        watermark: column, expression and its text.
        comment: empty for a table of Flink's that has none.
        not_like: what LIKE leaves out, of `_OF_LIKE`.
    """

    columns: list[Column] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)
    watermark: tuple[str, exp.Expr, str] | None = None
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    like: tuple[str, ...] | None = None
    not_like: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class CreateTable:
    """`query`: its rows are the first of the table, None = the table is empty. `replaces`: CREATE OR REPLACE."""

    path: tuple[str, ...]
    definition: _Definition
    if_not_exists: bool
    query: exp.Expr | None
    cursor: Cursor
    replaces: bool = False
    must_exist: bool = False

    def run(self, session: "SessionState") -> Result:
        name = session.table_name(self.path)
        catalog = session.catalog_of(name.catalog)
        exists = name.database in catalog.list_databases() and name.table in catalog.list_tables(name.database)
        if exists and self.if_not_exists:
            return Result()
        if self.must_exist and not exists:
            tables = catalog.list_tables(name.database) if name.database in catalog.list_databases() else []
            token = self.cursor.find("table", name.identifier)
            raise self.cursor.error(*unknown("table", name.table, tables), token=token, kind=NotFoundError)
        if self.query is not None and self.definition.options.get(table_options.TYPE.key) == object_table.TYPE:
            raise self.cursor.error("an object table has no rows but the files of its folder", "Leave the query out.")
        rows, kinds = (None, ()) if self.query is None else run_for_table(session.writing, self.query, self.cursor)
        fields = [column.field() for column in self.definition.columns]
        if rows is not None and not fields:
            fields = [DataField(0, part.name, kind or data_type_of_arrow(part.type))
                      for part, kind in zip(rows.schema, kinds, strict=True)]  # fmt: skip
        schema = self._schema(session, fields)
        schema = replace(
            schema,
            options=session.owned(_stored(schema.options, f"{catalog.warehouse}/{name.database}.db/{name.table}")),
        )
        if exists and self.replaces:
            self._check_kind(catalog, name.identifier, schema)
            self._replace(catalog, name.identifier, schema)
            self._write(session, rows)
        elif rows is None:
            catalog.create_table(name.identifier, schema, self.if_not_exists)
        else:
            try:
                with created_table(session, self.path, schema):
                    self._write(session, rows)
            except AlreadyExistsError:
                if not self.if_not_exists:  # else somebody was faster
                    raise
        return Result()

    def _write(self, session: "SessionState", rows: pa.Table | None) -> None:
        if rows is not None:
            table = session.writable(self.path)
            if rows.num_rows:
                table.write_arrow(rows.rename_columns(list(table.schema.field_names)))

    def _check_kind(self, catalog: Catalog, identifier: str, schema: Schema) -> None:
        """Raises: SqlError: a table with snapshots would become plain files."""
        kind = schema.options.get(table_options.TYPE.key)
        if kind in (format_table.TYPE, object_table.TYPE) and isinstance(catalog.get_table(identifier), Table):
            problem, fix = f"REPLACE does not make a '{kind}' of it", "Drop the table and create it."
            raise self.cursor.error(problem, fix, token=self.cursor.words[0], kind=UnsupportedError)

    @staticmethod
    def _replace(catalog: Catalog, identifier: str, schema: Schema) -> None:
        """The snapshots stay where they can: not with other partition columns, and not of plain files, as in Paimon."""
        old = catalog.get_table(identifier)
        if isinstance(old, Table) and tuple(old.schema.partition_keys) == tuple(schema.partition_keys):
            catalog.replace_table(identifier, schema)
        else:
            catalog.drop_table(identifier)
            catalog.create_table(identifier, schema)

    def _schema(self, session: "SessionState", fields: list[DataField]) -> Schema:
        """The schema to create; that of LIKE's table comes first."""
        made, options = self.definition, self._options(session, fields)
        keys = made.primary_key or tuple(column.name for column in made.columns if column.is_key)
        if made.like is None and not fields and "path" in options and "type" not in options:
            return self._of_place(session, options["path"])
        fields = [named_by_options(each, options, f"table {self.path[-1]}") for each in fields]
        given = Schema(fields, keys, made.partition_keys, options, made.comment)
        if made.like is None:
            return given
        like, without = session.stored(made.like).schema, made.not_like
        return Schema(
            [*like.fields, *fields],
            given.primary_keys or (() if "CONSTRAINTS" in without else like.primary_keys),
            given.partition_keys or (() if "PARTITIONS" in without else like.partition_keys),
            given.options if "OPTIONS" in without else {**_without_place(like.options), **given.options},
            made.comment or like.comment or made.comment,
        )

    def _of_place(self, session: "SessionState", path: str) -> Schema:
        """The schema of the table that lies there already. Raises: SqlError: there is none."""
        catalog = session.catalog_of(session.table_name(self.path).catalog)
        there = Schemas(FileIO.of(catalog.options), f"{path.rstrip('/')}/schema").latest()
        if there is None:
            fix = "Name the folder of a table, or write columns in brackets after the name."
            raise self.cursor.error("no table lies there", fix, token=self._at(path))
        options = {**there.options, **self.definition.options}
        return Schema(there.fields, there.primary_keys, there.partition_keys, options, there.comment)

    def _at(self, text: str) -> Token:
        """Where a text stands in the statement."""
        return self.cursor.find("", text) or self.cursor.words[-1]

    def _options(self, session: "SessionState", fields: Sequence[DataField]) -> dict[str, str]:
        """The options to store, which keep computed columns and the watermark as well."""
        made = self.definition
        if not made.computed and made.watermark is None:
            return made.options
        before = [] if made.like is None else list(session.stored(made.like).schema.fields)
        order = [*(field.name for field in before), *made.order]
        of_computed = options_of_computed([*before, *fields], order, made.computed, made.watermark, self.cursor)
        return {**made.options, **of_computed}


def _without_place(options: Mapping[str, str]) -> dict[str, str]:
    """Options without those that are about one table alone, as the parameters of a metastore are."""
    return {key: value for key, value in options.items() if key not in _OF_ONE_TABLE}


def _stored(options: Mapping[str, str], location: str) -> dict[str, str]:
    """The options that the catalog is to store.

    `connector` is what Flink asks for outside of Paimon's catalogs; a path that is the table's own place says nothing.
    Tables over objects were given their folder by another key in early releases.
    """
    stored = {key: value for key, value in options.items() if key != "connector"}
    if "object-location" in stored:
        stored["path"] = stored.pop("object-location")
    if "path" in stored and _plain(stored["path"]) == _plain(location):
        del stored["path"]
    return stored


def _plain(path: str) -> str:
    return path.removeprefix("file:").rstrip("/").replace("//", "/")


def _create(cursor: Cursor, *, replaces: bool = False, must_exist: bool = False) -> CreateTable:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path("the name of a table")
    definition = _Definition(comment=None if cursor.is_spark else "")
    if cursor.peek("("):
        _elements(cursor, definition)
    query = _clauses(cursor, definition)
    known = definition.like is not None or {"type", "path"} & definition.options.keys()
    if not definition.columns and query is None and not known:
        raise cursor.error("the table has no columns", "Write them in brackets after its name.")
    return CreateTable(path, definition, if_not_exists, query, cursor, replaces, must_exist)


def _elements(cursor: Cursor, definition: _Definition) -> None:
    """Columns and keys between brackets; a comma may follow the last one."""
    cursor.expect("(")
    while not cursor.take(")"):
        if cursor.take("CONSTRAINT"):
            cursor.name("the name of a constraint")
            if not cursor.peek("PRIMARY"):
                raise cursor.unexpected("PRIMARY")
        if cursor.take("PRIMARY", "KEY"):
            key = cursor.words[cursor.index - 2]
            definition.primary_key = cursor.names()
            not_enforced(cursor, key)
        elif not cursor.is_spark and cursor.take("WATERMARK", "FOR"):
            definition.watermark = read_watermark(cursor)
        else:
            column = read_column(cursor)
            definition.order.append(column.name)
            if isinstance(column, Computed):
                definition.computed.append(column)
            else:
                definition.columns.append(column)
        if not cursor.take(","):
            cursor.expect(")")
            return


def _clauses(cursor: Cursor, definition: _Definition) -> exp.Expr | None:
    """What follows the columns. Returns: the query of AS, if there is one."""
    while not cursor.at_end():
        if cursor.take("AS"):
            return cursor.query()
        if cursor.peek("SELECT") or cursor.peek("("):
            return cursor.query()
        _clause(cursor, definition)
    return None


def _clause(cursor: Cursor, definition: _Definition) -> None:
    if cursor.take("COMMENT"):
        definition.comment = cursor.string()
    elif cursor.take("PARTITIONED", "BY"):
        _partitions(cursor, definition)
    elif cursor.take_one_of("WITH", "TBLPROPERTIES"):
        definition.options |= cursor.options()
    elif cursor.take("OPTIONS"):
        given = cursor.options()
        definition.options |= given
        if definition.options.get(table_options.TYPE.key) == format_table.TYPE:  # as Spark hands them to a catalog
            definition.options |= {f"option.{key}": value for key, value in given.items()}
    elif cursor.take("USING"):
        kind = cursor.name()
        if kind.lower() != "paimon":
            definition.options |= {"type": "format-table", "file.format": kind.lower()}
    elif cursor.take("LOCATION"):
        definition.options["path"] = cursor.string()
    elif cursor.take("LIKE"):
        definition.like = cursor.path("the name of a table")
        _choices_of_like(cursor, definition)
    else:
        raise cursor.unexpected("COMMENT", "PARTITIONED BY", "WITH", "LIKE", "AS")


def _choices_of_like(cursor: Cursor, definition: _Definition) -> None:
    """``(EXCLUDING OPTIONS INCLUDING PARTITIONS)``, as in Flink."""
    if not cursor.take("("):
        return
    while not cursor.take(")"):
        how = cursor.take_one_of("EXCLUDING", "INCLUDING", "OVERWRITING")
        what = cursor.take_one_of("ALL", *_OF_LIKE) if how else None
        if what is None:
            raise cursor.unexpected("EXCLUDING", "INCLUDING", "OVERWRITING", "ALL", *_OF_LIKE)
        chosen = set(_OF_LIKE) if what == "ALL" else {what}
        definition.not_like = definition.not_like | chosen if how == "EXCLUDING" else definition.not_like - chosen


def _partitions(cursor: Cursor, definition: _Definition) -> None:
    """Columns, or definitions of further ones behind the others."""
    cursor.expect("(")
    keys: list[str] = []
    while not cursor.take(")"):
        keys.append(cursor.name("the name of a column"))
        if not cursor.peek(",") and not cursor.peek(")"):
            definition.columns.append(read_type(cursor, keys[-1]))
        if not cursor.take(","):
            cursor.expect(")")
            break
    definition.partition_keys = tuple(keys)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "TABLE"): _create,
    ("CREATE", "OR", "REPLACE", "TABLE"): lambda cursor: _create(cursor, replaces=True),
    ("REPLACE", "TABLE"): lambda cursor: _create(cursor, replaces=True, must_exist=True),
}
