"""Where a blob is, as bytes in its place: a descriptor (file, offset, length), or a view of a blob of another table.

Source: Java `BlobDescriptor`, `BlobViewStruct`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError

_VERSION = 2
_DESCRIPTOR = (0x424C4F4244455343).to_bytes(8, "little")
_VIEW = (0x424C4F4256494557).to_bytes(8, "little")
_VIEW_HEAD = b"\x01" + _VIEW
_LENGTH, _PLACE, _ROW = struct.Struct("<i"), struct.Struct("<qq"), struct.Struct("<iq")
_HEAD = 9  # version and mark
WHOLE = -1
"""The length of a blob that goes on to the end of its file."""


@dataclass(frozen=True, slots=True)
class BlobDescriptor:
    """Bytes of a file. `length`: `WHOLE` for all from `offset` on."""

    uri: str
    offset: int
    length: int

    def serialize(self) -> bytes:
        uri = self.uri.encode()
        return bytes([_VERSION]) + _DESCRIPTOR + _LENGTH.pack(len(uri)) + uri + _PLACE.pack(self.offset, self.length)


def parse_descriptor(data: bytes, where: str) -> BlobDescriptor:
    """The descriptor of its bytes. Raises: DataError: they are none."""
    try:
        start = _HEAD if data[0] > 1 else 1
        if data[0] > _VERSION or (start == _HEAD and data[1:_HEAD] != _DESCRIPTOR):
            raise ValueError("another form")
        (length,) = _LENGTH.unpack_from(data, start)
        end = start + _LENGTH.size + length
        if length < 0 or end > len(data):
            raise ValueError("it is cut off")
        return BlobDescriptor(data[start + _LENGTH.size : end].decode(), *_PLACE.unpack_from(data, end))
    except (ValueError, IndexError, struct.error) as error:
        raise DataError(f"bytes that are not a blob descriptor: {error}", where, "Write a descriptor.") from error


@dataclass(frozen=True, slots=True, order=True)
class BlobView:
    """The value of a row, by its id, in a column, by its id. `table`: ``database.table``."""

    table: str
    field_id: int
    row_id: int

    def serialize(self) -> bytes:
        name = self.table.encode()
        return _VIEW_HEAD + _LENGTH.pack(len(name)) + name + _ROW.pack(self.field_id, self.row_id)


def parse_view(data: bytes, where: str) -> BlobView:
    """The view of its bytes. Raises: DataError: they are none."""
    try:
        if data[:_HEAD] != _VIEW_HEAD:
            raise ValueError("another form")
        (length,) = _LENGTH.unpack_from(data, _HEAD)
        end = _HEAD + _LENGTH.size + length
        if length < 0:
            raise ValueError("it is cut off")
        return BlobView(data[_HEAD + _LENGTH.size : end].decode(), *_ROW.unpack_from(data, end))
    except (ValueError, struct.error) as error:
        fix = "Write a reference to a blob: the bytes that reading the other table's column gives."
        raise DataError(f"bytes that are not a reference to a blob: {error}", where, fix) from error


def are_descriptors(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Which values are descriptors with their mark; null is none. bool, shape (n,)."""
    return _have_mark(column, [bytes([version]) + _DESCRIPTOR for version in range(_VERSION + 1)])


def are_views(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Which values are views; null is none. bool, shape (n,)."""
    return _have_mark(column, [_VIEW_HEAD])


def _have_mark(column: pa.Array | pa.ChunkedArray, marks: Sequence[bytes]) -> np.ndarray:
    heads = pc.binary_slice(column, 0, _HEAD)
    marked = pc.is_in(heads, pa.array(marks, heads.type))
    return np.asarray(marked.fill_null(False)).astype(bool)
