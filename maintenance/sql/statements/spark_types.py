"""Types in Spark's words: as statements write them, as DESCRIBE shows them, and as a tree."""

import re

from maintenance.types.data_type import DataField, DataType

_NAMES = {
    "VARBINARY": "BINARY",
    "BINARY": "BINARY",
    "BLOB": "BINARY",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "TIMESTAMP_LTZ": "TIMESTAMP",
}
_IN_TREES = {"int": "integer", "bigint": "long", "smallint": "short", "tinyint": "byte"}


def spark_text(data_type: DataType) -> str:
    """A type in Spark's words. Types that Spark has not, such as TIME, stay in Paimon's."""
    match data_type.root:
        case "ARRAY" if data_type.element is not None:
            return f"ARRAY<{spark_text(data_type.element)}>"
        case "MAP" if data_type.key is not None and data_type.value is not None:
            return f"MAP<{spark_text(data_type.key)}, {spark_text(data_type.value)}>"
        case "ROW":
            return f"STRUCT<{', '.join(map(_field, data_type.fields))}>"
    return _NAMES.get(data_type.root) or str(data_type.as_nullable())


def _field(field: DataField) -> str:
    """Source: Spark's `StructField.sql`."""
    nullable = "" if field.type.nullable else " NOT NULL"
    escaped = (field.description or "").replace("\\", "\\\\").replace("'", "\\'")
    comment = "" if field.description is None else f" COMMENT '{escaped}'"
    return f"{quoted_if_needed(field.name)}: {spark_text(field.type)}{nullable}{comment}"


def simple_text(data_type: DataType) -> str:
    """A type as Spark's DESCRIBE shows it. Source: Spark's `DataType.simpleString`."""
    match data_type.root:
        case "ARRAY" if data_type.element is not None:
            return f"array<{simple_text(data_type.element)}>"
        case "MAP" if data_type.key is not None and data_type.value is not None:
            return f"map<{simple_text(data_type.key)},{simple_text(data_type.value)}>"
        case "ROW":
            return "struct<" + ",".join(f"{f.name}:{simple_text(f.type)}" for f in data_type.fields) + ">"
    return spark_text(data_type).lower().replace(", ", ",")


def tree_text(fields: tuple[DataField, ...]) -> str:
    """Columns as a tree. Source: Spark's `StructType.treeString`."""
    return "\n".join(["root", *_branches(fields, " |--"), ""])


def _branches(fields: tuple[DataField, ...], prefix: str) -> list[str]:
    lines = []
    for field in fields:
        lines.append(f"{prefix} {field.name}: {_tree_name(field.type)} (nullable = {_shown(field.type)})")
        lines += _inside(field.type, prefix.replace("--", "   ").rstrip() + "    |--")
    return lines


def _inside(data_type: DataType, prefix: str) -> list[str]:
    """The lines of what is inside a type."""
    if data_type.root == "ROW":
        return _branches(tuple(data_type.fields), prefix)
    parts: list[tuple[str, DataType, str]] = []
    if data_type.root == "ARRAY" and data_type.element is not None:
        parts = [("element", data_type.element, f" (containsNull = {_shown(data_type.element)})")]
    elif data_type.root == "MAP" and data_type.key is not None and data_type.value is not None:
        nullable = f" (valueContainsNull = {_shown(data_type.value)})"
        parts = [("key", data_type.key, ""), ("value", data_type.value, nullable)]
    deeper = prefix.replace("--", "   ").rstrip() + "    |--"
    return [
        line
        for name, part, nullable in parts
        for line in (f"{prefix} {name}: {_tree_name(part)}{nullable}", *_inside(part, deeper))
    ]


def _tree_name(data_type: DataType) -> str:
    if data_type.root in ("ARRAY", "MAP", "ROW"):
        return "struct" if data_type.root == "ROW" else data_type.root.lower()
    simple = simple_text(data_type)
    return _IN_TREES.get(simple, simple)


def _shown(data_type: DataType) -> str:
    return str(data_type.nullable).lower()


_PLAIN_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def quoted_if_needed(name: str) -> str:
    """A name as Spark shows it. Source: Spark's `QuotingUtils.quoteIfNeeded`."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
