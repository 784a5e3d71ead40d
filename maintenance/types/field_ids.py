"""Ids of the fields inside ROW types. Source: metadata section 2.3, Java `ReassignFieldId`."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from maintenance.types.data_type import DataField, DataType


def with_new_ids(data_type: DataType, ids: Iterator[int]) -> DataType:
    """The type with the next ids for the fields of its ROWs: those inside a field come before the field itself."""
    element, key, value = (
        None if inner is None else with_new_ids(inner, ids)
        for inner in (data_type.element, data_type.key, data_type.value)
    )
    fields = []
    for field in data_type.fields:
        inner = with_new_ids(field.type, ids)
        fields.append(replace(field, id=next(ids), type=inner))
    return replace(data_type, element=element, key=key, value=value, fields=tuple(fields))


def nested_ids(data_type: DataType) -> Iterator[int]:
    """All ids inside a type."""
    for inner in (data_type.element, data_type.key, data_type.value):
        if inner is not None:
            yield from nested_ids(inner)
    for field in data_type.fields:
        yield field.id
        yield from nested_ids(field.type)


def rows_in(data_type: DataType) -> Iterator[DataType]:
    """The ROW types that a type is or holds, but not those inside a ROW."""
    if data_type.root == "ROW":
        yield data_type
    for inner in (data_type.element, data_type.key, data_type.value):
        if inner is not None:
            yield from rows_in(inner)


def all_ids(fields: Iterable[DataField]) -> Iterator[int]:
    """Ids of columns and of everything inside them."""
    for field in fields:
        yield field.id
        yield from nested_ids(field.type)
