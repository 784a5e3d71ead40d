"""Many theta sketches at once: united, as far as they hold every number that they have seen.

A sketch of few numbers is a sorted list of their hashes, and so is the union of such sketches, until it has more than
its nominal entries. What was sampled is left to the library, which takes one sketch at a time.
Source: Apache DataSketches, `PreambleUtil` of theta sketches, Java `FieldThetaSketchAgg`.
"""

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.ragged import Ragged, Unions, ends, interleaved, spread
from maintenance.format.bytes.roaring64_rows import bytes_of

NOMINAL = 4096
_U64 = np.uint64
_LONG = 8
# Two longs before the hashes, version 3, a compact sketch; read only, compact, in order; and the hash of the seed that
# updates have unless they are given another.
_HEAD = np.array([2, 3, 3, 0, 0, 0x1A, 0xCC, 0x93], np.uint8)
# Of a single number Java sets a flag more.
_FLAGS_AT, _SINGLE = 5, 0x20
_ALWAYS_SAMPLED = np.frombuffer(np.float32(1.0).tobytes(), np.uint8)
_LARGEST = _U64((1 << 63) - 2)


def united_sketches(column: pa.Array, starts: np.ndarray) -> Unions:
    """The union of each group of sketches, as far as these and the union hold every number.

    Args: `column`: binary, without nulls; `starts`: first sketch of each group.
    """
    data, begin, end = bytes_of(column)
    longs, parsed = _heads(data, begin, end)
    count = np.where(parsed, (end - begin) // _LONG - longs, 0)
    hashes = data[: len(data) & -_LONG].view("<u8")[spread(begin // _LONG + longs, count)]
    totals = np.add.reduceat(count, starts)
    first = np.cumsum(totals) - totals
    good = np.logical_and.reduceat(parsed, starts)
    wrong = (hashes == 0) | (hashes > _LARGEST)
    wrong[1:] |= hashes[1:] <= hashes[:-1]
    begins = (np.cumsum(count) - count)[count > 0]
    wrong[begins] = (hashes[begins] == 0) | (hashes[begins] > _LARGEST)
    good[np.searchsorted(first + totals, np.flatnonzero(wrong), side="right")] = False
    groups, sizes, parts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    # Rows of about the same length are sorted side by side.
    lengths = np.where(good, np.frexp(totals.astype(np.float64))[1], 0)
    for length in np.unique(lengths[lengths > 0]).tolist():
        chosen = np.flatnonzero(lengths == length)
        united, counts = _distinct(hashes[spread(first[chosen], totals[chosen])], totals[chosen])
        held = counts <= NOMINAL
        made = interleaved(_new_heads(counts), Ragged(united.view(np.uint8), _LONG * ends(counts)))
        made = made if held.all() else made.take(np.flatnonzero(held))
        groups.append(chosen[held])
        sizes.append(made.sizes)
        parts.append(made.data)
    return Unions(np.concatenate(groups), Ragged(np.concatenate(parts), ends(np.concatenate(sizes))))


def _heads(data: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many longs stand before the hashes of each sketch, and which sketches hold every number, one at least."""
    size = end - begin
    parsed = (size >= 2 * _LONG) & (size % _LONG == 0) & (begin % _LONG == 0)
    at = np.where(parsed, begin, 0)
    head = np.zeros((len(at), 2 * _LONG), np.uint8)
    if parsed.any():
        head[:] = data[at[:, None] + np.arange(2 * _LONG)]
    longs = head[:, 0].astype(np.int64)
    single = (longs == 1) & (size == 2 * _LONG)
    head[single, _FLAGS_AT] &= 0xFF ^ _SINGLE
    counts = head[:, 8:12].copy().view("<u4")[:, 0]
    sampled = head[:, 12:].any(axis=1) & (head[:, 12:] != _ALWAYS_SAMPLED).any(axis=1)
    several = (longs == 2) & (counts == size // _LONG - 2) & (counts > 0) & ~sampled
    parsed &= (head[:, 1:_LONG] == _HEAD[1:]).all(axis=1) & (single | several)
    return longs, parsed


def _distinct(hashes: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different hashes of each group in order, and their number. `totals`: of those given, all at least 1."""
    rows = np.full((len(totals), int(totals.max())), np.iinfo(_U64).max)
    kept = np.arange(rows.shape[1]) < totals[:, None]
    rows[kept] = hashes
    rows.sort(axis=1)
    kept[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return rows[kept], kept.sum(axis=1)


def _new_heads(counts: np.ndarray) -> Ragged:
    heads = np.zeros((len(counts), 2 * _LONG), np.uint8)
    heads[:, :_LONG] = _HEAD
    heads[:, 8:12] = counts.astype("<u4").view(np.uint8).reshape(-1, 4)
    heads[:, 12:] = _ALWAYS_SAMPLED
    single = counts == 1
    heads[single, 0], heads[single, _FLAGS_AT] = 1, _HEAD[_FLAGS_AT] | _SINGLE
    used = np.ones(heads.shape, bool)
    used[single, _LONG:] = False
    return Ragged(heads[used], ends(np.where(single, _LONG, 2 * _LONG)))
