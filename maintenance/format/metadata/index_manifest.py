"""Index manifests: the complete state of index files, deletion vectors included, never a change of it.

Source: metadata section 4.3, Java `IndexManifestEntry`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.format.avro.container import read_records, record_schema, write_records
from maintenance.format.metadata.manifest import FileKind, check_version, kind_of_record

INDEX_MANIFEST_VERSION = 1
HASH_INDEX = "HASH"
DELETION_VECTORS_INDEX = "DELETION_VECTORS"


@dataclass(frozen=True, slots=True)
class DeletionVectorRange:
    """Where an index file holds the deletion vector of one data file: bytes from `offset`.

    Attributes: `length`: see the deletion vector's own framing; `cardinality`: deleted rows, None in old files.
    """

    data_file_name: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True)
class GlobalIndexMeta:
    """What a global index covers: the rows `row_range_start` to `row_range_end`, both included."""

    row_range_start: int
    row_range_end: int
    index_field_id: int
    extra_field_ids: tuple[int, ...] | None = None
    index_meta: bytes | None = None
    source_meta: bytes | None = None


@dataclass(frozen=True, slots=True)
class IndexManifestEntry:
    """An index file.

    Attributes:
        partition: serialized row of the partition columns.
        index_type: ``HASH``, ``DELETION_VECTORS`` or the type of a global index.
        file_size: bytes.
        row_count: hashes of a HASH file, vectors of a DELETION_VECTORS file.
        dv_ranges: of a DELETION_VECTORS file, else None.
    """

    kind: FileKind
    partition: bytes
    bucket: int
    index_type: str
    file_name: str
    file_size: int
    row_count: int
    dv_ranges: tuple[DeletionVectorRange, ...] | None = None
    external_path: str | None = None
    global_index: GlobalIndexMeta | None = None


_RANGE = {
    "type": "record",
    "name": "record__DELETIONS_VECTORS_RANGES",
    "fields": [
        {"name": "f0", "type": "string"},
        {"name": "f1", "type": "int"},
        {"name": "f2", "type": "int"},
        {"name": "_CARDINALITY", "type": ["null", "long"], "default": None},
    ],
}
_GLOBAL_INDEX = {
    "type": "record",
    "name": "record__GLOBAL_INDEX",
    "fields": [
        {"name": "_ROW_RANGE_START", "type": "long"},
        {"name": "_ROW_RANGE_END", "type": "long"},
        {"name": "_INDEX_FIELD_ID", "type": "int"},
        {"name": "_EXTRA_FIELD_IDS", "type": ["null", {"type": "array", "items": "int"}], "default": None},
        {"name": "_INDEX_META", "type": ["null", "bytes"], "default": None},
        {"name": "_SOURCE_META", "type": ["null", "bytes"], "default": None},
    ],
}
_SCHEMA = record_schema(
    "record",
    [
        {"name": "_VERSION", "type": "int"},
        {"name": "_KIND", "type": "int"},
        {"name": "_PARTITION", "type": "bytes"},
        {"name": "_BUCKET", "type": "int"},
        {"name": "_INDEX_TYPE", "type": "string"},
        {"name": "_FILE_NAME", "type": "string"},
        {"name": "_FILE_SIZE", "type": "long"},
        {"name": "_ROW_COUNT", "type": "long"},
        {
            "name": "_DELETIONS_VECTORS_RANGES",
            "type": ["null", {"type": "array", "items": ["null", _RANGE]}],
            "default": None,
        },
        {"name": "_EXTERNAL_PATH", "type": ["null", "string"], "default": None},
        {"name": "_GLOBAL_INDEX", "type": ["null", _GLOBAL_INDEX], "default": None},
    ],
)


def parse_index_manifest(data: bytes, where: str) -> list[IndexManifestEntry]:
    """The entries of an index manifest, in file order.

    Raises: CorruptFileError: damaged, or a required field is missing; UnsupportedError: another version or kind.
    """
    return read_records(data, where, _entry_of_record, "_INDEX_TYPE")


def _entry_of_record(record: Mapping[str, Any]) -> IndexManifestEntry:
    check_version(record, INDEX_MANIFEST_VERSION)
    ranges = record.get("_DELETIONS_VECTORS_RANGES")
    index = record.get("_GLOBAL_INDEX")
    return IndexManifestEntry(
        kind_of_record(record),
        record["_PARTITION"],
        record["_BUCKET"],
        record["_INDEX_TYPE"],
        record["_FILE_NAME"],
        record["_FILE_SIZE"],
        record["_ROW_COUNT"],
        None if ranges is None else tuple(_range_of_record(part) for part in ranges if part is not None),
        record.get("_EXTERNAL_PATH"),
        None if index is None else _global_index_of_record(index),
    )


def _range_of_record(record: Mapping[str, Any]) -> DeletionVectorRange:
    return DeletionVectorRange(record["f0"], record["f1"], record["f2"], record.get("_CARDINALITY"))


def _global_index_of_record(record: Mapping[str, Any]) -> GlobalIndexMeta:
    extra = record.get("_EXTRA_FIELD_IDS")
    return GlobalIndexMeta(
        record["_ROW_RANGE_START"],
        record["_ROW_RANGE_END"],
        record["_INDEX_FIELD_ID"],
        None if extra is None else tuple(extra),
        record.get("_INDEX_META"),
        record.get("_SOURCE_META"),
    )


def serialize_index_manifest(entries: Iterable[IndexManifestEntry], codec: str = "zstandard", level: int = 1) -> bytes:
    """The bytes of an index manifest. `codec`: Avro's name, `level`: of the compression."""
    return write_records(_SCHEMA, map(_record_of_entry, entries), codec, level)


def _record_of_entry(entry: IndexManifestEntry) -> dict[str, Any]:
    return {
        "_VERSION": INDEX_MANIFEST_VERSION,
        "_KIND": int(entry.kind),
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_INDEX_TYPE": entry.index_type,
        "_FILE_NAME": entry.file_name,
        "_FILE_SIZE": entry.file_size,
        "_ROW_COUNT": entry.row_count,
        "_DELETIONS_VECTORS_RANGES": None if entry.dv_ranges is None else list(map(_record_of_range, entry.dv_ranges)),
        "_EXTERNAL_PATH": entry.external_path,
        "_GLOBAL_INDEX": None if entry.global_index is None else _record_of_global_index(entry.global_index),
    }


def _record_of_range(part: DeletionVectorRange) -> dict[str, Any]:
    return {"f0": part.data_file_name, "f1": part.offset, "f2": part.length, "_CARDINALITY": part.cardinality}


def _record_of_global_index(index: GlobalIndexMeta) -> dict[str, Any]:
    return {
        "_ROW_RANGE_START": index.row_range_start,
        "_ROW_RANGE_END": index.row_range_end,
        "_INDEX_FIELD_ID": index.index_field_id,
        "_EXTRA_FIELD_IDS": None if index.extra_field_ids is None else list(index.extra_field_ids),
        "_INDEX_META": index.index_meta,
        "_SOURCE_META": index.source_meta,
    }
