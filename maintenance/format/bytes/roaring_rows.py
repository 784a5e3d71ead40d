"""Many 32-bit roaring bitmaps of row numbers at once: Java's bytes for them, and a checked way back.

Java compresses each container of 16-bit values to runs where that is shorter than the values, and takes bits for more
than 4096 values. Its measure of "shorter" differs from CRoaring's by the two bytes before the runs, so the bytes are
made here. What is read is checked before CRoaring sees it: it trusts the order of what it is given.
Source: RoaringFormatSpec, data section 9.5, Java `RoaringBitmap32.serialize`.
"""

from collections.abc import Sequence

import numpy as np
from pyroaring import BitMap

from maintenance.format.bytes.ragged import Ragged, ends, fixed, grouped, interleaved, spread
from maintenance.format.bytes.roaring import (
    ARRAY,
    ARRAY_LIMIT,
    BITMAP_BYTES,
    BITS,
    NO_OFFSETS_BELOW,
    RUN,
    WITH_RUNS,
    WITHOUT_RUNS,
    Container,
)

CONTAINER_ROWS = 1 << 16
_U64 = np.uint64
EMPTY_BITMAP = WITHOUT_RUNS.to_bytes(4, "little") + bytes(4)


def serialize_bitmaps(rows: np.ndarray, starts: np.ndarray) -> Ragged:
    """The bytes of a bitmap of each group of rows.

    Args: `rows`: int64, not negative, ascending within a group; `starts`: first of each group, ascending from 0, none
        of them empty.
    """
    if not len(starts):
        return Ragged(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    keys = rows >> 16
    new_group = np.zeros(len(rows), bool)
    new_group[starts] = True
    new_container = new_group.copy()
    new_container[1:] |= keys[1:] != keys[:-1]
    first = np.flatnonzero(new_container)
    new_run = new_container.copy()
    new_run[1:] |= rows[1:] != rows[:-1] + 1
    containers, is_run = _containers((rows & 0xFFFF).astype("<u2"), first, new_run)
    counts = np.diff(first, append=len(rows))
    descriptions = fixed(np.stack([keys[first], counts - 1], axis=1).astype("<u2").reshape(-1))
    groups = np.flatnonzero(new_group[first])
    per_group = np.diff(groups, append=len(first))
    return _joined(containers, is_run, grouped(descriptions, 2 * groups), groups, per_group)


def serialize_arrays(low: np.ndarray, keys: np.ndarray, first: np.ndarray, groups: np.ndarray) -> Ragged:
    """The bytes of bitmaps of which it is known that all of their containers are arrays.

    Args: `low`: the lower bits of all rows, uint16; `keys`: the upper bits of each container, `first`: its first row,
        `groups`: the first container of each bitmap.
    """
    if not len(groups):
        return Ragged(np.zeros(0, np.uint8), np.zeros(1, np.int64))
    counts = np.diff(first, append=len(low))
    containers = Ragged(low.astype("<u2", copy=False).view(np.uint8), 2 * ends(counts))
    descriptions = fixed(np.stack([keys, counts - 1], axis=1).astype("<u2").reshape(-1))
    per_group = np.diff(groups, append=len(first))
    return _joined(containers, np.zeros(len(first), bool), grouped(descriptions, 2 * groups), groups, per_group)


def serialize_bitmap(rows: np.ndarray) -> bytes:
    """The bytes of one bitmap. `rows`: int64, ascending, may be empty."""
    return serialize_bitmaps(rows, np.zeros(1, np.int64)).tobytes() if len(rows) else EMPTY_BITMAP


def containers_of(packed: np.ndarray) -> list[tuple[int, Container]]:
    """The containers of rows whose bit is set, with the upper bits of their rows.

    `packed`: uint8, a bit for each row, the lowest bit of a byte first; whole containers of 65,536 rows.
    """
    blocks = packed.reshape(-1, BITMAP_BYTES)
    words = blocks.view("<u8")
    after = words << _U64(1)
    after[:, 1:] |= words[:, :-1] >> _U64(63)
    counts = zip(_ones(words).tolist(), _ones(words & ~after).tolist(), strict=True)
    return [(key, _container(blocks[key], ones, runs)) for key, (ones, runs) in enumerate(counts) if ones]


def _ones(words: np.ndarray) -> np.ndarray:
    """How many bits of each row of words are set. `words`: uint64, shape (n, m); not in place."""
    words = words - ((words >> _U64(1)) & _U64(0x5555555555555555))
    words = (words & _U64(0x3333333333333333)) + ((words >> _U64(2)) & _U64(0x3333333333333333))
    words = (words + (words >> _U64(4))) & _U64(0x0F0F0F0F0F0F0F0F)
    return np.asarray(((words * _U64(0x0101010101010101)) >> _U64(56)).sum(axis=1, dtype=np.int64))


def _container(bits: np.ndarray, cardinality: int, runs: int) -> Container:
    """The container of rows whose bit is set. `runs`: of neighbours, how many there are."""
    if 2 + 4 * runs < min(2 * cardinality, BITMAP_BYTES):
        flags = np.unpackbits(bits, bitorder="little")
        steps = np.diff(flags.view(np.int8), prepend=np.int8(0), append=np.int8(0))
        begin = np.flatnonzero(steps > 0)
        pairs = np.stack([begin, np.flatnonzero(steps < 0) - begin - 1], axis=1).astype("<u2")
        return Container(RUN, cardinality, runs.to_bytes(2, "little") + pairs.tobytes())
    if cardinality > ARRAY_LIMIT:
        return Container(BITS, cardinality, bits.tobytes())
    return Container(ARRAY, cardinality, np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype("<u2").tobytes())


def _containers(low: np.ndarray, first: np.ndarray, new_run: np.ndarray) -> tuple[Ragged, np.ndarray]:
    """The bytes of each container, and which are runs."""
    counts = np.diff(first, append=len(low))
    runs = np.add.reduceat(new_run.astype(np.int64), first)
    is_run = 2 + 4 * runs < np.minimum(2 * counts, BITMAP_BYTES)
    is_bits = ~is_run & (counts > ARRAY_LIMIT)
    sizes = np.where(is_run, 2 + 4 * runs, np.where(is_bits, BITMAP_BYTES, 2 * counts))
    offsets = ends(sizes)
    if not (is_run.any() or is_bits.any()):
        return Ragged(np.ascontiguousarray(low).view(np.uint8), offsets), is_run
    data = np.empty(int(offsets[-1]), np.uint8)
    arrays = np.flatnonzero(~is_run & ~is_bits)
    values = low[spread(first[arrays], counts[arrays])]
    data[spread(offsets[arrays], sizes[arrays])] = values.view(np.uint8)
    for number in np.flatnonzero(is_bits).tolist():
        flags = np.zeros(1 << 16, np.uint8)
        flags[low[first[number] : first[number] + counts[number]]] = 1
        data[offsets[number] : offsets[number + 1]] = np.packbits(flags, bitorder="little")
    if is_run.any():
        _put_runs(data, (low, new_run), np.flatnonzero(is_run), (offsets, runs))
    return Ragged(data, offsets), is_run


def _put_runs(
    data: np.ndarray,
    values: tuple[np.ndarray, np.ndarray],
    chosen: np.ndarray,
    places: tuple[np.ndarray, np.ndarray],
) -> None:
    """Write the containers `chosen` as runs. `values`: low bits, where runs begin."""
    (low, new_run), (offsets, runs) = values, places
    begin = np.flatnonzero(new_run)
    length = np.diff(begin, append=len(low)) - 1
    run_of = ends(runs)[:-1]  # number of each container's first run
    picked = spread(run_of[chosen], runs[chosen])
    pairs = np.stack([low[begin[picked]].astype(np.int64), length[picked]], axis=1).astype("<u2")
    bodies = grouped(fixed(pairs.reshape(-1)), 2 * ends(runs[chosen])[:-1])
    whole = interleaved(fixed(runs[chosen].astype("<u2")), bodies)
    data[spread(offsets[:-1][chosen], whole.sizes)] = whole.data


def _joined(
    containers: Ragged, is_run: np.ndarray, descriptions: Ragged, groups: np.ndarray, per_group: np.ndarray
) -> Ragged:
    """Bitmaps of containers. `descriptions`: of each bitmap; `groups`: its first container, of `per_group`."""
    with_runs = np.logical_or.reduceat(is_run, groups)
    flag_bytes = np.where(with_runs, (per_group + 7) // 8, 0)
    cookies = np.where(with_runs, WITH_RUNS | (per_group - 1) << 16, WITHOUT_RUNS).astype("<u4")
    plain = np.flatnonzero(~with_runs)
    count_sizes = np.where(with_runs, 0, 4)
    count_data = per_group[plain].astype("<u4").view(np.uint8)
    has_offsets = ~with_runs | (per_group >= NO_OFFSETS_BELOW)
    head = 4 + count_sizes + flag_bytes + 4 * per_group + np.where(has_offsets, 4 * per_group, 0)
    before = containers.offsets[:-1] - np.repeat(containers.offsets[groups], per_group)
    places = (before + np.repeat(head, per_group)).astype("<u4")
    offset_sizes = np.where(has_offsets, 4 * per_group, 0)
    offset_data = places[np.repeat(has_offsets, per_group)].view(np.uint8)
    return interleaved(
        fixed(cookies),
        Ragged(count_data, ends(count_sizes)),
        _flags(is_run, groups, per_group, flag_bytes),
        descriptions,
        Ragged(offset_data, ends(offset_sizes)),
        grouped(containers, groups),
    )


def _flags(is_run: np.ndarray, groups: np.ndarray, per_group: np.ndarray, flag_bytes: np.ndarray) -> Ragged:
    """For bitmaps that have runs one bit for each container, lowest first."""
    offsets = ends(flag_bytes)
    bits = np.zeros(8 * int(offsets[-1]), np.uint8)
    of_container = np.repeat(offsets[:-1] * 8, per_group) + np.arange(len(is_run)) - np.repeat(groups, per_group)
    bits[of_container[is_run]] = 1
    return Ragged(np.packbits(bits, bitorder="little"), offsets)


def parse_bitmap(data: bytes, start: int, row_count: int) -> tuple[BitMap, int]:
    """The bitmap at a position, and where it ends.

    Raises: ValueError: the bytes are not a bitmap of rows below `row_count`.
    """
    end = _checked_end(data, start)
    bitmap = BitMap.deserialize(data[start:end])
    if bitmap and bitmap.max() >= row_count:
        raise ValueError(f"a bitmap has row {bitmap.max()} of {row_count}")
    return bitmap, end


def _checked_end(data: bytes, start: int) -> int:
    """Where the bitmap ends. Raises: ValueError: what it holds is not in order, or it is cut off."""
    word = _number(data, start, 4)
    flags: Sequence[int] | np.ndarray = ()
    if word & 0xFFFF == WITH_RUNS:
        count, at = (word >> 16) + 1, start + 4
        flag_bytes = (count + 7) // 8
        flags = np.unpackbits(_array(data, at, flag_bytes, "u1"), bitorder="little")
        at += flag_bytes
    elif word == WITHOUT_RUNS:
        count, at = _number(data, start + 4, 4), start + 8
    else:
        raise ValueError(f"a bitmap begins with {word}")
    if count > 1 << 16:
        raise ValueError(f"a bitmap of {count} containers")
    pairs = _array(data, at, 2 * count, "<u2").reshape(-1, 2).astype(np.int64)
    at += 4 * count
    if not len(flags) or count >= NO_OFFSETS_BELOW:
        at += 4 * count
    if (np.diff(pairs[:, 0]) <= 0).any():
        raise ValueError("the containers of a bitmap are not in order")
    for number, (_, less_one) in enumerate(pairs.tolist()):
        at = _checked_container(data, at, less_one + 1, run=bool(len(flags) and flags[number]))
    if at > len(data):
        raise ValueError("a bitmap is cut off")
    return at


def _checked_container(data: bytes, at: int, cardinality: int, *, run: bool) -> int:
    if run:
        count = _number(data, at, 2)
        pairs = _array(data, at + 2, 2 * count, "<u2").reshape(-1, 2).astype(np.int64)
        last = pairs[:, 0] + pairs[:, 1]
        held = int((pairs[:, 1] + 1).sum())
        if held != cardinality or (pairs[1:, 0] <= last[:-1]).any() or last.max(initial=0) > 0xFFFF:
            raise ValueError("the runs of a bitmap are not in order")
        return at + 2 + 4 * count
    if cardinality > ARRAY_LIMIT:
        bits = _array(data, at, BITMAP_BYTES, "u1")
        if int(np.unpackbits(bits).sum()) != cardinality:
            raise ValueError("a bitmap does not have the number of bits that it says")
        return at + BITMAP_BYTES
    if (np.diff(_array(data, at, cardinality, "<u2").astype(np.int64)) <= 0).any():
        raise ValueError("the values of a bitmap are not in order")
    return at + 2 * cardinality


def _number(data: bytes, at: int, size: int) -> int:
    if at < 0 or at + size > len(data):
        raise ValueError(f"{len(data)} bytes end before byte {at + size}")
    return int.from_bytes(data[at : at + size], "little")


def _array(data: bytes, at: int, count: int, dtype: str) -> np.ndarray:
    if at < 0 or at + count * np.dtype(dtype).itemsize > len(data):
        raise ValueError(f"{len(data)} bytes end inside of a bitmap")
    return np.frombuffer(data, dtype, count, at)
