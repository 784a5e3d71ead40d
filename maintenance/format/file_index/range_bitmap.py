"""The file index `range-bitmap`: the place of each value among the distinct ones, by bits. Exact for comparisons too.

A head with the first and the last value, a dictionary of the values in order, cut into chunks that are found by their
first value, and the numbers of the values by their bits. A chunk's first value is not among its keys.
Source: data section 9.6, Java `RangeBitmap`, `ChunkedDictionary`, `BitSliceIndexBitmap`.
"""

import struct
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.format.bytes.ragged import Ragged, ends
from maintenance.format.bytes.roaring_rows import parse_bitmap, serialize_bitmap
from maintenance.format.file_index.bits import BitSlices, slices
from maintenance.format.file_index.gathered import GatheringBuilder, coded
from maintenance.format.file_index.keys import Key, Keys, parse_key, parse_numbers, stored_dtype, stored_width
from maintenance.format.file_index.kind import Condition, IndexedColumn, IndexKind, check_row_count, decoding
from maintenance.format.file_index.spans import Asked, Span, asked_of
from maintenance.options.option import Option, memory_size
from maintenance.types.data_type import DataType

RANGE_BITMAP = "range-bitmap"
_VERSION = 1
_DEFAULT_CHUNK = 16 << 10
_UNCHUNKED = ("BOOLEAN", "TINYINT", "SMALLINT")
_EMPTY_SLICES = 64
_CHUNK_SIZE: Option[int | None] = Option("chunk-size", memory_size, None)


def supports(data_type: DataType) -> bool:
    """Whether a column of the type can have the index: decimals of up to 18 digits, timestamps of up to 6."""
    precision = data_type.precision or 0
    if data_type.root == "DECIMAL":
        return precision <= 18
    if data_type.is_timestamp:
        return precision <= 6
    others = ("BOOLEAN", "FLOAT", "DOUBLE", "DATE", "TIME")
    return data_type.is_string or data_type.is_integer or data_type.root in others


def _default_chunk(data_type: DataType) -> int:
    return 0 if data_type.root in _UNCHUNKED else _DEFAULT_CHUNK


class RangeBitmapBuilder(GatheringBuilder):
    """Builds the index of one column."""

    def __init__(self, data_type: DataType, chunk_size: int | None = None) -> None:
        """`chunk_size`: bytes of the keys of a chunk; by default none for small types, else 16 kb."""
        super().__init__(data_type)
        self._chunk_size = _default_chunk(data_type) if chunk_size is None else chunk_size

    def _body(self, column: pa.Array) -> bytes:
        values = coded(column, self._data_type)
        dictionary = _dictionary(values.keys, self._chunk_size)
        stored = values.keys.stored()
        outer = stored[0] + stored[len(stored) - 1] if len(stored) else b""
        head = struct.pack(">bii", _VERSION, values.row_count, len(stored)) + outer + struct.pack(">i", len(dictionary))
        codes = np.repeat(np.arange(len(stored)), values.counts)
        order = np.argsort(values.rows)
        bits = _serialized(values.rows[order], codes[order], len(stored))
        return struct.pack(">i", len(head)) + head + dictionary + bits


def _serialized(rows: np.ndarray, codes: np.ndarray, cardinality: int) -> bytes:
    """Codes by their bits. Without any value Java writes 64 slices."""
    count = max((cardinality - 1).bit_length(), 1) if cardinality else _EMPTY_SLICES
    present = serialize_bitmap(rows)
    bodies = list(slices(rows, codes.astype(np.uint64), count))
    lengths = np.array([len(body) for body in bodies], np.int64)
    places = np.stack([ends(lengths)[:-1], lengths], axis=1).astype(">i4").tobytes()
    head = struct.pack(">bbii", _VERSION, count, len(present), len(places)) + places
    return b"".join((struct.pack(">i", len(head)), head, present, *bodies))


def _dictionary(keys: Keys, chunk_size: int) -> bytes:
    stored = keys.stored()
    width = stored_width(keys.data_type)
    chunks: list[bytes] = []
    bodies: list[bytes] = []
    at = 0
    starts = _chunk_starts(stored, chunk_size, width)
    for start, end in zip(starts, [*starts[1:], len(stored)], strict=False):
        rest = stored.data[stored.offsets[start + 1] : stored.offsets[end]].tobytes()
        if width is None:
            offsets = (stored.offsets[start + 1 : end] - stored.offsets[start + 1]).astype(">i4").tobytes()
            numbers = (start, at, end - start - 1, len(offsets), len(rest))
            rest = offsets + rest
        else:
            numbers = (start, at, end - start - 1, len(rest), width)
        chunks.append(struct.pack(">b", _VERSION) + stored[start] + struct.pack(">iiiii", *numbers))
        bodies.append(rest)
        at += len(rest)
    places = ends(np.array([len(chunk) for chunk in chunks], np.int64))
    head = struct.pack(">biii", _VERSION, len(chunks), 4 * len(chunks), int(places[-1]))
    offsets = places[:-1].astype(">i4").tobytes()
    return b"".join((struct.pack(">i", len(head)), head, offsets, *chunks, *bodies))


