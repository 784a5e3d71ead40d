"""Iceberg's manifests: data files and deletion vectors of a table, with bounds and counts.

Fields are identified by their ids in the files, and by their names here, which are those that Paimon gives them.
Partition values are taken by their place. Source: the Iceberg specification, Java `IcebergManifestEntry`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import fastavro

from maintenance.format.avro.container import (
    read_records,
    schema_of_container,
    without_logical_types,
    write_records,
)
from maintenance.format.iceberg.types import FIRST_PARTITION_ID, SPEC_ID, iceberg_schema, partition_spec
from maintenance.format.iceberg.values import Plain, avro_type
from maintenance.format.metadata.schema import TableSchema
from maintenance.types.data_type import DataField

ROW_IDS_SINCE = 3
"""The format version from which on rows have ids."""


class Content(IntEnum):
    """What a file holds."""

    DATA = 0
    POSITION_DELETES = 1


class Status(IntEnum):
    """What became of a file in the snapshot that wrote its manifest."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class IcebergFile:
    """A data file, or the deletion vector of one.

    Attributes:
        file_format: in small letters, ``puffin`` for a vector.
        partition: plain values of the partition columns, in their order.
        record_count: rows; of a vector, rows that it deletes.
        file_size: bytes of the whole file.
        null_counts, lower_bounds, upper_bounds: by field id; None for vectors.
        referenced_data_file: the path of the file that a vector is of; `content_offset`, `content_size`: its bytes.
        first_row_id: None = it follows from the manifest's.
    """

    path: str
    file_format: str
    partition: tuple[Plain, ...]
    record_count: int
    file_size: int
    null_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    content: int = Content.DATA
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size: int | None = None
    first_row_id: int | None = None


@dataclass(frozen=True, slots=True)
class IcebergEntry:
    """A file in a manifest. `snapshot_id`: that added or deleted it; `sequence_number`: of the one that added it."""

    status: int
    snapshot_id: int
    sequence_number: int
    file_sequence_number: int
    file: IcebergFile

    @property
    def is_live(self) -> bool:
        return self.status != Status.DELETED


@dataclass(frozen=True, slots=True)
class ManifestLayout:
    """What the manifests of a table look like.

    Attributes: `version`: of Iceberg's format; `codec`: an Avro codec; `schema`: the newest.
    """

    schema: TableSchema
    version: int
    codec: str
    partition_fields: tuple[DataField, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition_fields", tuple(self.schema.partition_fields))

    def serialize(self, entries: Iterable[IcebergEntry], content: int) -> bytes:
        """The bytes of a manifest. `content`: of its files, data or deletes."""
        schema = _schema(self.partition_fields, row_ids=self.version >= ROW_IDS_SINCE)
        names = [part["name"] for part in _partition_form(self.partition_fields)]
        records = [_record(entry, names) for entry in entries]
        more = {
            "schema": json.dumps(iceberg_schema(self.schema, self.version)),
            "schema-id": str(self.schema.id),
            "partition-spec": json.dumps(partition_spec(self.schema)["fields"]),
            "partition-spec-id": str(SPEC_ID),
            "format-version": str(self.version),
            "content": "data" if content == Content.DATA else "deletes",
        }
        plain = fastavro.parse_schema(without_logical_types(schema))
        header = {"avro.schema": json.dumps(schema), **more}
        return write_records(plain, records, self.codec, 1, {key: text.encode() for key, text in header.items()})


def parse_manifest(data: bytes, where: str, *, snapshot_id: int, sequence_number: int) -> list[IcebergEntry]:
    """The entries of a manifest, in file order.

    Args: `snapshot_id`, `sequence_number`: of the manifest, which entries that say none have.
    Raises: CorruptFileError.
    """
    factors: list[int] | None = None

    def convert(record: Mapping[str, Any]) -> IcebergEntry:
        nonlocal factors
        if factors is None:
            factors = _factors(json.loads(schema_of_container(data)))
        inherited = record["sequence_number"], record["file_sequence_number"], record["snapshot_id"]
        return IcebergEntry(
            record["status"],
            snapshot_id if inherited[2] is None else inherited[2],
            sequence_number if inherited[0] is None else inherited[0],
            sequence_number if inherited[1] is None else inherited[1],
            _file_of_record(record["data_file"], factors),
        )

    return read_records(data, where, convert, "data_file")


def _file_of_record(record: Mapping[str, Any], factors: Sequence[int]) -> IcebergFile:
    partition = tuple(
        value if factor == 1 or value is None else value * factor
        for value, factor in zip(record["partition"].values(), factors, strict=True)
    )
    return IcebergFile(
        record["file_path"],
        record["file_format"].lower(),
        partition,
        record["record_count"],
        record["file_size_in_bytes"],
        _map(record["null_value_counts"]),
        _map(record["lower_bounds"]),
        _map(record["upper_bounds"]),
        record["content"],
        record.get("referenced_data_file"),
        record.get("content_offset"),
        record.get("content_size_in_bytes"),
        record.get("first_row_id"),
    )


def _map(pairs: Sequence[Mapping[str, Any]] | None) -> dict[int, Any] | None:
    return None if pairs is None else {pair["key"]: pair["value"] for pair in pairs}


def _factors(schema: Mapping[str, Any]) -> list[int]:
    """What the stored value of each partition column is multiplied with: Paimon's writers have milliseconds, too."""
    (data_file,) = (part for part in schema["fields"] if part["name"] == "data_file")
    (partition,) = (part for part in data_file["type"]["fields"] if part["name"] == "partition")
    return [1000 if "timestamp-millis" in json.dumps(part["type"]) else 1 for part in partition["type"]["fields"]]


def _record(entry: IcebergEntry, partition_names: Sequence[str]) -> dict[str, Any]:
    file = entry.file
    return {
        "status": int(entry.status),
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": {
            "content": int(file.content),
            "file_path": file.path,
            "file_format": file.file_format,
            "partition": dict(zip(partition_names, file.partition, strict=True)),
            "record_count": file.record_count,
            "file_size_in_bytes": file.file_size,
            "null_value_counts": _pairs(file.null_counts),
            "lower_bounds": _pairs(file.lower_bounds),
            "upper_bounds": _pairs(file.upper_bounds),
            "referenced_data_file": file.referenced_data_file,
            "content_offset": file.content_offset,
            "content_size_in_bytes": file.content_size,
            "first_row_id": file.first_row_id,
        },
    }


