"""Random changes of schemas, some of them not allowed."""

from random import Random

from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.schema_change import (
    FIRST,
    LAST,
    AddColumn,
    DropColumn,
    Position,
    RenameColumn,
    SchemaChange,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    after,
    before,
)
from maintenance.types.data_type import DataField, DataType

ATOMS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(20, 4)",
    "CHAR(4)", "VARCHAR(6)", "STRING", "BINARY(3)", "BYTES", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)",
    "TIMESTAMP(3) WITH LOCAL TIME ZONE",
)  # fmt: skip
NESTED = ("ARRAY<INT>", "ROW<x INT, y STRING>", "MAP<STRING, INT>", "ARRAY<ROW<u INT>>", "MAP<INT, ROW<z DOUBLE>>")
_NAMES = "abcdefghij"
_DEFAULTS = ("1", "'x'", "2024-02-29", "true", None)


def random_change(random: Random, schema: TableSchema, types: tuple[str, ...] = (*ATOMS, *NESTED)) -> SchemaChange:
    """A change that a schema may or may not allow."""
    places = _places(schema.fields)
    path = random.choice(places)[0]
    named = random.choice([place for place, field, _ in places if field is not None])
    match random.randrange(12):
        case 0 | 1:
            return AddColumn(
                _new_path(random, schema), random.choice(types), random.choice((None, "new")), _position(random, schema)
            )
        case 2:
            return RenameColumn(named, random.choice(_NAMES))
        case 3:
            return DropColumn(named)
        case 4 | 5 | 6 | 7:
            return UpdateColumnType(path, random.choice(types), keep_nullability=random.random() < 0.5)
        case 8:
            return UpdateColumnNullability(path, random.random() < 0.6)
        case 9:
            return UpdateColumnComment(named, random.choice(("a comment", None)))
        case 10:
            return UpdateColumnDefaultValue(named[:1], random.choice(_DEFAULTS))
    column = random.choice(schema.field_names)
    return UpdateColumnPosition(column, _position(random, schema) or FIRST)


def _new_path(random: Random, schema: TableSchema) -> tuple[str, ...]:
    rows = [path for path, _, data_type in _places(schema.fields) if data_type.root == "ROW"]
    return (*random.choice(((), *rows)), random.choice(_NAMES))


def _position(random: Random, schema: TableSchema) -> Position | None:
    reference = random.choice((*schema.field_names, "none"))
    return random.choice((None, None, FIRST, LAST, after(reference), before(reference)))


_Place = tuple[tuple[str, ...], DataField | None, DataType]


def _places(fields: tuple[DataField, ...]) -> list[_Place]:
    """Paths to all columns and what is inside them, with the field where there is one, and the type there."""
    collected: list[_Place] = []
    for field in fields:
        collected.append(((field.name,), field, field.type))
        collected += [((field.name, *path), end, data_type) for path, end, data_type in _inside(field.type)]
    return collected


def _inside(data_type: DataType) -> list[_Place]:
    if data_type.root == "ROW":
        return _places(data_type.fields)
    inner, name = (data_type.element, "element") if data_type.root == "ARRAY" else (data_type.value, "value")
    if inner is None:
        return []
    return [((name,), None, inner), *(((name, *path), end, actual) for path, end, actual in _inside(inner))]
