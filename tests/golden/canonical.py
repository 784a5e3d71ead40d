"""Rows read, in the form that `expected.json` has them: exact, independent of Arrow's units, and JSON.

Integers, booleans and strings are themselves; floats are their `repr` as 64 bit floats; decimals, dates, times and
timestamps are text, TIMESTAMP_LTZ in UTC with a Z behind it; bytes are hexadecimal. An ARRAY is a list, a ROW the list
of its values, a MAP or MULTISET a sorted list of pairs.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.types.data_type import DataType
from maintenance.types.far_timestamps import FarTimestampType

NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9
_ARROW = {
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


def canonical_rows(table: pa.Table, types: Sequence[DataType]) -> list[list[Any]]:
    """The rows of a table; `types` are those of its columns. Raises: AssertionError: a column has an unnatural type."""
    columns = []
    for field, column, data_type in zip(table.schema, table.columns, types, strict=True):
        assert is_natural(field.type, data_type), f"column {field.name}, {data_type}, is read as {field.type}"
        columns.append([canonical(scalar, data_type) for scalar in column])
    return [list(row) for row in zip(*columns, strict=True)]


def is_natural(arrow: pa.DataType, data_type: DataType) -> bool:
    """Whether an Arrow type is the one that users of Arrow expect for a Paimon type."""
    match data_type.root:
        case "DECIMAL":
            return arrow == pa.decimal128(data_type.precision, data_type.scale)
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            zone = "UTC" if data_type.root == "TIMESTAMP_LTZ" else None
            digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}
            if isinstance(arrow, FarTimestampType):
                return arrow.tz == zone and (data_type.precision or 0) > 6
            return (
                pa.types.is_timestamp(arrow) and arrow.tz == zone and digits[arrow.unit] >= (data_type.precision or 0)
            )
    return data_type.root not in _ARROW or arrow == _ARROW[data_type.root]


def canonical(scalar: pa.Scalar, data_type: DataType) -> Any:
    """One value as JSON."""
    if not scalar.is_valid:
        return None
    match data_type.root:
        case "ARRAY" | "VECTOR":
            return [canonical(item, _part(data_type.element)) for item in scalar.values]
        case "MAP" | "MULTISET":
            return _pairs(scalar, data_type)
        case "ROW":
            return [canonical(scalar[i], field.type) for i, field in enumerate(data_type.fields)]
        case "FLOAT" | "DOUBLE":
            return repr(float(scalar.as_py()))
        case "DECIMAL":
            return format(scalar.as_py(), "f")
        case "BINARY" | "VARBINARY" | "BLOB":
            return scalar.as_py().hex()
        case "DATE":
            return scalar.as_py().isoformat()
        case "TIME":
            return clock_text(scalar.value * NANOS[scalar.type.unit], 3)
        case "TIMESTAMP":
            return moment_text(_nanos(scalar), data_type.precision or 0)
        case "TIMESTAMP_LTZ":
            return moment_text(_nanos(scalar), data_type.precision or 0) + "Z"
    return scalar.as_py()


def _nanos(scalar: pa.Scalar) -> int:
    if isinstance(scalar.type, FarTimestampType):
        return int(scalar.as_py())
    return int(scalar.value) * NANOS[scalar.type.unit]


def _pairs(scalar: pa.MapScalar, data_type: DataType) -> list[list[Any]]:
    key = _part(data_type.key or data_type.element)
    value = data_type.value or DataType("INT")
    entries = scalar.values
    pairs = zip(entries.field(0), entries.field(1), strict=True)
    return sorted(([canonical(k, key), canonical(v, value)] for k, v in pairs), key=json.dumps)


def _part(data_type: DataType | None) -> DataType:
    assert data_type is not None
    return data_type


def moment_text(nanos: int, precision: int) -> str:
    """Nanoseconds since 1970-01-01 as ``2024-02-29 12:00:00`` and `precision` further digits."""
    days, rest = divmod(nanos, _DAY)
    return f"{np.datetime64(days, 'D')} {clock_text(rest, precision)}"


def clock_text(nanos: int, precision: int) -> str:
    """Nanoseconds since midnight as ``12:00:00`` and `precision` further digits."""
    seconds, fraction = divmod(nanos, 10**9)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:09d}"[: len(text) + 1 + precision] if precision else text
