"""Types in Flink's words, which are Paimon's except for the comments of the fields of a ROW."""

from maintenance.types.data_type import DataField, DataType


def flink_text(data_type: DataType) -> str:
    """A type as Flink's statements write it. Source: Flink's `RowType.RowField.asSerializableString`."""
    nullable = "" if data_type.nullable else " NOT NULL"
    match data_type.root:
        case "ARRAY" | "MULTISET" if data_type.element is not None:
            return f"{data_type.root}<{flink_text(data_type.element)}>{nullable}"
        case "MAP" if data_type.key is not None and data_type.value is not None:
            return f"MAP<{flink_text(data_type.key)}, {flink_text(data_type.value)}>{nullable}"
        case "ROW":
            return f"ROW<{', '.join(map(_field, data_type.fields))}>{nullable}"
    return str(data_type)


def _field(field: DataField) -> str:
    name = field.name.replace("`", "``")
    comment = "" if field.description is None else " '" + field.description.replace("'", "''") + "'"
    return f"`{name}` {flink_text(field.type)}{comment}"
