"""Types of Paimon as Hive writes them, and back. Source: Java `HiveTypeUtils`."""

import re
from collections.abc import Iterator

from maintenance.errors import SchemaError, UnsupportedError
from maintenance.types.data_type import DataField, DataType
from maintenance.types.type_text import parse_data_type

_PLAIN = {
    "BOOLEAN": "boolean", "TINYINT": "tinyint", "SMALLINT": "smallint", "INT": "int", "BIGINT": "bigint",
    "FLOAT": "float", "DOUBLE": "double", "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_LTZ": "timestamp",
    "TIME": "string", "BINARY": "binary", "VARBINARY": "binary", "BLOB": "binary",
    "VARIANT": "struct<value:binary,metadata:binary>",
}  # fmt: skip
_LONGEST_CHAR, _LONGEST_VARCHAR = 255, 65535
_BACK = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INT", "integer": "INT",
    "bigint": "BIGINT", "float": "FLOAT", "double": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP(6)",
    "timestamp with local time zone": "TIMESTAMP(6) WITH LOCAL TIME ZONE", "string": "STRING", "binary": "BYTES",
}  # fmt: skip
_WITH_LENGTH = re.compile(r"(decimal|char|varchar)\s*\(([\d,\s]+)\)", re.IGNORECASE)


def hive_type(data_type: DataType) -> str:
    """The text of a type. Raises: UnsupportedError: Hive has none."""
    match data_type.root:
        case "DECIMAL":
            return f"decimal({data_type.precision},{data_type.scale})"
        case "CHAR":
            assert data_type.length is not None
            return f"char({data_type.length})" if data_type.length <= _LONGEST_CHAR else "string"
        case "VARCHAR":
            assert data_type.length is not None
            return f"varchar({data_type.length})" if data_type.length <= _LONGEST_VARCHAR else "string"
        case "ARRAY" | "VECTOR":
            assert data_type.element is not None
            return f"array<{hive_type(data_type.element)}>"
        case "MULTISET":
            assert data_type.element is not None
            return f"map<{hive_type(data_type.element)},int>"
        case "MAP":
            assert data_type.key is not None
            assert data_type.value is not None
            return f"map<{hive_type(data_type.key)},{hive_type(data_type.value)}>"
        case "ROW":
            return f"struct<{','.join(f'{field.name}:{hive_type(field.type)}' for field in data_type.fields)}>"
    if data_type.root not in _PLAIN:
        fix = "Use a type that Hive has, or a catalog of another metastore."
        raise UnsupportedError(f"Hive has no type for {data_type}", "hive catalog", fix)
    return _PLAIN[data_type.root]


def type_of_hive(text: str) -> DataType:
    """The type of a text, nullable. Raises: UnsupportedError: Paimon has none."""
    text = text.strip()
    lower = text.lower()
    if lower in _BACK:
        return parse_data_type(_BACK[lower])
    if lower.startswith("array<"):
        return DataType("ARRAY", element=type_of_hive(text[6:-1]))
    if lower.startswith("map<"):
        key, value = _split(text[4:-1])
        return DataType("MAP", key=type_of_hive(key), value=type_of_hive(value))
    if lower.startswith("struct<"):
        parts = (part.partition(":") for part in _split(text[7:-1]))
        fields = [DataField(i, name, type_of_hive(kind)) for i, (name, _, kind) in enumerate(parts)]
        return DataType("ROW", fields=tuple(fields))
    if lower == "decimal":
        return parse_data_type("DECIMAL(10, 0)")
    if _WITH_LENGTH.fullmatch(text):
        try:
            return parse_data_type(text.upper())
        except SchemaError:
            pass
    fix = "Read the table with Hive or Spark, or change the column's type there."
    raise UnsupportedError(f"Hive's type '{text}' has none of Paimon", "hive catalog", fix)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets."""
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    yield text[start:]
