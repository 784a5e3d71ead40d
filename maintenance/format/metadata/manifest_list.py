"""Manifest lists: the manifests of a state or of a change. Source: metadata section 4.1, Java `ManifestFileMeta`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.format.avro.container import read_records, record_schema, write_records
from maintenance.format.metadata.manifest import EntryCounts, check_version
from maintenance.format.metadata.simple_stats import STATS_FIELDS, SimpleStats, record_of_stats, stats_of_record

MANIFEST_LIST_VERSION = 2


@dataclass(frozen=True, slots=True)
class ManifestFileMeta:
    """A manifest and a summary of its entries, for pruning.

    Attributes:
        file_size: bytes.
        num_added_files, num_deleted_files: entries of kind ADD and DELETE.
        partition_stats: over the partitions of the entries, never truncated.
        schema_id: the largest of the entries; the latest schema when there are none.
        min_bucket … max_level: over the entries; None in files of old versions and never prunes.
        min_row_id, max_row_id: both ends included; None if any entry has no first row id.
    """

    file_name: str
    file_size: int
    num_added_files: int
    num_deleted_files: int
    partition_stats: SimpleStats
    schema_id: int
    min_bucket: int | None = None
    max_bucket: int | None = None
    min_level: int | None = None
    max_level: int | None = None
    min_row_id: int | None = None
    max_row_id: int | None = None

    @property
    def counts(self) -> EntryCounts:
        return EntryCounts(self.num_added_files, self.num_deleted_files)


_SCHEMA = record_schema(
    "record",
    [
        {"name": "_VERSION", "type": "int"},
        {"name": "_FILE_NAME", "type": "string"},
        {"name": "_FILE_SIZE", "type": "long"},
        {"name": "_NUM_ADDED_FILES", "type": "long"},
        {"name": "_NUM_DELETED_FILES", "type": "long"},
        {
            "name": "_PARTITION_STATS",
            "type": {"type": "record", "name": "record__PARTITION_STATS", "fields": STATS_FIELDS},
        },
        {"name": "_SCHEMA_ID", "type": "long"},
        {"name": "_MIN_BUCKET", "type": ["null", "int"], "default": None},
        {"name": "_MAX_BUCKET", "type": ["null", "int"], "default": None},
        {"name": "_MIN_LEVEL", "type": ["null", "int"], "default": None},
        {"name": "_MAX_LEVEL", "type": ["null", "int"], "default": None},
        {"name": "_MIN_ROW_ID", "type": ["null", "long"], "default": None},
        {"name": "_MAX_ROW_ID", "type": ["null", "long"], "default": None},
    ],
)


def parse_manifest_list(data: bytes, where: str) -> list[ManifestFileMeta]:
    """The manifests of a list, in file order.

    Raises: CorruptFileError: damaged, or a required field is missing; UnsupportedError: another version.
    """
    return read_records(data, where, _meta_of_record, "_NUM_ADDED_FILES")


def _meta_of_record(record: Mapping[str, Any]) -> ManifestFileMeta:
    check_version(record, MANIFEST_LIST_VERSION)
    return ManifestFileMeta(
        record["_FILE_NAME"],
        record["_FILE_SIZE"],
        record["_NUM_ADDED_FILES"],
        record["_NUM_DELETED_FILES"],
        stats_of_record(record["_PARTITION_STATS"]),
        record["_SCHEMA_ID"],
        record.get("_MIN_BUCKET"),
        record.get("_MAX_BUCKET"),
        record.get("_MIN_LEVEL"),
        record.get("_MAX_LEVEL"),
        record.get("_MIN_ROW_ID"),
        record.get("_MAX_ROW_ID"),
    )


def serialize_manifest_list(metas: Iterable[ManifestFileMeta], codec: str = "zstandard", level: int = 1) -> bytes:
    """The bytes of a manifest list; an empty one is a file too. `codec`: Avro's name, `level`: of the compression."""
    records = (
        {
            "_VERSION": MANIFEST_LIST_VERSION,
            "_FILE_NAME": meta.file_name,
            "_FILE_SIZE": meta.file_size,
            "_NUM_ADDED_FILES": meta.num_added_files,
            "_NUM_DELETED_FILES": meta.num_deleted_files,
            "_PARTITION_STATS": record_of_stats(meta.partition_stats),
            "_SCHEMA_ID": meta.schema_id,
            "_MIN_BUCKET": meta.min_bucket,
            "_MAX_BUCKET": meta.max_bucket,
            "_MIN_LEVEL": meta.min_level,
            "_MAX_LEVEL": meta.max_level,
            "_MIN_ROW_ID": meta.min_row_id,
            "_MAX_ROW_ID": meta.max_row_id,
        }
        for meta in metas
    )
    return write_records(_SCHEMA, records, codec, level)
