"""DESCRIBE and SHOW CREATE TABLE."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maintenance.errors import SqlError
from maintenance.metastore.database import LOCATION, OWNER
from maintenance.metastore.view import View
from maintenance.options.formats import CSV_FIELD_DELIMITER
from maintenance.options.materialized import MATERIALIZED_TABLE, TYPE, Definition, is_materialized
from maintenance.sql.cursor import Cursor
from maintenance.sql.flink_columns import ComputedColumn, computed_columns, placed, watermark, without_columns
from maintenance.sql.partitions import read_partition
from maintenance.sql.query.computed import computed_of
from maintenance.sql.query.relations import fields_of_view
from maintenance.sql.result import Result
from maintenance.sql.statements.flink_types import flink_statement_text, flink_text
from maintenance.sql.statements.spark_details import (
    DescribeColumn,
    DescribePartition,
    Detailed,
    column_rows,
    detail_rows,
)
from maintenance.sql.statements.spark_types import quoted_if_needed, spark_text
from maintenance.sql.statements.statement import Parse, Statement
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


_OF_DATABASES = {"comment": "Comment", LOCATION: "Location", OWNER: "Owner"}
_FLINK_HEADS = pa.schema(
    [(head, pa.bool_() if head == "null" else pa.string()) for head in
     ("name", "type", "null", "key", "extras", "watermark", "comment")]
)  # fmt: skip
_HIDDEN = (OWNER, "table_type")


@dataclass(frozen=True, slots=True)
class Describe:
    """The columns of a table, as the dialect's engine shows them."""

    path: tuple[str, ...]
    is_spark: bool
    extended: bool = False

    def run(self, session: "SessionState") -> Result:
        sql_view = None if "$" in self.path[-1] or session.is_table(self.path) else session.sql_view(self.path)
        if sql_view is not None and self.is_spark:
            return Result.of_texts(("col_name", "data_type", "comment"), self._of_view(session, sql_view))
        if sql_view is not None:
            return Result(self._in_flink({}, [], sql_view.columns(), ()))
        view = session.view(self.path)
        fields = fields_of_view(view)
        keys = view.schema.primary_keys if isinstance(view, Table) else ()
        if self.is_spark:
            partitions = view.schema.partition_keys if isinstance(view, Detailed) else ()
            rows = column_rows(fields, partitions)
            if self.extended and isinstance(view, Detailed):
                rows += detail_rows(view)
            return Result.of_texts(("col_name", "data_type", "comment"), rows)
        options = view.schema.options if isinstance(view, Table) else {}
        return Result(self._in_flink(options, computed_of(view), fields, keys))

    @staticmethod
    def _in_flink(
        options: Mapping[str, str], computed: Sequence[ComputedColumn], fields: Sequence[DataField], keys: Sequence[str]
    ) -> pa.Table:
        """As Flink shows columns, computed ones and the watermark among them."""
        mark, by_name = watermark(options), {field.name: field for field in fields}
        key = f"PRI({', '.join(keys)})"
        rows: list[dict[str, Any]] = []
        row: tuple[Any, ...]
        for column in placed([*by_name], computed):
            if isinstance(column, ComputedColumn):
                row = (column.name, column.type, True, None, f"AS {column.text}", column.comment)
            else:
                f = by_name[column]
                row = (
                    f.name,
                    flink_text(f.type.as_nullable()),
                    f.type.nullable,
                    key if f.name in keys else None,
                    None,
                    f.description,
                )
            shown = mark.text if mark is not None and mark.column == row[0] else None
            rows.append(dict(zip(_FLINK_HEADS.names, (*row[:5], shown, row[5]), strict=True)))
        has_comments = any(each["comment"] for each in rows)
        return pa.Table.from_pylist(rows, _FLINK_HEADS if has_comments else _FLINK_HEADS.remove(len(_FLINK_HEADS) - 1))

    def _of_view(self, session: "SessionState", view: View) -> list[tuple[str | None, ...]]:
        """As Paimon's extension of Spark shows a view: with Paimon's types."""
        columns = view.columns()
        rows: list[tuple[str | None, ...]] = [(f.name, str(f.type), f.description) for f in columns]
        if self.extended:
            name = session.table_name(self.path)
            properties = ", ".join(f"{key}={value}" for key, value in sorted(view.options.items()))
            rows += [
                ("", "", ""),
                ("# Detailed View Information", "", ""),
                ("Name", f"{name.database}.{name.table}", ""),
                ("Comment", view.comment or "", ""),
                ("View Text", view.query_for("spark"), ""),
                ("View Query Output Columns", f"[{', '.join(f.name for f in columns)}]", ""),
                ("View Properties", f"[{properties}]", ""),
            ]
        return rows


