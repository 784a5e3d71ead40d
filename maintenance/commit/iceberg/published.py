"""What of a table Iceberg's readers are shown, and as what.

Of a table without a primary key every file. Of one with a primary key the files of the highest level, in which a key
has one row: readers see what the last full compaction made. With deletion vectors in the form that Iceberg has too,
every file above level 0, and the vectors. Source: Java `IcebergCommitCallback`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from maintenance.errors import UnsupportedError
from maintenance.format.avro.codec import codec_of
from maintenance.format.iceberg.manifest import Content, IcebergEntry, IcebergFile, ManifestLayout, Status
from maintenance.format.iceberg.types import iceberg_schema
from maintenance.format.iceberg.values import Plain, bound, plain_value
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.rows.binary_row import parse_row
from maintenance.metadata.iceberg import iceberg_folder
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.options import iceberg as iceberg_options
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, DataType

_VECTORS_SINCE = 3
_VECTOR_FORMAT = "puffin"


def check_publishable(schema: TableSchema, options: TableModel, location: str, table: str) -> None:
    """Raises: UnsupportedError: Iceberg's readers would see something else than the table's rows, or nothing."""
    if not options.is_published_to_iceberg:
        return
    iceberg_folder(location, options)
    iceberg_schema(schema, options.iceberg_format_version)
    codec_of(iceberg_options.MANIFEST_COMPRESSION.of(options))
    key = iceberg_options.STORAGE.key
    if options.evolves:
        raise UnsupportedError(
            f"option '{key}' together with '{table_options.DATA_EVOLUTION_ENABLED.key}' is not supported: rows whose "
            "columns are in several files have no form in Iceberg",
            f"table {table}",
            f"Unset '{key}', or the other option.",
        )
    vectors = options.has_deletion_vectors
    if vectors and options.data_file_external_paths:
        raise UnsupportedError(
            f"option '{key}' together with '{table_options.DATA_FILE_EXTERNAL_PATHS.key}' is not supported for a table"
            " with deletion vectors: in Iceberg they name the path of each data file",
            f"table {table}",
            f"Unset '{key}', or the other option.",
        )
    if vectors and not schema.primary_keys and not shows_vectors(options):
        raise UnsupportedError(
            f"option '{key}' would show deleted rows: the deletion vectors of a table without a primary key need "
            "Iceberg's format version 3",
            f"table {table}",
            f"Set '{iceberg_options.FORMAT_VERSION.key}' = '3' and '{table_options.DELETION_VECTORS_BITMAP64.key}' = "
            "'true'.",
        )


def shows_vectors(options: TableModel) -> bool:
    """Whether deletion vectors have the form that Iceberg's readers know."""
    return (
        options.has_deletion_vectors
        and options.deletion_vectors_bitmap64
        and options.iceberg_format_version >= _VECTORS_SINCE
    )


