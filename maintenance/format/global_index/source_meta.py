"""The data files that an index of one bucket is built of: `_SOURCE_META` of its entry.

Rows are numbered through the files, in the order of their names. Source: Java `PrimaryKeyIndexSourceMeta`.
"""

import struct
from dataclasses import dataclass

from maintenance.errors import CorruptFileError

_VERSION = 1
_HEAD, _LENGTH, _ROWS = struct.Struct(">iii"), struct.Struct(">H"), struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class SourceMeta:
    """Attributes: `files`: names and rows of all compacted files of the bucket on `level`, ordered by name."""

    level: int
    files: tuple[tuple[str, int], ...]

    def serialize(self) -> bytes:
        parts = [_HEAD.pack(_VERSION, self.level, len(self.files))]
        for name, rows in self.files:
            text = name.encode()
            parts += [_LENGTH.pack(len(text)), text, _ROWS.pack(rows)]
        return b"".join(parts)


def parse_source_meta(data: bytes, where: str) -> SourceMeta:
    """Raises: CorruptFileError."""
    try:
        version, level, count = _HEAD.unpack_from(data)
        if version != _VERSION or level < 1 or count < 1:
            raise ValueError("another version, or no level")
        at, files = _HEAD.size, list[tuple[str, int]]()
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            (rows,) = _ROWS.unpack_from(data, at + length)
            files.append((data[at : at + length].decode(), rows))
            at += length + _ROWS.size
        if at != len(data):
            raise ValueError("bytes behind it")
    except (struct.error, ValueError) as error:
        raise CorruptFileError(
            f"what an index is built of cannot be read: {error}", where, "Compact the table: it is built again."
        ) from error
    return SourceMeta(level, tuple(files))
