"""How system tables show partitions, keys and statistics as text. Source: data section 11 of the metadata reference."""

from collections.abc import Iterable, Mapping, Sequence

from maintenance.format.rows.binary_row import parse_row
from maintenance.metadata.partition_path import partition_text
from maintenance.metadata.zone import local_zone
from maintenance.types.data_type import DataField
from maintenance.types.values import Value, text_of_value


def internal_text(value: Value, field: DataField) -> str:
    """An internal value as Java's toString shows it: dates as day numbers, times as milliseconds."""
    if value is None:
        return "null"
    if field.type.is_bytes:
        return text_of_value(value, field.type)
    return partition_text(value, field.type, legacy=True)


def braces(data: bytes, fields: Sequence[DataField]) -> str:
    """A serialized row as ``{v1, v2}``, its values cast to text: partitions."""
    zone = local_zone()
    texts = (
        "null" if value is None else partition_text(value, field.type, legacy=False, zone=zone)
        for value, field in _values(data, fields)
    )
    return "{" + ", ".join(texts) + "}"


def brackets(data: bytes, fields: Sequence[DataField]) -> str:
    """A serialized row as ``[v1, v2]``, its values as Java prints them: keys."""
    return "[" + ", ".join(internal_text(value, field) for value, field in _values(data, fields)) + "]"


def _values(data: bytes, fields: Sequence[DataField]) -> Iterable[tuple[Value, DataField]]:
    return zip(parse_row(data, [field.type for field in fields]), fields, strict=True)


def named(values: Mapping[str, str]) -> str:
    """``{a=1, b=x}``, sorted by name."""
    return "{" + ", ".join(f"{name}={values[name]}" for name in sorted(values)) + "}"
