"""Data files of format `vortex`, by the package vortex-data.

Rows wait in a temporary file until the data file is closed, for the library writes a file at once, and only to disk.
Source: Java `VortexFileFormat`, `VortexRecordsWriter`.
"""

import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from maintenance.format.native.library import Source, library, reading_by, writing_by
from maintenance.format.native.scratch import Scratch
from maintenance.format.native.self_encoded import self_encoded
from maintenance.format.native.stored import stored_rows, stored_schema
from maintenance.types.data_type import DataField

_NAME = "vortex"
_EDITION = "core2025.10.0"  # which the releases of the library that Paimon names can read
_RATIO = 4  # of bytes in memory to bytes in a file, by which Java decides when a file is full


class _VortexFile:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._library = library(_NAME, path)
        self.source = Source(source)
        with reading_by(path, self.source):
            self._file = self._library.open_readable(self.source)
            self.names: Sequence[str] = self._file.dtype.to_arrow_schema().names

    def tables(self, names: Sequence[str], batch_rows: int, rows: np.ndarray | None) -> Iterator[pa.Table]:
        indices = None if rows is None else self._library.array(pa.array(rows))
        for batch in self._file.to_arrow(list(names), indices=indices, batch_size=batch_rows):
            yield pa.Table.from_batches([batch])

    def positions(self, rows: np.ndarray) -> np.ndarray:
        return rows


class _VortexWriter:
    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField]) -> None:
        self._sink = sink
        self._schema = stored_schema(fields)
        self._waiting = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        codec = pa.ipc.IpcWriteOptions(compression="lz4")
        self._stream = pa.ipc.new_stream(self._waiting, self._schema, options=codec)
        self._bytes = 0

    @property
    def size(self) -> int:
        return self._bytes // _RATIO

    def write(self, rows: pa.Table) -> None:
        stored = stored_rows(rows, self._schema)
        self._stream.write_table(stored)
        self._bytes += stored.nbytes

    def close(self) -> None:
        with self._waiting as waiting, Scratch(f"rows.{_NAME}") as path:
            self._stream.close()
            waiting.seek(0)
            aligned = pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.DataTypeSpecific)
            with writing_by(_NAME), pa.ipc.open_stream(waiting, options=aligned) as rows:
                library(_NAME, path.name).io.write(rows, str(path), edition=_EDITION)
            Scratch.copy(path, self._sink)


VORTEX = self_encoded(_NAME, _VortexFile, _VortexWriter)
