"""Write sorted rows as data files of about the target size, with everything the manifest says of them."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.bytes.decimals import check_bits, null_where_too_long
from maintenance.format.data_formats import data_format
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.format.rows.system_fields import KEY_FIELD_PREFIX, SEQUENCE_NUMBER, VALUE_KIND
from maintenance.options import table as table_options
from maintenance.types.row_kind import is_retract
from maintenance.types.values import values_of_arrow
from maintenance.write.apart import FilesApart, check_inline_blobs, of_rows
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.external_blobs import ExternalBlobs
from maintenance.write.file_index import SUFFIX, index_builder, store_container
from maintenance.write.placement import FilePlacement
from maintenance.write.settings import file_settings, max_file_rows, stats_mode
from maintenance.write.sidecar import RowSidecar, has_sidecars
from maintenance.write.statistics import FileStatistics

_MIN_GROUP_ROWS = 1 << 13
_MAX_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 64 << 20
# A disk begins to write a file whenever it has got so many bytes longer: less is left for the flush before the commit.
_WRITTEN_BACK_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where files go and what they are. `changelog`: changelog files have no index and another prefix."""

    partition: bytes
    bucket: int
    level: int = 0
    source: FileSource = FileSource.APPEND
    changelog: bool = False


class FileObserver(Protocol):
    """What sees the rows that files are made of."""

    def wrote(self, name: str, rows: pa.Table) -> None:
        """Rows as they go to the encoder of a file, with its columns."""


