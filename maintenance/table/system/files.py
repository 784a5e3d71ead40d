"""`t$files` and `t$file_key_ranges`: one row for each live data file, but for those that wait for their buckets."""

from collections.abc import Sequence

import pyarrow as pa

from maintenance.errors import DataError, UnsupportedError
from maintenance.format.metadata.column_stats import is_empty, stats_values
from maintenance.format.metadata.data_file import DataFileMeta, FileSource, written_fields
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import SYSTEM_FIELDS
from maintenance.metadata.zone import local_zone
from maintenance.table.other_branches import branches_of
from maintenance.table.partitions import entries_in_buckets
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.system.text import braces, brackets, internal_text, named
from maintenance.table.table import Table
from maintenance.types.casts.cast import cast
from maintenance.types.data_type import DataField
from maintenance.types.values import Value, arrow_of_values, values_of_arrow


def _rows(table: Table) -> list[tuple[object, ...]]:
    """The files that a read finds in the table's partitions, those of another branch, too, if it reads them there.

    As in Paimon, partitions that only the other branch has are left out.
    """
    own = entries_in_buckets(table, table.travelled()[1])
    sides = branches_of(table)
    if sides is None:
        return _rows_of(table, own)
    rows: list[tuple[object, ...]] = []
    left = {entry.partition for entry in own}
    for side in sides:
        entries = [entry for entry in entries_in_buckets(side, side.travelled()[1]) if entry.partition in left]
        left -= {entry.partition for entry in entries}
        rows += _rows_of(side, entries)
    return rows


def _rows_of(table: Table, entries: Sequence[ManifestEntry]) -> list[tuple[object, ...]]:
    travelled, _ = table.travelled()
    schemas: dict[int, TableSchema] = {}
    rows: list[tuple[object, ...]] = []
    for entry in entries:
        file = entry.file
        if file.schema_id not in schemas:
            schemas[file.schema_id] = table.schemas.get(file.schema_id)
        lows, highs, nulls = _statistics(file, schemas[file.schema_id], travelled.schema.fields)
        keys = travelled.schema.key_fields
        rows.append(
            (
                braces(entry.partition, travelled.schema.partition_fields),
                entry.bucket,
                table.paths.data_file(entry.partition, entry.bucket, file),
                file.file_name.rsplit(".", 1)[-1],
                file.schema_id,
                file.level,
                file.row_count,
                file.file_size,
                brackets(file.min_key, keys) if keys else None,
                brackets(file.max_key, keys) if keys else None,
                nulls,
                lows,
                highs,
                file.min_sequence_number,
                file.max_sequence_number,
                file.creation_time,
                file.delete_row_count,
                None if file.file_source is None else FileSource(file.file_source).name,
                file.first_row_id,
                None if file.write_cols is None else list(file.write_cols),
            )
        )
    return rows


def _statistics(file: DataFileMeta, written: TableSchema, fields: Sequence[DataField]) -> tuple[str, str, str]:
    """Bounds and null counts of the table's columns, whatever they were when the file was written.

    A column that the file has not is null in all its rows; one that its statistics do not cover is unknown.
    Source: Java `SimpleStatsEvolution`.
    """
    if file.value_stats_cols is None and is_empty(file.value_stats):
        return named({}), named({}), named({})
    own = {field.id: field for field in written_fields(file, written)}
    by_column = dict(zip(_covered(file, written), stats_values(file.value_stats, _covered(file, written)), strict=True))
    rows: dict[str, tuple[Value, Value, int | None]] = {}
    for field in fields:
        source = own.get(field.id)
        if source is None:
            rows[field.name] = (None, None, file.row_count)
        else:
            low, high, nulls = by_column.get(source, (None, None, None))
            rows[field.name] = (_evolved(low, source, field), _evolved(high, source, field), nulls)
    by_name = {field.name: field for field in fields}
    return (
        named({name: internal_text(low, by_name[name]) for name, (low, _, _) in rows.items()}),
        named({name: internal_text(high, by_name[name]) for name, (_, high, _) in rows.items()}),
        named({name: "null" if count is None else str(count) for name, (_, _, count) in rows.items()}),
    )


def _evolved(value: Value, source: DataField, field: DataField) -> Value:
    """A bound as the column's type has it now, None where it cannot be cast."""
    if value is None or source.type.as_nullable() == field.type.as_nullable():
        return value
    try:
        column = pa.chunked_array([arrow_of_values([value], source.type)])
        return values_of_arrow(cast(column, source.type, field.type, local_zone()))[0]
    except (DataError, UnsupportedError):
        return None


def _covered(file: DataFileMeta, schema: TableSchema) -> list[DataField]:
    """The columns that a file's statistics cover: those named, else those written, else all."""
    own = written_fields(file, schema)
    if file.value_stats_cols is None:
        return own
    by_name = {field.name: field for field in (*SYSTEM_FIELDS, *own)}
    return [by_name[name] for name in file.value_stats_cols]


def _key_ranges(table: Table) -> list[tuple[object, ...]]:
    positions = [FILES.schema.get_field_index(name) for name in FILE_KEY_RANGES.schema.names]
    return [tuple(row[position] for position in positions) for row in _rows(table)]


FILES = SystemTable(
    "files",
    pa.schema(
        [
            ("partition", pa.string()),
            required("bucket", pa.int32()),
            required("file_path", pa.string()),
            required("file_format", pa.string()),
            required("schema_id", pa.int64()),
            required("level", pa.int32()),
            required("record_count", pa.int64()),
            required("file_size_in_bytes", pa.int64()),
            ("min_key", pa.string()),
            ("max_key", pa.string()),
            required("null_value_counts", pa.string()),
            required("min_value_stats", pa.string()),
            required("max_value_stats", pa.string()),
            ("min_sequence_number", pa.int64()),
            ("max_sequence_number", pa.int64()),
            ("creation_time", LOCAL_TIMESTAMP),
            ("deleteRowCount", pa.int64()),
            ("file_source", pa.string()),
            ("first_row_id", pa.int64()),
            ("write_cols", pa.list_(pa.string())),
        ]
    ),
    _rows,
)
FILE_KEY_RANGES = SystemTable(
    "file_key_ranges",
    pa.schema(
        [
            FILES.schema.field(name)
            for name in (
                "partition",
                "bucket",
                "file_path",
                "file_format",
                "schema_id",
                "level",
                "record_count",
                "file_size_in_bytes",
                "min_key",
                "max_key",
                "first_row_id",
            )
        ]
    ),
    _key_ranges,
)
