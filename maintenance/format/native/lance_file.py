"""Data files of format `lance`, by the package pylance, which knows only files on disk: others are copied there first.

Source: Java `LanceFileFormat`, `LanceRecordsWriter`.
"""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.format.data_format import DataFormat, FileSettings, OpenWriter, format_options
from maintenance.format.native.library import Source, library, reading_by, writing_by
from maintenance.format.native.reader import NativeReader
from maintenance.format.native.scratch import Scratch
from maintenance.format.native.stored import check_types, copied_rows, stored_schema
from maintenance.format.native.vortex_file import check_own_encoding
from maintenance.types.data_type import DataField

_NAME = "lance"
_MODULE = f"{_NAME}.file"
_VERSION = "2.1"  # which the release of the library that Paimon has can read, and the first with rows that are null
_LACKING = ("VARIANT", "BLOB", "MULTISET", "MAP")


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


def _prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    library(_NAME, "options")
    format_options(settings, ())
    check_own_encoding(settings)
    check_types(fields, _NAME, lambda data_type: data_type.root in _LACKING)
    return lambda sink: _LanceWriter(sink, fields)


def _open_reader(
    source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
) -> NativeReader:
    return NativeReader(_LanceFile(source, path), path)


LANCE = DataFormat(_NAME, _open_reader, _prepare_writer)
