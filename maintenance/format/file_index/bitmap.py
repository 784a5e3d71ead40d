"""The file index `bitmap`: for each value of a column the rows that have it. Exact for `=`, IN and null tests.

Version 1 lists the values with the places of their bitmaps, in the order of Java's HashMap; version 2, the default,
sorts them into blocks with an index of the blocks, so that a reader of one value need not read all. The bitmaps follow,
those of the nulls first. A value with one row has no bitmap: its place is -1 - row. Ranges are answered too, from the
bitmaps of the values in them. Source: data section 9.4, seed 000 section 3.9.6.3, Java `BitmapFileIndex`,
`BitmapFileIndexMetaV2`.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.format.bytes.ragged import Ragged, ends, fixed, interleaved
from maintenance.format.bytes.roaring_rows import parse_bitmap, serialize_bitmap, serialize_bitmaps
from maintenance.format.file_index.gathered import Coded, GatheringBuilder, coded
from maintenance.format.file_index.java_order import hash_map_order
from maintenance.format.file_index.keys import Key, parse_key, parse_numbers, stored_dtype, stored_width
from maintenance.format.file_index.kind import Condition, IndexedColumn, IndexKind, check_row_count, decoding
from maintenance.format.file_index.spans import Asked, Span, asked_of
from maintenance.options.option import Option, integer, memory_size
from maintenance.types.data_type import DataType

BITMAP = "bitmap"
_ALONE = -1
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def _version(text: str) -> int:
    version = integer(text)
    if version not in (1, 2):
        raise ValueError("expected 1 or 2")
    return version


_VERSION = Option("version", _version, 2)
_BLOCK_SIZE = Option("index-block-size", memory_size, 16 << 10)


def supports(data_type: DataType) -> bool:
    """Whether a column of the type can have a bitmap index."""
    others = ("BOOLEAN", "FLOAT", "DOUBLE", "DATE", "TIME")
    return data_type.is_string or data_type.is_integer or data_type.is_timestamp or data_type.root in others


class BitmapBuilder(GatheringBuilder):
    """Builds the index of one column."""

    def __init__(self, data_type: DataType, version: int = 2, block_size: int = 16 << 10) -> None:
        """`block_size`: bytes of a block of values, of version 2."""
        super().__init__(data_type)
        self._version = version
        self._block_size = block_size

    def _body(self, column: pa.Array) -> bytes:
        values = coded(column, self._data_type)
        places, lengths, bitmaps = _bitmaps(values)
        head = struct.pack(">bii?", self._version, values.row_count, len(values.keys), len(values.nulls) > 0)
        nulls = serialize_bitmap(values.nulls)
        if len(values.nulls):
            head += struct.pack(">i", -1 - int(values.nulls[0]) if len(values.nulls) == 1 else 0)
        listed = self._listed if self._version == 1 else self._blocks
        if len(values.nulls) and self._version == 2:
            head += struct.pack(">i", len(nulls))
        body = nulls if len(values.nulls) > 1 else b""
        return b"".join((head, listed(values, places, lengths), body, bitmaps))

    def _listed(self, values: Coded, places: np.ndarray, _: np.ndarray) -> bytes:
        order = _java_order(values)
        return interleaved(values.keys.stored(), fixed(places.astype(">i4"))).take(order).tobytes()

    def _blocks(self, values: Coded, places: np.ndarray, lengths: np.ndarray) -> bytes:
        stored = values.keys.stored()
        entries = interleaved(stored, fixed(places.astype(">i4")), fixed(lengths.astype(">i4")))
        starts = _block_starts(entries.sizes, self._block_size)
        counts = np.diff(starts, append=len(entries))
        sizes = 4 + np.diff(entries.offsets[np.append(starts, len(entries))])
        index = interleaved(stored.take(starts), fixed(ends(sizes)[:-1].astype(">i4")))
        lead = np.zeros(len(entries) + 1, np.int64)
        lead[starts + 1] = 4
        blocks = interleaved(Ragged(fixed(counts.astype(">i4")).data, np.cumsum(lead)), entries)
        head = struct.pack(">i", len(starts)) + index.tobytes() + struct.pack(">i", int(sizes.sum()))
        return head + blocks.tobytes()


def _bitmaps(values: Coded) -> tuple[np.ndarray, np.ndarray, bytes]:
    """For each key the place and the length (-1 for a single row) of its bitmap, and the bitmaps behind the nulls'."""
    counts = values.counts
    alone = counts == 1
    places = np.where(alone, -1 - values.rows[values.starts], 0) if len(counts) else np.zeros(0, np.int64)
    lengths = np.full(len(counts), _ALONE)
    several = np.flatnonzero(~alone)
    rows = values.rows[np.repeat(~alone, counts)]
    serialized = serialize_bitmaps(rows, ends(counts[several])[:-1])
    lengths[several] = serialized.sizes
    position = np.full(len(counts), -1)
    position[several] = np.arange(len(several))
    in_body = position[_java_order(values)]
    in_body = in_body[in_body >= 0]
    ordered = serialized.take(in_body)
    before = len(serialize_bitmap(values.nulls)) if len(values.nulls) > 1 else 0
    places[several[in_body]] = before + ordered.offsets[:-1]
    return places, lengths, ordered.tobytes()


