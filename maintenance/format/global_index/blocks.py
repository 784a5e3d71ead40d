"""Blocks of index files: bytes, a byte that names their compression, and a checksum. Source: Java `BlockTrailer`."""

import struct
import zlib
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.bytes.varint import read_varint

_TRAILER = struct.Struct("<BI")
_NONE, _ZSTD = 0, 1


class Source(Protocol):
    """An open file."""

    def size(self) -> int:
        """Bytes."""

    def read_at(self, nbytes: int, offset: int) -> bytes:
        """Some of them."""


@dataclass(frozen=True, slots=True)
class Handle:
    """Where a block is: `size` bytes without the trailer."""

    offset: int
    size: int


def damaged(problem: str, where: str) -> CorruptFileError:
    return CorruptFileError(f"the index file {problem}", where, "Drop the index and build it again.")


def with_trailer(content: bytes) -> bytes:
    """A block as it is written: not compressed."""
    return content + _TRAILER.pack(_NONE, _checksum(content, _NONE))


def read_block(source: Source, handle: Handle, where: str) -> bytes:
    """The content of a block. Raises: CorruptFileError; UnsupportedError: another compression than zstd."""
    whole = bytes(source.read_at(handle.size + _TRAILER.size, handle.offset))
    if len(whole) != handle.size + _TRAILER.size:
        raise damaged("is cut off", where)
    content = whole[: handle.size]
    compression, checksum = _TRAILER.unpack(whole[handle.size :])
    if checksum != _checksum(content, compression):
        raise damaged("has a block with a wrong checksum", where)
    if compression == _NONE:
        return content
    if compression != _ZSTD:
        raise UnsupportedError(f"compression {compression} of an index", where, "Build it with zstd or none.")
    size, start = read_varint(content, 0)
    return bytes(pa.decompress(content[start:], size, "zstd", asbytes=True))


def _checksum(content: bytes, compression: int) -> int:
    return zlib.crc32(bytes([compression]), zlib.crc32(content))
