"""Files of blobs: the values of one BLOB column, one after the other.

A value has a magic number in front, and behind it how long all of it is (8 bytes) and a checksum. The end of the file
is the list of these lengths as differences, the bytes that it takes (4), and a version. A length of -1 is null, one of
-2 a value that an older file of the same rows has. A list or a map of blobs is one value, see `blob_elements`.
Source: Java `BlobFileFormat`, `BlobFormatReader`, `BlobFormatWriter`.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from maintenance.errors import RESTORE, CorruptFileError, UnsupportedError
from maintenance.format.blob_descriptor import BlobDescriptor
from maintenance.format.blob_elements import Elements, array_of_elements, parse_elements
from maintenance.format.bytes.varint import read_varint, unzigzag, varint, zigzag
from maintenance.format.data_format import EVERY_ROW, DataFormat, FileSelection, FileSettings, OpenWriter
from maintenance.types.data_type import DataField, DataType

_MAGIC = (1_481_511_375).to_bytes(4, "little")
_BEHIND = 12  # length and checksum
_TRAILER = 5
_VERSION = 1
NULL, PLACEHOLDER = -1, -2
_BATCH_BYTES = 64 << 20


class BlobReader:
    """An open file of blobs. Placeholders are read as null."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path
        self._lengths = self._read_lengths()
        self._ends = np.cumsum(np.maximum(self._lengths, 0))

    def _damaged(self, problem: str) -> CorruptFileError:
        return CorruptFileError(f"a file of blobs {problem}", self._path, RESTORE)

    def _read_lengths(self) -> np.ndarray:
        size = self._source.size()
        trailer = self._source.read_at(_TRAILER, max(0, size - _TRAILER))
        if len(trailer) < _TRAILER or trailer[4] != _VERSION:
            raise self._damaged(f"is not of version {_VERSION}")
        count = int.from_bytes(trailer[:4], "little")
        if count > size - _TRAILER:
            raise self._damaged("is cut off")
        index = self._source.read_at(count, size - _TRAILER - count)
        changes, at = [], 0
        try:
            while at < len(index):
                change, at = read_varint(index, at)
                changes.append(unzigzag(change))
        except IndexError as error:
            raise self._damaged("has a damaged list of lengths") from error
        lengths = np.cumsum(np.array(changes, np.int64))
        whole = lengths[lengths >= 0]
        if (whole < len(_MAGIC) + _BEHIND).any() or int(whole.sum()) != size - _TRAILER - count:
            raise self._damaged("has values of other lengths than it says")
        if (lengths < PLACEHOLDER).any():
            raise self._damaged("has a length that means nothing")
        return lengths

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each value; `NULL` and `PLACEHOLDER` of those that have none. int64, shape (n,)."""
        return np.where(self._lengths < 0, self._lengths, self._lengths - len(_MAGIC) - _BEHIND)

    def positions_of_values(self, rows: np.ndarray) -> np.ndarray:
        """Where the bytes of these values begin in the file. int64, shape (n,)."""
        return np.asarray((self._ends - np.maximum(self._lengths, 0))[rows] + len(_MAGIC))

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        return self._table(fields, self._rows(selection))

    def _rows(self, selection: FileSelection) -> np.ndarray:
        return np.arange(len(self._lengths)) if selection.rows is None else selection.rows

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        rows = self._rows(selection)
        ends = np.cumsum(np.maximum(self._lengths[rows], 0))
        for start, end in bounded(ends, batch_rows):
            yield self._table(fields, rows[start:end])

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        return selection.rows

    def _table(self, fields: Sequence[DataField], rows: np.ndarray) -> pa.Table:
        """The values of rows. A file has one column; rows alone need none."""
        for field in fields:
            if not field.type.is_blobs:
                raise UnsupportedError(f"{field.type} in a file of blobs", self._path, "Leave the column out.")
        if not fields:
            return pa.table({"": pa.nulls(len(rows))}).select([])
        return pa.table({field.name: self._column(rows, field.type) for field in fields})

    def _column(self, rows: np.ndarray, data_type: DataType) -> pa.Array:
        return self._values(rows) if data_type.root == "BLOB" else self._lists(rows, data_type)

    def _lists(self, rows: np.ndarray, data_type: DataType) -> pa.Array:
        """Values of lists and maps of blobs."""
        stored = [memoryview(value.as_buffer()) if value.is_valid else None for value in BlobReader._values(self, rows)]
        values, blobs = list[Elements | None](), list[memoryview | None]()
        for content in stored:
            value = None
            if content is not None:
                value = parse_elements(partial(_part, content), len(content), data_type, self._path)
                blobs += [None if place is None else _part(content, *place) for place in value.places]
            values.append(value)
        return array_of_elements(values, blobs, data_type, self._path)

    def _content(self, rows: np.ndarray) -> bytes:
        """The values of rows one after the other; of neighbours at once."""
        lengths = np.maximum(self._lengths[rows], 0)
        starts = self._ends[rows] - lengths
        there = lengths > 0
        starts, lengths = starts[there], lengths[there]
        cuts = [0, *(np.flatnonzero(starts[1:] != starts[:-1] + lengths[:-1]) + 1).tolist(), len(starts)]
        runs = [(low, high) for low, high in zip(cuts[:-1], cuts[1:], strict=True) if high > low]
        parts = [self._source.read_at(int(lengths[low:high].sum()), int(starts[low])) for low, high in runs]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _values(self, rows: np.ndarray) -> pa.Array:
        lengths = self._lengths[rows]
        content = self._content(rows)
        sizes = np.where(lengths < 0, 0, lengths - len(_MAGIC) - _BEHIND)
        starts = np.cumsum(np.maximum(lengths, 0)) - np.maximum(lengths, 0)
        data = np.frombuffer(content, np.uint8)
        there = starts[lengths >= 0]
        if (data[there[:, None] + np.arange(len(_MAGIC))] != np.frombuffer(_MAGIC, np.uint8)).any():
            raise self._damaged("has a value without its magic number")
        kept = [data[at + len(_MAGIC) : at + len(_MAGIC) + size] for at, size in zip(starts, sizes, strict=True)]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        valid = pa.array(lengths >= 0).buffers()[1]
        joined = np.concatenate(kept) if kept else np.empty(0, np.uint8)
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(joined)]
        return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers)


class DescriptorReader(BlobReader):
    """An open file of blobs that gives where each blob is in the place of its bytes."""

    def _values(self, rows: np.ndarray) -> pa.Array:
        starts, sizes = self.positions_of_values(rows).tolist(), self.sizes[rows].tolist()
        places = zip(starts, sizes, strict=True)
        return pa.array(
            [None if size < 0 else BlobDescriptor(self._path, at, size).serialize() for at, size in places],
            pa.large_binary(),
        )

    def _lists(self, rows: np.ndarray, data_type: DataType) -> pa.Array:
        values, blobs = list[Elements | None](), list[bytes | None]()
        for at, size in zip(self.positions_of_values(rows).tolist(), self.sizes[rows].tolist(), strict=True):
            value = None
            if size >= 0:
                value = parse_elements(partial(self._from, at), size, data_type, self._path)
                blobs += [None if place is None else self._described(at, *place) for place in value.places]
            values.append(value)
        return array_of_elements(values, blobs, data_type, self._path)

    def _from(self, at: int, start: int, size: int) -> bytes:
        return bytes(self._source.read_at(size, at + start))

    def _described(self, at: int, start: int, size: int) -> bytes:
        return BlobDescriptor(self._path, at + start, size).serialize()


def _part(content: memoryview, start: int, size: int) -> memoryview:
    return content[start : start + size]


def bounded(ends: np.ndarray, batch_rows: int) -> Iterator[tuple[int, int]]:
    """Cuts rows into batches of few rows and few bytes. `ends`: int64, shape (n,), bytes of all rows up to each."""
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        fitting = int(np.searchsorted(ends, before + _BATCH_BYTES, "right"))
        end = min(max(start + 1, fitting), start + batch_rows, len(ends))
        yield start, end
        start = end


def open_blobs(
    source: pa.NativeFile, path: str, options: Mapping[str, str] | None = None, columns: Sequence[DataField] = ()
) -> BlobReader:
    """The reader of a file. Raises: CorruptFileError."""
    return BlobReader(source, path)


class BlobWriter:
    """Writes values as they come; only their lengths are kept."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._lengths: list[int] = []

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Take values as the file stores them: of lists and maps, what `blob_elements.payloads` makes of them."""
        for value in rows.column(0):
            if value.is_valid:
                self.append(value.as_buffer())
            else:
                self._lengths.append(NULL)

    def append(self, value: pa.Buffer) -> int:
        """Write one value. Returns where its bytes begin in the file."""
        at = self.size + len(_MAGIC)
        self._lengths.append(self._write_value(value))
        return at

    def skip(self, rows: int) -> None:
        """Placeholders: rows whose values are in an older file."""
        self._lengths += [PLACEHOLDER] * rows

    def _write_value(self, value: pa.Buffer) -> int:
        length = len(_MAGIC) + int(value.size) + _BEHIND
        end = length.to_bytes(8, "little")
        checksum = zlib.crc32(end, zlib.crc32(memoryview(value), zlib.crc32(_MAGIC)))
        for part in (_MAGIC, value, end, checksum.to_bytes(4, "little")):
            self._sink.write(part)
        return length

    def close(self) -> None:
        lengths = np.array([0, *self._lengths], np.int64)
        index = b"".join(varint(zigzag(change)) for change in np.diff(lengths).tolist())
        self._sink.write(index + len(index).to_bytes(4, "little") + bytes([_VERSION]))


def _prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    if len(fields) != 1 or not fields[0].type.is_blobs:
        raise UnsupportedError("a file of blobs with other columns than one BLOB", "columns", "Use another format.")
    return BlobWriter


BLOB = DataFormat("blob", open_blobs, _prepare_writer)