def _java_order(values: Coded) -> np.ndarray:
    """Keys in the order in which Java's HashMap gives them."""
    came = values.rows[values.starts]
    return hash_map_order(values.keys.java_hashes(), came, int(values.rows.max(initial=-1)))


def _block_starts(sizes: np.ndarray, limit: int) -> np.ndarray:
    """Number of each block's first entry: a block is its count (4 bytes) and entries while they fit in `limit`.

    Raises: DataError: an entry is larger than a block.
    """
    if len(sizes) and int(sizes.max()) + 4 > limit:
        raise DataError(
            f"a value of {int(sizes.max()) - 8} bytes does not fit in a block of {limit} bytes",
            "file index",
            "Raise 'index-block-size' of the index, or leave the column out of it.",
        )
    offsets = ends(sizes)
    starts = []
    start = 0
    while start < len(sizes):
        starts.append(start)
        start = int(np.searchsorted(offsets, offsets[start] + limit - 4, side="right")) - 1
    return np.array(starts, np.int64)


@dataclass(frozen=True, slots=True)
class _Block:
    """Values with the places of their bitmaps. `keys`: int64, or a list of bytes for texts."""

    keys: "np.ndarray | list[bytes]"
    places: np.ndarray

    def within(self, span: Span) -> np.ndarray:
        """Places of the values in a span."""
        if not isinstance(self.keys, np.ndarray):
            return self.places[[span.holds(key) for key in self.keys]] if self.keys else self.places
        low = _LONG_MIN if span.low is None else int(span.low) + span.without_low
        high = _LONG_MAX if span.high is None else int(span.high) - span.without_high
        if low > min(high, _LONG_MAX) or high < _LONG_MIN:
            return self.places[:0]
        return self.places[(self.keys >= max(low, _LONG_MIN)) & (self.keys <= min(high, _LONG_MAX))]


