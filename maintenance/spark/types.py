"""Paimon's types as Spark SQL types, and as the Arrow types that Spark takes for them."""

from collections.abc import Sequence

import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.types.arrow import VARIANT, arrow_type, element_of, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nested import retyped

MAX_DIGITS = 6  # of a second
_SPARK_VARIANT = pa.struct([VARIANT.field("value"), VARIANT.field("metadata").with_metadata({"variant": "true"})])

_NAMES = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INT": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "CHAR": "string",
    "VARCHAR": "string",
    "BINARY": "binary",
    "VARBINARY": "binary",
    "BLOB": "binary",
    "VARIANT": "variant",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP_LTZ": "timestamp",
}


def spark_type(data_type: DataType, where: str = "a column") -> str:
    """The DDL text of Spark's type. Raises: UnsupportedError naming `where`, with the path inside it.

    Spark keeps microseconds: finer timestamps are refused. A MULTISET is a map from elements to counts, as in Paimon's
    own connector; TIME needs Spark 4.1.
    """
    if data_type.is_timestamp and (data_type.precision or 0) > MAX_DIGITS:
        raise UnsupportedError(
            f"{data_type} has more digits than Spark keeps", where, "Leave the column out, or read it with to_arrow."
        )
    match data_type.root:
        case "DECIMAL":
            return f"decimal({data_type.precision},{data_type.scale})"
        case "TIME":
            return _time(data_type, where)
        case "ARRAY" | "VECTOR":
            return f"array<{spark_type(element_of(data_type), f'{where}.element')}>"
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return f"map<{spark_type(key, f'{where}.key')}, {spark_type(value, f'{where}.value')}>"
        case "ROW":
            return f"struct<{', '.join(_field(field, where) for field in data_type.fields)}>"
    if data_type.root not in _NAMES:
        raise UnsupportedError(f"type {data_type} has no supported Spark type", where, "Leave the column out.")
    return _NAMES[data_type.root]


def _time(data_type: DataType, where: str) -> str:
    # Naming a type needs no pyspark, unless its version decides.
    from pyspark.sql import types

    if not hasattr(types, "TimeType"):
        raise UnsupportedError(
            f"{data_type} has no type in this version of Spark", where, "Use Spark 4.1, or leave the column out."
        )
    return f"time({min(data_type.precision or 0, MAX_DIGITS)})"


def _field(field: DataField, where: str) -> str:
    # Spark's own `toArrow` fails on a NOT NULL field in a row that is null.
    return f"{_quoted(field.name)}: {spark_type(field.type, f'{where}.{field.name}')}"


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def spark_ddl(fields: Sequence[DataField]) -> str:
    """The DDL text of a schema; its columns, and what is inside them, may all be null."""
    return ", ".join(f"{_quoted(f.name)} {spark_type(f.type, f'column {f.name}')}" for f in fields)


def has_time(data_type: DataType) -> bool:
    """Whether a type is a TIME, or has one inside."""
    return any(part.root == "TIME" for part in data_type.walk())


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The same schema of Arrow."""
    return pa.schema([pa.field(f.name, arrow_for_spark(arrow_type(f.type))) for f in fields])


def arrow_for_spark(arrow: pa.DataType) -> pa.DataType:
    """The Arrow type that Spark takes for a natural one: timestamps in microseconds, times in nanoseconds.

    Fields of rows may be null. Spark knows a VARIANT by a mark on its metadata.
    """
    return retyped(arrow, _leaf_for_spark, lambda field, kind: pa.field(field.name, kind))


def _leaf_for_spark(arrow: pa.DataType) -> pa.DataType | None:
    if arrow == VARIANT:
        return _SPARK_VARIANT
    if pa.types.is_large_binary(arrow):
        return pa.binary()
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", tz=arrow.tz)
    if pa.types.is_time(arrow):
        return pa.time64("ns")
    return None
