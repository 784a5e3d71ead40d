"""Changes that lead from a nested type to another, as Flink's MODIFY asks for them by the new type alone.

Source: Java `NestedSchemaUtils`.
"""

from collections.abc import Iterator

from maintenance.catalog import (
    FIRST,
    AddColumn,
    DropColumn,
    SchemaChange,
    UpdateColumnComment,
    UpdateColumnNullability,
    UpdateColumnType,
    after,
)
from maintenance.errors import SchemaError
from maintenance.types.data_type import DataType

STEPS = {"ARRAY": "element", "MULTISET": "element", "MAP": "value"}
"""What leads from a nested type to the type inside it, on the path to a field."""


def nested_changes(path: tuple[str, ...], old: DataType, new: DataType, where: str) -> Iterator[SchemaChange]:
    """Fields of rows that are dropped, added and given another type. `path`: to the values of these types.

    Raises: SchemaError: a type is of another kind, fields have changed places, or the keys of a MAP have another type.
    """
    if old.root == new.root == "ROW":
        yield from _of_rows(path, old, new, where)
    elif old.root == new.root and old.root in STEPS:
        if old.key != new.key:
            problem = f"keys of {'.'.join(path)} cannot become {new.key}, they are {old.key}"
            raise SchemaError(problem, where, "Add a column of the new type.")
        before, behind = (part.value if part.root == "MAP" else part.element for part in (old, new))
        assert before is not None
        assert behind is not None
        yield from nested_changes((*path, STEPS[old.root]), before, behind, where)
    elif old.as_nullable() != new.as_nullable():
        yield UpdateColumnType(path, new, keep_nullability=True)
    if old.nullable != new.nullable:
        yield UpdateColumnNullability(path, new.nullable)


def _of_rows(path: tuple[str, ...], old: DataType, new: DataType, where: str) -> Iterator[SchemaChange]:
    before = {field.name: field for field in old.fields}
    kept = [field.name for field in new.fields if field.name in before]
    if kept != [name for name in before if name in kept]:
        problem = f"the fields of {'.'.join(path)} have other places"
        raise SchemaError(problem, where, f"Keep the order {', '.join(before)}.")
    names = [field.name for field in new.fields]
    yield from (DropColumn((*path, name)) for name in before if name not in names)
    for number, field in enumerate(new.fields):
        inner = (*path, field.name)
        known = before.get(field.name)
        if known is None:
            position = after(names[number - 1]) if number else FIRST
            yield AddColumn(inner, field.type, field.description, position)
            continue
        if known.description != field.description:
            yield UpdateColumnComment(inner, field.description)
        yield from nested_changes(inner, known.type, field.type, where)
