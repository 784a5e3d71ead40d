"""Files of blobs beside a data file: the same rows, one column each, rolled at their own size.

They end where the data file ends, so that they never hold rows of two. Source: Java `RollingBlobFileWriter`.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.blob import BLOB, BlobWriter
from maintenance.format.blob_elements import payloads
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.read.blobs import Lost, fetched, fetched_lists
from maintenance.types.data_type import DataField
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.placement import FilePlacement


class BlobFiles:
    """Writes one column. `placement`: where the files go."""

    def __init__(self, context: WriteContext, placement: FilePlacement, names: FileNames, field: DataField) -> None:
        self._context = context
        self._placement = placement
        self._names = names
        self._field = field
        self._target = context.model.blob_target_file_size
        self._open: _BlobFile | None = None
        self._files: list[DataFileMeta] = []
        self._paths: list[str] = []

    def skip(self, rows: int) -> None:
        """Take rows whose values are in an older file."""
        if rows:
            self._opened().skip(rows)

    def _opened(self) -> "_BlobFile":
        if self._open is None:
            self._open = _BlobFile(self, self._names.next(BLOB.name, changelog=False))
        return self._open

    def write(self, column: pa.ChunkedArray) -> None:
        """Take the values of rows; of a descriptor among them the blob that it describes."""
        column = self._stored(column)
        while len(column):
            open_file = self._opened()
            sizes = np.cumsum(pc.fill_null(pc.binary_length(column), 0).to_numpy())
            taken = 1 + int(np.searchsorted(sizes[:-1], max(0, self._target - open_file.size)))
            open_file.write(column.slice(0, taken))
            if open_file.size >= self._target:
                self._roll()
            column = column.slice(taken)

    def _stored(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        file_io, root = self._context.file_io, self._context.paths.root
        lost = Lost.of(self._context.model) if self._field.type.nullable else Lost()
        if self._field.type.root == "BLOB":
            return fetched(column, file_io, root, lost)
        where = f"{root}, column {self._field.name}"
        lists = fetched_lists(column, file_io, root, lost)
        return pa.chunked_array([payloads(each, self._field.type, where) for each in lists.chunks], pa.large_binary())

    def finish(self) -> tuple[DataFileMeta, ...]:
        """Close the last file. Returns all of them, in the order of their rows."""
        self._roll()
        return tuple(self._files)

    def abort(self) -> None:
        """Delete everything written so far."""
        if self._open is not None:
            self._open.close()
        self._context.file_io.delete_quietly(self._paths)

    def _roll(self) -> None:
        if self._open is not None:
            self._files.append(self._open.finish())
            self._open = None


class _BlobFile:
    """One file being written."""

    def __init__(self, files: BlobFiles, name: str) -> None:
        self._files = files
        self._name = name
        path, self._external_path = files._placement.place(name)
        files._paths.append(path)
        self._sink = files._context.file_io.open_output(path)
        self._writer = BlobWriter(self._sink)
        self._rows = 0

    @property
    def size(self) -> int:
        return self._writer.size

    def write(self, column: pa.ChunkedArray) -> None:
        self._writer.write(pa.Table.from_arrays([column], names=[self._files._field.name]))
        self._rows += len(column)

    def skip(self, rows: int) -> None:
        self._writer.skip(rows)
        self._rows += rows

    def close(self) -> None:
        """Leave the file as it is."""
        self._sink.close()

    def finish(self) -> DataFileMeta:
        self._writer.close()
        size = int(self._sink.tell())
        self._sink.close()
        context = self._files._context
        return DataFileMeta(
            file_name=self._name,
            file_size=size,
            row_count=self._rows,
            min_key=EMPTY_ROW,
            max_key=EMPTY_ROW,
            key_stats=EMPTY_STATS,
            value_stats=EMPTY_STATS,
            # The commit puts the snapshot's id in the place of 0.
            min_sequence_number=0,
            max_sequence_number=0,
            schema_id=context.schema.id,
            level=0,
            extra_files=(),
            creation_time=context.clock(),
            delete_row_count=0,
            embedded_index=None,
            file_source=FileSource.APPEND,
            value_stats_cols=(),
            external_path=self._external_path,
            write_cols=(self._files._field.name,),
        )