@dataclass(frozen=True, slots=True)
class DescribeDatabase:
    """What a catalog knows of a database; `extended`: also its properties."""

    path: tuple[str, ...]
    is_spark: bool
    extended: bool

    def run(self, session: "SessionState") -> Result:
        catalog_name, name = session.database_name(self.path)
        catalog = session.catalog_of(catalog_name)
        database = catalog.get_database(name)
        properties = {"comment": database.comment, **database.properties}
        rows: list[tuple[str, str | None]] = [("Catalog Name", catalog_name), ("Namespace Name", name)]
        rows += [(title, properties.pop(key, None)) for key, title in _OF_DATABASES.items()]
        shown = [(title, value) for title, value in rows if value is not None]
        if self.extended:
            listed = ", ".join(f"({key},{value})" for key, value in sorted(properties.items()))
            shown.append(("Properties", f"({listed})" if listed else ""))
        heads = ("info_name", "info_value") if self.is_spark else ("info name", "info value")
        return Result.of_texts(heads, shown)


@dataclass(frozen=True, slots=True)
class ShowCreateTable:
    """A statement that creates the same table, or in Spark the same view; in Flink of a system table, too."""

    path: tuple[str, ...]
    is_spark: bool

    def run(self, session: "SessionState") -> Result:
        name = session.table_name(self.path)
        view = session.sql_view(self.path) if self.is_spark and not session.is_table(self.path) else None
        if view is not None:
            return Result.of_texts(("createtab_stmt",), [(spark_statement(f"{name.database}.{name.table}", view),)])
        parts = (name.catalog, name.database, name.table)
        if not self.is_spark and not isinstance(seen := session.view(self.path), Detailed):
            columns = _flink_columns(fields_of_view(seen), computed_of(seen))
            return Result.of_texts(("result",), [(_flink_head(".".join(map(quoted, parts)), columns),)])
        table = session.stored(self.path)
        if not self.is_spark and is_materialized(table.options):
            fix = "SHOW CREATE MATERIALIZED TABLE shows its statement."
            raise SqlError(f"'{name.table}' is a materialized table", f"table {name.identifier}", fix)
        text = (
            _spark_statement(table, ".".join(map(quoted_if_needed, parts)))
            if self.is_spark
            else _flink_statement(table, ".".join(map(quoted, parts)))
        )
        return Result.of_texts(("createtab_stmt" if self.is_spark else "result",), [(text,)])


@dataclass(frozen=True, slots=True)
class ShowCreateMaterializedTable:
    """A statement of Flink's that creates the same materialized table."""

    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        name, table = session.table_name(self.path), session.table(self.path)
        text = _materialized_statement(table, ".".join(map(quoted, (name.catalog, name.database, name.table))))
        return Result.of_texts(("result",), [(text,)])


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """The options of a table, or one of them."""

    path: tuple[str, ...]
    key: str | None

    def run(self, session: "SessionState") -> Result:
        options = session.stored(self.path).schema.options
        rows = sorted((key, value) for key, value in options.items() if self.key in (None, key))
        return Result.of_texts(("key", "value"), rows)


