"""The file index `bsi`: numbers by their bits. Exact for comparisons, IN and null tests.

Rows with a value of at least 0, and rows with a negative one by its absolute value, each as a bitmap of those rows and
one for every bit. Java's writer cannot hold -2^63. Source: data section 9.5, seed 000 section 3.9.6.4, Java
`BitSliceIndexBitmapFileIndex`, `BitSliceIndexRoaringBitmap`.
"""

import struct
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.format.bytes.roaring_rows import parse_bitmap, serialize_bitmap
from maintenance.format.file_index.bits import BitSlices, slices
from maintenance.format.file_index.gathered import GatheringBuilder
from maintenance.format.file_index.keys import number_keys
from maintenance.format.file_index.kind import Condition, IndexedColumn, IndexKind, check_row_count, decoding
from maintenance.format.file_index.spans import Asked, Span, asked_of
from maintenance.types.data_type import DataType

BSI = "bsi"
_VERSION = 1
_LEAST = -(2**63)
_MOST = 2**63 - 1


def supports(data_type: DataType) -> bool:
    """Whether a column of the type can have the index."""
    return data_type.is_integer or data_type.is_timestamp or data_type.root in ("DECIMAL", "DATE", "TIME")


class BsiBuilder(GatheringBuilder):
    """Builds the index of one column."""

    def _body(self, column: pa.Array) -> bytes:
        rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        numbers = number_keys(column.drop_null(), self._data_type)
        if (numbers == _LEAST).any():
            raise DataError(f"the index cannot hold {_LEAST}", "file index", "Leave the column out of the index.")
        negative = numbers < 0
        parts = [struct.pack(">bi", _VERSION, len(column))]
        for side in (~negative, negative):
            parts.append(struct.pack(">?", bool(side.any())))
            if side.any():
                parts.append(_serialized(rows[side], np.abs(numbers[side])))
        return b"".join(parts)


def _serialized(rows: np.ndarray, numbers: np.ndarray) -> bytes:
    """Numbers of at least 0 by their bits. `rows`: int64, ascending; `numbers`: int64."""
    largest = int(numbers.max())
    bits = largest.bit_length()
    head = struct.pack(">bqq", _VERSION, 0, largest)
    present = serialize_bitmap(rows)
    return b"".join((head, present, struct.pack(">i", bits), *slices(rows, numbers.view(np.uint64), bits)))


class BsiIndex:
    """A finished index. Damaged bytes raise ValueError or similar errors: see `decoding`."""

    def __init__(self, body: bytes, column: IndexedColumn) -> None:
        version, self.row_count = struct.unpack_from(">bi", body)
        if version != _VERSION:
            raise ValueError(f"version {version}")
        check_row_count(self.row_count, column)
        self._positive, at = self._side(body, 5)
        self._negative, _ = self._side(body, at)

    def _side(self, body: bytes, at: int) -> tuple["_Side", int]:
        (there,) = struct.unpack_from(">b", body, at)
        if not there:
            return _Side(0, BitSlices(BitMap(), ())), at + 1
        version, least, _ = struct.unpack_from(">bqq", body, at + 1)
        if version != _VERSION or least < 0:
            raise ValueError(f"version {version}, minimum {least}")
        present, at = parse_bitmap(body, at + 18, self.row_count)
        (count,) = struct.unpack_from(">i", body, at)
        at += 4
        slices = []
        for _ in range(count):
            bitmap, at = parse_bitmap(body, at, self.row_count)
            slices.append(bitmap)
        return _Side(least, BitSlices(present, slices)), at

    def rows(self, query: Asked) -> BitMap:
        """The rows that are asked for."""
        present = self._positive.rows.present | self._negative.rows.present
        if query.nulls:
            return BitMap(range(self.row_count)) - present
        matching = BitMap.union(BitMap(), *(self._within(span) for span in query.spans))
        return present - matching if query.negated else matching

    def _within(self, span: Span) -> BitMap:
        low = _LEAST if span.low is None else int(span.low) + span.without_low
        high = _MOST if span.high is None else int(span.high) - span.without_high
        matching = self._positive.between(max(low, 0), high)
        return matching | self._negative.between(max(-high, 1), -low)


class _Side:
    """Numbers of one sign, without it. `least`: what was taken from each before it was cut into bits."""

    __slots__ = ("least", "rows")

    def __init__(self, least: int, rows: BitSlices) -> None:
        self.least = least
        self.rows = rows

    def between(self, low: int, high: int) -> BitMap:
        return self.rows.between(max(low - self.least, 0), high - self.least)


def _builder(data_type: DataType, _: Mapping[str, str]) -> BsiBuilder:
    return BsiBuilder(data_type)


def _select(condition: Condition, body: bytes, column: IndexedColumn) -> BitMap | None:
    with decoding(BSI):
        return BsiIndex(body, column).rows(asked_of(condition, column.data_type))


def _fits(body: bytes, _: DataType, __: Mapping[str, str]) -> bool:
    return body[:1] == bytes([_VERSION])


BSI_KIND = IndexKind(BSI, frozenset(), supports, _builder, _select, _fits)
