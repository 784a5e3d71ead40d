"""Values that reads show for null: option `fields.<column>.default-value`.

It is an option of old tables, applied after rows were read and merged; a column's own default is filled in by writers.
Filters look at the filled values, so what is stored says nothing about them. Source: seed 004 (default value).
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import OptionError, SchemaError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metadata.zone import local_zone
from maintenance.options.model import TableModel
from maintenance.predicate.tree import Predicate, columns_of, restrict
from maintenance.types.casts.default import default_value

_SUFFIX = ".default-value"


def read_defaults(schema: TableSchema, options: TableModel) -> dict[str, pa.Scalar]:
    """The values by column. Raises: OptionError: the text is not a value of the column, or the column is of the key."""
    by_column = {}
    for field in schema.fields:
        key = f"fields.{field.name}{_SUFFIX}"
        if key not in options:
            continue
        if field.name in (*schema.primary_keys, *schema.partition_keys):
            raise OptionError(
                f"'{key}' for a column of the key", f"column {field.name}", "Unset it: keys are never null."
            )
        try:
            by_column[field.name] = default_value(options[key], field.type, local_zone())
        except SchemaError as error:
            raise OptionError(f"'{key}' = '{options[key]}': {error.found}", error.where, error.fix) from error
    return by_column


def stored_predicate(
    predicate: Predicate | None, schema: TableSchema, options: TableModel, *others: str
) -> Predicate | None:
    """What a filter says about stored values: nothing about columns that reads fill or make, but for `others`."""
    if predicate is None:
        return None
    stored = frozenset((*schema.field_names, *others)) - frozenset(read_defaults(schema, options))
    return predicate if columns_of(predicate) <= stored else restrict(predicate, stored)


def with_defaults(rows: pa.Table, defaults: Mapping[str, pa.Scalar]) -> pa.Table:
    """Rows with their nulls filled."""
    for name, value in defaults.items():
        at = rows.schema.get_field_index(name)
        if at >= 0 and rows.column(at).null_count:
            rows = rows.set_column(at, rows.schema.field(at), pc.fill_null(rows.column(at), value))
    return rows
