"""Iceberg's table metadata: schemas, snapshots and refs. Source: the Iceberg specification, Java `IcebergMetadata`.

Versions of the file and sequence numbers are the ids of Paimon's snapshots. Refs are Paimon's tags.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maintenance.errors import CorruptFileError
from maintenance.format.iceberg.types import SPEC_ID
from maintenance.format.json_object import missing_key, parse_object, serialize_object

COMMIT_IDENTITY = "paimon-commit-identity"
"""The key of a summary that says which snapshot of Paimon it is of: ids come again after a rollback."""

_MAX_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    """A snapshot. `id`: of Paimon's, the sequence number too; `manifest_list`: a path; `timestamp_millis`: since 1970.

    `first_row_id`, `added_rows`: from format version 3 on.
    """

    id: int
    parent_id: int | None
    timestamp_millis: int
    summary: Mapping[str, str]
    manifest_list: str
    schema_id: int
    first_row_id: int | None = None
    added_rows: int | None = None


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """A version of a table's metadata.

    Attributes:
        schemas, partition_specs: JSON forms.
        snapshots: by id, the current one last.
        next_row_id: the first free one; from format version 3 on.
        refs: snapshot ids by the names of tags.
    """

    format_version: int
    table_uuid: str
    location: str
    last_updated_millis: int
    last_column_id: int
    schemas: Sequence[Mapping[str, Any]]
    current_schema_id: int
    partition_specs: Sequence[Mapping[str, Any]]
    last_partition_id: int
    snapshots: Sequence[IcebergSnapshot]
    current_snapshot_id: int
    next_row_id: int | None = None
    refs: Mapping[str, int] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def current(self) -> IcebergSnapshot:
        """The current snapshot. Metadata without one is not parsed."""
        return next(snapshot for snapshot in self.snapshots if snapshot.id == self.current_snapshot_id)


def parse_metadata(data: bytes, where: str) -> TableMetadata:
    """The metadata of a file. Raises: CorruptFileError: a key is missing, or there is no current snapshot."""
    form = parse_object(data, where)
    try:
        metadata = TableMetadata(
            int(form["format-version"]),
            str(form["table-uuid"]),
            str(form["location"]),
            int(form["last-updated-ms"]),
            int(form["last-column-id"]),
            form["schemas"],
            int(form["current-schema-id"]),
            form["partition-specs"],
            int(form["last-partition-id"]),
            [_snapshot_of_json(part) for part in form["snapshots"]],
            int(form["current-snapshot-id"]),
            form.get("next-row-id"),
            {name: int(ref["snapshot-id"]) for name, ref in (form.get("refs") or {}).items()},
            form.get("properties") or {},
        )
    except KeyError as error:
        raise missing_key(error, where) from error
    except (TypeError, ValueError, AttributeError) as error:
        fix = "Delete the file; a commit makes another."
        raise CorruptFileError(f"no valid Iceberg metadata: {error}", where, fix) from error
    if all(snapshot.id != metadata.current_snapshot_id for snapshot in metadata.snapshots):
        raise CorruptFileError("the current snapshot is missing", where, "Delete the file; a commit makes another.")
    return metadata


def _snapshot_of_json(form: Mapping[str, Any]) -> IcebergSnapshot:
    return IcebergSnapshot(
        int(form["snapshot-id"]),
        form.get("parent-snapshot-id"),
        int(form["timestamp-ms"]),
        form["summary"],
        str(form["manifest-list"]),
        int(form["schema-id"]),
        form.get("first-row-id"),
        form.get("added-rows"),
    )


def serialize_metadata(metadata: TableMetadata) -> bytes:
    """The bytes of a metadata file, with its keys in the order of Java's."""
    form = {
        "format-version": metadata.format_version,
        "table-uuid": metadata.table_uuid,
        "location": metadata.location,
        "last-sequence-number": metadata.current_snapshot_id,
        "last-updated-ms": metadata.last_updated_millis,
        "last-column-id": metadata.last_column_id,
        "schemas": list(metadata.schemas),
        "current-schema-id": metadata.current_schema_id,
        "partition-specs": list(metadata.partition_specs),
        "default-spec-id": SPEC_ID,
        "last-partition-id": metadata.last_partition_id,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "snapshots": [_json_of_snapshot(snapshot) for snapshot in metadata.snapshots],
        "current-snapshot-id": metadata.current_snapshot_id,
        "next-row-id": metadata.next_row_id,
        "properties": dict(metadata.properties),
        "refs": {
            # Tags live as long as Paimon says.
            name: {"snapshot-id": snapshot_id, "type": "tag", "max-ref-age-ms": _MAX_LONG}
            for name, snapshot_id in metadata.refs.items()
        },
    }
    return serialize_object(_without_none(form))


def _json_of_snapshot(snapshot: IcebergSnapshot) -> dict[str, Any]:
    return _without_none(
        {
            "sequence-number": snapshot.id,
            "snapshot-id": snapshot.id,
            "parent-snapshot-id": snapshot.parent_id,
            "timestamp-ms": snapshot.timestamp_millis,
            "summary": dict(snapshot.summary),
            "manifest-list": snapshot.manifest_list,
            "schema-id": snapshot.schema_id,
            "first-row-id": snapshot.first_row_id,
            "added-rows": snapshot.added_rows,
        }
    )


def _without_none(form: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in form.items() if value is not None}
