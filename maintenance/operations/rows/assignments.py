"""New values of columns: SQL expressions that Spark evaluates, or literals and columns, which need no Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import DataError, PredicateError, UnsupportedError
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.predicate.literals import compare
from maintenance.predicate.sql_syntax import literal_of, syntax_tree
from maintenance.predicate.tree import Compare, In
from maintenance.spark.types import spark_type
from maintenance.spelling import meant
from maintenance.table.table import Table
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type, timestamp_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import NANOS
from maintenance.types.values import arrow_of_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FIX = "Without a Spark session a value is a literal of the column's type or another column."


@dataclass(frozen=True, slots=True)
class Assigned:
    """The new value of a column.

    Attributes: `text`: an SQL expression, None for `literal`; `column`: name of another column that the expression is;
        `constant`: one value in Arrow, where the expression is known to be one.
    """

    field: DataField
    text: str | None
    literal: Any = None
    column: str | None = None
    constant: pa.Scalar | None = None


def resolved(table: Table, assignments: Mapping[str, object], *, in_process: bool) -> dict[str, Assigned]:
    """Assignments by the table's column names. `in_process`: they must be literals or columns.

    Raises: DataError: no such column; UnsupportedError: a column of the primary key; PredicateError: not understood.
    """
    where = f"table {table.identifier}"
    if not assignments:
        raise DataError("there is no assignment", where, "Name a column and its new value.")
    by_column: dict[str, Assigned] = {}
    for name, value in assignments.items():
        field = _field(table, name)
        if field.name in table.schema.primary_keys:
            raise UnsupportedError(
                f"'{field.name}' belongs to the primary key, which cannot be updated",
                where,
                "Delete the row and insert it.",
            )
        if field.name in by_column:
            raise DataError(f"'{field.name}' is assigned twice", where, "Assign a column once.")
        by_column[field.name] = _assigned(table, field, value, in_process=in_process)
    return by_column


def _field(table: Table, name: str) -> DataField:
    matches = meant(table.schema.field_names, name)
    if len(matches) == 1:
        return table.schema.field(matches[0])
    fix = f"Columns are {', '.join(table.schema.field_names)}."
    problem = "is ambiguous" if matches else "does not exist"
    raise DataError(f"column '{name}' {problem}", f"table {table.identifier}", fix)


def _assigned(table: Table, field: DataField, value: object, *, in_process: bool) -> Assigned:
    if not isinstance(value, str):
        return Assigned(field, None, literal=value, constant=_scalar(table, field, value) if in_process else None)
    if not in_process:
        return Assigned(field, value)
    where = f"value {value!r} of column '{field.name}'"
    try:
        node = syntax_tree(value)
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            source = _field(table, node.name)
            if source.type.as_nullable() != field.type.as_nullable():
                raise ValueError(f"'{source.name}' is {source.type}, not {field.type}")
            return Assigned(field, value, column=source.name)
    except ValueError as error:
        raise PredicateError(str(error), where, _FIX) from None
    return Assigned(field, value, constant=literal_value(field, value))


def literal_value(field: DataField, text: str) -> pa.Scalar:
    """The value of an SQL literal as one of a column. Raises: PredicateError: it is not a literal, or does not fit."""
    where = f"value {text!r} of column '{field.name}'"
    try:
        literal = literal_of(syntax_tree(text))
        if literal is None:
            return pa.scalar(None, arrow_type(field.type, where))
        same = compare("=", field, literal)
    except ValueError as error:
        raise PredicateError(str(error) or "the value is not supported", where, _FIX) from None
    if isinstance(same, In) and len(same.values) == 1:
        same = Compare("=", field.name, same.values[0])
    if not isinstance(same, Compare) or same.op != "=":
        raise PredicateError(f"the value does not fit {field.type}", where, _FIX)
    return arrow_of_values([same.value], field.type)[0]


def _scalar(table: Table, field: DataField, value: object) -> pa.Scalar:
    kind = arrow_type(field.type, f"column {field.name}")
    try:
        return _moment(value, field.type) if kind == NANOS else pa.scalar(value, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        raise DataError(
            f"{value!r} does not fit column '{field.name}', which is {field.type}: {error}",
            f"table {table.identifier}",
            "Give a value of the column's type.",
        ) from error


def _moment(value: object, data_type: DataType) -> pa.Scalar:
    return nanos.widened(pa.array([value], pa.timestamp("us", timestamp_type(data_type).tz)))[0]


def assigned(rows: "DataFrame | pa.Table", values: Mapping[str, Assigned], table: Table) -> Any:
    """Rows of the table with new values; expressions see the rows as they are. Returns: what `rows` is."""
    if isinstance(rows, pa.Table):
        names = [*table.schema.field_names, *(name for name in rows.column_names if name == ROW_ID.name)]
        return pa.Table.from_arrays([_column(rows, values.get(name), name) for name in names], names=names)
    ids = [name for name in rows.columns if name == ROW_ID.name]
    return rows.select(*(_spark_column(values.get(f.name), f) for f in table.schema.fields), *ids)


def old_and_new(rows: "DataFrame", values: Mapping[str, Assigned], table: Table) -> "DataFrame":
    """The rows before and after, as the structs `old` and `new`."""
    from pyspark.sql import functions

    fields = table.schema.fields
    before = functions.struct(*(functions.col(_quoted(field.name)) for field in fields))
    after = functions.struct(*(_spark_column(values.get(field.name), field) for field in fields))
    return rows.select(before.alias("old"), after.alias("new"))


def _column(rows: pa.Table, value: Assigned | None, name: str) -> pa.ChunkedArray | pa.Array:
    if value is None:
        return rows.column(name)
    if value.column is not None:
        return rows.column(value.column)
    assert value.constant is not None
    return pa.repeat(value.constant, rows.num_rows)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _spark_column(value: Assigned | None, field: DataField) -> Any:
    from pyspark.sql import functions

    if value is None:
        return functions.col(_quoted(field.name))
    new = functions.lit(value.literal) if value.text is None else functions.expr(value.text)
    return new.cast(spark_type(field.type, f"column {field.name}")).alias(field.name)