class RollingFileWriter:
    """Writes rows in the order given; closes a file when it has reached the target size.

    With a primary key rows must be sorted, and have `_SEQUENCE_NUMBER` and `_VALUE_KIND` in addition to the table's
    columns. `min_sequence_number`: of the first file of an append table, whose rows are numbered but do not hold their
    number. `kind`: stands before the extension of the files' names. `ordered_by`: what the
    rows are sorted by in the place of the key, which the smallest and the largest key are then of.
    """

    def __init__(
        self,
        context: WriteContext,
        place: FilePlace,
        names: FileNames,
        *,
        min_sequence_number: int = 0,
        observer: FileObserver | None = None,
        kind: str = "",
        ordered_by: tuple[str, ...] = (),
    ) -> None:
        self._ordered_by = ordered_by
        self._observer = observer
        self._whole = context
        self._kind = kind
        self._context = context = of_rows(context)
        self._place = place
        self._names = names
        self._external = ExternalBlobs(context, names)
        self._sequence = min_sequence_number
        self._placement = FilePlacement(context.paths, place.partition, place.bucket)
        settings = file_settings(context.schema, context.model, place.level, changelog=place.changelog)
        self._settings = replace(settings, threads=context.threads)
        # What may refuse the table's options or columns comes before a file is there.
        file_format = data_format(self._settings.format, f"table {context.name}")
        self._keeps_long_decimals = file_format.keeps_long_decimals
        self._open_format = file_format.prepare_writer(context.file_fields, self._settings)
        compacted = place.changelog or place.source == FileSource.COMPACT
        self._max_rows = None if compacted else max_file_rows(context.model)
        self._open: _OpenFile | None = None
        self._files: list[DataFileMeta] = []
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._pending_bytes = 0

    def write(self, rows: pa.Table) -> None:
        """Take rows with the columns of `WriteContext.row_fields`. Raises: DataError: null in a NOT NULL column.

        Rows gather until they fill a row group, however small the pieces are that they come in.
        """
        if not rows.num_rows:
            return
        _check_not_null(rows, self._whole)
        rows = self._external.stored(rows)
        check_inline_blobs(rows, self._whole)
        self._pending.append(rows)
        self._pending_rows += rows.num_rows
        self._pending_bytes += rows.nbytes
        limit = min(_GROUP_BYTES, self._settings.block_bytes, self._context.target_file_size)
        least = 1 if self._has_blobs else _MIN_GROUP_ROWS
        step = min(_MAX_GROUP_ROWS, max(least, limit * self._pending_rows // max(1, self._pending_bytes)))
        if self._pending_rows >= step:
            self._write_groups(step)

    def _write_groups(self, step: int) -> None:
        """Write what is pending as row groups of `step` rows; a rest below that stays pending.

        Of many rows at once the groups are of one size, so that threads get as much to do.
        """
        rows = pa.concat_tables(self._pending)
        if rows.num_rows > 2 * step:
            step = -(-rows.num_rows // -(-rows.num_rows // step))
        whole = rows.num_rows - rows.num_rows % step
        for start in range(0, whole, step):
            self._write_group(rows.slice(start, step))
        rest = rows.slice(whole)
        self._pending = [rest] if rest.num_rows else []
        self._pending_rows, self._pending_bytes = rest.num_rows, rest.nbytes

    def _write_group(self, rows: pa.Table) -> None:
        """Write rows to the open file, or to several when there is a limit to a file's rows. Raises: DataError."""
        if self._keeps_long_decimals:
            check_bits(rows, f"table {self._context.name}")
        else:
            rows = _without_long_decimals(rows)
        while rows.num_rows:
            if self._open is None:
                extension = f"{self._kind}{self._settings.format}"
                name = self._names.next(extension, changelog=self._place.changelog)
                self._open = _OpenFile(self, name)
            taken = rows if self._max_rows is None else rows.slice(0, self._max_rows - self._open.rows)
            self._open.write(taken)
            if self._open.size >= self._context.target_file_size or self._open.rows == self._max_rows:
                self._roll()
            rows = rows.slice(taken.num_rows)

    def end_run(self) -> None:
        """Close the open file: what comes next may overlap it."""
        self._flush()
        self._roll()

    def close(self) -> tuple[DataFileMeta, ...]:
        """Finish the last file. Returns all files written, in order."""
        self._flush()
        self._roll()
        self._external.close()
        return tuple(self._files)

    def abort(self) -> None:
        """Delete everything written so far."""
        if self._open is not None:
            self._open.abandon()
        self._external.abort()
        paths = [
            path
            for file in self._files
            for path in self._context.paths.all_files_of(self._place.partition, self._place.bucket, file)
        ]
        self._context.file_io.delete_quietly(paths)

    @property
    def _has_blobs(self) -> bool:
        return any(field.type.is_blobs for field in self._whole.columns)

    def sidecar(self, path: str) -> RowSidecar | None:
        """Writes the sidecar of a data file, None where it gets none."""
        apart = self._context is not self._whole or self._kind
        return RowSidecar(self._context, path) if has_sidecars(self._context) and not apart else None

    def files_apart(self) -> FilesApart:
        """Writes the files beside a data file."""

        def new_writer(context: WriteContext, kind: str) -> RollingFileWriter:
            return RollingFileWriter(context, self._place, self._names, kind=kind)

        return FilesApart(self._whole, self._placement, self._names, new_writer)

    def _flush(self) -> None:
        if self._pending_rows:
            self._write_groups(self._pending_rows)

    def _roll(self) -> None:
        if self._open is not None:
            file = self._open.finish(self._sequence)
            self._sequence = file.max_sequence_number + 1
            self._files += [file, *self._open.apart()]
            self._open = None


def _without_long_decimals(rows: pa.Table) -> pa.Table:
    for place, field in enumerate(rows.schema):
        if pa.types.is_decimal(field.type):
            rows = rows.set_column(place, field, null_where_too_long(rows.column(place)))
    return rows


class _OpenFile:
    """One data file being written."""

    def __init__(self, writer: RollingFileWriter, name: str) -> None:
        self._writer = writer
        self._context = writer._context
        self._place = writer._place
        self._name = name
        self._path, self._external_path = writer._placement.place(name)
        schema, options = self._context.schema, self._context.model
        mode = stats_mode(schema, options, self._place.level, changelog=self._place.changelog)
        # What may refuse the table's options comes before the file is there.
        self._statistics = FileStatistics(self._context, mode, nested=writer._settings.format != "parquet")
        unread = self._place.changelog or self._place.bucket == table_options.POSTPONE_BUCKET
        self._index = None if unread else index_builder(self._context)
        self._apart = writer.files_apart()
        self._sink = self._context.file_io.open_output(self._path)
        self._writer_of_format = writer._open_format(self._sink)
        self._sidecar = writer.sidecar(self._path)
        self.rows = 0
        self._written_back = 0
        self._deletes = 0
        self._sequences: list[tuple[int, int]] = []
        self._changed = False
        self._min_key: bytes | None = None
        self._last_row: pa.Table | None = None

    @property
    def size(self) -> int:
        return self._writer_of_format.size

    def write(self, rows: pa.Table) -> None:
        names = [field.name for field in self._context.file_fields]
        columns = [rows.column(name.removeprefix(KEY_FIELD_PREFIX)) for name in names]
        encoded = pa.Table.from_arrays(columns, names=names)
        self._writer_of_format.write(encoded)
        size = self.size
        if size - self._written_back >= _WRITTEN_BACK_BYTES:
            self._context.file_io.write_back(self._path)
            self._written_back = size
        if self._sidecar is not None:
            self._sidecar.write(encoded)
        if self._writer._observer is not None:
            self._writer._observer.wrote(self._name, encoded)
        self._apart.write(rows)
        self._statistics.add(rows)
        if SEQUENCE_NUMBER.name in names and not self._context.has_primary_key:
            self._note_tracked(rows.column(SEQUENCE_NUMBER.name))
        if self._index is not None:
            self._index.add(rows)
        self.rows += rows.num_rows
        if self._context.has_primary_key:
            self._note_key_values(rows)

    def _note_key_values(self, rows: pa.Table) -> None:
        bounds = pc.min_max(rows.column(SEQUENCE_NUMBER.name)).as_py()
        self._sequences.append((bounds["min"], bounds["max"]))
        kinds = rows.column(VALUE_KIND.name).to_numpy()
        self._deletes += int(np.count_nonzero(is_retract(kinds)))
        if self._min_key is None:
            self._min_key = self._key(rows.slice(0, 1))
        self._last_row = rows.slice(rows.num_rows - 1, 1)

    def _note_tracked(self, numbers: pa.ChunkedArray) -> None:
        """Sequence numbers of rows that are older than the file. Source: Java `RowDataFileSequenceNumberTracker`."""
        bounds = pc.min_max(numbers).as_py()
        if bounds["min"] is not None:
            self._sequences.append((bounds["min"], bounds["max"]))
        self._changed |= numbers.null_count > 0

    def _key(self, row: pa.Table) -> bytes:
        schema = self._context.schema
        fields = [schema.field(name) for name in self._writer._ordered_by] or schema.key_fields
        values = [values_of_arrow(row.column(field.name))[0] for field in fields]
        return serialize_row(values, [field.type for field in fields])

    def finish(self, sequence: int) -> DataFileMeta:
        """Close the file. `sequence`: number of its first row, for a table without primary key."""
        self._writer_of_format.close()
        size = int(self._sink.tell())
        self._sink.close()
        if self._written_back:
            self._context.file_io.write_back(self._path)
        key_stats, value_stats, columns = self._statistics.finish()
        embedded, extra = self._store_index()
        if self._sidecar is not None:
            extra = (*extra, self._sidecar.finish())
        low, high = sequence, sequence + self.rows - 1
        if self._context.tracks_rows:
            # The commit puts the snapshot's id in the place of 0.
            low, high = 0, 0
        if self._sequences:
            low = min(bounds[0] for bounds in self._sequences)
            high = 0 if self._changed else max(bounds[1] for bounds in self._sequences)
        return DataFileMeta(
            file_name=self._name,
            file_size=size,
            row_count=self.rows,
            min_key=self._min_key or EMPTY_ROW,
            max_key=EMPTY_ROW if self._last_row is None else self._key(self._last_row),
            key_stats=key_stats,
            value_stats=value_stats,
            min_sequence_number=low,
            max_sequence_number=high,
            schema_id=self._context.schema.id,
            level=self._place.level,
            extra_files=extra,
            creation_time=self._context.clock(),
            delete_row_count=self._deletes,
            embedded_index=embedded,
            file_source=self._place.source,
            value_stats_cols=columns,
            external_path=self._external_path,
            write_cols=self._context.write_cols,
        )

    def _store_index(self) -> tuple[bytes | None, tuple[str, ...]]:
        if self._index is None:
            return None, ()
        container = self._index.finish()
        if container is None:
            return None, ()
        threshold = self._context.model.file_index_in_manifest_threshold
        return store_container(container, self._path + SUFFIX, self._context.file_io, threshold)

    def apart(self) -> list[DataFileMeta]:
        """The files beside this one, closed."""
        return self._apart.finish()

    def abandon(self) -> None:
        self._apart.abort()
        if self._sidecar is not None:
            self._sidecar.abandon()
        # Not left to the garbage collector, which may take the sink first: native code ends the file.
        with suppress(Exception):
            self._writer_of_format.close()
        self._sink.close()
        self._context.file_io.delete_quietly([self._path])


def _check_not_null(rows: pa.Table, context: WriteContext) -> None:
    for field in context.columns:
        if not field.type.nullable and rows.column(field.name).null_count:
            raise DataError(
                f"null in column '{field.name}', which is {field.type}",
                f"table {context.name}",
                "Fill the column before writing.",
            )
