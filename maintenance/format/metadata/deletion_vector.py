"""Deletion vectors: the deleted rows of data files, and the index files that hold them.

A vector is a roaring bitmap of row positions, framed by its size, a magic number and a checksum. There are two forms,
distinguished by the magic number: 32 bit (the default) and 64 bit (option `deletion-vectors.bitmap64`). An index file
is one version byte and vectors in any order; the index manifest says where each one is. Java writes the checksum but
never checks it; here a vector that fails it is refused, since a damaged one would hide or resurrect rows.
Source: data section 7, Java `BitmapDeletionVector`, `Bitmap64DeletionVector`, `DeletionVectorsIndexFile`.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pyroaring import FrozenBitMap, FrozenBitMap64

from maintenance.errors import RESTORE, CorruptFileError
from maintenance.format.bytes.roaring_rows import serialize_bitmap
from maintenance.format.metadata.index_manifest import DeletionVectorRange

INDEX_VERSION = 1

_MAGIC_32 = struct.pack(">i", 1581511376)
_MAGIC_64 = struct.pack("<i", 1681511377)
_SIZE = 4
_FRAME = 2 * _SIZE  # the size before, the checksum behind


@dataclass(frozen=True, slots=True)
class DeletionVector:
    """The deleted rows of one data file. `positions`: row numbers in the file, from 0; its class decides the form."""

    positions: FrozenBitMap | FrozenBitMap64

    @classmethod
    def parse(cls, frame: bytes, where: str) -> "DeletionVector":
        """The vector of a whole frame, in either form. Raises: CorruptFileError."""
        magic, body = frame[_SIZE : 2 * _SIZE], frame[2 * _SIZE : -_SIZE]
        if len(frame) < _FRAME + _SIZE or magic not in (_MAGIC_32, _MAGIC_64) or frame != _framed(magic + body):
            raise CorruptFileError("a deletion vector fails its size, magic or checksum", where, RESTORE)
        kind = FrozenBitMap if magic == _MAGIC_32 else FrozenBitMap64
        try:
            return cls(kind.deserialize(body))
        except (ValueError, IndexError) as error:
            raise CorruptFileError(f"a deletion vector is not a roaring bitmap: {error}", where, RESTORE) from error

    def serialize(self) -> bytes:
        """The frame as Java writes it."""
        rows = np.asarray(self.positions.to_array(), np.int64)
        if isinstance(self.positions, FrozenBitMap):
            return _framed(_MAGIC_32 + serialize_bitmap(rows))
        return _framed(_MAGIC_64 + _serialize_wide(rows))

    @property
    def cardinality(self) -> int:
        """Number of deleted rows."""
        return len(self.positions)

    def kept(self, row_count: int) -> np.ndarray:
        """Which rows of the file live. Returns: bool, shape (row_count,).

        Args: `row_count`: of the file; all positions must be below it.
        """
        live = np.ones(row_count, bool)
        live[np.asarray(self.positions.to_array(), np.int64)] = False
        return live


def _serialize_wide(rows: np.ndarray) -> bytes:
    """A 64 bit bitmap: one of 32 bits for each upper half up to the last, also where there are no rows."""
    upper = rows >> 32
    halves = range(int(upper[-1]) + 1 if len(rows) else 0)
    cuts = np.searchsorted(upper, np.arange(len(halves) + 1)).tolist()
    parts = [
        struct.pack("<I", half) + serialize_bitmap(rows[cuts[half] : cuts[half + 1]] & 0xFFFFFFFF) for half in halves
    ]
    return struct.pack("<q", len(halves)) + b"".join(parts)


def _framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content + struct.pack(">I", zlib.crc32(content))


def frame_at(data: bytes, length: int, where: str) -> bytes:
    """The frame at the start of `data`, which may go on behind it.

    Args: `length`: what the index manifest says: of the 32 bit form the size without the frame's own 8 bytes, of the
        64 bit form with them.
    Raises: CorruptFileError: the data ends before it.
    """
    wide = data[_SIZE : 2 * _SIZE] == _MAGIC_64
    size = length if wide else length + _FRAME
    if length < 0 or len(data) < size:
        raise CorruptFileError(f"a deletion vector of {size} bytes is cut off after {len(data)}", where, RESTORE)
    return data[:size]


def frames_of(data: bytes, where: str) -> list[tuple[int, bytes]]:
    """The frames of a whole index file and where each begins: they follow each other. Raises: CorruptFileError."""
    frames, offset = [], 1
    while offset < len(data):
        length = int.from_bytes(data[offset : offset + _SIZE], "big", signed=True)
        size = length + _FRAME
        if length < 0 or offset + size > len(data):
            raise CorruptFileError(f"a deletion vector is cut off after {len(data)} bytes", where, RESTORE)
        frames.append((offset, data[offset : offset + size]))
        offset += size
    return frames


def bytes_to_read(length: int) -> int:
    """Bytes that hold a frame of either form. `length`: as the index manifest says."""
    return length + _FRAME


def serialize_index_file(vectors: Mapping[str, DeletionVector]) -> tuple[bytes, tuple[DeletionVectorRange, ...]]:
    """An index file, and where it holds the vector of each data file. `vectors`: by name of the data file."""
    out = bytearray([INDEX_VERSION])
    ranges = []
    for name, vector in vectors.items():
        frame = vector.serialize()
        length = len(frame) - _FRAME if isinstance(vector.positions, FrozenBitMap) else len(frame)
        ranges.append(DeletionVectorRange(name, len(out), length, vector.cardinality))
        out += frame
    return bytes(out), tuple(ranges)


def parse_index_file(data: bytes, ranges: Sequence[DeletionVectorRange], where: str) -> dict[str, DeletionVector]:
    """The vectors of an index file by name of the data file. Raises: CorruptFileError."""
    if data[:1] != bytes([INDEX_VERSION]):
        raise CorruptFileError(f"an index file of deletion vectors begins with {data[:1]!r}", where, RESTORE)
    return {part.data_file_name: vector_of_range(data[max(0, part.offset) :], part, where) for part in ranges}


def vector_of_range(data: bytes, part: DeletionVectorRange, where: str) -> DeletionVector:
    """One vector. `data`: of its index file, from its offset on. Raises: CorruptFileError: also another cardinality."""
    place = f"{where} at byte {part.offset}, for {part.data_file_name}"
    vector = DeletionVector.parse(frame_at(data, part.length, place), place)
    if part.cardinality is not None and part.cardinality != vector.cardinality:
        raise CorruptFileError(
            f"a deletion vector of {vector.cardinality} rows where the index manifest says {part.cardinality}",
            place,
            RESTORE,
        )
    return vector
