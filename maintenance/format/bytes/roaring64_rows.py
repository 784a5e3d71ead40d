"""Many 64-bit roaring bitmaps at once: read, united, and written as Java's `Roaring64Bitmap` serializes them.

Most bitmaps hold few numbers, whose containers are arrays and whose trees are small. They are handled side by side, one
step for each place in their trees. What is larger, or is held as runs or bits, is left to those that take one bitmap at
a time (`roaring`). Source: data section 4.6.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.ragged import Ragged, Unions, ends, grouped, interleaved, spread
from maintenance.format.bytes.roaring import (
    ARRAY,
    ARRAY_LIMIT,
    BODY_BYTES,
    KEY_BYTES,
    LEAF,
    NODE,
    NODE4,
    NODE16,
    NOT_TRIMMED,
    NUMBER,
    SLOT,
)
from maintenance.types.integer_order import ascending_order, distinct_of_runs

_U64 = np.uint64
_HEAD, _SLOTS_HEAD = 9, 9
_LEAF_BODY = KEY_BYTES + NUMBER.size
_BODY_BYTES = np.array([*BODY_BYTES, _LEAF_BODY])
# Containers, nodes and places of a bitmap that is handled beside others: each is a step for all of them.
_MOST = 128
# Children of a node, beyond which it has a form that depends on its past.
_CHILDREN, _FEW_CHILDREN = 16, 4
_KEY_BITS = 8 * KEY_BYTES


@dataclass(frozen=True, slots=True)
class ArrayContainers:
    """The containers of some bitmaps, by bitmap, then key. Shapes (n,), but for `slots` and `parsed`: (bitmaps,).

    Attributes:
        data: uint8: the bytes of all bitmaps.
        row: which bitmap has it, ascending.
        key: the upper 48 bits of its values, ascending in a bitmap.
        number: its place among those of its bitmap.
        start: where its values begin in `data`; `count`: how many they are.
        slots: places for containers.
        parsed: which bitmaps are here: those of few containers, all of them arrays.
    """

    data: np.ndarray
    row: np.ndarray
    key: np.ndarray
    number: np.ndarray
    start: np.ndarray
    count: np.ndarray
    slots: np.ndarray
    parsed: np.ndarray

    def of(self, rows: np.ndarray) -> "ArrayContainers":
        """Those of some bitmaps. `rows`: bool, shape (bitmaps,)."""
        kept = rows[self.row]
        if kept.all():
            return replace(self, parsed=self.parsed & rows)
        return ArrayContainers(
            self.data,
            self.row[kept],
            self.key[kept],
            self.number[kept],
            self.start[kept],
            self.count[kept],
            self.slots,
            self.parsed & rows,
        )

    def values(self) -> np.ndarray:
        """The lower 16 bits of all values, container by container. Unsigned, shape (count.sum(),)."""
        if not len(self.start):
            return np.zeros(0, np.uint16)
        places = np.repeat(self.start - 2 * (np.cumsum(self.count) - self.count), self.count)
        places += 2 * np.arange(len(places))
        # The two bytes from each place on.
        pairs: np.ndarray = np.ndarray(len(self.data) - 1, "<u2", buffer=self.data, strides=(1,))
        return np.asarray(pairs[places])


def bytes_of(column: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bytes of binary values without nulls: all of them, and where each begins and ends."""
    column = column.cast(pa.large_binary())
    bounds = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    held = column.buffers()[2]
    # Of a slice the buffers are those of the whole.
    data = np.frombuffer(b"" if held is None else held, np.uint8)[bounds[0] : bounds[-1]]
    return data, bounds[:-1] - bounds[0], bounds[1:] - bounds[0]


def array_containers(column: pa.Array) -> ArrayContainers:
    """The containers of bitmaps. `column`: binary, without nulls."""
    return _Parser(*bytes_of(column)).containers()


def grouped_containers(
    column: pa.Array, starts: np.ndarray, parse: Callable[[pa.Array], ArrayContainers] = array_containers
) -> tuple[ArrayContainers, np.ndarray, np.ndarray]:
    """The containers of groups of bitmaps of which all are here, the group of each bitmap, and which groups these are.

    Args: `starts`: first bitmap of each group; `parse`: finds the containers.
    """
    found = parse(column)
    group_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(column)))
    good = np.logical_and.reduceat(found.parsed, starts)
    return found.of(good[group_of]), group_of, good


