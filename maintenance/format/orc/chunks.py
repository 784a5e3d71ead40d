"""Compression of ORC files: chunks with their size in three bytes in front, whose lowest bit says "stored as it is".

Source: ORC specification v1, "Compression".
"""

import zlib
from collections.abc import Callable, Mapping

import cramjam
import pyarrow as pa


def unpacked(data: bytes, compression: int, chunk_size: int) -> bytes:
    """The content of compressed chunks. `compression`: a number of ORC's `CompressionKind`."""
    if compression == 0:
        return data
    parts, position = [], 0
    while position < len(data):
        header = int.from_bytes(data[position : position + 3], "little")
        chunk = data[position + 3 : position + 3 + (header >> 1)]
        if len(chunk) != header >> 1:
            raise ValueError("a compressed chunk is cut off")
        parts.append(chunk if header & 1 else _DECOMPRESS[compression](chunk, chunk_size))
        position += 3 + len(chunk)
    return b"".join(parts)


def stored(data: bytes, compression: int, chunk_size: int) -> bytes:
    """Chunks that hold their content as it is."""
    if compression == 0:
        return data
    parts = [data[start : start + chunk_size] for start in range(0, len(data), chunk_size)]
    return b"".join((len(part) << 1 | 1).to_bytes(3, "little") + part for part in parts)


def _zstd(chunk: bytes) -> bytes:
    content: bytes = pa.CompressedInputStream(pa.BufferReader(chunk), "zstd").read()
    return content


def _lz4(chunk: bytes, chunk_size: int) -> bytes:
    content = bytearray(chunk_size)
    return bytes(content[: cramjam.lz4.decompress_block_into(chunk, content)])


# By the number of the compression; `chunk_size`: no chunk's content is larger.
_DECOMPRESS: Mapping[int, Callable[[bytes, int], bytes]] = {
    1: lambda chunk, chunk_size: zlib.decompress(chunk, wbits=-15),
    2: lambda chunk, chunk_size: bytes(cramjam.snappy.decompress_raw(chunk)),
    4: _lz4,
    5: lambda chunk, chunk_size: _zstd(chunk),
}