def _pairs(values: Mapping[int, Any] | None) -> list[dict[str, Any]] | None:
    return None if values is None else [{"key": key, "value": value} for key, value in values.items()]


def _schema(partition_fields: Sequence[DataField], *, row_ids: bool) -> dict[str, Any]:
    partition = {"type": "record", "name": "r102", "fields": _partition_form(partition_fields)}
    data_file = [
        _field(134, "content", "int"),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", partition),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        _optional(110, "null_value_counts", _pairs_form(121, "long")),
        _optional(125, "lower_bounds", _pairs_form(126, "bytes")),
        _optional(128, "upper_bounds", _pairs_form(129, "bytes")),
        _optional(143, "referenced_data_file", "string"),
        _optional(144, "content_offset", "long"),
        _optional(145, "content_size_in_bytes", "long"),
    ]
    if row_ids:
        data_file.append(_optional(142, "first_row_id", "long"))
    fields = [
        _field(0, "status", "int"),
        _optional(1, "snapshot_id", "long"),
        _optional(3, "sequence_number", "long"),
        _optional(4, "file_sequence_number", "long"),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": data_file}),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def _partition_form(fields: Sequence[DataField]) -> list[dict[str, Any]]:
    return [
        {**_field(FIRST_PARTITION_ID + i, _avro_name(part.name), avro_type(part.type))}
        | ({"default": None} if part.type.nullable else {})
        for i, part in enumerate(fields)
    ]


def _avro_name(name: str) -> str:
    """A name as Avro has them; other characters stand there as their numbers, as in Iceberg's own files."""
    safe = re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):X}", name)
    return f"_{safe}" if not safe or safe[0].isdigit() else safe


def _field(field_id: int, name: str, avro: Any) -> dict[str, Any]:
    return {"name": name, "type": avro, "field-id": field_id}


def _optional(field_id: int, name: str, avro: Any) -> dict[str, Any]:
    return {**_field(field_id, name, ["null", avro]), "default": None}


def _pairs_form(key_id: int, value: str) -> dict[str, Any]:
    record = {
        "type": "record",
        "name": f"k{key_id}_v{key_id + 1}",
        "fields": [_field(key_id, "key", "int"), _field(key_id + 1, "value", value)],
    }
    return {"type": "array", "items": record, "logicalType": "map"}


def with_row_ids(entries: Iterable[IcebergEntry], first_row_id: int | None) -> list[IcebergEntry]:
    """Entries of a manifest, each with the row id that it has from the manifest's, before they move to another one.

    Those deleted have none, and take no numbers. Source: the Iceberg specification (row lineage).
    """
    if first_row_id is None:
        return list(entries)
    following, numbered = first_row_id, []
    for entry in entries:
        if entry.is_live and entry.file.first_row_id is None:
            numbered.append(replace(entry, file=replace(entry.file, first_row_id=following)))
            following += entry.file.record_count
        else:
            numbered.append(entry)
    return numbered
