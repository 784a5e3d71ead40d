"""Manifest entries of files that do not exist."""

from typing import Any

from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.format.rows.key import key_reader
from maintenance.types.data_type import parse_type

TYPES = [parse_type("INT")]
KEY_OF = key_reader(TYPES)


def entry(
    kind: FileKind,
    name: str,
    *,
    level: int = 0,
    keys: tuple[int, int] = (0, 9),
    bucket: int = 0,
    total_buckets: int = 1,
    partition: bytes = EMPTY_ROW,
    index: bytes | None = None,
) -> ManifestEntry:
    low, high = (serialize_row([key], TYPES) for key in keys)
    file = DataFileMeta(
        name, 100, 10, low, high, EMPTY_STATS, EMPTY_STATS, 0, 9, 0, level,
        creation_time=0, delete_row_count=0, embedded_index=index, file_source=FileSource.APPEND,
    )  # fmt: skip
    return ManifestEntry(kind, partition, bucket, total_buckets, file)


def add(name: str, **more: Any) -> ManifestEntry:
    return entry(FileKind.ADD, name, **more)


def delete(name: str, **more: Any) -> ManifestEntry:
    return entry(FileKind.DELETE, name, **more)
