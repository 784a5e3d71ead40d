"""Columns of serialized roaring bitmaps: what is in them, however it is encoded.

The word of a bitmap is made of its numbers; of very large ones, of their count and an even sample. Bytes that are not a
bitmap are taken as bytes: a key's only record is never decoded.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.proof.records import Groups
from maintenance.compaction.proof.unit import Expected, Unit, Values
from maintenance.errors import CorruptFileError
from maintenance.format.bytes.roaring import bitmaps_of, parse_bitmap64
from maintenance.types.row_hash import BLOCK_ROWS, NULL, column_words

# Numbers of a bitmap that count.
_MOST = 1 << 12
_NOT_BITMAPS = (ValueError, RuntimeError, IndexError, CorruptFileError)

# Bitmaps of 32 bits by the upper half of their numbers.
_Halves = Mapping[int, BitMap]
_Parse = Callable[[bytes], _Halves]


def halves_of_32(data: bytes) -> _Halves:
    """Raises: ValueError: these are not the bytes of a bitmap."""
    return {0: BitMap.deserialize(data)}


def halves_of_64(data: bytes) -> _Halves:
    """Raises: CorruptFileError: these are not the bytes of a bitmap."""
    return bitmaps_of(parse_bitmap64(data, "column"))


def bitmap_words(parse: _Parse, column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The word of each bitmap; `NULL` for null. uint64, shape (n,)."""
    return column_words(pa.array([None if data is None else _told(parse, data) for data in column.to_pylist()]))


def union(parse: _Parse) -> Callable[[Unit, Values, Groups], Expected]:
    """Everything that is in any of the bitmaps."""

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        column = records.column(unit.names[0])
        valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
        present, keys = groups.only(valid), np.flatnonzero(groups.any(valid))
        words, proved = np.full(len(groups.starts), NULL), np.ones(len(groups.starts), bool)
        for start in range(0, len(keys), BLOCK_ROWS):
            ends = np.append(present.starts, len(present.order))[start : start + BLOCK_ROWS + 1]
            members = column.take(pa.array(present.order[ends[0] : ends[-1]])).to_pylist()
            places = (ends - ends[0]).tolist()
            unions = [_united(parse, members[a:b]) for a, b in zip(places[:-1], places[1:], strict=True)]
            block = keys[start : start + BLOCK_ROWS]
            words[block] = column_words(pa.array(unions, pa.binary()))
            proved[block] = [told is not None for told in unions]
        return Expected(words, proved)

    return expect


def _united(parse: _Parse, members: list[bytes]) -> bytes | None:
    """What tells the union of bitmaps; None where some bytes are not a bitmap."""
    if len(members) == 1:
        return _told(parse, members[0])
    total: dict[int, BitMap] = {}
    try:
        for data in members:
            for high, low in parse(data).items():
                if high in total:
                    total[high] |= low
                else:
                    total[high] = low
    except _NOT_BITMAPS:
        return None
    return _content(total)


def _told(parse: _Parse, data: bytes) -> bytes:
    """Bytes that are the same for bitmaps of the same numbers; those that are not a bitmap as they are."""
    try:
        halves = parse(data)
    except _NOT_BITMAPS:
        return data
    return _content(halves)


def _content(halves: _Halves) -> bytes:
    parts = []
    for high, low in sorted(halves.items()):
        count = len(low)
        places = np.linspace(0, count - 1, _MOST).astype(np.int64).tolist() if count > _MOST else None
        numbers = low.to_array().tobytes() if places is None else np.array([low[at] for at in places]).tobytes()
        if count:
            parts.append(high.to_bytes(8, "little") + count.to_bytes(8, "little") + numbers)
    return b"".join(parts)
