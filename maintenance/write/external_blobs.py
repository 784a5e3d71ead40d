"""Blobs that are written outside the table: columns of `blob-external-storage-field`.

Their values go to files of blobs in the folder of `blob-external-storage-path`, and the table's own files hold where
they are. No snapshot knows those files: they stay until somebody deletes them. Source: Java 1.4
`ExternalStorageBlobWriter`; Paimon 2.0 has no such columns.
"""

from collections.abc import Iterator

import pyarrow as pa

from maintenance.format.blob import BLOB, BlobWriter
from maintenance.format.blob_descriptor import BlobDescriptor, are_descriptors, parse_descriptor
from maintenance.metadata.external_paths import external_blob_root
from maintenance.read.blobs import Lost
from maintenance.write.context import FileNames, WriteContext


class ExternalBlobs:
    """Writes the blobs of rows, and gives the rows with descriptors in their place."""

    def __init__(self, context: WriteContext, names: FileNames) -> None:
        named = context.model.blob_external_storage_field
        columns = [field.name for field in context.columns if field.type.root == "BLOB" and field.name in named]
        root = external_blob_root(context.model) if columns else ""
        self._files = {name: _ExternalFiles(context, names, root) for name in columns}

    def stored(self, rows: pa.Table) -> pa.Table:
        """The rows as the table's files hold them."""
        for name, files in self._files.items():
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.schema.field(at), files.stored(rows.column(at)))
        return rows

    def close(self) -> None:
        """Finish the last files."""
        for files in self._files.values():
            files.roll()

    def abort(self) -> None:
        """Delete everything written so far."""
        for files in self._files.values():
            files.abort()


class _ExternalFiles:
    """Writes one column. `root`: the folder."""

    def __init__(self, context: WriteContext, names: FileNames, root: str) -> None:
        self._file_io, self._table = context.file_io, context.paths.root
        self._names, self._root, self._lost = names, root, Lost.of(context.model)
        self._target = context.model.blob_target_file_size
        self._open: tuple[pa.NativeFile, BlobWriter] | None = None
        self._paths: list[str] = []

    def stored(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(self._descriptors(column), column.type)])

    def _descriptors(self, column: pa.ChunkedArray) -> Iterator[bytes | None]:
        for value, is_described in zip(column, are_descriptors(column).tolist(), strict=True):
            data = value.as_buffer() if value.is_valid else None
            if data is None:
                yield None
                continue
            if is_described:
                place = parse_descriptor(data.to_pybytes(), self._table)
                if place.uri.startswith(f"{self._root}/"):
                    yield data.to_pybytes()  # rows that are written again
                    continue
                blob = self._lost.blob(data.to_pybytes(), self._file_io, self._table)
                if blob is None:
                    yield None
                    continue
                data = pa.py_buffer(blob)
            yield self._written(data).serialize()

    def _written(self, data: pa.Buffer) -> BlobDescriptor:
        if self._open is None:
            self._paths.append(f"{self._root}/{self._names.next(BLOB.name, changelog=False)}")
            sink = self._file_io.open_output(self._paths[-1])
            self._open = sink, BlobWriter(sink)
        at = self._open[1].append(data)
        place = BlobDescriptor(self._paths[-1], at, data.size)
        if self._open[1].size >= self._target:
            self.roll()
        return place

    def roll(self) -> None:
        """Finish the open file."""
        if self._open is not None:
            sink, writer = self._open
            self._open = None
            writer.close()
            sink.close()

    def abort(self) -> None:
        if self._open is not None:
            self._open[0].close()
            self._open = None
        self._file_io.delete_quietly(self._paths)
