"""Paimon's types as DuckDB's."""

from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataType

_PLAIN = {
    "INT": "INTEGER",
    "CHAR": "VARCHAR",
    "BINARY": "BLOB",
    "VARBINARY": "BLOB",
    "VARIANT": 'STRUCT("value" BLOB, metadata BLOB)',
    "TIMESTAMP_LTZ": "TIMESTAMP WITH TIME ZONE",
}


def duck_type(data_type: DataType) -> str:
    """The text of the type that holds the same values."""
    match data_type.root:
        case "DECIMAL":
            return f"DECIMAL({data_type.precision},{data_type.scale or 0})"
        case "TIMESTAMP":
            digits = data_type.precision or 0
            return "TIMESTAMP_MS" if digits <= 3 else "TIMESTAMP" if digits <= 6 else "TIMESTAMP_NS"
        case "ARRAY":
            return f"{duck_type(element_of(data_type))}[]"
        case "VECTOR":
            return f"{duck_type(element_of(data_type))}[{data_type.length}]"
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return f"MAP({duck_type(key)}, {duck_type(value)})"
        case "ROW":
            parts = ", ".join(f'"{_doubled(f.name)}" {duck_type(f.type)}' for f in data_type.fields)
            return f"STRUCT({parts})"
    return _PLAIN.get(data_type.root, data_type.root)


def _doubled(name: str) -> str:
    return name.replace('"', '""')
