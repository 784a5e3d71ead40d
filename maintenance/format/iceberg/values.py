"""Single values in Iceberg's files: bounds as bytes, partition values as Avro's plain values.

A *plain* value is what Avro stores without a logical type: a DATE is its days, a TIMESTAMP its microseconds, a TIME its
milliseconds, a DECIMAL the bytes of its unscaled value. Source: the Iceberg specification (appendix D), Java
`IcebergConversions`, `AvroSchemaConverter`.
"""

import decimal
import struct
from typing import Any

from maintenance.types.data_type import DataType
from maintenance.types.values import Value

_INT, _LONG = struct.Struct("<i"), struct.Struct("<q")
_STRUCTS = {
    "BOOLEAN": struct.Struct("<?"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "DATE"), _INT),
    **dict.fromkeys(("BIGINT", "TIMESTAMP", "TIMESTAMP_LTZ", "TIME"), _LONG),
    "FLOAT": struct.Struct("<f"),
    "DOUBLE": struct.Struct("<d"),
}
_AVRO = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT"), "int"),
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    **dict.fromkeys(("CHAR", "VARCHAR"), "string"),
    **dict.fromkeys(("BINARY", "VARBINARY"), "bytes"),
}
_NANOS_PER_MICRO = 1000
_MICROS_PER_MILLI = 1000
_EXACT = decimal.Context(prec=80, traps=[decimal.Inexact, decimal.InvalidOperation])

Plain = bool | int | float | str | bytes | None


def plain_value(value: Value, data_type: DataType) -> Plain:
    """An internal value as a plain one."""
    if value is None:
        return None
    if data_type.root == "DECIMAL":
        unscaled = int(decimal.Decimal(str(value)).scaleb(data_type.scale or 0, _EXACT))
        return unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True)
    if data_type.is_timestamp:
        return int(value) // _NANOS_PER_MICRO
    assert not isinstance(value, decimal.Decimal)
    return value


def bound(plain: Plain, data_type: DataType) -> bytes:
    """A plain value, not null, as bytes of bounds."""
    if isinstance(plain, str):
        return plain.encode("utf-8")
    if isinstance(plain, bytes):
        return plain
    if data_type.root == "TIME":
        return _LONG.pack(int(plain or 0) * _MICROS_PER_MILLI)
    return _STRUCTS[data_type.root].pack(plain)


def plain_of_bound(data: bytes, data_type: DataType) -> Plain:
    """The plain value of bytes of a bound. Raises: struct.error, ValueError: they are none of that type."""
    if data_type.is_string:
        return data.decode("utf-8")
    if data_type.is_bytes or data_type.root == "DECIMAL":
        return data
    (value,) = _STRUCTS[data_type.root].unpack(data)
    plain: Plain = value // _MICROS_PER_MILLI if data_type.root == "TIME" else value
    return plain


def order(plain: Plain, data_type: DataType) -> Any:
    """What plain values, not null, are compared by."""
    if isinstance(plain, bytes) and data_type.root == "DECIMAL":
        return int.from_bytes(plain, "big", signed=True)
    return plain.encode("utf-8") if isinstance(plain, str) else plain


def avro_type(data_type: DataType) -> Any:
    """The Avro type of a partition column's plain values, with its logical type.

    DECIMAL and TIME are as Paimon's writers have them, which read them again. Timestamps are microseconds, as Iceberg's
    readers expect and Paimon's understand.
    """
    match data_type.root:
        case "DATE":
            plain: Any = {"type": "int", "logicalType": "date"}
        case "TIME":
            plain = {"type": "int", "logicalType": "time-millis"}
        case "DECIMAL":
            plain = {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": data_type.precision,
                "scale": data_type.scale,
            }
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            zoned = data_type.root == "TIMESTAMP_LTZ"
            plain = {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": zoned}
        case root:
            plain = _AVRO[root]
    return ["null", plain] if data_type.nullable else plain
