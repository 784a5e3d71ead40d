"""Compression of the blocks of Avro container files, whatever codecs fastavro finds packages for."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import zstandard

from maintenance.errors import UnsupportedError
from maintenance.format.bytes.varint import read_varint


@dataclass(frozen=True, slots=True)
class AvroCodec:
    """A codec.

    Attributes:
        decompress, compress: of one block; the level matters to zstandard, deflate and xz alone.
        decompress_all: the content of many blocks in few pieces; None: there is no faster way than one by one.
    """

    decompress: Callable[[bytes], bytes]
    compress: Callable[[bytes, int], bytes]
    decompress_all: "Callable[[Sequence[bytes]], list[pa.Buffer]] | None" = None

    def pieces(self, blocks: Sequence[bytes]) -> "Sequence[bytes | pa.Buffer]":
        """The content of blocks, one after the other, in pieces of any size."""
        if self.decompress_all is None or len(blocks) < 2:
            return list(map(self.decompress, blocks))
        return self.decompress_all(blocks)


# Decompressed at a time.
_PIECE = 1 << 20


def _zstandard(block: bytes) -> bytes:
    # Java's frames do not say how large their content is, so it is read as a stream.
    frame = zstandard.ZstdDecompressor().decompressobj()
    content: bytes = frame.decompress(block)
    if not frame.eof or frame.unused_data:
        raise ValueError("a block is not one whole zstd frame")
    return content


def _zstandards(blocks: Sequence[bytes]) -> list[pa.Buffer]:
    # Threads that decompress block by block wait for each other's turn in Python after each of them.
    stream = pa.CompressedInputStream(pa.BufferReader(b"".join(blocks)), "zstd")
    pieces = []
    while piece := stream.read_buffer(_PIECE):
        pieces.append(piece)
    return pieces


def _compress_zstandard(block: bytes, level: int) -> bytes:
    compressed: bytes = pa.Codec("zstd", compression_level=level).compress(block, asbytes=True)
    return compressed


def _deflate(block: bytes) -> bytes:
    return zlib.decompress(block, wbits=-15)


def _compress_deflate(block: bytes, level: int) -> bytes:
    compressor = zlib.compressobj(level, wbits=-15)
    return compressor.compress(block) + compressor.flush()


def _snappy(block: bytes) -> bytes:
    """Avro puts the checksum of the plain block behind the snappy block, which begins with its size as a varint."""
    size, _ = read_varint(block, 0)
    content: bytes = pa.Codec("snappy").decompress(block[:-4], decompressed_size=size, asbytes=True)
    if zlib.crc32(content) != int.from_bytes(block[-4:], "big"):
        raise ValueError("a block fails its checksum")
    return content


def _compress_snappy(block: bytes, level: int) -> bytes:
    compressed: bytes = pa.Codec("snappy").compress(block, asbytes=True)
    return compressed + zlib.crc32(block).to_bytes(4, "big")


def _same(block: bytes, level: int = 0) -> bytes:
    return block


AVRO_CODECS = {
    "null": AvroCodec(_same, _same),
    "zstandard": AvroCodec(_zstandard, _compress_zstandard, _zstandards),
    "deflate": AvroCodec(_deflate, _compress_deflate),
    "snappy": AvroCodec(_snappy, _compress_snappy),
    "bzip2": AvroCodec(bz2.decompress, lambda block, level: bz2.compress(block)),
    "xz": AvroCodec(lzma.decompress, lambda block, level: lzma.compress(block, preset=level)),
}
_NAMES_OF_OPTIONS = {"zstd": "zstandard", "none": "null"}


def codec_of(compression: str) -> str:
    """Avro's codec of a compression as options name it (`zstd`). Raises: UnsupportedError: there is none."""
    codec = _NAMES_OF_OPTIONS.get(compression.lower(), compression.lower())
    if codec not in AVRO_CODECS:
        raise UnsupportedError(
            f"compression '{compression}' of Avro files", "options", f"Use zstd or one of {', '.join(AVRO_CODECS)}."
        )
    return codec
