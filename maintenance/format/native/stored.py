"""The Arrow types that files of these formats have, as Paimon's own writers choose them.

They are those of the engine but for TIMESTAMP(0) in seconds, TIMESTAMP(7..9) in nanoseconds of 64 bits, and a VECTOR as
a list of fixed size. Source: Java `ArrowFieldTypeConversion`, pypaimon `PyarrowFieldParser`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError, UnsupportedError
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type, element_of, in_unit, map_parts, timestamp_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nested import Path, Rebuild


def stored_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The schema of a file with these columns."""
    return pa.schema([pa.field(field.name, _stored(field.type), field.type.nullable) for field in fields])


def stored_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows in natural types as a file has them. Raises: DataError: a timestamp is too far from 1970."""
    columns = [_STORED.column(column, field.type) for column, field in zip(rows.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)


def copied_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """As `stored_rows`, in buffers of their own.

    The libraries panic where a number is not aligned in memory, as in what was read from Arrow's files, or refuse lists
    of texts that begin inside of their buffers.
    """
    return stored_rows(rows, schema).take(pa.array(np.arange(rows.num_rows)))


def check_types(fields: Sequence[DataField], name: str, lacks: Callable[[DataType], bool]) -> None:
    """Refuse columns of types that a format lacks, at any depth. Raises: UnsupportedError naming the column."""
    for field in fields:
        arrow_type(field.type, f"column {field.name}")
        lacking = next((part for part in field.type.walk() if lacks(part)), None)
        if lacking is not None:
            raise UnsupportedError(
                f"type {lacking} in a {name} file", f"column {field.name}", "Use parquet, orc, avro or row."
            )


def _stored(data_type: DataType) -> pa.DataType:
    match data_type.root:
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            natural = timestamp_type(data_type)
            return natural if data_type.precision else pa.timestamp("s", natural.tz)
        case "VECTOR":
            return pa.list_(_field("element", element_of(data_type)), data_type.length or 0)
        case "ARRAY":
            return pa.list_(_field("element", element_of(data_type)))
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return pa.map_(_stored(key), _field("value", value))
        case "ROW":
            return pa.struct([_field(field.name, field.type) for field in data_type.fields])
    return arrow_type(data_type)


def _field(name: str, data_type: DataType) -> pa.Field:
    return pa.field(name, _stored(data_type), data_type.nullable)


def _stored_leaf(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    if array.type == nanos.NANOS and target != nanos.NANOS:
        if not nanos.fits_nanoseconds(array):
            raise DataError(
                "a timestamp of more than six digits is outside of the years 1677 to 2262",
                "a file that keeps nanoseconds in 64 bits",
                "Use parquet, orc or row, or TIMESTAMP(6).",
            )
        return nanos.in_nanoseconds(array, target.tz)
    if pa.types.is_timestamp(target) and array.type != target:
        return in_unit(array, target.unit)
    return array if array.type == target else array.cast(target)


_STORED = Rebuild(_stored_leaf)
