"""Data files of format `row`: blocks of rows in zstd, found by the numbers of their rows.

A file does not say which columns it has: whoever opens one does. Without statistics filters leave nothing out;
wanted row numbers leave out every other row, and blocks without any are not read.
Source: Paimon's specification of the row format, Java `RowFileFormat`, `RowFormatReader`, `RowFormatWriter`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import zstandard

from maintenance.errors import RESTORE, CorruptFileError, PaimonError, UnsupportedError
from maintenance.format.data_format import (
    EVERY_ROW,
    DataFormat,
    FileSelection,
    FileSettings,
    OpenWriter,
    format_options,
    in_batches,
)
from maintenance.format.row_file.decoding import PADDING, decode_rows
from maintenance.format.row_file.encoding import encode_rows
from maintenance.format.row_file.layout import BlockIndex, Footer, end_of_file
from maintenance.types.arrow import arrow_schema
from maintenance.types.data_type import DataField

SIDECAR_SUFFIX = ".row"
"""Behind the name of a data file: the file of the same rows in this format, see `write/sidecar.py`."""
_BLOCK_BYTES = 64 << 10
_TAIL_BYTES = 64 << 10  # read at once for the index, as a rule all of it
_ENCODED_ROWS = 1 << 14  # at a time, which fit into the processor's caches
_DECODED_BYTES = 2 << 20  # the same
_MAX_BLOCK_BYTES = 2**31 - 1
_NUMBER_BYTES = 4


class RowReader:
    """Decodes the blocks of a file that have wanted rows. `columns`: all of the file, in its order.

    Attributes: `index`: where the blocks are.
    """

    def __init__(self, source: pa.NativeFile, path: str, columns: Sequence[DataField]) -> None:
        self._source = source
        self._path = path
        self._columns = columns
        size = source.size()
        tail = source.read_at(min(size, _TAIL_BYTES), max(0, size - _TAIL_BYTES))
        try:
            footer = Footer.parse(tail, size)
            start = footer.index_start - (size - len(tail))
            index = tail[start : start + footer.index_bytes] if start >= 0 else None
            if index is None:
                index = source.read_at(footer.index_bytes, footer.index_start)
            self.index = BlockIndex.parse(index, footer)
        except (ValueError, IndexError) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> CorruptFileError:
        return CorruptFileError(f"the file is not whole, or no row file: {error}", self._path, RESTORE)

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        tables = list(self._tables(fields, selection))
        return pa.concat_tables(tables) if tables else _schema(fields).empty_table()

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        return in_batches(self._tables(fields, selection), batch_rows)

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        return selection.rows

    def _tables(self, fields: Sequence[DataField], selection: FileSelection) -> Iterator[pa.Table]:
        self._check_columns(fields)
        wanted = np.flatnonzero(selection.within(self.index.row_starts))
        for first, last in self._groups(wanted):
            content = self._source.read_at(
                int(self.index.offsets[last] - self.index.offsets[first]), int(self.index.offsets[first])
            )
            # The decoder meets bytes of unknown origin, and damaged ones make it fail in every way numpy has.
            try:
                yield self._table(content, first, last, fields, selection.rows)
            except PaimonError as error:
                raise error.at(self._path) from error
            except Exception as error:
                raise self._damaged(error) from error

    def _groups(self, blocks: np.ndarray) -> Iterator[tuple[int, int]]:
        """Blocks [first, last) to read and decode at once: neighbours, of so many bytes as the caches hold."""
        if not len(blocks):
            return
        before = np.cumsum(self.index.plain_sizes[blocks]) - self.index.plain_sizes[blocks]
        apart = (np.diff(blocks) > 1) | (np.diff(before // _DECODED_BYTES) > 0)
        cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(blocks)]
        for start, end in pairwise(cuts):
            yield int(blocks[start]), int(blocks[end - 1]) + 1

    def _table(
        self, content: bytes, first: int, last: int, fields: Sequence[DataField], rows: np.ndarray | None
    ) -> pa.Table:
        """The wanted rows of blocks [first, last). `content`: as stored; `rows`: numbers in the file, None = all."""
        blocks, starts, stops = [], [], []
        base, offsets = 0, self.index.offsets - self.index.offsets[first]
        for block in range(first, last):
            plain = _decompressed(content[offsets[block] : offsets[block + 1]], int(self.index.plain_sizes[block]))
            bounds = base + _bounds(plain, int(self.index.row_starts[block + 1] - self.index.row_starts[block]))
            starts.append(bounds[:-1])
            stops.append(bounds[1:])
            blocks.append(plain)
            base += len(plain)
        chosen = slice(None) if rows is None else self._chosen(rows, first, last)
        begin, end = (np.concatenate(part)[chosen] for part in (starts, stops))
        names = {field.name for field in fields}
        columns = decode_rows(b"".join((*blocks, PADDING)), begin, end, self._columns, names)
        if not fields:
            return pa.table({"": pa.nulls(len(begin))}).select([])
        return pa.Table.from_arrays([columns[field.name] for field in fields], schema=_schema(fields))

    def _chosen(self, rows: np.ndarray, first: int, last: int) -> np.ndarray:
        start, end = self.index.row_starts[first], self.index.row_starts[last]
        return np.asarray(rows[np.searchsorted(rows, start) : np.searchsorted(rows, end)] - start)

    def _check_columns(self, fields: Sequence[DataField]) -> None:
        known = {field.name for field in self._columns}
        for field in fields:
            if field.name not in known:
                raise CorruptFileError(f"the file has no column '{field.name}'", self._path, RESTORE)


def _schema(fields: Sequence[DataField]) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in arrow_schema(fields)])


def _decompressed(block: bytes, size: int) -> bytes:
    said = zstandard.frame_content_size(block)
    if said not in (-1, size):
        raise ValueError(f"a block has {said} bytes, where the index says {size}")
    plain: bytes = pa.Codec("zstd").decompress(block, size, asbytes=True)
    return plain


def _bounds(plain: bytes, rows: int) -> np.ndarray:
    """Where the rows of a block begin, and where the last one ends: int64, shape (rows + 1,)."""
    end = len(plain) - _NUMBER_BYTES * (rows + 1)
    if end < 0 or int.from_bytes(plain[-_NUMBER_BYTES:], "little") != rows:
        raise ValueError(f"a block has other rows than the {rows} that the index says")
    bounds = np.append(np.frombuffer(plain, "<i4", rows, end).astype(np.int64), end)
    if bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise ValueError("the rows of a block are not one after the other")
    return bounds


class _RowWriter:
    """Rows gather until they fill a block."""

    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], block_bytes: int, zstd_level: int) -> None:
        self._sink = sink
        self._fields = fields
        self._block_bytes = block_bytes
        self._codec = pa.Codec("zstd", compression_level=zstd_level)
        self._rest: pa.LargeBinaryArray = pa.array([], pa.large_binary())
        self._sizes, self._plain_sizes, self._rows = list[int](), list[int](), list[int]()

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        for batch in rows.combine_chunks().to_batches(max_chunksize=_ENCODED_ROWS):
            encoded = encode_rows(batch.columns, self._fields)
            self._write_blocks(pa.concat_arrays([self._rest, encoded]) if len(self._rest) else encoded)

    def _write_blocks(self, rows: pa.LargeBinaryArray) -> None:
        """Write full blocks; a rest below that stays."""
        offsets = np.frombuffer(rows.buffers()[1], np.int64)[rows.offset : rows.offset + len(rows) + 1]
        # Of each row its bytes and the number that says where it begins.
        filled, start = offsets[1:] - offsets[0] + _NUMBER_BYTES * np.arange(1, len(rows) + 1), 0
        while start < len(rows):
            before = int(filled[start - 1]) if start else 0
            end = int(np.searchsorted(filled, before + self._block_bytes - _NUMBER_BYTES)) + 1
            if end > len(rows):
                break
            self._write_block(rows, offsets[start : end + 1])
            start = end
        self._rest = rows.slice(start)

    def _write_block(self, rows: pa.LargeBinaryArray, offsets: np.ndarray) -> None:
        count, start, end = len(offsets) - 1, int(offsets[0]), int(offsets[-1])
        if end - start + _NUMBER_BYTES * (count + 1) > _MAX_BLOCK_BYTES:
            raise UnsupportedError("a row of more than 2 GiB", "a row file", "Keep large values in BLOB columns.")
        numbers = np.append(offsets[:-1] - start, count).astype("<i4")
        plain = b"".join((memoryview(rows.buffers()[2])[start:end], numbers.tobytes()))
        compressed = self._codec.compress(plain)
        self._sink.write(compressed)
        self._sizes.append(len(compressed))
        self._plain_sizes.append(len(plain))
        self._rows.append(count)

    def close(self) -> None:
        if len(self._rest):
            offsets = np.frombuffer(self._rest.buffers()[1], np.int64)
            self._write_block(self._rest, offsets[self._rest.offset : self._rest.offset + len(self._rest) + 1])
            self._rest = self._rest.slice(0, 0)
        self._sink.write(end_of_file(self._sizes, self._plain_sizes, self._rows))


def _prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    format_options(settings, ())
    if settings.compression != "zstd":
        raise UnsupportedError(
            f"compression '{settings.compression}' of row files", "options", "Use zstd, which they always have."
        )
    arrow_schema(fields)  # refuses by name what has no Arrow type
    block_bytes = settings.options.file_block_size or _BLOCK_BYTES
    return lambda sink: _RowWriter(sink, fields, block_bytes, settings.zstd_level)


def open_row_file(
    source: pa.NativeFile, path: str, options: Mapping[str, str] | None = None, columns: Sequence[DataField] = ()
) -> RowReader:
    """The reader of a file. Raises: CorruptFileError."""
    return RowReader(source, path, columns)


ROW = DataFormat("row", open_row_file, _prepare_writer)