class BitmapIndex:
    """A finished index. Damaged bytes raise ValueError or similar errors, here and later: see `decoding`."""

    def __init__(self, body: bytes, column: IndexedColumn) -> None:
        self._data = body
        self._data_type = column.data_type
        version, self.row_count, count, has_nulls = struct.unpack_from(">bii?", body)
        if version not in (1, 2):
            raise ValueError(f"version {version}")
        check_row_count(self.row_count, column)
        self._at = 10
        null_place = self._int() if has_nulls else None
        if version == 1:
            block, self._body = _parse_entries(body, self._at, count, (column.data_type, 4))
            self._firsts: list[Key] = []
            self._block_places: list[tuple[int, _Block | None]] = [(self._at, block)]
        else:
            self._at += 4 * has_nulls
            self._parse_block_index()
        self.nulls = BitMap() if null_place is None else self._union(np.array([null_place]))

    def _int(self) -> int:
        (number,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(number)

    def _parse_block_index(self) -> None:
        firsts, places = [], []
        for _ in range(self._int()):
            key, self._at = parse_key(self._data, self._at, self._data_type)
            firsts.append(key)
            places.append(self._int())
        length = self._int()
        self._firsts = firsts
        self._block_places = [(self._at + place, None) for place in places]
        self._body = self._at + length

    def rows(self, query: Asked) -> BitMap:
        """The rows that are asked for."""
        if query.nulls:
            return self.nulls
        present = self._everything() - self.nulls
        if query.spans == (Span(),):
            return BitMap() if query.negated else present
        matching = BitMap.union(BitMap(), *(self._within(span) for span in query.spans))
        return present - matching if query.negated else matching

    def _everything(self) -> BitMap:
        return BitMap(range(self.row_count))

    def _within(self, span: Span) -> BitMap:
        return self._union(np.concatenate([np.zeros(0, np.int64), *(b.within(span) for b in self._candidates(span))]))

    def _candidates(self, span: Span) -> Iterator[_Block]:
        """Blocks that can hold keys of a span."""
        first = 0 if span.low is None else max(0, bisect_right(self._firsts, span.low) - 1)
        last = len(self._firsts) if span.high is None else bisect_right(self._firsts, span.high)
        for at, parsed in self._block_places[first:last] if self._firsts else self._block_places:
            if parsed is not None:
                yield parsed
                continue
            (count,) = struct.unpack_from(">i", self._data, at)
            yield _parse_entries(self._data, at + 4, count, (self._data_type, 8))[0]

    def _union(self, places: np.ndarray) -> BitMap:
        """Rows of bitmaps at places."""
        alone = -1 - places[places < 0]
        if (alone >= self.row_count).any():
            raise ValueError(f"row {alone.max()} of {self.row_count}")
        bitmaps = (parse_bitmap(self._data, self._body + p, self.row_count)[0] for p in places[places >= 0].tolist())
        return BitMap.union(BitMap(alone.astype(np.uint32)), *bitmaps)


def _parse_entries(data: bytes, at: int, count: int, shape: tuple[DataType, int]) -> tuple[_Block, int]:
    """`count` values with their places, and where they end. `shape`: type of the values, bytes behind each."""
    data_type, behind = shape
    if count < 0:
        raise ValueError(f"{count} values")
    width = stored_width(data_type)
    if width is not None:
        dtype = np.dtype({"names": ["key", "place"], "formats": [stored_dtype(data_type), ">i4"],
                          "offsets": [0, width], "itemsize": width + behind})  # fmt: skip
        entries = np.frombuffer(data, dtype, count, at)
        keys = parse_numbers(entries["key"], data_type)
        return _Block(keys, entries["place"].astype(np.int64)), at + count * dtype.itemsize
    texts: list[bytes] = []
    places: list[int] = []
    for _ in range(count):
        start = at + 4
        at = start + int.from_bytes(data[at:start], "big")
        texts.append(data[start:at])
        places.append(int.from_bytes(data[at : at + 4], "big", signed=True))
        at += behind
    if at > len(data):
        raise ValueError(f"{count} values end after {len(data)} bytes")
    return _Block(texts, np.array(places, np.int64)), at


def _builder(data_type: DataType, options: Mapping[str, str]) -> BitmapBuilder:
    return BitmapBuilder(data_type, _VERSION.of(options), _BLOCK_SIZE.of(options))


def _select(condition: Condition, body: bytes, column: IndexedColumn) -> BitMap | None:
    with decoding(BITMAP):
        return BitmapIndex(body, column).rows(asked_of(condition, column.data_type))


def _fits(body: bytes, data_type: DataType, options: Mapping[str, str]) -> bool:
    version = _VERSION.of(options)
    if body[:1] != bytes([version]):
        return False
    if version == 1:
        return True
    limit = _BLOCK_SIZE.of(options)
    sizes = _block_sizes(body, data_type)
    largest = int(sizes.max(initial=0))
    return largest <= limit and (len(sizes) <= 1 or 2 * largest > limit)


def _block_sizes(body: bytes, data_type: DataType) -> np.ndarray:
    """Bytes of each block."""
    at = 18 if body[9] else 10
    (count,) = struct.unpack_from(">i", body, at)
    at += 4
    starts: list[int] = []
    for _ in range(count):
        _, at = parse_key(body, at, data_type)
        starts += struct.unpack_from(">i", body, at)
        at += 4
    (total,) = struct.unpack_from(">i", body, at)
    return np.diff(np.array([*starts, total], np.int64))


BITMAP_KIND = IndexKind(BITMAP, frozenset({"version", "index-block-size"}), supports, _builder, _select, _fits)