@dataclass(slots=True)
class Published:
    """Makes Iceberg's entries of a table's files. `schema`: the newest."""

    paths: TablePaths
    schemas: Schemas
    schema: TableSchema
    options: TableModel
    _by_id: dict[int, TableSchema] = field(default_factory=dict)
    _partitions: dict[bytes, tuple[Plain, ...]] = field(default_factory=dict)

    @property
    def layout(self) -> ManifestLayout:
        codec = codec_of(iceberg_options.MANIFEST_COMPRESSION.of(self.options))
        return ManifestLayout(self.schema, self.options.iceberg_format_version, codec)

    def is_shown(self, level: int) -> bool:
        """Whether the files of a level are shown."""
        if not self.schema.primary_keys:
            return True
        return level > 0 if shows_vectors(self.options) else level == self.options.num_levels - 1

    def schema_of(self, schema_id: int) -> TableSchema:
        if schema_id not in self._by_id:
            own = schema_id == self.schema.id
            self._by_id[schema_id] = self.schema if own else self.schemas.get(schema_id)
        return self._by_id[schema_id]

    def changed(self, entries: Iterable[ManifestEntry]) -> tuple[dict[str, ManifestEntry], dict[str, ManifestEntry]]:
        """The files that entries add and that they remove, by path. A file that gets another level is one added."""
        added, removed = {}, {}
        for entry in entries:
            path = self.paths.data_file(entry.partition, entry.bucket, entry.file)
            if entry.kind == FileKind.DELETE:
                removed[path] = entry
            elif self.is_shown(entry.file.level):
                added[path] = entry
        return added, {path: entry for path, entry in removed.items() if path not in added}

    def partition(self, row: bytes) -> tuple[Plain, ...]:
        """The plain values of a serialized partition row."""
        if row not in self._partitions:
            types = [part.type for part in self.schema.partition_fields]
            values = parse_row(row, types) if types else ()
            self._partitions[row] = tuple(map(plain_value, values, types))
        return self._partitions[row]

    def data_entry(self, path: str, entry: ManifestEntry, snapshot_id: int) -> IcebergEntry:
        """An added data file."""
        file = entry.file
        written = self.schema_of(file.schema_id)
        counts, lows, highs = _bounds(file.value_stats, _stats_fields(file, written))
        return _added(
            snapshot_id,
            IcebergFile(
                path,
                file.file_name.rsplit(".", 1)[-1],
                self.partition(entry.partition),
                file.row_count,
                file.file_size,
                counts,
                lows,
                highs,
            ),
        )

    def vector_entries(self, index: Iterable[IndexManifestEntry], snapshot_id: int) -> Iterator[IcebergEntry]:
        """The deletion vectors of a snapshot. Raises: UnsupportedError: one does not say how many rows it deletes."""
        for entry in index:
            if entry.index_type != DELETION_VECTORS_INDEX:
                continue
            folder, path = self.paths.bucket_folder(entry.partition, entry.bucket), self.paths.index_file(entry)
            for vector in entry.dv_ranges or ():
                if vector.cardinality is None:
                    raise UnsupportedError(
                        f"the deletion vector of {vector.data_file_name} does not say how many rows it deletes",
                        path,
                        "Compact the table: vectors of old versions go.",
                    )
                yield _added(
                    snapshot_id,
                    IcebergFile(
                        path,
                        _VECTOR_FORMAT,
                        self.partition(entry.partition),
                        vector.cardinality,
                        entry.file_size,
                        content=Content.POSITION_DELETES,
                        referenced_data_file=f"{folder}/{vector.data_file_name}",
                        content_offset=vector.offset,
                        content_size=vector.length,
                    ),
                )


def _added(snapshot_id: int, file: IcebergFile) -> IcebergEntry:
    return IcebergEntry(Status.ADDED, snapshot_id, snapshot_id, snapshot_id, file)


def _stats_fields(file: DataFileMeta, written: TableSchema) -> list[DataField]:
    if file.value_stats_cols is None:
        return list(written.fields)
    return [written.field(name) for name in file.value_stats_cols]


def _bounds(stats: SimpleStats, fields: list[DataField]) -> tuple[dict[int, int], dict[int, bytes], dict[int, bytes]]:
    """Null counts and bounds by field id. What is not known is left out."""
    types: list[DataType] = [part.type.as_nullable() for part in fields]
    lows = parse_row(stats.min_values, types, skip_unsupported=True)
    highs = parse_row(stats.max_values, types, skip_unsupported=True)
    nulls = stats.null_counts or (None,) * len(fields)
    counts = {part.id: count for part, count in zip(fields, nulls, strict=True) if count is not None}
    lower, upper = {}, {}
    for part, low, high in zip(fields, lows, highs, strict=True):
        if low is None or high is None or part.type.is_nested:
            continue
        if part.type.is_timestamp and (part.type.precision or 0) > _MICROS:
            continue
        lower[part.id] = bound(plain_value(low, part.type), part.type)
        upper[part.id] = bound(plain_value(high, part.type), part.type)
    return counts, lower, upper


_MICROS = 6
