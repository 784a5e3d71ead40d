"""Paimon's schemas as Iceberg's, with the same field ids. Source: Iceberg's specification, Java `IcebergDataField`."""

from collections.abc import Mapping
from typing import Any

from maintenance.errors import UnsupportedError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import element_field_id, map_key_field_id
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataField, DataType

_PLAIN = {
    "BOOLEAN": "boolean",
    "TINYINT": "int",
    "SMALLINT": "int",
    "INT": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "CHAR": "string",
    "VARCHAR": "string",
    "BINARY": "binary",
    "VARBINARY": "binary",
}
_MILLIS, _MICROS = 3, 6
_NANOS_SINCE = 3


def iceberg_schema(schema: TableSchema, version: int) -> dict[str, Any]:
    """The JSON form of a schema. `version`: of Iceberg's format.

    Raises: UnsupportedError: a column has a type that Iceberg lacks; the message names both.
    """
    fields = [_field(field, field.name, version) for field in schema.fields]
    return {"type": "struct", "schema-id": schema.id, "fields": fields}


def _field(field: DataField, path: str, version: int) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": field.id,
        "name": field.name,
        "required": not field.type.nullable,
        "type": _type(field.type, field.id, 0, path, version),
    }
    if field.description is not None:
        form["doc"] = field.description
    return form


def _type(data_type: DataType, field_id: int, depth: int, path: str, version: int) -> Any:
    """A type. `field_id`: of the named field around it, `depth`: levels below that."""

    def inner(part: DataType, name: str) -> Any:
        return _type(part, field_id, depth + 1, f"{path}.{name}", version)

    match data_type.root:
        case "DECIMAL":
            return f"decimal({data_type.precision}, {data_type.scale})"
        case "TIME" if (data_type.precision or 0) <= _MILLIS:
            return "time"
        case "TIMESTAMP" | "TIMESTAMP_LTZ" if (data_type.precision or 0) >= _MILLIS:
            text = "timestamp" if data_type.root == "TIMESTAMP" else "timestamptz"
            if (data_type.precision or 0) <= _MICROS:
                return text
            if version >= _NANOS_SINCE:
                return f"{text}_ns"
        case "ARRAY":
            element = element_of(data_type)
            return {
                "type": "list",
                "element-id": element_field_id(field_id, depth + 1),
                "element-required": not element.nullable,
                "element": inner(element, "element"),
            }
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return {
                "type": "map",
                "key-id": map_key_field_id(field_id, depth + 1),
                "key": inner(key, "key"),
                "value-id": element_field_id(field_id, depth + 1),
                "value-required": not value.nullable,
                "value": inner(value, "value"),
            }
        case "ROW":
            fields = [_field(field, f"{path}.{field.name}", version) for field in data_type.fields]
            return {"type": "struct", "fields": fields}
        case root if root in _PLAIN:
            return _PLAIN[root]
    raise UnsupportedError(
        f"column '{path}' is {data_type}, which Iceberg's format version {version} has no type for",
        "option 'metadata.iceberg.storage'",
        "Use TIMESTAMP(3) to TIMESTAMP(6) and TIME(0) to TIME(3), or unset the option: see the page on Iceberg.",
    )


def partition_spec(schema: TableSchema) -> dict[str, Any]:
    """The partition columns as the one partition spec that a table of Paimon has."""
    fields = [
        {"name": field.name, "transform": "identity", "source-id": field.id, "field-id": FIRST_PARTITION_ID + i}
        for i, field in enumerate(schema.partition_fields)
    ]
    return {"spec-id": SPEC_ID, "fields": fields}


def highest_field_id(schema: Mapping[str, Any]) -> int:
    """The largest id of a schema's columns."""
    return max((field["id"] for field in schema["fields"]), default=0)


SPEC_ID = 0
FIRST_PARTITION_ID = 1000
