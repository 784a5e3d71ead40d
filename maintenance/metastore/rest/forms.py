"""The JSON forms of Paimon's REST API. Source: Java `Schema`, `SchemaChange`, `ViewSchema`, `ViewChange`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.metadata.paths import TablePaths
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.partitions import Partition
from maintenance.metastore.schema_change import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    ExpectOption,
    Position,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    path_of,
)
from maintenance.metastore.view import AddDialect, DropDialect, UpdateDialect, View, ViewChange
from maintenance.options.known import AUDIT
from maintenance.table.system.local_time import instant_of
from maintenance.types.data_type import DataType, field_of_json, json_of_field, json_of_type
from maintenance.types.field_ids import all_ids
from maintenance.types.type_text import parse_data_type

Json = Any
_AUDIT = ("owner", *AUDIT)


def json_of_identifier(name: Identifier) -> Json:
    return {"database": name.database, "object": str(name).partition(".")[2]}


def json_of_schema(schema: TableSchema) -> Json:
    """The definition of a table to create."""
    return {
        "fields": [json_of_field(field) for field in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
        "comment": schema.comment,
    }


def audit_of(answer: Json) -> dict[str, str]:
    """Who made and changed something, and when, as options: what the server says of it."""
    return {key: str(answer[key]) for key in _AUDIT if answer.get(key) is not None}


def schema_of_answer(answer: Json) -> TableSchema:
    """The schema of a table as the server describes it. Raises: KeyError, TypeError, SchemaError."""
    form = answer["schema"]
    fields = tuple(map(field_of_json, form["fields"]))
    options = {key: str(value) for key, value in (form.get("options") or {}).items()}
    return TableSchema(
        id=int(answer.get("schemaId") or 0),
        fields=fields,
        highest_field_id=max(all_ids(fields), default=-1),
        partition_keys=tuple(form.get("partitionKeys") or ()),
        primary_keys=tuple(form.get("primaryKeys") or ()),
        options={**options, **audit_of(answer)},
        comment=form.get("comment"),
    )


def json_of_change(change: SchemaChange) -> Json:
    """A change of a table."""
    match change:
        case SetOption() | RemoveOption() | UpdateComment():
            return _of_settings(change)
        case DropPrimaryKey():
            return {"action": "dropPrimaryKey"}
        case UpdateColumnPosition(column, position):
            return {"action": "updateColumnPosition", "move": _move(column, position)}
    assert not isinstance(change, ExpectOption)  # the server knows no such change: the catalog looks itself
    return {"fieldNames": list(path_of(change.column)), **_of_column(change)}


def _of_settings(change: SetOption | RemoveOption | UpdateComment) -> Json:
    """A change that tables and views share."""
    match change:
        case SetOption(key, value):
            return {"action": "setOption", "key": key, "value": str(value)}
        case RemoveOption(key):
            return {"action": "removeOption", "key": key}
        case UpdateComment(comment):
            return {"action": "updateComment", "comment": comment}


def _of_column(change: SchemaChange) -> Json:
    match change:
        case AddColumn(column, data_type, comment, position):
            move = None if position is None else _move(path_of(column)[-1], position)
            return {"action": "addColumn", "dataType": _type(data_type), "comment": comment, "move": move}
        case RenameColumn(_, name):
            return {"action": "renameColumn", "newName": name}
        case DropColumn():
            return {"action": "dropColumn"}
        case UpdateColumnType(_, data_type, keep):
            return {"action": "updateColumnType", "newDataType": _type(data_type), "keepNullability": keep}
        case UpdateColumnNullability(_, nullable):
            return {"action": "updateColumnNullability", "newNullability": nullable}
        case UpdateColumnComment(_, comment):
            return {"action": "updateColumnComment", "newComment": comment}
        case UpdateColumnDefaultValue(_, default):
            return {"action": "updateColumnDefaultValue", "newDefaultValue": default}
    raise TypeError(f"{change!r} is not a change of a column")


def _move(name: str, position: Position) -> Json:
    return {"fieldName": name, "referenceFieldName": position.reference, "type": position.where.upper()}


def _type(given: str | DataType) -> Json:
    return json_of_type(given if isinstance(given, DataType) else parse_data_type(given))


def json_of_view(view: View) -> Json:
    return {
        "fields": [json_of_field(field) for field in view.columns()],
        "query": view.query,
        "dialects": dict(view.dialects),
        "comment": view.comment,
        "options": {key: str(value) for key, value in view.options.items()},
    }


def view_of_answer(answer: Json) -> View:
    """Raises: KeyError, TypeError, SchemaError."""
    form = answer["schema"]
    fields = tuple(map(field_of_json, form["fields"]))
    options = {**(form.get("options") or {}), **audit_of(answer)}
    return View(fields, form["query"], form.get("dialects") or {}, form.get("comment"), options)


def json_of_view_change(change: ViewChange) -> Json:
    match change:
        case SetOption() | RemoveOption() | UpdateComment():
            return _of_settings(change)
        case AddDialect(dialect, query):
            return {"action": "addDialect", "dialect": dialect, "query": query}
        case UpdateDialect(dialect, query):
            return {"action": "updateDialect", "dialect": dialect, "query": query}
        case DropDialect(dialect):
            return {"action": "dropDialect", "dialect": dialect}


def partition_of_answer(form: Json) -> Partition:
    """Raises: KeyError, TypeError."""
    return Partition(
        {str(key): str(value) for key, value in form["spec"].items()},
        int(form["recordCount"]),
        int(form["fileSizeInBytes"]),
        int(form["fileCount"]),
        int(form["lastFileCreationTime"]),
        int(form.get("totalBuckets", -1)),
        bool(form.get("done", False)),
    )


def json_of_snapshot(data: bytes) -> Json:
    """A snapshot as it stands in its file."""
    return json.loads(data)


def statistics_of(paths: TablePaths, entries: Sequence[ManifestEntry]) -> list[Json]:
    """By how much a snapshot changes each partition. Source: Java `PartitionEntry`, `PartitionStatistics`."""
    changed: dict[bytes, dict[str, int]] = {}
    for entry in entries:
        sign = 1 if entry.kind == FileKind.ADD else -1
        created = entry.file.creation_time
        one = {
            "recordCount": sign * entry.file.row_count,
            "fileSizeInBytes": sign * entry.file.file_size,
            "fileCount": sign,
        }
        total = changed.setdefault(entry.partition, {"lastFileCreationTime": 0, "totalBuckets": entry.total_buckets})
        total |= {key: total.get(key, 0) + number for key, number in one.items()}
        millis = 0 if created is None else instant_of(created)
        total["lastFileCreationTime"] = max(total["lastFileCreationTime"], millis)
    return [{"spec": _spec(paths, partition), **total} for partition, total in changed.items()]


def _spec(paths: TablePaths, partition: bytes) -> Mapping[str, str]:
    return paths.spec_of(partition)