def spark_statement(name: str, view: View) -> str:
    """The statement that creates a view, as Paimon's extension of Spark words it."""
    columns = [
        f.name if f.description is None else f"{f.name} COMMENT {_text(f.description, is_spark=True)}"
        for f in view.columns()
    ]
    clauses = [f"CREATE VIEW {name} (\n  " + ",\n  ".join(columns) + ")"]
    if view.comment is not None:
        clauses.append(f"COMMENT {_text(view.comment, is_spark=True)}")
    if view.options:
        clauses.append(f"TBLPROPERTIES (\n{_options(dict(sorted(view.options.items())), is_spark=True)})")
    return "\n".join([*clauses, "AS", view.query_for("spark"), ""])


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(text: str, *, is_spark: bool) -> str:
    return "'" + (text.replace("\\", "\\\\").replace("'", "\\'") if is_spark else text.replace("'", "''")) + "'"


def _flink_statement(table: Detailed, name: str) -> str:
    schema = table.schema
    lines = _flink_columns(schema.fields, computed_columns(schema.options))
    mark = watermark(schema.options)
    if mark is not None:
        lines.append(f"WATERMARK FOR {quoted(mark.column)} AS {mark.text}")
    if schema.primary_keys:
        lines.append(f"PRIMARY KEY ({', '.join(map(quoted, schema.primary_keys))}) NOT ENFORCED")
    clauses = [_flink_head(name, lines)]
    if schema.comment:
        clauses.append(f"COMMENT {_text(schema.comment, is_spark=False)}")
    clauses += _partitions(schema.partition_keys)
    options = without_columns(schema.options)
    if options:
        clauses.append(f"WITH (\n{_options(options, is_spark=False)}\n)")
    return "\n".join(clauses)


def _flink_head(name: str, lines: Sequence[str]) -> str:
    return f"CREATE TABLE {name} (\n  " + ",\n  ".join(lines) + "\n)"


def _flink_columns(fields: Sequence[DataField], computed: Sequence[ComputedColumn]) -> list[str]:
    """The stored and the computed columns, each as a line of the statement."""
    by_name = {f.name: _column(f, flink_statement_text(f.type), is_spark=False) for f in fields}
    return [
        _computed(column) if isinstance(column, ComputedColumn) else by_name[column]
        for column in placed([*by_name], computed)
    ]


def _materialized_statement(table: Table, name: str) -> str:
    """Raises: OptionError: it is not a materialized table."""
    schema = table.schema
    definition = Definition.of(table.options, f"table {table.identifier}")
    options = {
        key: value
        for key, value in schema.options.items()
        if key != TYPE and not key.startswith(f"{MATERIALIZED_TABLE}.")
    }
    clauses = [f"CREATE MATERIALIZED TABLE {name}"]
    if schema.primary_keys:
        clauses.append(f"(PRIMARY KEY ({', '.join(map(quoted, schema.primary_keys))}) NOT ENFORCED)")
    if schema.comment:
        clauses.append(f"COMMENT {_text(schema.comment, is_spark=False)}")
    clauses += _partitions(schema.partition_keys)
    if options:
        clauses.append(f"WITH (\n{_options(options, is_spark=False)}\n)")
    clauses += [f"FRESHNESS = {definition.freshness}", f"REFRESH_MODE = {definition.mode}", f"AS {definition.query}"]
    return "\n".join(clauses)


def _computed(column: ComputedColumn) -> str:
    comment = "" if column.comment is None else f" COMMENT {_text(column.comment, is_spark=False)}"
    return f"{quoted(column.name)} AS {column.text}{comment}"


def _spark_statement(table: Detailed, name: str) -> str:
    """As Spark words it, with the properties in their order."""
    schema = table.schema
    lines = [_column(f, spark_text(f.type), is_spark=True) for f in schema.fields]
    clauses = [f"CREATE TABLE {name} (\n  " + ",\n  ".join(lines) + ")"]
    if not isinstance(table, ObjectTable):
        clauses.append(f"USING {table.format if isinstance(table, FormatTable) else 'paimon'}")
    clauses += _partitions(schema.partition_keys)
    if schema.comment:
        clauses.append(f"COMMENT {_text(schema.comment, is_spark=True)}")
    options = {key: value for key, value in schema.options.items() if key not in _HIDDEN}
    if isinstance(table, FormatTable) and table.format == "csv":
        options["sep"] = CSV_FIELD_DELIMITER.of(schema.options)  # Spark's own word for it
    if schema.primary_keys:
        options["primary-key"] = ",".join(schema.primary_keys)
    if options:
        clauses.append(f"TBLPROPERTIES (\n{_options(dict(sorted(options.items())), is_spark=True)})")
    return "\n".join([*clauses, ""])


