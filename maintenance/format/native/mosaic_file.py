"""Data files of format `mosaic`, by the package paimon-mosaic.

Source: Java `MosaicFileFormat`, `MosaicRecordsWriter`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.data_format import (
    DataFormat,
    FileSelection,
    FileSettings,
    OpenWriter,
    format_options,
)
from maintenance.format.native.library import Sink, Source, library, reading_by, writing_by
from maintenance.format.native.reader import NativeReader
from maintenance.format.native.stored import check_types, copied_rows, stored_schema
from maintenance.options.formats import MOSAIC_HONOURED, MOSAIC_NUM_BUCKETS, MOSAIC_STATS_COLUMNS
from maintenance.types.data_type import DataField, DataType

_NAME = "mosaic"
_LACKING = ("VARIANT", "BLOB", "MULTISET", "VECTOR", "ROW")


class _MosaicFile:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._library = library(_NAME, path)
        self.source = Source(source)
        with reading_by(path, self.source):
            reader = self._open()
            self.names: Sequence[str] = reader.schema.names
            counts = [reader.row_group_num_rows(number) for number in range(reader.num_row_groups)]
        self._starts = np.cumsum([0, *counts])

    def _open(self) -> Any:
        return self._library.MosaicReader.from_input_file(self.source.read_at, self.source.size())

    def _groups(self, rows: np.ndarray | None) -> list[int]:
        groups: list[int] = np.flatnonzero(FileSelection(rows=rows).within(self._starts)).tolist()
        return groups

    def tables(self, names: Sequence[str], batch_rows: int, rows: np.ndarray | None) -> Iterator[pa.Table]:
        reader = self._open()
        reader.project(list(names))
        for number in self._groups(rows):
            yield pa.Table.from_batches([reader.read_row_group(number)])

    def positions(self, rows: np.ndarray) -> np.ndarray:
        groups = [np.arange(self._starts[number], self._starts[number + 1]) for number in self._groups(rows)]
        return np.concatenate([np.arange(0), *groups])


class _MosaicWriter:
    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], options: Any) -> None:
        self._sink = Sink(sink)
        self._schema = stored_schema(fields)
        with writing_by(_NAME, self._sink):
            self._writer = library(_NAME, "options").MosaicWriter(self._sink, self._schema, options)

    @property
    def size(self) -> int:
        return int(self._writer.estimated_file_size())

    def write(self, rows: pa.Table) -> None:
        with writing_by(_NAME, self._sink):
            self._writer.write(copied_rows(rows, self._schema).combine_chunks())

    def close(self) -> None:
        with writing_by(_NAME, self._sink):
            self._writer.close()


def _is_lacking(data_type: DataType) -> bool:
    return data_type.root in _LACKING or (data_type.is_timestamp and not data_type.precision)


def _prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    module = library(_NAME, "options")
    format_options(settings, MOSAIC_HONOURED)
    if settings.compression != "zstd":
        raise UnsupportedError(
            f"compression '{settings.compression}' of mosaic files", "options", "Use zstd, which they always have."
        )
    check_types(fields, _NAME, _is_lacking)
    options: dict[str, Any] = {"zstd_level": settings.zstd_level}
    buckets = MOSAIC_NUM_BUCKETS.of(settings.options)
    block_bytes = settings.options.file_block_size
    own = {field.name for field in fields}
    columns = [name for name in MOSAIC_STATS_COLUMNS.of(settings.options) if name in own]
    options |= {"num_buckets": buckets} if buckets else {}
    options |= {"row_group_max_size": block_bytes} if block_bytes else {}
    options |= {"stats_columns": columns} if columns else {}
    return lambda sink: _MosaicWriter(sink, fields, module.WriterOptions(**options))


def _open_reader(
    source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
) -> NativeReader:
    return NativeReader(_MosaicFile(source, path), path)


MOSAIC = DataFormat(_NAME, _open_reader, _prepare_writer)
