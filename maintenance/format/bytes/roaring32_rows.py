"""Many 32-bit roaring bitmaps at once: read and united, as far as they consist of a few arrays.

What is larger, or is held as runs or bits, is left to CRoaring, which takes one bitmap at a time.
Source: RoaringFormatSpec, Java `RoaringBitmap32`.
"""

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.ragged import Ragged, Unions
from maintenance.format.bytes.roaring import ARRAY_LIMIT, WITHOUT_RUNS
from maintenance.format.bytes.roaring64_rows import bytes_of
from maintenance.format.bytes.roaring_rows import serialize_arrays
from maintenance.types.integer_order import distinct_of_runs

_U64 = np.uint64
_HEAD, _DESCRIPTION, _OFFSET = 8, 4, 4
# Containers of a bitmap that is handled beside others.
_MOST = 1 << 10


def without_runs(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """How many containers each bitmap has, and the bytes of their values; 0 and any where there are runs or damage.

    What a bitmap holds is not looked at. Args: `column`: binary, without nulls. Returns: int64, shape (n,) each.
    """
    data, begin, end = bytes_of(column)
    rows = np.flatnonzero(end - begin > _HEAD)
    # The eight bytes from each place on.
    heads = np.ndarray(max(0, len(data) - _HEAD + 1), "<u8", buffer=data, strides=(1,))[begin[rows]]
    plain = (heads & _U64(0xFFFFFFFF)) == WITHOUT_RUNS
    containers = np.zeros(len(begin), np.int64)
    containers[rows[plain]] = heads[plain] >> _U64(32)
    sizes = end - begin - _HEAD - (_DESCRIPTION + _OFFSET) * containers
    containers[(sizes < 2 * containers) | (sizes & 1 > 0)] = 0
    return containers, sizes


def united_numbers(column: pa.Array, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different numbers of each group of bitmaps, below the number of the group; and of which groups they are.

    Args: `starts`: first bitmap of each group.
    Returns: uint64, ascending; bool, shape (groups,).
    """
    group_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(column)))
    containers, sizes = without_runs(column)
    good = np.logical_and.reduceat((containers > 0) & (containers <= _MOST), starts)
    while good.any():
        kept = np.flatnonzero(good[group_of])
        whole = len(kept) == len(column)
        bitmaps = column if whole else column.take(pa.array(kept))
        numbers, damaged = _numbers(bitmaps, containers[kept], sizes[kept] // 2, group_of[kept])
        if not damaged.any():
            return distinct_of_runs(numbers), good
        good[group_of[kept[damaged]]] = False
    return np.zeros(0, _U64), good


def _numbers(
    column: pa.Array, containers: np.ndarray, counts: np.ndarray, group: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of bitmaps, each below the number of its group, and which bitmaps are not in order.

    Args: `containers`, `counts`: how many containers and values each bitmap has.
    """
    words = bytes_of(column)[0].view("<u2")
    row, first = np.repeat(np.arange(len(containers)), containers), np.cumsum(containers) - containers
    described = _part(words, _HEAD // 2, 2 * containers, 2 * containers + counts).reshape(-1, 2)
    key, count = described[:, 0].astype(_U64), described[:, 1].astype(np.int64) + 1
    damaged = np.add.reduceat(count, first) != counts
    damaged[row[count > ARRAY_LIMIT]] = True
    damaged[row[1:][(key[1:] <= key[:-1]) & (row[1:] == row[:-1])]] = True
    if damaged.any():
        return np.zeros(0, _U64), damaged
    numbers = np.repeat(group[row].astype(_U64) << _U64(32) | key << _U64(16), count)
    numbers |= _part(words, _HEAD // 2 + 4 * containers, counts, 0)
    rises = numbers[1:] > numbers[:-1]
    ends = np.cumsum(counts)
    rises[ends[:-1] - 1] = True
    damaged[np.searchsorted(ends, np.flatnonzero(~rises), side="right")] = True
    return numbers, damaged


def _part(words: np.ndarray, before: np.ndarray | int, length: np.ndarray, after: np.ndarray | int) -> np.ndarray:
    """The same part of each of several strings of words, that lie one after the other."""
    lengths = np.empty((len(length), 3), np.int64)
    lengths[:, 0], lengths[:, 1], lengths[:, 2] = before, length, after
    return np.asarray(words[np.repeat(np.tile([False, True, False], len(length)), lengths.reshape(-1))])


def united_arrays_32(column: pa.Array, starts: np.ndarray) -> Unions:
    """The union of each group of bitmaps, as far as both consist of arrays, and the union cannot be runs.

    Args: `starts`: first bitmap of each group.
    """
    numbers, good = united_numbers(column, starts)
    first, uncertain = _containers(numbers)
    if uncertain.any():
        good[_group_of(numbers[first[uncertain]])] = False
        numbers = numbers[good[_group_of(numbers)]]
    return Unions(np.flatnonzero(good), serialize_numbers(numbers))


def serialize_numbers(numbers: np.ndarray) -> Ragged:
    """The bytes of bitmaps without runs. `numbers`: see `united_numbers`; not too many for arrays."""
    first = _first_of_containers(numbers)
    cells = numbers[first] >> _U64(16)
    groups = np.flatnonzero(_changes(cells >> _U64(16)))
    keys = (cells & _U64(0xFFFF)).astype(np.int64)
    return serialize_arrays(numbers.astype(np.uint16), keys, first, groups)


def _first_of_containers(numbers: np.ndarray) -> np.ndarray:
    return np.flatnonzero(_changes(numbers >> _U64(16)))


def _containers(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first number of each container, and whether an array may not be its form."""
    first = _first_of_containers(numbers)
    count = np.diff(first, append=len(numbers))
    follows = np.flatnonzero(numbers[1:] == numbers[:-1] + _U64(1)) + 1
    of_container = np.searchsorted(first, follows, side="right") - 1
    # Where a container begins, nothing follows.
    inside = of_container[first[of_container] != follows]
    runs = count - np.bincount(inside, minlength=len(first))
    return first, (count > ARRAY_LIMIT) | (count // 2 >= runs)


def _group_of(numbers: np.ndarray) -> np.ndarray:
    return (numbers >> _U64(32)).view(np.int64)


def _changes(values: np.ndarray) -> np.ndarray:
    """Where a value is another than the one before."""
    changes = np.ones(len(values), bool)
    changes[1:] = values[1:] != values[:-1]
    return changes
