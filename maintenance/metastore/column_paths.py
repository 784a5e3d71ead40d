"""Change one column, at the top or inside nested types. Source: Java `SchemaManager.NestedColumnModifier`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from maintenance.errors import AlreadyExistsError, SchemaError
from maintenance.metastore.schema_change import Position
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataField, DataType

Fields = tuple[DataField, ...]

_ELEMENT = "element"
_VALUE = "value"


def with_fields_changed(fields: Fields, path: Sequence[str], change: Callable[[Fields], Fields], where: str) -> Fields:
    """Fields with `change` applied to the list of fields that holds the last name of the path.

    Raises: SchemaError: the path leads nowhere.
    """
    if len(path) == 1:
        return change(fields)
    index = index_of(fields, path[0], where)
    inner = _with_inner_changed(fields[index].type, path[1:], change, f"{where}, column {path[0]}")
    return (*fields[:index], replace(fields[index], type=inner), *fields[index + 1 :])


def _with_inner_changed(
    data_type: DataType, path: Sequence[str], change: Callable[[Fields], Fields], where: str
) -> DataType:
    if data_type.root == "ROW":
        return replace(data_type, fields=with_fields_changed(data_type.fields, path, change, where))
    inner = _step(data_type, path[0], where)
    if len(path) == 1:
        raise SchemaError(
            f"'{path[0]}' is not a field of a ROW",
            where,
            "Elements and values have a type and may be null, no more.",
        )
    return _with_inner(data_type, _with_inner_changed(inner, path[1:], change, where))


def with_type_changed(
    fields: Fields, path: Sequence[str], change: Callable[[DataType], DataType], where: str
) -> Fields:
    """Fields with `change` applied to the type that the path leads to. Raises: SchemaError: it leads nowhere."""
    index = index_of(fields, path[0], where)
    changed = _with_type_changed(fields[index].type, path[1:], change, f"{where}, column {path[0]}")
    return (*fields[:index], replace(fields[index], type=changed), *fields[index + 1 :])


def _with_type_changed(
    data_type: DataType, path: Sequence[str], change: Callable[[DataType], DataType], where: str
) -> DataType:
    if not path:
        return change(data_type)
    if data_type.root == "ROW":
        return replace(data_type, fields=with_type_changed(data_type.fields, path, change, where))
    inner = _step(data_type, path[0], where)
    return _with_inner(data_type, _with_type_changed(inner, path[1:], change, where))


def index_of(fields: Fields, name: str, where: str) -> int:
    """Position of a field. Raises: SchemaError: there is none of that name."""
    for index, field in enumerate(fields):
        if field.name == name:
            return index
    raise SchemaError(f"no column '{name}'", where, f"There are: {', '.join(field.name for field in fields)}.")


def _step(data_type: DataType, name: str, where: str) -> DataType:
    """The type of the elements of an ARRAY or the values of a MAP."""
    if data_type.root == "ARRAY" and name == _ELEMENT:
        return element_of(data_type)
    if data_type.root == "MAP" and name == _VALUE:
        return map_parts(data_type)[1]
    known = {"ARRAY": f"It has '{_ELEMENT}'.", "MAP": f"It has '{_VALUE}'; its keys cannot change."}
    raise SchemaError(
        f"type {data_type} has no '{name}' to change", where, known.get(data_type.root, "Name the column itself.")
    )


def _with_inner(data_type: DataType, inner: DataType) -> DataType:
    return replace(data_type, element=inner) if data_type.root == "ARRAY" else replace(data_type, value=inner)


def check_absent(fields: Fields, name: str, where: str) -> None:
    if any(field.name == name for field in fields):
        raise AlreadyExistsError(f"column '{name}' exists", where, "Choose another name.")


def inserted(fields: Fields, field: DataField, position: Position | None, where: str) -> Fields:
    check_absent(fields, field.name, where)
    index = len(fields)
    if position is not None and position.where == "first":
        index = 0
    elif position is not None and position.reference is not None:
        index = index_of(fields, position.reference, where) + (position.where == "after")
    return (*fields[:index], field, *fields[index:])


def moved(fields: Fields, column: str, position: Position, where: str) -> Fields:
    index = index_of(fields, column, where)
    others = (*fields[:index], *fields[index + 1 :])
    ends = {"first": 0, "last": len(fields) - 1}
    to = ends[position.where] if position.where in ends else index_of(fields, position.reference or "", where)
    if to == index:
        raise SchemaError(f"column '{column}' is to move to where it is", where, "Leave this change out.")
    return inserted(others, fields[index], position, where)
