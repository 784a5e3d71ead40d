"""Columns of serialized roaring bitmaps: what is in them, however it is encoded.

The word of a bitmap is made of its numbers; of very large ones, of their count and an even sample. Few numbers of 32
bits are told by the one form that they have without runs, in which most bitmaps are: the bytes of these are hashed as
they are. Bytes that are not a bitmap are taken as bytes, too: a key's only record is never decoded.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.proof.records import Groups
from maintenance.compaction.proof.unit import Expected, Unit, Values
from maintenance.errors import CorruptFileError
from maintenance.format.bytes.ragged import MOST_GROUPS, Ragged, ends, interleaved, spread
from maintenance.format.bytes.roaring import bitmaps_of, parse_bitmap64
from maintenance.format.bytes.roaring32_rows import serialize_numbers, united_numbers, without_runs
from maintenance.format.bytes.roaring64_rows import grouped_containers
from maintenance.types.integer_order import distinct_of_runs
from maintenance.types.row_hash import NULL, column_words

_U64, _LOW = np.uint64, np.uint64(0xFFFFFFFF)
# Numbers of a bitmap that count; containers of fewer are no bits.
_MOST = 1 << 12
_NOT_BITMAPS = (ValueError, RuntimeError, IndexError, CorruptFileError)

BITMAP_WEIGHT = 96
"""Hashes of a record that the union of a bitmap of tens of numbers is worth: each number is sorted and compared."""

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
    words = np.full(len(column), NULL)
    valid = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    if len(valid):
        bitmaps = column.take(pa.array(valid))
        bitmaps = bitmaps.combine_chunks() if isinstance(bitmaps, pa.ChunkedArray) else bitmaps
        for start in range(0, len(valid), MOST_GROUPS):
            block = bitmaps.slice(start, MOST_GROUPS)
            told = _told_32(block) if parse is halves_of_32 else _contents(parse, block, np.arange(len(block)))
            words[valid[start : start + MOST_GROUPS]] = column_words(told)
    return words


def union(parse: _Parse) -> Callable[[Unit, Values, Groups], Expected]:
    """Everything that is in any of the bitmaps."""

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        column = records.column(unit.names[0])
        valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
        present, keys = groups.only(valid), np.flatnonzero(groups.any(valid))
        words, proved = np.full(len(groups.starts), NULL), np.ones(len(groups.starts), bool)
        starts, counts = present.starts, present.counts
        lone = counts == 1
        words[keys[lone]] = bitmap_words(parse, column.take(pa.array(present.order[starts[lone]])))
        several = np.flatnonzero(~lone)
        for start in range(0, len(several), MOST_GROUPS):
            block = several[start : start + MOST_GROUPS]
            members = column.take(pa.array(present.order[spread(starts[block], counts[block])]))
            unions = _contents(parse, members, np.cumsum(counts[block]) - counts[block])
            words[keys[block]] = column_words(unions)
            proved[keys[block]] = unions.is_valid().to_numpy(zero_copy_only=False)
        return Expected(words, proved)

    return expect


def _told_32(bitmaps: pa.Array) -> pa.Array:
    """What tells each bitmap of 32 bits: few numbers without runs have one form, so their bytes are that."""
    containers, sizes = without_runs(bitmaps)
    return _with(bitmaps.cast(pa.large_binary()), (containers > 0) & (sizes < 2 * _MOST), halves_of_32, bitmaps)


def _contents(parse: _Parse, bitmaps: pa.Array, starts: np.ndarray) -> pa.Array:
    """What tells the union of each group of bitmaps; null where some bytes are not a bitmap.

    `starts`: first bitmap of each group.
    """
    told, good = (_united_32 if parse is halves_of_32 else _united_64)(bitmaps, starts)
    return _with(told, good, parse, bitmaps, starts)


def _with(
    told: pa.Array, good: np.ndarray, parse: _Parse, bitmaps: pa.Array, starts: np.ndarray | None = None
) -> pa.Array:
    """The same with what is not good told one by one. `starts`: see `_contents`; None = each bitmap by itself."""
    if good.all():
        return told
    others = np.flatnonzero(~good)
    places = np.append(np.arange(len(bitmaps)) if starts is None else starts, len(bitmaps))
    bounds = zip(places[others].tolist(), places[others + 1].tolist(), strict=True)
    singly = pa.array([_united(parse, bitmaps[start:end].to_pylist()) for start, end in bounds], pa.large_binary())
    at = np.arange(len(good))
    at[others] = len(good) + np.arange(len(others))
    return pa.concat_arrays([told, singly]).take(pa.array(at))


def _united_32(bitmaps: pa.Array, starts: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """What tells the union of each group of bitmaps, and of which groups: those of few numbers."""
    numbers, good = united_numbers(bitmaps, starts)
    counts = np.diff(np.searchsorted(numbers, np.arange(len(good) + 1, dtype=_U64) << _U64(32)))
    good &= counts < _MOST
    united = serialize_numbers(numbers if good.all() else numbers[np.repeat(good, counts)])
    sizes = np.zeros(len(good), np.int64)
    sizes[good] = united.sizes
    return _binary(Ragged(united.data, ends(sizes))), good


def _united_64(bitmaps: pa.Array, starts: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """The same of bitmaps of 64 bits, of those that are of one upper half."""
    found, group_of, good = grouped_containers(bitmaps, starts)
    highs = np.full(len(starts), -1)
    of_container = group_of[found.row]
    highs[of_container] = found.key >> 16
    good[of_container[highs[of_container] != found.key >> 16]] = False
    found = found.of(good[group_of])
    upper = group_of[found.row] << 32 | (found.key & 0xFFFF) << 16
    numbers = distinct_of_runs(np.repeat(upper.astype(_U64), found.count) | found.values())
    counts = np.bincount((numbers >> _U64(32)).astype(np.int64), minlength=len(good))
    heads = Ragged(
        np.stack([highs, counts], axis=1).astype("<i8").reshape(-1).view(np.uint8), 16 * np.arange(len(good) + 1)
    )
    told = interleaved(heads, Ragged((numbers & _LOW).astype("<u4").view(np.uint8), 4 * ends(counts)))
    return _binary(told), good & (counts > 0) & (counts <= _MOST)


def _binary(texts: Ragged) -> pa.Array:
    buffers = [None, pa.py_buffer(texts.offsets), pa.py_buffer(texts.data)]
    return pa.Array.from_buffers(pa.large_binary(), len(texts), buffers)


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
    return _content(parse, total)


def _told(parse: _Parse, data: bytes) -> bytes:
    """Bytes that are the same for bitmaps of the same numbers; those that are not a bitmap as they are."""
    try:
        halves = parse(data)
    except _NOT_BITMAPS:
        return data
    return _content(parse, halves)


def _content(parse: _Parse, halves: _Halves) -> bytes:
    if parse is halves_of_32 and len(halves[0]) < _MOST:
        return serialize_numbers(np.asarray(halves[0].to_array()).astype(_U64)).tobytes()
    parts = []
    for high, low in sorted(halves.items()):
        count = len(low)
        places = np.linspace(0, count - 1, _MOST).astype(np.int64).tolist() if count > _MOST else None
        numbers = low.to_array().tobytes() if places is None else np.array([low[at] for at in places]).tobytes()
        if count:
            parts.append(high.to_bytes(8, "little") + count.to_bytes(8, "little") + numbers)
    return b"".join(parts)