class _Parser:
    """Args: `begin`, `end`: of each bitmap in `data`."""

    def __init__(self, data: np.ndarray, begin: np.ndarray, end: np.ndarray) -> None:
        # What is read of a bitmap that is cut off lies behind its end, but in the array.
        self._data = np.concatenate([data, np.zeros(_LEAF_BODY + _HEAD, np.uint8)])
        # The eight bytes from each place on.
        self._little, self._big = (
            np.ndarray(len(self._data) - 7, order, buffer=self._data, strides=(1,)) for order in ("<u8", ">u8")
        )
        self._size = len(data)
        self._begin, self._end = begin, end
        self._good = end - begin > _HEAD

    def containers(self) -> ArrayContainers:
        rows = np.flatnonzero(self._good)
        counts = self._number(self._begin[rows] + 1, 8)
        small = (self._data[self._begin[rows]] == 1) & (counts > 0) & (counts <= _MOST)
        self._good[rows[~small]] = False
        rows, counts = rows[small], counts[small]
        leaf_row, nth, key, number, at = self._leaves(rows, self._begin[rows] + _HEAD)
        slot_row, place, start, count, slots = self._slots(rows, at)
        total, all_slots = np.zeros(len(self._begin), np.int64), np.zeros(len(self._begin), np.int64)
        total[rows], all_slots[rows] = counts, slots
        for found in (leaf_row, slot_row):
            self._good &= np.bincount(found, minlength=len(total)) == total
        leaves, held = self._good[leaf_row], self._good[slot_row]
        # The keys of a bitmap were found in ascending order, those of all bitmaps step by step.
        total = np.where(self._good, total, 0)
        row = np.repeat(np.arange(len(total)), total)
        at = ends(total)[leaf_row[leaves]] + nth[leaves]
        keys, numbers = np.empty(len(row), np.int64), np.empty(len(row), np.int64)
        keys[at], numbers[at] = key[leaves], number[leaves]
        first_slot = ends(np.where(self._good, all_slots, 0))
        # Of each place for a container: where one begins, -1 if there is none, and how many values it has.
        starts, sizes = np.full(first_slot[-1], -1), np.zeros(first_slot[-1], np.int64)
        place = first_slot[slot_row[held]] + place[held]
        starts[place], sizes[place] = start[held], count[held]
        wrong = (numbers < 0) | (numbers >= all_slots[row])
        slot = first_slot[row] + np.where(wrong, 0, numbers)
        asked = np.zeros(len(starts), bool)
        asked[slot] = True
        self._good[row[wrong | (starts[slot] < 0)]] = False
        self._good[slot_row[held][~asked[place]]] = False
        self._good[row[1:][(row[1:] == row[:-1]) & (keys[1:] <= keys[:-1])]] = False
        every = ArrayContainers(
            self._data, row, keys, numbers, starts[slot], sizes[slot], all_slots, np.ones(len(total), bool)
        )
        return every.of(self._good)

    def _number(self, at: np.ndarray, width: int, *, big_endian: bool = False) -> np.ndarray:
        """Unsigned numbers of so many bytes. int64, shape of `at`."""
        words = (self._big if big_endian else self._little)[at].astype(_U64, copy=False)
        unused = _U64(64 - 8 * width)
        return np.asarray((words if big_endian else words << unused) >> unused).view(np.int64)

    def _drop(self, rows: np.ndarray, at: np.ndarray, wrong: np.ndarray) -> tuple[np.ndarray, ...]:
        """Leave bitmaps out in which something is wrong, or whose end is passed."""
        wrong = wrong | (at > self._end[rows]) | (at >= self._size)
        self._good[rows[wrong]] = False
        return rows[~wrong], at[~wrong], ~wrong

    def _leaves(self, rows: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, ...]:
        """Bitmap, place among its leaves, key and number of each leaf; and where the tree of each bitmap ends."""
        found: list[tuple[np.ndarray, ...]] = [(np.zeros(0, np.int64),) * 4]
        after = np.zeros(len(self._begin), np.int64)
        after[rows] = at
        open_nodes, nth = np.ones(len(rows), np.int64), np.zeros(len(rows), np.int64)
        asked = rows
        for _ in range(2 * _MOST):
            rows, at, kept = self._drop(rows, at, np.zeros(len(rows), bool))
            open_nodes, nth = open_nodes[kept], nth[kept]
            if not len(rows):
                break
            kind = self._data[at]
            children = self._number(at + 1, 2)
            at = at + NODE.size + self._data[at + 3]
            rows, at, kept = self._drop(rows, at, kind > LEAF)
            kind, children, open_nodes, nth = kind[kept], children[kept], open_nodes[kept], nth[kept]
            leaf = kind == LEAF
            place = at[leaf]
            key = self._number(place, KEY_BYTES, big_endian=True)
            found.append((rows[leaf], nth[leaf], key, self._number(place + KEY_BYTES, 8)))
            nth = nth + leaf
            at = at + _BODY_BYTES[kind]
            after[rows] = at
            open_nodes = open_nodes + children - 1
            going = open_nodes > 0
            rows, at, open_nodes, nth = rows[going], at[going], open_nodes[going], nth[going]
        self._good[rows] = False
        row, nth, key, number = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return row, nth, key, number, after[asked]

    def _slots(
        self, rows: np.ndarray, at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Bitmap, place, start and count of each container; and how many places each bitmap has."""
        asked = np.minimum(at, self._size)
        arrays, slots = self._number(asked, 4), self._number(asked + 5, 4)
        rows, at, kept = self._drop(rows, asked + _SLOTS_HEAD, (arrays != 1) | (slots > _MOST))
        length = slots[kept]
        found: list[tuple[np.ndarray, ...]] = [(np.zeros(0, np.int64),) * 4]
        for place in range(_MOST):
            going = (place < length) & self._good[rows]
            rows, at, length = rows[going], at[going], length[going]
            rows, at, kept = self._drop(rows, at, at >= self._end[rows])
            length = length[kept]
            if not len(rows):
                break
            there = self._data[at] != 0
            kind, count = self._data[at + 1], self._number(at + 2, 4)
            start = at + SLOT.size
            at = np.where(there, start + 2 * count, at + 1)
            wrong = there & ((kind != ARRAY) | (count > ARRAY_LIMIT) | (count == 0))
            before = rows
            rows, at, kept = self._drop(rows, at, wrong)
            length = length[kept]
            used = there & kept
            found.append((before[used], np.full(int(used.sum()), place), start[used], count[used]))
        row, number, start, count = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return row, number, start, count, slots


def united_arrays(column: pa.Array, starts: np.ndarray) -> Unions:
    """The union of each group of bitmaps, as far as it consists of arrays.

    Containers keep the order of a group's first bitmap; what others bring is added in the order of its keys.

    Args: `starts`: first bitmap of each group, at most `MOST_GROUPS` of them.
    """
    found, group_of, good = grouped_containers(column, starts)
    cells, values = _cells(found, group_of)
    good[cells.group[cells.uncertain]] = False
    good &= np.bincount(cells.group, minlength=len(good)) > 0
    kept = good[cells.group]
    if not kept.all():
        values, cells = values.take(np.flatnonzero(kept)), cells.only(kept)
    chosen = np.flatnonzero(good)
    first = np.searchsorted(cells.group, chosen)
    counts = np.diff(first, append=len(cells.group))
    order, slots = _order_of_places(cells, first, counts, found.slots[starts[chosen]])
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(first, counts)
    nodes, large = _inner_nodes(cells.key, first)
    flat = ~np.logical_or.reduceat(large, first) if len(first) else np.zeros(0, bool)
    tree = interleaved(*nodes, _leaves(cells.key, number))
    slot_heads = np.zeros((len(order), SLOT.size), np.uint8)
    slot_heads[:, 0], slot_heads[:, 1] = 1, ARRAY
    slot_heads[:, 2:] = cells.size.astype("<i4").view(np.uint8).reshape(-1, 4)
    in_order = np.array_equal(order, np.arange(len(order)))
    containers = interleaved(_matrix(slot_heads), values)
    bitmaps = interleaved(
        _matrix(_heads(counts)),
        grouped(tree, first),
        _matrix(_slot_heads(slots)),
        grouped(containers if in_order else containers.take(order), first),
        _zeros(slots - counts),
        _matrix(_tails(counts)),
    )
    return Unions(chosen[flat], bitmaps.take(np.flatnonzero(flat)) if not flat.all() else bitmaps)


class _Cells(NamedTuple):
    """The containers of unions, by group, then key. Shapes (m,).

    Attributes:
        size: how many values it has.
        added: the bitmap that brought it, the oldest of its group that has it.
        is_first: whether that is the first of the group.
        number: its place in that bitmap.
        uncertain: an array may not be its form.
    """

    group: np.ndarray
    key: np.ndarray
    size: np.ndarray
    added: np.ndarray
    is_first: np.ndarray
    number: np.ndarray
    uncertain: np.ndarray

    def only(self, kept: np.ndarray) -> "_Cells":
        return _Cells(*(each[kept] for each in self))


def _cells(found: ArrayContainers, group_of: np.ndarray) -> tuple[_Cells, Ragged]:
    """The containers of unions, and their values."""
    group = group_of[found.row]
    word = group.astype(_U64) << _U64(_KEY_BITS) | found.key.astype(_U64)
    order = ascending_order(word)
    ordered = word[order]
    new = np.ones(len(order), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    cell_of = np.empty(len(order), np.int64)
    cell_of[order] = np.cumsum(new) - 1
    oldest = order[new]
    packed = distinct_of_runs(np.repeat(cell_of.astype(_U64) << _U64(16), found.count) | found.values())
    cell = (packed >> _U64(16)).astype(np.int64)
    count = np.bincount(cell, minlength=len(oldest))
    follows = np.zeros(len(packed), bool)
    follows[1:] = packed[1:] == packed[:-1] + _U64(1)
    follows[1:] &= cell[1:] == cell[:-1]
    runs = count - np.bincount(cell[follows], minlength=len(oldest))
    row = found.row[oldest]
    first_row = np.searchsorted(group_of, group[oldest])
    cells = _Cells(
        group[oldest],
        found.key[oldest],
        count,
        row,
        row == first_row,
        found.number[oldest],
        (count > ARRAY_LIMIT) | (count // 2 >= runs),
    )
    low = (packed & _U64(0xFFFF)).astype("<u2")
    return cells, Ragged(low.view(np.uint8), 2 * ends(count))


def _order_of_places(
    cells: _Cells, first: np.ndarray, counts: np.ndarray, slots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Containers by union and place in it, and how many places each union has: see `_grown` of rbm64."""
    order = np.lexsort((np.where(cells.is_first, cells.number, cells.key), cells.added, cells.group))
    held = np.add.reduceat(cells.is_first.astype(np.int64), first) if len(first) else counts
    for step in range(1, int((counts - held).max(initial=0)) + 1):
        now = held + step
        grows = (now <= counts) & (now > slots)
        slots = np.where(grows, np.maximum(slots + slots // 2, now), slots)
    return order, slots


def _heads(counts: np.ndarray) -> np.ndarray:
    heads = np.ones((len(counts), _HEAD), np.uint8)
    heads[:, 1:] = counts.astype("<i8").view(np.uint8).reshape(-1, 8)
    return heads


def _slot_heads(slots: np.ndarray) -> np.ndarray:
    heads = np.zeros((len(slots), _SLOTS_HEAD), np.uint8)
    heads[:, 0], heads[:, 4] = 1, NOT_TRIMMED
    heads[:, 5:] = slots.astype("<i4").view(np.uint8).reshape(-1, 4)
    return heads


def _tails(counts: np.ndarray) -> np.ndarray:
    tails = np.zeros((len(counts), 16), np.uint8)
    tails[:, :8] = counts.astype("<i8").view(np.uint8).reshape(-1, 8)
    tails[:, 12:] = (counts - 1).astype("<i4").view(np.uint8).reshape(-1, 4)
    return tails


def _leaves(key: np.ndarray, number: np.ndarray) -> Ragged:
    leaves = np.zeros((len(key), NODE.size + _LEAF_BODY), np.uint8)
    leaves[:, 0] = LEAF
    leaves[:, NODE.size : NODE.size + KEY_BYTES] = _key_bytes(key)
    leaves[:, NODE.size + KEY_BYTES :] = number.astype("<i8").view(np.uint8).reshape(-1, 8)
    return _matrix(leaves)


def _key_bytes(key: np.ndarray) -> np.ndarray:
    """The bytes of keys, the upper ones first. Shape (n, 6)."""
    return np.ascontiguousarray(key.astype(">i8")).view(np.uint8).reshape(-1, 8)[:, 2:]


def _inner_nodes(key: np.ndarray, first: np.ndarray) -> tuple[list[Ragged], np.ndarray]:
    """The nodes above leaves, by the byte that they branch at, each in front of the first leaf below it.

    Also which leaves are below a node of more than `_CHILDREN` children, which are not made.

    Args: `key`: ascending in a bitmap; `first`: first leaf of each bitmap.
    """
    count, of_key = len(key), _key_bytes(key)
    # How many bytes a leaf shares with the one before it; -1 where a bitmap begins, and behind the last one.
    shared = np.full(count + 1, -1)
    different = np.frexp((key[1:] ^ key[:-1]).astype(np.float64))[1]
    shared[1:count] = KEY_BYTES - 1 - (different - 1) // 8
    shared[first] = -1
    places = np.arange(count + 1)
    below_large = np.zeros(count + 1, np.int64)
    nodes = []
    for depth in range(KEY_BYTES):
        # Where one child of a node ends and the next begins.
        between = np.flatnonzero(shared == depth)
        less = shared < depth
        begin = np.maximum.accumulate(np.where(less, places, 0))[between]
        end = np.minimum.accumulate(np.where(less, places, count)[::-1])[::-1][between]
        new = np.ones(len(between), bool)
        new[1:] = begin[1:] != begin[:-1]
        node_of, begin, end = np.cumsum(new) - 1, begin[new], end[new]
        children = np.bincount(node_of, minlength=len(begin)) + 1
        large = children > _CHILDREN
        np.add.at(below_large, begin[large], 1)
        np.add.at(below_large, end[large], -1)
        child = np.arange(len(between)) - np.flatnonzero(new)[node_of] + 1
        bytes_of = np.zeros((len(begin), _CHILDREN), np.uint8)
        bytes_of[:, 0] = of_key[begin, depth]
        made = ~large[node_of]
        bytes_of[node_of[made], child[made]] = of_key[between[made], depth]
        parent = np.maximum(shared[begin], shared[end])
        prefix = np.where(large, 0, depth - parent - 1)
        few, many = children <= _FEW_CHILDREN, (children > _FEW_CHILDREN) & ~large
        heads = np.zeros((len(begin), NODE.size), np.uint8)
        heads[:, 0], heads[:, 1], heads[:, 3] = np.where(few, NODE4, NODE16), children, prefix
        four, halves = bytes_of[few, :_FEW_CHILDREN], bytes_of[many].reshape(-1, 2, _CHILDREN // 2)
        made_nodes = interleaved(
            Ragged(heads[~large].reshape(-1), ends(np.where(large, 0, NODE.size))),
            Ragged(of_key.reshape(-1)[spread(begin * KEY_BYTES + parent + 1, prefix)], ends(prefix)),
            Ragged(np.ascontiguousarray(four[:, ::-1]).reshape(-1), ends(np.where(few, _FEW_CHILDREN, 0))),
            Ragged(np.ascontiguousarray(halves[:, :, ::-1]).reshape(-1), ends(np.where(many, _CHILDREN, 0))),
        )
        sizes = np.zeros(count, np.int64)
        sizes[begin] = made_nodes.sizes
        nodes.append(Ragged(made_nodes.data, ends(sizes)))
    return nodes, np.cumsum(below_large[:count]) > 0


def _matrix(rows: np.ndarray) -> Ragged:
    """Each row's bytes. `rows`: uint8, shape (n, m)."""
    return Ragged(rows.reshape(-1), np.arange(len(rows) + 1) * rows.shape[1])


def _zeros(sizes: np.ndarray) -> Ragged:
    return Ragged(np.zeros(int(sizes.sum()), np.uint8), ends(sizes))