def _column(field: DataField, type_text: str, *, is_spark: bool) -> str:
    nullable = " NOT NULL" if is_spark and not field.type.nullable else ""
    default = "" if field.default_value is None else f" DEFAULT {_default(field, is_spark=is_spark)}"
    comment = "" if field.description is None else f" COMMENT {_text(field.description, is_spark=is_spark)}"
    name = quoted_if_needed(field.name) if is_spark else quoted(field.name)
    return f"{name} {type_text}{nullable}{default}{comment}"


def _default(field: DataField, *, is_spark: bool) -> str:
    """In Spark an expression, which the stored text is unless Flink has stored that of a string."""
    text = field.default_value or ""
    is_expression = is_spark and (not field.type.is_string or text.startswith("'"))
    return text if is_expression else _text(text, is_spark=is_spark)


def _partitions(keys: Sequence[str]) -> list[str]:
    return [f"PARTITIONED BY ({', '.join(map(quoted, keys))})"] if keys else []


def _options(options: Mapping[str, str], *, is_spark: bool) -> str:
    return ",\n".join(
        f"  {_text(key, is_spark=is_spark)} = {_text(value, is_spark=is_spark)}" for key, value in options.items()
    )


def _describe(cursor: Cursor) -> Statement:
    cursor.take("TABLE")
    extended = bool(cursor.take_one_of("EXTENDED", "FORMATTED"))
    path = cursor.path("the name of a table")
    if cursor.is_spark and cursor.take("PARTITION"):
        return DescribePartition(path, read_partition(cursor), extended)
    if cursor.is_spark and not cursor.at_end():
        return DescribeColumn(path, cursor.path("the name of a column"), extended, cursor)
    return Describe(path, cursor.is_spark, extended)


@dataclass(frozen=True, slots=True)
class ShowColumns:
    """The names of columns, as Spark lists them."""

    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        names = Describe(self.path, is_spark=False).run(session).rows.column(0).to_pylist()
        return Result.of_texts(("col_name",), [(name,) for name in names])


def _show_columns(cursor: Cursor) -> Statement:
    path = cursor.path("the name of a table")
    if cursor.take_one_of("FROM", "IN"):
        path = (*cursor.path("the name of a database"), path[-1])
    return ShowColumns(path) if cursor.is_spark else Describe(path, is_spark=False)


def _describe_database(cursor: Cursor) -> DescribeDatabase:
    extended = bool(cursor.take("EXTENDED"))
    return DescribeDatabase(cursor.path("the name of a database"), cursor.is_spark, extended)


def _show_options(cursor: Cursor) -> ShowOptions:
    path = cursor.path("the name of a table")
    key = None
    if cursor.take("("):
        key = cursor.option_key()
        cursor.expect(")")
    return ShowOptions(path, key)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("DESCRIBE",): _describe,
    ("DESC",): _describe,
    **{
        (word, kind): _describe_database
        for word in ("DESCRIBE", "DESC")
        for kind in ("DATABASE", "SCHEMA", "NAMESPACE")
    },
    ("SHOW", "CREATE", "TABLE"): lambda c: ShowCreateTable(c.path("the name of a table"), c.is_spark),
    ("SHOW", "CREATE", "MATERIALIZED", "TABLE"): lambda c: ShowCreateMaterializedTable(c.path("the name of a table")),
    ("SHOW", "TBLPROPERTIES"): _show_options,
    ("SHOW", "COLUMNS", "FROM"): _show_columns,
    ("SHOW", "COLUMNS", "IN"): _show_columns,
}
