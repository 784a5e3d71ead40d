"""Bring a user's rows into the form that writers take: the table's columns, defaults filled, row kinds checked."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.engine import MergeEngine
from maintenance.metadata.zone import local_zone
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.default import default_value
from maintenance.types.casts.text import fitted
from maintenance.types.data_type import DataField
from maintenance.types.row_kind import RowKind, is_retract, kinds_of_texts
from maintenance.write.context import WriteContext
from maintenance.write.conversion import converted


def conform(rows: pa.Table, kinds: pa.Array | None, context: WriteContext, *, keep_ignored: bool = False) -> pa.Table:
    """Rows with exactly the table's columns, and `_VALUE_KIND` in front for a table with a primary key.

    With `rowkind.field` the row kinds are the texts of that column, whatever `kinds` says.

    Args: `rows`: columns by name in any order, a missing nullable column is null, `_ROW_ID` among them where the files
        are to hold it; `kinds`: row kinds (int8), None = +I;
        `keep_ignored`: leave the retractions in that the table ignores.
    Raises: DataError: a column is unknown or missing, a value does not fit, null where NOT NULL, a kind not allowed,
            or not one kind per row.
    """
    where = f"table {context.name}"
    system = tuple(field for field in context.row_fields if field not in context.schema.fields)
    system = () if context.has_primary_key else system
    column_names = {field.name for field in (*context.schema.fields, *system)}
    unknown = [name for name in rows.column_names if name not in column_names]
    if unknown:
        raise DataError(
            f"column '{unknown[0]}' is not in the table", where, f"Columns are {', '.join(sorted(column_names))}."
        )
    names = rows.column_names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"column '{twice}' occurs {names.count(twice)} times", where, "Give each column once.")
    if kinds is not None and len(kinds) != rows.num_rows:
        raise DataError(f"{rows.num_rows} rows with {len(kinds)} row kinds", where, "Give one row kind per row.")
    fields = (*context.columns, *system)
    rows = fitted(rows, fields) if context.fits_texts else rows
    columns = [_column(rows, field, where) for field in fields]
    table = pa.Table.from_arrays(columns, names=[field.name for field in fields])
    if not context.has_primary_key:
        if kinds is not None and pc.any(pc.not_equal(kinds, int(RowKind.INSERT))).as_py():
            raise DataError("a row kind other than +I", where, "A table without primary key takes inserts only.")
        return table
    kind_field = context.model.rowkind_field
    if kind_field is not None:
        kinds = _kinds_in(table.column(kind_field), f"{where}, column '{kind_field}' of 'rowkind.field'")
    elif kinds is None:
        kinds = pa.array(np.zeros(rows.num_rows, np.int8))
    table = table.add_column(0, VALUE_KIND.name, kinds)
    engine = MergeEngine.of(context.schema, context.model)
    if not keep_ignored:
        table = _without_ignored(table, context.model)
        _check_retractions(table, engine, where)
    return _stored(table, engine)


def _kinds_in(column: pa.ChunkedArray, where: str) -> pa.Array:
    try:
        return kinds_of_texts(column)
    except DataError as error:
        raise DataError(error.found, where, error.fix) from error


def _check_retractions(table: pa.Table, engine: MergeEngine, where: str) -> None:
    try:
        engine.refuse(table)
    except DataError as error:
        raise error.at(where) from error


def _stored(table: pa.Table, engine: MergeEngine) -> pa.Table:
    """What the merge engine stores for the values: those of `count` become ones."""
    for name, function in engine.stored.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), function(table.column(at)))
    return table


def fitting(column: pa.ChunkedArray, field: DataField, where: str) -> pa.ChunkedArray:
    """The values of a column as files hold them. Everything that writes rows or columns asks for its values here.

    Raises: DataError: one does not fit the column's type, or is null where the type is NOT NULL.
    """
    made = converted(column, field, where)
    if made.null_count and not field.type.nullable:
        raise DataError(
            f"null in column '{field.name}', which is {field.type}", where, "Fill the column before writing."
        )
    return made


def _column(rows: pa.Table, field: DataField, where: str) -> pa.ChunkedArray:
    if field.name in rows.column_names:
        given = rows.column(field.name)
    else:
        given = pa.chunked_array([pa.nulls(rows.num_rows, arrow_type(field.type, f"column {field.name}"))])
    column = fitting(given, field, where)
    if column.null_count and field.default_value is not None:
        column = pc.coalesce(column, _default(field))
    return column


def _default(field: DataField) -> pa.Scalar:
    """The value of a column's default text."""
    return default_value(field.default_value or "", field.type, local_zone())


def _without_ignored(table: pa.Table, options: TableModel) -> pa.Table:
    """Rows without the retractions that the table ignores. Source: options `ignore-delete`, `ignore-update-before`."""
    kinds = table.column(VALUE_KIND.name).to_numpy()
    if options.ignores_deletes:
        drop = is_retract(kinds)
    elif options.ignore_update_before:
        drop = kinds == RowKind.UPDATE_BEFORE
    else:
        return table
    return table.filter(pa.array(~drop)) if drop.any() else table


def contiguous(rows: pa.Table, names: Sequence[str]) -> list[pa.Array]:
    """Columns as single arrays."""
    combined = rows.select(list(names)).combine_chunks()
    return [c.chunk(0) if c.num_chunks else pa.array([], c.type) for c in combined.columns]
