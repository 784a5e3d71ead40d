"""Types in Flink's words, which are Paimon's except for the comments of the fields of a ROW."""

from collections.abc import Callable

from maintenance.types.data_type import MAX_LENGTH, DataField, DataType


def flink_text(data_type: DataType) -> str:
    """A type as Flink's tables of results show it. Source: Flink's `LogicalType.asSummaryString`."""
    return _nested(data_type, flink_text) or str(data_type)


def flink_statement_text(data_type: DataType) -> str:
    """A type as Flink's statements write it. Source: Flink's `LogicalType.asSerializableString`."""
    if data_type.root in ("VARCHAR", "VARBINARY") and data_type.length == MAX_LENGTH:
        return f"{data_type.root}({MAX_LENGTH}){_nullable(data_type)}"
    return _nested(data_type, flink_statement_text) or str(data_type)


def _nested(data_type: DataType, inner: Callable[[DataType], str]) -> str | None:
    """A type with others inside; None for any other. `inner`: of these."""
    match data_type.root:
        case "ARRAY" | "MULTISET" if data_type.element is not None:
            return f"{data_type.root}<{inner(data_type.element)}>{_nullable(data_type)}"
        case "MAP" if data_type.key is not None and data_type.value is not None:
            return f"MAP<{inner(data_type.key)}, {inner(data_type.value)}>{_nullable(data_type)}"
        case "ROW":
            fields = ", ".join(_field(field, inner(field.type)) for field in data_type.fields)
            return f"ROW<{fields}>{_nullable(data_type)}"
    return None


def _nullable(data_type: DataType) -> str:
    return "" if data_type.nullable else " NOT NULL"


def _field(field: DataField, kind: str) -> str:
    name = field.name.replace("`", "``")
    comment = "" if field.description is None else " '" + field.description.replace("'", "''") + "'"
    return f"`{name}` {kind}{comment}"
