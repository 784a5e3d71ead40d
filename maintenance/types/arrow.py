"""Paimon's types as Arrow types, the natural ones: `timestamp[us]` for TIMESTAMP(6), `decimal128` for DECIMAL.

This is the only place that says which types this engine can hold; every other one is refused here by name.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

_FIXED = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_UNIT_NAMES = {"s": "second", "ms": "millisecond", "us": "microsecond"}


def timestamp_unit(precision: int) -> str:
    """Arrow's unit for a timestamp of that precision: the coarsest that loses nothing and that parquet has."""
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def arrow_type(data_type: DataType, where: str = "a column") -> pa.DataType:
    """The Arrow type of a Paimon type. Raises: UnsupportedError naming `where` and the type."""
    if data_type.root in _FIXED:
        return _FIXED[data_type.root]
    if data_type.root == "DECIMAL":
        return pa.decimal128(data_type.precision or 10, data_type.scale or 0)
    if data_type.root == "TIMESTAMP":
        return pa.timestamp(timestamp_unit(data_type.precision or 0))
    if data_type.root == "TIMESTAMP_LTZ":
        return pa.timestamp(timestamp_unit(data_type.precision or 0), tz="UTC")
    raise UnsupportedError(
        f"type {data_type} is not supported yet", where, "Leave this column out of the table or of the read."
    )


def in_unit(column: pa.ChunkedArray, unit: str) -> pa.ChunkedArray:
    """A timestamp column in another unit: finer digits are cut off towards the past, as Java's `Timestamp` has them.

    Raises: pa.ArrowInvalid: a value is out of the unit's range.
    """
    if _DIGITS[unit] < _DIGITS[column.type.unit]:
        column = pc.floor_temporal(column, unit=_UNIT_NAMES[unit])
    return column.cast(pa.timestamp(unit, column.type.tz))


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema of columns. Raises: UnsupportedError naming the first column that cannot be held."""
    return pa.schema([pa.field(f.name, arrow_type(f.type, f"column {f.name}"), f.type.nullable) for f in fields])


def data_type_of_arrow(arrow: pa.DataType, nullable: bool = True) -> DataType:
    """The Paimon type that holds an Arrow type, for tables made from data. Raises: UnsupportedError."""
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    for root in ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE"):
        if arrow == _FIXED[root]:
            return DataType(root, nullable)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return DataType("VARCHAR", nullable, length=MAX_LENGTH)
    if pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow):
        return DataType("VARBINARY", nullable, length=MAX_LENGTH)
    if pa.types.is_decimal128(arrow):
        return DataType("DECIMAL", nullable, precision=arrow.precision, scale=arrow.scale)
    if pa.types.is_timestamp(arrow):
        precision = _DIGITS[arrow.unit]
        return DataType("TIMESTAMP_LTZ" if arrow.tz else "TIMESTAMP", nullable, precision=precision)
    raise UnsupportedError(f"Arrow type {arrow} has no supported Paimon type", "data", "Cast the column first.")