def _chunk_starts(stored: Ragged, chunk_size: int, width: int | None) -> list[int]:
    """Number of each chunk's first key: behind it come keys while they fit, and, of texts, while their offsets do."""
    if width is not None:
        return list(range(0, len(stored), 1 + chunk_size // width))
    starts, start = [], 0
    while start < len(stored):
        starts.append(start)
        by_bytes = int(np.searchsorted(stored.offsets, stored.offsets[start + 1] + chunk_size, side="right")) - 1
        start = max(start + 1, min(by_bytes, start + 1 + chunk_size // 4))
    return starts


class RangeBitmapIndex:
    """A finished index. Damaged bytes raise ValueError or similar errors, here and later: see `decoding`."""

    def __init__(self, body: bytes, column: IndexedColumn) -> None:
        self._data = body
        self._data_type = column.data_type
        (length,) = struct.unpack_from(">i", body)
        version, self.row_count, self._cardinality = struct.unpack_from(">bii", body, 4)
        if version != _VERSION or self._cardinality < 0:
            raise ValueError(f"version {version}, {self._cardinality} values")
        check_row_count(self.row_count, column)
        (dictionary,) = struct.unpack_from(">i", body, length)
        self._dictionary = 4 + length
        self._bits = self._parse_bits(self._dictionary + dictionary)
        self._firsts, self._chunks, self._keys = self._parse_chunks()

    def _parse_bits(self, at: int) -> BitSlices:
        if not self._cardinality:
            return BitSlices(BitMap(), ())
        length, version, count, present_length, _ = struct.unpack_from(">ibbii", self._data, at)
        if version != _VERSION or not 0 < count <= _EMPTY_SLICES:
            raise ValueError(f"version {version}, {count} slices")
        start = at + 4 + length
        places = np.frombuffer(self._data, ">i4", 2 * count, at + 14).reshape(-1, 2)[:, 0].tolist()
        present, _ = parse_bitmap(self._data, start, self.row_count)
        slices = [parse_bitmap(self._data, start + present_length + place, self.row_count)[0] for place in places]
        return BitSlices(present, slices)

    def _parse_chunks(self) -> tuple[list[Key], list[tuple[int, ...]], int]:
        """First keys, numbers of each chunk as they are stored, and where the keys begin."""
        at = self._dictionary
        length, version, count, offsets_length, chunks_length = struct.unpack_from(">ibiii", self._data, at)
        if version != _VERSION or count < 0:
            raise ValueError(f"version {version}, {count} chunks")
        start = at + 4 + length
        firsts, chunks = [], []
        for place in np.frombuffer(self._data, ">i4", count, start).tolist():
            key, behind = parse_key(self._data, start + offsets_length + place + 1, self._data_type)
            firsts.append(key)
            chunks.append(struct.unpack_from(">iiiii", self._data, behind))
        return firsts, chunks, start + offsets_length + chunks_length

    def fits(self, chunk_size: int) -> bool:
        """Whether the chunks are those of a size, as far as they tell."""
        sizes = [max(first, second) if stored_width(self._data_type) is None else first
                 for _, _, _, first, second in self._chunks]  # fmt: skip
        largest = max(sizes, default=0)
        return largest <= chunk_size and (len(sizes) <= 1 or 2 * largest + 16 > chunk_size)

    def rows(self, query: Asked) -> BitMap:
        """The rows that are asked for."""
        if query.nulls:
            return BitMap(range(self.row_count)) - self._bits.present
        matching = BitMap.union(BitMap(), *(self._within(span) for span in query.spans))
        return self._bits.present - matching if query.negated else matching

    def _within(self, span: Span) -> BitMap:
        low = 0 if span.low is None else self._before(span.low, and_itself=span.without_low)
        high = self._cardinality if span.high is None else self._before(span.high, and_itself=not span.without_high)
        return self._bits.between(low, high - 1)

    def _before(self, key: Key, *, and_itself: bool) -> int:
        """How many distinct values are smaller than a key, or not larger."""

        def is_before(other: Key) -> bool:
            return other < key or (and_itself and other == key)  # type: ignore[operator]

        chunk = _count_true(len(self._firsts), lambda i: is_before(self._firsts[i])) - 1
        if chunk < 0:
            return 0
        code, at, size, first, second = self._chunks[chunk]
        return code + 1 + _count_true(size, lambda i: is_before(self._key(at, i, (first, second))))

    def _key(self, at: int, number: int, sizes: tuple[int, int]) -> Key:
        """A key of a chunk whose keys begin at `at`. `sizes`: of offsets and keys, or of keys and of each key."""
        start = self._keys + at
        if stored_width(self._data_type) is None:
            (offset,) = struct.unpack_from(">i", self._data, start + 4 * number)
            return bytes(parse_key(self._data, start + sizes[0] + offset, self._data_type)[0])
        stored = np.frombuffer(self._data, stored_dtype(self._data_type), 1, start + number * sizes[1])
        return int(parse_numbers(stored, self._data_type)[0])


def _count_true(count: int, test: Callable[[int], bool]) -> int:
    """How many of the numbers below `count` pass a test that the first ones pass and the others do not."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if test(middle):
            low = middle + 1
        else:
            high = middle
    return low


def _builder(data_type: DataType, options: Mapping[str, str]) -> RangeBitmapBuilder:
    return RangeBitmapBuilder(data_type, _CHUNK_SIZE.of(options))


def _select(condition: Condition, body: bytes, column: IndexedColumn) -> BitMap | None:
    with decoding(RANGE_BITMAP):
        return RangeBitmapIndex(body, column).rows(asked_of(condition, column.data_type))


def _fits(body: bytes, data_type: DataType, options: Mapping[str, str]) -> bool:
    (row_count,) = struct.unpack_from(">i", body, 5)
    size = _CHUNK_SIZE.of(options)
    return RangeBitmapIndex(body, IndexedColumn(data_type, row_count)).fits(
        _default_chunk(data_type) if size is None else size
    )


RANGE_BITMAP_KIND = IndexKind(RANGE_BITMAP, frozenset({"chunk-size"}), supports, _builder, _select, _fits)
