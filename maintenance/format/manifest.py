"""Manifests: data files that were added or deleted. Source: metadata sections 4.2 and 8.1, Java `ManifestEntry`."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from maintenance.errors import UnsupportedError
from maintenance.format.avro_file import read_records, record_schema, write_records
from maintenance.format.data_file import DATA_FILE_FIELDS, DataFileMeta, file_of_record, record_of_file

MANIFEST_VERSION = 2


class FileKind(IntEnum):
    """Whether an entry adds a file to the table or deletes it."""

    ADD = 0
    DELETE = 1


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A change of one data file.

    Attributes:
        partition: serialized row of the partition columns.
        bucket: -2 is the postpone bucket.
        total_buckets: the bucket count the file was written under; -1 without fixed buckets, -2 for postpone.
    """

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def identity(self) -> Hashable:
        """What makes an ADD and a DELETE meet. The level is part of it: raising a level deletes and adds a file."""
        file = self.file
        return (
            self.partition,
            self.bucket,
            file.level,
            file.file_name,
            file.extra_files,
            file.embedded_index,
            file.external_path,
        )


_SCHEMA = record_schema(
    "record",
    [
        {"name": "_VERSION", "type": "int"},
        {"name": "_KIND", "type": "int"},
        {"name": "_PARTITION", "type": "bytes"},
        {"name": "_BUCKET", "type": "int"},
        {"name": "_TOTAL_BUCKETS", "type": "int"},
        {"name": "_FILE", "type": {"type": "record", "name": "record__FILE", "fields": DATA_FILE_FIELDS}},
    ],
)
_KINDS = {0: FileKind.ADD, 1: FileKind.DELETE}


def parse_manifest(data: bytes, where: str) -> list[ManifestEntry]:
    """The entries of a manifest, in file order.

    Raises: CorruptFileError: damaged, or a required field is missing; UnsupportedError: another version or kind.
    """
    return read_records(data, where, _entry_of_record)


def _entry_of_record(record: Mapping[str, Any]) -> ManifestEntry:
    check_version(record, MANIFEST_VERSION)
    return ManifestEntry(
        kind_of_record(record),
        record["_PARTITION"],
        record["_BUCKET"],
        record["_TOTAL_BUCKETS"],
        file_of_record(record["_FILE"]),
    )


def serialize_manifest(entries: Iterable[ManifestEntry], codec: str = "zstandard", level: int = 1) -> bytes:
    """The bytes of a manifest. `codec`: Avro's name, `level`: of the compression."""
    records = (
        {
            "_VERSION": MANIFEST_VERSION,
            "_KIND": int(entry.kind),
            "_PARTITION": entry.partition,
            "_BUCKET": entry.bucket,
            "_TOTAL_BUCKETS": entry.total_buckets,
            "_FILE": record_of_file(entry.file),
        }
        for entry in entries
    )
    return write_records(_SCHEMA, records, codec, level)


def check_version(record: Mapping[str, Any], supported: int) -> None:
    """Check the version of an entry of a metadata file. Raises: UnsupportedError."""
    if record.get("_VERSION") != supported:
        raise UnsupportedError(
            f"entry version {record.get('_VERSION')}",
            "metadata file",
            f"Version {supported} is read; recreate a table of another one with a current Paimon release.",
        )


def kind_of_record(record: Mapping[str, Any]) -> FileKind:
    """The kind of an entry of a metadata file. Raises: UnsupportedError."""
    kind = _KINDS.get(record["_KIND"])
    if kind is None:
        raise UnsupportedError(f"entry kind {record['_KIND']}", "metadata file", "0 (ADD) and 1 (DELETE) are read.")
    return kind
