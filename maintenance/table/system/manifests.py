"""`t$manifests`: one row for each manifest of a snapshot; `t$table_indexes`: one for each of its index files."""

import pyarrow as pa

from maintenance.format.metadata.index_manifest import GlobalIndexMeta
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.table.system.system_table import SystemTable, required
from maintenance.table.system.text import braces
from maintenance.table.table import Table


def _manifests(table: Table) -> list[tuple[object, ...]]:
    travelled, snapshot = table.travelled()
    fields = travelled.schema.partition_fields
    metas = [] if snapshot is None else [*table.manifests.data_manifests(snapshot), *_changelog(table, snapshot)]
    return [
        (
            meta.file_name,
            meta.file_size,
            meta.num_added_files,
            meta.num_deleted_files,
            meta.schema_id,
            braces(meta.partition_stats.min_values, fields),
            braces(meta.partition_stats.max_values, fields),
            meta.min_row_id,
            meta.max_row_id,
        )
        for meta in metas
    ]


def _changelog(table: Table, snapshot: Snapshot) -> list[ManifestFileMeta]:
    """The manifests of a snapshot's changelog, which goes with the snapshot though a tag keeps its rows."""
    there = table.snapshots.exists(snapshot.id) or table.changelogs.find(snapshot.id) is not None
    return table.manifests.changelog_manifests(snapshot) if there else []


def _indexes(table: Table) -> list[tuple[object, ...]]:
    travelled, snapshot = table.travelled()
    rows: list[tuple[object, ...]] = []
    for entry in [] if snapshot is None else table.manifests.read_index(snapshot):
        covered = entry.global_index
        ranges = None
        if entry.dv_ranges is not None:
            ranges = [
                {"f0": r.data_file_name, "f1": r.offset, "f2": r.length, "_CARDINALITY": r.cardinality}
                for r in entry.dv_ranges
            ]
        rows.append(
            (
                braces(entry.partition, travelled.schema.partition_fields),
                entry.bucket,
                entry.index_type,
                entry.file_name,
                entry.file_size,
                entry.row_count,
                ranges,
                None if covered is None else covered.row_range_start,
                None if covered is None else covered.row_range_end,
                None if covered is None else covered.index_field_id,
                None if covered is None else _indexed_names(covered, travelled.schema),
            )
        )
    return rows


def _indexed_names(index: GlobalIndexMeta, schema: TableSchema) -> str | None:
    """Names of the columns, None if one of them is no longer there."""
    by_id = {field.id: field.name for field in schema.fields}
    ids = (index.index_field_id, *(index.extra_field_ids or ()))
    return ",".join(by_id[i] for i in ids) if all(i in by_id for i in ids) else None


_RANGE = pa.struct(
    [
        pa.field("f0", pa.string(), nullable=False),
        pa.field("f1", pa.int32(), nullable=False),
        pa.field("f2", pa.int32(), nullable=False),
        ("_CARDINALITY", pa.int64()),
    ]
)

MANIFESTS = SystemTable(
    "manifests",
    pa.schema(
        [
            required("file_name", pa.string()),
            required("file_size", pa.int64()),
            required("num_added_files", pa.int64()),
            required("num_deleted_files", pa.int64()),
            required("schema_id", pa.int64()),
            ("min_partition_stats", pa.string()),
            ("max_partition_stats", pa.string()),
            ("min_row_id", pa.int64()),
            ("max_row_id", pa.int64()),
        ]
    ),
    _manifests,
)
TABLE_INDEXES = SystemTable(
    "table_indexes",
    pa.schema(
        [
            ("partition", pa.string()),
            required("bucket", pa.int32()),
            required("index_type", pa.string()),
            required("file_name", pa.string()),
            required("file_size", pa.int64()),
            required("row_count", pa.int64()),
            ("dv_ranges", pa.list_(_RANGE)),
            ("row_range_start", pa.int64()),
            ("row_range_end", pa.int64()),
            ("index_field_id", pa.int32()),
            ("index_field_name", pa.string()),
        ]
    ),
    _indexes,
)
