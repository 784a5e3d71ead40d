"""Paimon's types as DuckDB's."""

from typing import Any

import pyarrow as pa

from maintenance.sql.query.carried import CARRIED, MICROS, REST
from maintenance.types.arrow import element_of, has_nanos, map_parts
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
        case "TIMESTAMP" | "TIMESTAMP_LTZ" if has_nanos(data_type):
            return f"STRUCT({MICROS} {_PLAIN.get(data_type.root, data_type.root)}, {REST} SMALLINT)"
        case "TIMESTAMP":
            digits = data_type.precision or 0
            return "TIMESTAMP_MS" if digits <= 3 else "TIMESTAMP"
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


def like_given(data_type: DataType, given: Any) -> str:
    """The text of a type, with the names of fields that DuckDB's type `given` has: rows are assigned by position.

    Timestamps keep their digits: what writes them cuts off those that the type has not, where DuckDB would round.
    """
    if data_type.is_timestamp:
        return _moments(data_type.root, given)
    if given.id == "struct" and data_type.root == "ROW" and len(given.children) == len(data_type.fields):
        pairs = zip(given.children, data_type.fields, strict=True)
        parts = [f'"{_doubled(name or f.name)}" {like_given(f.type, inner)}' for (name, inner), f in pairs]
        return f"STRUCT({', '.join(parts)})"
    if given.id == "list" and data_type.root in ("ARRAY", "VECTOR"):
        return f"{like_given(element_of(data_type), given.children[0][1])}[]"
    if given.id == "map" and data_type.root in ("MAP", "MULTISET"):
        parts = [like_given(part, given.children[i][1]) for i, part in enumerate(map_parts(data_type))]
        return f"MAP({', '.join(parts)})"
    return duck_type(data_type)


def _moments(root: str, given: Any) -> str:
    plain = "TIMESTAMP" if root == "TIMESTAMP" else "TIMESTAMP WITH TIME ZONE"
    if given.id == "struct":
        return f"STRUCT({MICROS} {plain}, {REST} SMALLINT)"
    has_zone = given.id == "timestamp with time zone"
    return str(given) if given.id.startswith("timestamp") and has_zone == (root == "TIMESTAMP_LTZ") else plain


def named_like(arrow: pa.DataType, data_type: DataType) -> pa.DataType:
    """An Arrow type with a type's names of fields."""
    if pa.types.is_struct(arrow) and data_type.root == "ROW":
        fields = zip(arrow, data_type.fields, strict=True)
        return pa.struct([old.with_name(f.name).with_type(named_like(old.type, f.type)) for old, f in fields])
    if pa.types.is_map(arrow) and data_type.root in ("MAP", "MULTISET"):
        key, value = map_parts(data_type)
        item = arrow.item_field.with_type(named_like(arrow.item_type, value))
        return pa.map_(arrow.key_field.with_type(named_like(arrow.key_type, key)), item)
    if pa.types.is_list(arrow) and data_type.root in ("ARRAY", "VECTOR"):
        return pa.list_(arrow.value_field.with_type(named_like(arrow.value_type, element_of(data_type))))
    return arrow


_SHOWN = {
    "VARCHAR": "STRING",
    "STRING_LITERAL": "STRING",
    "INTEGER": "INT",
    "INTEGER_LITERAL": "INT",
    "BLOB": "BYTES",
    "HUGEINT": "BIGINT",
    "TIMESTAMP_S": "TIMESTAMP(0)",
    "TIMESTAMP_MS": "TIMESTAMP(3)",
    "TIMESTAMP_NS": "TIMESTAMP(9)",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP_LTZ",
    "STRUCT": "ROW",
    "INT8": "TINYINT",
    "INT16": "SMALLINT",
    "INT32": "INT",
    "INT64": "BIGINT",
    "INT128": "DECIMAL(38, 0)",
    '"NULL"': "NULL",
}


def shown_type(text: str) -> str:
    """A type of DuckDB in our words; the elements of lists and fields of rows stay out."""
    kind = text.strip()
    if kind.endswith("]"):
        return "ARRAY"
    if kind.startswith(CARRIED):
        return "TIMESTAMP_LTZ(9)" if "TIME ZONE" in kind else "TIMESTAMP(9)"
    kind = kind if kind.startswith("DECIMAL") else kind.partition("(")[0].strip()
    return _SHOWN.get(kind, kind)


def _doubled(name: str) -> str:
    return name.replace('"', '""')
