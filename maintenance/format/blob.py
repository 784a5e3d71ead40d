"""Files of blobs: the values of one BLOB column, one after the other.

A value has a magic number in front, and behind it how long all of it is (8 bytes) and a checksum. The end of the file
is the list of these lengths as differences, the bytes that it takes (4), and a version. A length of -1 is null, one of
-2 a value that an older file of the same rows has.
Source: Java `BlobFileFormat`, `BlobFormatReader`, `BlobFormatWriter`.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.bytes.varint import read_varint, unzigzag, varint, zigzag
from maintenance.format.data_format import EVERY_ROW, DataFormat, FileSelection, FileSettings, OpenWriter
from maintenance.types.data_type import DataField

_MAGIC = (1_481_511_375).to_bytes(4, "little")
_BEHIND = 12  # length and checksum
_TRAILER = 5
_VERSION = 1
_NULL = -1
_BATCH_BYTES = 64 << 20


class _BlobReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path
        self._lengths = self._read_lengths()
        self._ends = np.cumsum(np.maximum(self._lengths, 0))

    def _damaged(self, problem: str) -> CorruptFileError:
        return CorruptFileError(f"a file of blobs {problem}", self._path, "Restore it, or roll back.")

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
        if (lengths < _NULL).any():
            raise UnsupportedError(
                "blobs that stand in an older file of the same rows", self._path, "Leave the column out of the read."
            )
        return lengths

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        return self._table(fields, 0, len(self._lengths))

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        start = 0
        while start < len(self._lengths):
            before = self._ends[start - 1] if start else 0
            fitting = int(np.searchsorted(self._ends, before + _BATCH_BYTES, "right"))
            end = min(max(start + 1, fitting), start + batch_rows)
            yield self._table(fields, start, end)
            start = end

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        return None

    def _table(self, fields: Sequence[DataField], start: int, end: int) -> pa.Table:
        """The values of rows. A file has one column; rows alone need none."""
        for field in fields:
            if field.type.root != "BLOB":
                raise UnsupportedError(f"{field.type} in a file of blobs", self._path, "Leave the column out.")
        if not fields:
            return pa.table({"": pa.nulls(end - start)}).select([])
        return pa.table({field.name: self._values(start, end) for field in fields})

    def _values(self, start: int, end: int) -> pa.Array:
        lengths = self._lengths[start:end]
        first = int(self._ends[start - 1]) if start else 0
        content = self._source.read_at(int(np.maximum(lengths, 0).sum()), first)
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


def _open_reader(source: pa.NativeFile, path: str, _: Mapping[str, str]) -> _BlobReader:
    return _BlobReader(source, path)


class _BlobWriter:
    """Writes values as they come; only their lengths are kept."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._lengths: list[int] = []

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        for value in rows.column(0):
            self._lengths.append(self._write_value(value.as_buffer()) if value.is_valid else _NULL)

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
    if len(fields) != 1 or fields[0].type.root != "BLOB":
        raise UnsupportedError("a file of blobs with other columns than one BLOB", "columns", "Use another format.")
    return _BlobWriter


BLOB = DataFormat("blob", _open_reader, _prepare_writer)
