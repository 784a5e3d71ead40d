"""What each version of a table's schema has changed, in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from maintenance.amounts import number_of
from maintenance.format.metadata.schema import TableSchema
from maintenance.metadata.schemas import Schemas
from paimon_maintenance.console.words import millis

_MOST = 50


@dataclass(frozen=True, slots=True)
class Version:
    """A schema, and what it has changed; the first one of a table has created it."""

    id: int
    at: datetime
    changes: Sequence[str]


def versions(schemas: Schemas) -> list[Version]:
    """The versions of a schema, the newest first; of many, the newest."""
    ids = schemas.list_ids()
    read = [schemas.get(number) for number in ids[-_MOST - 1 :]]
    found = [
        Version(new.id, millis(new.time_millis), list(_changes(old, new)) or ["nothing that shows"])
        for old, new in zip(read, read[1:], strict=False)
    ]
    if len(ids) <= _MOST:
        found = [Version(read[0].id, millis(read[0].time_millis), [_created(read[0])]) for _ in read[:1]] + found
    return found[::-1]


def _created(schema: TableSchema) -> str:
    keys = f", primary key {', '.join(schema.primary_keys)}" if schema.primary_keys else ""
    parts = f", partitioned by {', '.join(schema.partition_keys)}" if schema.partition_keys else ""
    return f"the table was created with {number_of(len(schema.fields), 'column')}{keys}{parts}"


def _changes(old: TableSchema, new: TableSchema) -> Iterator[str]:
    before, after = {part.id: part for part in old.fields}, {part.id: part for part in new.fields}
    for number, column in after.items():
        was = before.get(number)
        if was is None:
            yield f"column {column.name} {column.type} was added"
            continue
        if was.name != column.name:
            yield f"column {was.name} was renamed to {column.name}"
        if was.type != column.type:
            yield f"column {column.name}: {was.type} became {column.type}"
        if was.description != column.description:
            yield f"column {column.name} has another comment: {column.description or 'none'}"
        if was.default_value != column.default_value:
            yield f"column {column.name} has another default: {column.default_value or 'none'}"
    yield from (f"column {column.name} was dropped" for number, column in before.items() if number not in after)
    shared = [number for number in before if number in after]
    if shared != [number for number in after if number in before]:
        yield "columns were moved"
    if old.primary_keys != new.primary_keys:
        yield f"the primary key became {', '.join(new.primary_keys) or 'none'}"
    if old.comment != new.comment:
        yield f"the table has another comment: {new.comment or 'none'}"
    yield from _options(old.options, new.options)


def _options(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for key in sorted({*old, *new}):
        if key not in new:
            yield f"option {key} was removed; it was {old[key]}"
        elif key not in old:
            yield f"option {key} was set to {new[key]}"
        elif old[key] != new[key]:
            yield f"option {key}: {old[key]} became {new[key]}"
