"""Many 32-bit roaring bitmaps at once: read and united, as far as they consist of a few arrays.

What is larger, or is held as runs or bits, is left to CRoaring, which takes one bitmap at a time.
Source: RoaringFormatSpec, Java `RoaringBitmap32`.
"""

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.ragged import Unions
from maintenance.format.bytes.roaring import ARRAY_LIMIT, WITHOUT_RUNS
from maintenance.format.bytes.roaring64_rows import ArrayContainers, bytes_of, grouped_containers
from maintenance.format.bytes.roaring_rows import serialize_arrays

_U64 = np.uint64
_HEAD, _DESCRIPTION, _OFFSET = 8, 4, 4
# Containers of a bitmap that is handled beside others.
_MOST = 1 << 10


def array_containers_32(column: pa.Array) -> ArrayContainers:
    """The containers of bitmaps. `column`: binary, without nulls."""
    data, begin, end = bytes_of(column)
    parsed = end - begin > _HEAD
    rows = np.flatnonzero(parsed)
    cookies, counts = _numbers(data, begin[rows], 4), _numbers(data, begin[rows] + 4, 4)
    head = _HEAD + (_DESCRIPTION + _OFFSET) * counts
    small = (cookies == WITHOUT_RUNS) & (counts > 0) & (counts <= _MOST) & (head < (end - begin)[rows])
    parsed[rows[~small]] = False
    rows, counts, head = rows[small], counts[small], head[small]
    first = np.cumsum(counts) - counts
    row = np.repeat(rows, counts)
    number = np.arange(len(row)) - np.repeat(first, counts)
    described = begin[row] + _HEAD + _DESCRIPTION * number
    key, count = _numbers(data, described, 2), _numbers(data, described + 2, 2) + 1
    before = np.cumsum(count) - count
    start = np.repeat(begin[rows] + head - 2 * before[first], counts) + 2 * before
    wrong = count > ARRAY_LIMIT
    wrong[1:] |= (key[1:] <= key[:-1]) & (row[1:] == row[:-1])
    parsed[row[wrong]] = False
    size = np.zeros(len(begin), np.int64)
    size[rows] = head + 2 * np.add.reduceat(count, first) if len(rows) else 0
    parsed &= size == end - begin
    found = ArrayContainers(data, row, key, number, start, count, np.zeros(len(begin), np.int64), parsed)
    return found.of(parsed)


def _numbers(data: np.ndarray, at: np.ndarray, width: int) -> np.ndarray:
    """Unsigned numbers of so many bytes. int64, shape of `at`."""
    found = np.zeros(len(at), np.int64)
    for place in range(width):
        found |= data[at + place].astype(np.int64) << 8 * place
    return found


def united_numbers(column: pa.Array, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different numbers of each group of bitmaps, below the number of the group; and of which groups they are.

    Args: `starts`: first bitmap of each group.
    Returns: uint64, ascending; bool, shape (groups,).
    """
    found, group_of, good = grouped_containers(column, starts, array_containers_32)
    upper = (group_of[found.row] << 32 | found.key << 16).astype(_U64)
    numbers = np.repeat(upper, found.count)
    numbers |= found.values()
    # Of one bitmap they ascend, or it is damaged.
    falls = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
    row = found.row[np.searchsorted(np.cumsum(found.count), np.append(falls, falls - 1), side="right")].reshape(2, -1)
    damaged = group_of[row[0, row[0] == row[1]]]
    if len(damaged):
        good[damaged] = False
        numbers = numbers[good[_group_of(numbers)]]
    # Each bitmap is an ascending run: these are merged.
    numbers = np.sort(numbers, kind="stable")
    numbers = numbers[_changes(numbers)]
    good &= np.bincount(_group_of(numbers[_changes(numbers >> _U64(32))]), minlength=len(good)) > 0
    return numbers, good


def united_arrays_32(column: pa.Array, starts: np.ndarray) -> Unions:
    """The union of each group of bitmaps, as far as both consist of arrays, and the union cannot be runs.

    Args: `starts`: first bitmap of each group.
    """
    numbers, good = united_numbers(column, starts)
    first, uncertain = _containers(numbers)
    if uncertain.any():
        good[_group_of(numbers[first[uncertain]])] = False
        numbers = numbers[good[_group_of(numbers)]]
        first, _ = _containers(numbers)
    cells = numbers[first] >> _U64(16)
    groups = np.flatnonzero(_changes(cells >> _U64(16)))
    keys = (cells & _U64(0xFFFF)).astype(np.int64)
    return Unions(np.flatnonzero(good), serialize_arrays(numbers.astype(np.uint16), keys, first, groups))


def _containers(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first number of each container, and whether an array may not be its form."""
    first = np.flatnonzero(_changes(numbers >> _U64(16)))
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
