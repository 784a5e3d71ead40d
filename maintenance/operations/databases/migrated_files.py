"""Files of a format table become data files: copied, compared by digest, and read as Paimon reads them.

A file's name in the target follows from its path and size in the source, so whoever migrates the source again finds
what is there. Files are read a part at a time, whatever their size. Source: Java `FileMetaUtils`.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.operations.databases.copying import CopiedFile, FileCopy, are_same, copy_files
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.table.format_table import FormatTable, Spec
from maintenance.table.table import Table
from maintenance.write.context import WriteContext
from maintenance.write.partitions import by_partition
from maintenance.write.settings import stats_mode
from maintenance.write.statistics import FileStatistics

_NAMES = uuid.UUID("8d5a2a3e-6a52-4a5e-9c5b-1c9a6f0f7b41")
_BATCH_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to migrate. `path`: below the source; `bytes`, `mtime_ms`: as it is listed."""

    path: str
    spec: Spec
    bytes: int
    mtime_ms: int


def listed(source: FormatTable) -> list[SourceFile]:
    """The files of a source that count."""
    files = {status.path: status for status in source.file_io.list_tree(source.location)}
    return [
        SourceFile(path, spec, files[path].size, files[path].mtime_ms)
        for path, spec in source.data_files()
        if path in files
    ]


def migrated_name(location: str, path: str, size: int, suffix: str) -> str:
    """The name in the target of a file of the source at a location, always the same."""
    key = uuid.uuid5(_NAMES, f"{location.rstrip('/')}/{path} {size}")
    return f"data-{key}-0.{suffix}"


@dataclass(frozen=True, slots=True)
class FileMigration:
    """Takes files of a source into a target."""

    source: FormatTable
    target: Table

    def name(self, file: SourceFile) -> str:
        return migrated_name(self.source.location, file.path, file.bytes, self.source.format)

    def take(self, file: SourceFile) -> tuple[ManifestEntry, CopiedFile] | None:
        """A file in its new place, and what the manifest will say of it; None of a file without rows.

        Raises: DataError: read as a data file, it has another number of rows or of nulls; CorruptFileError.
        """
        expected = _counts(self._parts(file))
        if not expected[0]:
            return None
        context = self.target.write_context()
        partition = self._partition(context, file.spec)
        meta = self._meta(file, expected[0], context)
        copy = self._copy(file, self.target.paths.data_file(partition, 0, meta))
        (copied,) = copy_files(self.source.file_io, self.target.file_io, [copy], 1, lambda _: None)
        mode = stats_mode(context.schema, context.model, 0, changelog=False)
        statistics = FileStatistics(context, mode, nested=self.source.format != "parquet")
        counts = _counts(_counted(self._reader(context, copy.target, meta, partition), statistics))
        if counts != expected:
            raise DataError(
                f"the file has {expected[0]} rows, and nulls by column {expected[1:]}; "
                f"read as a data file of Paimon it has {counts[0]} and {counts[1:]}",
                copy.source,
                "Nothing was committed. Write the rows instead: CREATE TABLE … AS SELECT.",
            )
        _, value_stats, columns = statistics.finish()
        meta = replace(meta, value_stats=value_stats, value_stats_cols=columns)
        return ManifestEntry(FileKind.ADD, partition, 0, -1, meta), copied

    def is_there(self, file: SourceFile, paths: Mapping[str, str]) -> bool:
        """Whether the target has a file byte for byte, or it has no rows. `paths`: of the target's files, by name."""
        path = paths.get(self.name(file))
        if path is None:
            return not any(part.num_rows for part in self._parts(file))
        return are_same(self.source.file_io, self.target.file_io, self._copy(file, path))

    def _parts(self, file: SourceFile) -> Iterator[pa.Table]:
        return self.source.batches_of(file.path, file.spec, _BATCH_ROWS)

    def _copy(self, file: SourceFile, target: str) -> FileCopy:
        return FileCopy(file.path, f"{self.source.location}/{file.path}", target, file.bytes)

    def _meta(self, file: SourceFile, rows: int, context: WriteContext) -> DataFileMeta:
        return DataFileMeta(
            file_name=self.name(file),
            file_size=file.bytes,
            row_count=rows,
            min_key=EMPTY_ROW,
            max_key=EMPTY_ROW,
            key_stats=EMPTY_STATS,
            value_stats=EMPTY_STATS,
            min_sequence_number=0,
            max_sequence_number=rows - 1,
            schema_id=context.schema.id,
            level=0,
            creation_time=context.clock(),
            delete_row_count=0,
            file_source=FileSource.APPEND,
        )

    def _reader(self, context: WriteContext, path: str, meta: DataFileMeta, partition: bytes) -> Iterator[pa.Table]:
        schema = context.schema
        read = ReadContext(self.target.file_io, {schema.id: schema}, schema.fields, schema.partition_keys, keyed=False)
        return DataFileReader(read, path, meta, partition_values(schema, partition)).batches(_BATCH_ROWS)

    def _partition(self, context: WriteContext, spec: Spec) -> bytes:
        if not spec:
            return EMPTY_ROW
        ((partition, _),) = by_partition(self.source.partition_of(spec), context)
        return partition


def _counted(parts: Iterable[pa.Table], statistics: FileStatistics) -> Iterator[pa.Table]:
    for part in parts:
        statistics.add(part)
        yield part


def _counts(parts: Iterable[pa.Table]) -> tuple[int, ...]:
    """Rows, and nulls of each column."""
    totals: tuple[int, ...] = (0,)
    for part in parts:
        counts = (part.num_rows, *(column.null_count for column in part.columns))
        totals = counts if len(totals) == 1 else tuple(map(sum, zip(totals, counts, strict=True)))
    return totals
