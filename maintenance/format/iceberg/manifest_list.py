"""Iceberg's manifest lists: the manifests of a snapshot, with counts and bounds of partitions.

Source: the Iceberg specification, Java `IcebergManifestFileMeta`.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import fastavro

from maintenance.format.avro.container import read_records, write_records
from maintenance.format.iceberg.manifest import ROW_IDS_SINCE, Content, IcebergEntry, Status
from maintenance.format.iceberg.types import SPEC_ID
from maintenance.format.iceberg.values import Plain, bound, order, plain_of_bound
from maintenance.types.data_type import DataField, DataType


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """Of one partition column over the entries of a manifest; bounds are None where there are no values."""

    contains_null: bool
    contains_nan: bool | None
    lower_bound: bytes | None
    upper_bound: bytes | None


@dataclass(frozen=True, slots=True)
class IcebergManifest:
    """A manifest. `length`: bytes; `content`: 0 = data files, 1 = deletes; `first_row_id`: None = has none yet."""

    path: str
    length: int
    content: int
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int
    added_files: int
    existing_files: int
    deleted_files: int
    added_rows: int
    existing_rows: int
    deleted_rows: int
    partitions: tuple[PartitionSummary, ...]
    first_row_id: int | None = None

    @property
    def is_data(self) -> bool:
        return self.content == Content.DATA

    @property
    def live_files(self) -> int:
        return self.added_files + self.existing_files

    @property
    def live_rows(self) -> int:
        return self.added_rows + self.existing_rows


def manifest_of(
    path: str, length: int, entries: Sequence[IcebergEntry], snapshot_id: int, fields: Sequence[DataField]
) -> IcebergManifest:
    """What a list says of a manifest that a snapshot has written. `entries`: all of it, one at least."""

    def of(status: Status) -> tuple[int, int]:
        counts = [entry.file.record_count for entry in entries if entry.status == status]
        return len(counts), sum(counts)

    added, existing, deleted = of(Status.ADDED), of(Status.EXISTING), of(Status.DELETED)
    partitions = {entry.file.partition for entry in entries}
    return IcebergManifest(
        path,
        length,
        Content.DATA if entries[0].file.content == Content.DATA else 1,
        snapshot_id,
        min(entry.sequence_number for entry in entries),
        snapshot_id,
        added[0],
        existing[0],
        deleted[0],
        added[1],
        existing[1],
        deleted[1],
        tuple(_summary([partition[i] for partition in partitions], part.type) for i, part in enumerate(fields)),
    )


def _summary(values: Iterable[Plain], data_type: DataType) -> PartitionSummary:
    listed = list(values)
    known = [value for value in listed if value is not None and not _is_nan(value)]
    low = min(known, key=lambda value: order(value, data_type)) if known else None
    high = max(known, key=lambda value: order(value, data_type)) if known else None
    return PartitionSummary(
        None in listed,
        any(map(_is_nan, listed)),
        None if low is None else bound(low, data_type),
        None if high is None else bound(high, data_type),
    )


def _is_nan(value: Plain) -> bool:
    return isinstance(value, float) and math.isnan(value)


def may_hold(manifest: IcebergManifest, partitions: Iterable[Sequence[Plain]], types: Sequence[DataType]) -> bool:
    """Whether a manifest can have files of one of these partitions."""
    if len(manifest.partitions) != len(types):
        return True
    summaries = list(zip(manifest.partitions, types, strict=True))
    return any(
        all(_within(value, *summary) for value, summary in zip(partition, summaries, strict=True))
        for partition in partitions
    )


def _within(value: Plain, summary: PartitionSummary, data_type: DataType) -> bool:
    if value is None:
        return summary.contains_null
    # Writers differ in how they take zeros and NaN.
    if summary.lower_bound is None or summary.upper_bound is None or isinstance(value, float):
        return True
    low, high = (plain_of_bound(part, data_type) for part in (summary.lower_bound, summary.upper_bound))
    return bool(order(low, data_type) <= order(value, data_type) <= order(high, data_type))


def parse_list(data: bytes, where: str) -> list[IcebergManifest]:
    """The manifests of a list, in file order. Raises: CorruptFileError."""
    return read_records(data, where, _manifest_of_record, "manifest_path")


def _manifest_of_record(record: Mapping[str, Any]) -> IcebergManifest:
    summaries = tuple(
        PartitionSummary(part["contains_null"], part.get("contains_nan"), part["lower_bound"], part["upper_bound"])
        for part in record["partitions"] or ()
    )
    # Iceberg 1.4 has other names for some, and only format version 3 the last one.
    found = {"first_row_id": None, **record}
    known = {own: found[name if name in found else _legacy(name)] for _, name, own, _ in _FIELDS if own is not None}
    return IcebergManifest(**{**known, "partitions": summaries})


def serialize_list(manifests: Iterable[IcebergManifest], *, version: int, legacy: bool, codec: str) -> bytes:
    """The bytes of a list. `version`: of Iceberg's format; `legacy`: counts have the names of Iceberg 1.4."""
    fields = [field for field in _FIELDS if field[1] != "first_row_id" or version >= ROW_IDS_SINCE]
    names = [_legacy(name) if legacy else name for _, name, _, _ in fields]
    parts = [_field(number, name, avro) for name, (number, _, _, avro) in zip(names, fields, strict=True)]
    form = {"type": "record", "name": "manifest_file", "fields": parts}
    records = [
        {name: _value(manifest, attribute) for name, (_, _, attribute, _) in zip(names, fields, strict=True)}
        for manifest in manifests
    ]
    header = {"avro.schema": json.dumps(form), "format-version": str(version)}
    return write_records(
        fastavro.parse_schema(form), records, codec, 1, {key: text.encode() for key, text in header.items()}
    )


