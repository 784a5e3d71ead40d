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
from maintenance.types.row_hash import NULL, column_words, combined, mixed

_U64 = np.uint64
# Numbers of a bitmap that count.
_MOST = 1 << 12

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
    words = np.array(column_words(column))
    for number, data in enumerate(column.to_pylist()):
        if data is not None:
            halves = _parsed(parse, data)
            words[number] = words[number] if halves is None else _word(halves)
    return words


def union(parse: _Parse) -> Callable[[Unit, Values, Groups], Expected]:
    """Everything that is in any of the bitmaps."""

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        column, hashes = records.column(unit.names[0]), records.hashes(unit.name)
        valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
        at = groups.last(valid)
        words = np.where(at < 0, NULL, hashes[at])
        proved = np.ones(len(words), bool)
        present, with_value = groups.only(valid), np.flatnonzero(at >= 0)
        for number in np.flatnonzero(present.counts > 1).tolist():
            start = int(present.starts[number])
            members = column.take(pa.array(present.order[start : start + int(present.counts[number])])).to_pylist()
            total: dict[int, BitMap] = {}
            for halves in (_parsed(parse, data) for data in members):
                if halves is None:
                    proved[with_value[number]] = False
                    break
                for high, low in halves.items():
                    total[high] = total[high] | low if high in total else low
            words[with_value[number]] = _word(total)
        return Expected(words, proved)

    return expect


def _parsed(parse: _Parse, data: bytes) -> _Halves | None:
    try:
        return parse(data)
    except (ValueError, RuntimeError, IndexError, CorruptFileError):
        return None


def _word(halves: _Halves) -> np.uint64:
    total = _U64(0)
    for high, low in halves.items():
        count = len(low)
        if count:
            sampled = np.linspace(0, count - 1, _MOST).astype(np.int64).tolist() if count > _MOST else None
            numbers = np.array(low.to_array() if sampled is None else [low[place] for place in sampled], _U64)
            same = [np.full(len(numbers), value, _U64) for value in (high, count)]
            with np.errstate(over="ignore"):
                total += np.add.reduce(mixed(combined([numbers, *same], (0, 1, 2))))
    return np.uint64(mixed(np.array([total], _U64))[0])
