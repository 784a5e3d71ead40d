"""Computed columns and watermarks in CREATE TABLE and ALTER TABLE of Flink."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from maintenance.catalog import AddColumn, DropColumn, RemoveOption, SchemaChange, SetOption
from maintenance.errors import SqlError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.variant.extension import plain_schema
from maintenance.metastore.schema_change import Position
from maintenance.sql.cursor import Cursor, Source, statements_of
from maintenance.sql.flink_columns import (
    ROWTIME,
    STRATEGY,
    STRATEGY_TYPE,
    ComputedColumn,
    Watermark,
    computed_columns,
    placed,
    watermark,
)
from maintenance.sql.place import unknown_column
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.shape import shaped
from maintenance.sql.result import Result
from maintenance.sql.statements.columns import Computed
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField, DataType

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_NEW = "paimon_new_table"


def read_watermark(cursor: Cursor) -> tuple[str, exp.Expr, str]:
    """``column AS expression``, behind WATERMARK FOR."""
    name = cursor.name("the name of a column")
    cursor.expect("AS")
    span = cursor.span(",", ")")
    expression: exp.Expr = cursor.parsed(span, exp.Condition)
    return name, expression, cursor.stored_text(span, expression)


def options_of_computed(
    fields: Sequence[DataField],
    order: Sequence[str],
    computed: Sequence[Computed],
    marked: tuple[str, exp.Expr, str] | None,
    cursor: Cursor,
) -> dict[str, str]:
    """The options that keep computed columns and the watermark of a table.

    Args: `fields`: stored; `order`: the names of all columns; `marked`: the watermark's column, expression and
        its text. Raises: SqlError: an expression has no type.
    """
    options: dict[str, str] = {}
    for column in computed:
        kind = _type_of(column.expression, fields, computed, cursor)
        options |= ComputedColumn(order.index(column.name), column.name, column.text, kind, column.comment).options
    if marked is not None:
        name, expression, text = marked
        if name not in (names := [*(field.name for field in fields), *(column.name for column in computed)]):
            raise cursor.error(*unknown_column(name, names), token=cursor.find("column", name, last=True))
        options |= Watermark(name, text, _type_of(expression, fields, computed, cursor)).options
    return options


@dataclass(slots=True)
class AlterComputed:
    """Changes of computed columns and the watermark.

    Attributes:
        changes: of stored columns, in the same statement.
        computed: to add, each with its place.
        must_have: there has to be a watermark already.
        dropped: names of columns, stored ones or computed ones.
        if_exists: a table that is not there is no error.
    """

    path: tuple[str, ...]
    cursor: Cursor
    changes: tuple[SchemaChange, ...] = ()
    computed: list[tuple[Computed, Position | None]] = field(default_factory=list)
    watermark: tuple[str, exp.Expr, str] | None = None
    drops_watermark: bool = False
    must_have: bool = False
    dropped: tuple[str, ...] = ()
    if_exists: bool = False

    def run(self, session: "SessionState") -> Result:
        if self.if_exists and not session.table_exists(self.path):
            return Result()
        table, name = session.table(self.path), session.table_name(self.path)
        has_one = watermark(table.schema.options) is not None
        if (self.drops_watermark or self.must_have) and not has_one:
            raise self.cursor.error("the table has no watermark", "ADD one: ALTER TABLE t ADD WATERMARK FOR c AS c.")
        if self.watermark is not None and has_one and not self.must_have:
            raise self.cursor.error("the table has a watermark", "MODIFY it, or DROP WATERMARK first.")
        computed = {column.name for column in computed_columns(table.schema.options)}
        drops = [DropColumn((name,)) for name in self.dropped if name not in computed]
        changes = [*self.changes, *drops, *self._options(table.schema)]
        session.catalog_of(name.catalog).alter_table(name.identifier, changes)
        return Result()

    def _options(self, schema: TableSchema) -> list[SchemaChange]:
        """The changes of options that keep the columns and the watermark."""
        if self.drops_watermark:
            return [RemoveOption(key) for key in (ROWTIME, STRATEGY, STRATEGY_TYPE) if key in schema.options]
        new = [
            DataField(0, change.column, change.type)
            for change in self.changes
            if isinstance(change, AddColumn) and isinstance(change.column, str) and isinstance(change.type, DataType)
        ]
        fields = [*(each for each in schema.fields if each.name not in self.dropped), *new]
        all_computed = computed_columns(schema.options)
        old = [each for each in all_computed if each.name not in self.dropped]
        shown = placed([f.name for f in fields], old)
        order = [each.name if isinstance(each, ComputedColumn) else each for each in shown]
        written = [Computed(each.name, each.text, _parsed(each.text, self.cursor), each.comment) for each in old]
        for column, position in self.computed:
            order.insert(_number(order, position), column.name)
            written.append(column)
        options = options_of_computed(fields, order, written, self.watermark, self.cursor)
        gone = {key for each in all_computed for key in each.options} - set(options)
        return [*(RemoveOption(key) for key in sorted(gone)), *(SetOption(key, text) for key, text in options.items())]


def _parsed(text: str, cursor: Cursor) -> exp.Expr:
    inner = statements_of(Source(text, cursor.source.dialect))[0]
    return inner.expression()


def _number(order: Sequence[str], position: Position | None) -> int:
    """Where a column goes among others."""
    if position is not None and position.where == "first":
        return 0
    is_known = position is not None and position.reference in order
    return (
        order.index(position.reference) + 1 if position is not None and position.reference and is_known else len(order)
    )


def _type_of(node: exp.Expr, fields: Sequence[DataField], computed: Sequence[Computed], cursor: Cursor) -> str:
    """The type of an expression over stored and computed columns, as DuckDB finds it."""
    from maintenance.sql.duckdb.embedded import run_embedded

    others = {column.name: column.expression for column in computed}
    for _ in computed:
        node = node.transform(lambda part: _inlined(part, others))
    rows: pa.Table = plain_schema(tuple(fields)).empty_table()
    tree = exp.select(exp.alias_(node.copy(), "value")).from_(exp.to_table(_NEW))
    resolved = Resolved(tree, {}, cursor.source, {_NEW: rows})
    shaped(resolved, embedded=True)
    try:
        kind = run_embedded(resolved).schema.field(0).type
    except SqlError as error:
        if error.line is not None:
            raise
        raise cursor.error(error.found, error.fix) from error
    return str(data_type_of_arrow(kind))


def _inlined(node: exp.Expr, others: dict[str, exp.Expr]) -> exp.Expr:
    is_other = isinstance(node, exp.Column) and not node.table and node.name in others
    return exp.paren(others[node.name].copy()) if is_other else node
