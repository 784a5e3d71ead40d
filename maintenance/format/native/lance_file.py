"""Data files of format `lance`, by the package pylance, which knows only files on disk: others are copied there first.

Source: Java `LanceFileFormat`, `LanceRecordsWriter`.
"""

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.format.native.library import Source, library, reading_by, writing_by
from maintenance.format.native.scratch import Scratch
from maintenance.format.native.self_encoded import self_encoded
from maintenance.format.native.stored import copied_rows, stored_schema
from maintenance.types.data_type import DataField

_NAME = "lance"
_MODULE = f"{_NAME}.file"
_VERSION = "2.1"  # which the release of the library that Paimon has can read, and the first with rows that are null


class _LanceFile:
    source: Source | None = None

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._library = library(_NAME, path)
        copy = Scratch(f"rows.{_NAME}")
        weakref.finalize(self, copy.delete)
        copy.fill(source)
        self._path = str(copy.path)
        with reading_by(path):
            self.names: Sequence[str] = self._open(None).metadata().schema.names

    def tables(self, names: Sequence[str], batch_rows: int, rows: np.ndarray | None) -> Iterator[pa.Table]:
        reader = self._open(list(names))
        if rows is None:
            found = reader.read_all(batch_size=batch_rows)
        else:
            found = reader.take_rows(rows.tolist(), batch_size=batch_rows)
        for batch in found.to_batches():
            yield pa.Table.from_batches([batch])

    def _open(self, names: list[str] | None) -> Any:
        return self._library.file.LanceFileReader(self._path, columns=names)

    def positions(self, rows: np.ndarray) -> np.ndarray:
        return rows


class _LanceWriter:
    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField]) -> None:
        self._sink = sink
        self._schema = stored_schema(fields)
        self._file = Scratch(f"rows.{_NAME}")
        self._bytes = 0
        with writing_by(_NAME):
            writer = library(_NAME, "options").file.LanceFileWriter
            self._writer = writer(str(self._file.path), self._schema, version=_VERSION)

    @property
    def size(self) -> int:
        """Bytes in memory, by which Java decides when a file is full."""
        return self._bytes

    def write(self, rows: pa.Table) -> None:
        stored = copied_rows(rows, self._schema)
        with writing_by(_NAME):
            for batch in stored.to_batches():
                self._writer.write_batch(batch)
        self._bytes += stored.nbytes

    def close(self) -> None:
        with self._file as path:
            with writing_by(_NAME):
                self._writer.close()
            Scratch.copy(path, self._sink)


LANCE = self_encoded(_NAME, _LanceFile, _LanceWriter)