def _value(manifest: IcebergManifest, attribute: str | None) -> Any:
    """What a manifest has under a name; tables of Paimon have one partition spec."""
    if attribute == "partitions":
        return [asdict(part) for part in manifest.partitions]
    return SPEC_ID if attribute is None else getattr(manifest, attribute)


def _legacy(name: str) -> str:
    """What Iceberg 1.4 calls a field."""
    return name.replace("_files_count", "_data_files_count")


def _field(field_id: int, name: str, avro: Any) -> dict[str, Any]:
    form = {"name": name, "type": avro, "field-id": field_id}
    return {**form, "default": None} if isinstance(avro, list) else form


_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field(509, "contains_null", "boolean"),
        _field(518, "contains_nan", ["null", "boolean"]),
        _field(510, "lower_bound", ["null", "bytes"]),
        _field(511, "upper_bound", ["null", "bytes"]),
    ],
}
_FIELDS: Sequence[tuple[int, str, str | None, Any]] = (
    (500, "manifest_path", "path", "string"),
    (501, "manifest_length", "length", "long"),
    (502, "partition_spec_id", None, "int"),
    (517, "content", "content", "int"),
    (515, "sequence_number", "sequence_number", "long"),
    (516, "min_sequence_number", "min_sequence_number", "long"),
    (503, "added_snapshot_id", "added_snapshot_id", ["null", "long"]),
    (504, "added_files_count", "added_files", "int"),
    (505, "existing_files_count", "existing_files", "int"),
    (506, "deleted_files_count", "deleted_files", "int"),
    (512, "added_rows_count", "added_rows", "long"),
    (513, "existing_rows_count", "existing_rows", "long"),
    (514, "deleted_rows_count", "deleted_rows", "long"),
    (507, "partitions", "partitions", ["null", {"type": "array", "items": _SUMMARY, "element-id": 508}]),
    (520, "first_row_id", "first_row_id", ["null", "long"]),
)
"""Of a list: the id and name of each field, our own name of it, and its Avro type."""
