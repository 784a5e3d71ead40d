"""Paimon's types as Spark SQL types."""

from collections.abc import Sequence

from maintenance.errors import UnsupportedError
from maintenance.types.data_type import DataField, DataType

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
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP_LTZ": "timestamp",
}


def spark_type(data_type: DataType, where: str = "a column") -> str:
    """The DDL text of Spark's type. Raises: UnsupportedError.

    Spark keeps microseconds: finer timestamps are refused.
    """
    if data_type.is_timestamp and (data_type.precision or 0) > 6:
        raise UnsupportedError(
            f"{data_type} has more digits than Spark keeps", where, "Leave the column out, or read it with to_arrow."
        )
    if data_type.root == "DECIMAL":
        return f"decimal({data_type.precision},{data_type.scale})"
    if data_type.root not in _NAMES:
        raise UnsupportedError(f"type {data_type} has no supported Spark type", where, "Leave the column out.")
    return _NAMES[data_type.root]


def spark_ddl(fields: Sequence[DataField]) -> str:
    """The DDL text of a schema."""
    quoted = [
        (f"`{field.name.replace('`', '``')}`", spark_type(field.type, f"column {field.name}")) for field in fields
    ]
    return ", ".join(f"{name} {text}" for name, text in quoted)
