"""How system tables show partitions, keys and statistics as text. Source: data section 11 of the metadata reference."""

from collections.abc import Mapping, Sequence

from maintenance.format.binary_row import parse_row
from maintenance.metadata.partition_path import partition_text
from maintenance.types.data_type import DataField
from maintenance.types.values import Value, text_of_value


def internal_text(value: Value, field: DataField) -> str:
    """An internal value as Java's toString shows it: dates as day numbers."""
    if value is None:
        return "null"
    if field.type.is_bytes:
        return text_of_value(value, field.type)
    return partition_text(value, field.type, legacy=True)


def braces(data: bytes, fields: Sequence[DataField]) -> str:
    """A serialized row as ``{v1, v2}``."""
    return "{" + _joined(data, fields) + "}"


def brackets(data: bytes, fields: Sequence[DataField]) -> str:
    """A serialized row as ``[v1, v2]``."""
    return "[" + _joined(data, fields) + "]"


def _joined(data: bytes, fields: Sequence[DataField]) -> str:
    values = parse_row(data, [field.type for field in fields])
    return ", ".join(internal_text(value, field) for value, field in zip(values, fields, strict=True))


def named(values: Mapping[str, str]) -> str:
    """``{a=1, b=x}``, sorted by name."""
    return "{" + ", ".join(f"{name}={values[name]}" for name in sorted(values)) + "}"
