"""INT96 columns for single timestamps of a parquet file, which Arrow writes for all of them or for none.

The file is written with a fixed-length column of 12 bytes in place of each TIMESTAMP(7..9): plain or in a dictionary,
these are the bytes of an INT96. Only the footer says which of the two a column is, so it is held back at the end, and
the physical type in it replaced; both types take one byte there. Source: parquet-format, `parquet.thrift`.
"""

import io
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.format.thrift import values_of

_JULIAN_EPOCH = 2_440_588  # 1970-01-01 as Julian day
_NANOS_PER_DAY = 86_400 * 10**9
_STORED = pa.binary(12)
_FIXED_LENGTH, _INT96 = 7, 3  # values of parquet's enum `Type`


def int96_names(schema: pa.Schema) -> list[str]:
    """Columns that are to be INT96: timestamps in nanoseconds."""
    return [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]


class Int96Writer:
    """A parquet writer whose columns `names` become INT96.

    Args: `sink`: gets the file; `schema`: of the tables to write; `open_`: opens a writer on a sink for a schema.
    """

    def __init__(
        self,
        sink: pa.NativeFile,
        schema: pa.Schema,
        names: Sequence[str],
        open_: Callable[[io.RawIOBase, pa.Schema], pq.ParquetWriter],
    ) -> None:
        self._sink = _Sink(sink)
        self._names = names
        self._schema = schema
        for name in names:
            index = schema.get_field_index(name)
            self._schema = self._schema.set(index, self._schema.field(index).with_type(_STORED))
        self._writer = open_(self._sink, self._schema)

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Write a table as row groups of at most that many rows."""
        columns = [
            _packed(column) if name in self._names else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema), row_group_size=row_group_size)

    def close(self) -> None:
        """Write the footer. The sink stays open."""
        self._sink.hold()
        self._writer.close()
        self._sink.release(lambda end: _with_int96(end, self._names))


class _Sink(io.RawIOBase):
    """Passes on what is written; from `hold` to `release` it gathers it."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._held: list[bytes] | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self._held is None:
            self._sink.write(data)
        else:
            self._held.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        return int(self._sink.tell()) + sum(map(len, self._held or ()))

    def hold(self) -> None:
        self._held = []

    def release(self, change: Callable[[bytes], bytes]) -> None:
        held, self._held = b"".join(self._held or ()), None
        self._sink.write(change(held))


def _packed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nanoseconds since 1970 as 12 bytes: nanoseconds of the day, then the Julian day, little endian."""
    chunks = []
    for chunk in column.chunks:
        nanos = chunk.cast(pa.int64()).fill_null(0).to_numpy()
        stored = np.empty(len(nanos), np.dtype([("nanos", "<i8"), ("day", "<i4")]))
        stored["day"] = nanos // _NANOS_PER_DAY + _JULIAN_EPOCH
        stored["nanos"] = nanos % _NANOS_PER_DAY
        valid = pa.py_buffer(np.packbits(chunk.is_valid().to_numpy(zero_copy_only=False), bitorder="little"))
        chunks.append(pa.Array.from_buffers(_STORED, len(nanos), [valid, pa.py_buffer(stored)]))
    return pa.chunked_array(chunks, _STORED)


def _with_int96(end: bytes, names: Sequence[str]) -> bytes:
    """The end of a parquet file (footer, its size, magic) with INT96 as the physical type of these columns.

    Field ids: `FileMetaData` has schema (2) and row groups (4); `SchemaElement` type (1) and name (4); `RowGroup` has
    columns (1), `ColumnChunk` meta data (3), and that type (1) and path (3).
    """
    start = len(end) - 8 - int.from_bytes(end[-8:-4], "little")
    changed = bytearray(end)
    found = {path: (start + offset, value) for path, offset, value in values_of(end[start:-8])}
    for path, (offset, value) in found.items():
        name = None
        match path:
            case (2, _, 1):
                name = found[*path[:2], 4][1]
            case (4, _, 1, _, 3, 1):
                name = found[*path[:5], 3, 0][1]
        if isinstance(name, bytes) and name.decode() in names:
            assert value == _FIXED_LENGTH
            changed[offset] = _INT96 << 1  # zigzag
    return bytes(changed)
