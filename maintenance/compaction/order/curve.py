"""The Hilbert curve as a state machine: bits of a point go in, bits of its place on the curve come out.

One step of Skilling's method looks at one bit of each axis, mirrors and exchanges the lower bits, and may
reverse them. What steps have done to the lower bits is a state, and there are few: axes in another order, some
mirrored. So a table has the next bits and the next state for each state and some bits of every axis, and a point takes
a few lookups instead of several operations for each of its bits. For many axes there are too many states: then the
steps themselves are done for all points. Source: J. Skilling, Programming the Hilbert curve (2004).
"""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

from maintenance.compaction.order.bits import WORD_BITS, in_turn

# Tables for more axes take longer to make than they save.
_MOST_AXES = 4
_TABLE_ENTRIES = 1 << 17
_ROWS_AT_ONCE = 1 << 13
# For each lower bit of the axes: which axis it is taken from, and whether it is turned around; and whether the place's
# bits are.
_State = tuple[tuple[tuple[int, int], ...], int]


def places(axes: Sequence[np.ndarray], bits: int) -> list[np.ndarray]:
    """The places of points on the curve as words, most significant first: uint64, shape (n,), zeros at the end.

    Args: `axes`: at least two, uint64, shape (n,), below 2**bits.
    """
    if len(axes) <= _MOST_AXES:
        return _looked_up(axes, bits)
    turned = [axis.copy() for axis in axes]
    for start in range(0, len(axes[0]), _ROWS_AT_ONCE):
        transpose([axis[start : start + _ROWS_AT_ONCE] for axis in turned], bits)
    return in_turn(turned, bits)


def transpose(x: Sequence[np.ndarray], bits: int) -> None:
    """Turn points into places on the curve, as interleaved bits. `x`: axes, uint64, shape (n,), each below 2**bits."""
    one = np.uint64(1)
    high, low, turned = (np.zeros(len(x[0]), np.uint64) for _ in range(3))

    def bit(axis: np.ndarray, level: int) -> None:
        """All ones in `high` where the bit is set."""
        np.right_shift(axis, np.uint64(level), out=high)
        np.bitwise_and(high, one, out=high)
        np.negative(high, out=high)

    for level in range(bits - 1, 0, -1):
        below = np.uint64((1 << level) - 1)
        for axis in x:
            # Where the bit is set the first axis is mirrored, else its lower bits are exchanged with this axis'.
            bit(axis, level)
            np.bitwise_xor(x[0], axis, out=low)
            np.bitwise_and(low, below, out=low)
            np.bitwise_and(low, ~high, out=low)
            np.bitwise_xor(axis, low, out=axis)
            np.bitwise_and(high, below, out=high)
            np.bitwise_or(high, low, out=high)
            np.bitwise_xor(x[0], high, out=x[0])
    for axis, before in zip(x[1:], x, strict=False):
        axis ^= before
    for level in range(bits - 1, 0, -1):
        bit(x[-1], level)
        np.bitwise_and(high, np.uint64((1 << level) - 1), out=high)
        turned ^= high
    for axis in x:
        axis ^= turned


def _looked_up(axes: Sequence[np.ndarray], bits: int) -> list[np.ndarray]:
    count, rows = len(axes), len(axes[0])
    at_once = _at_once(count, bits)
    digits, following = _tables(count, at_once)
    width, taken = at_once * count, np.uint64((1 << at_once) - 1)
    out = [np.zeros(rows, np.uint64) for _ in range(-(-count * bits // WORD_BITS))]
    for start in range(0, rows, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        state = np.zeros(len(axes[0][part]), np.uint64)
        for turn in range(1, bits // at_once + 1):
            entry = state
            for axis in axes:
                entry = entry << np.uint64(at_once) | axis[part] >> np.uint64(bits - turn * at_once) & taken
            code, state = digits[entry], following[entry]
            word, end = divmod(turn * width, WORD_BITS)
            if end:
                out[word][part] |= code << np.uint64(WORD_BITS - end)
            if end < width:
                out[word - 1][part] |= code >> np.uint64(end)
    return out


def _at_once(count: int, bits: int) -> int:
    """How many bits of each axis a table takes, so that some times as many are all of them."""
    states = len(_steps(count)[0]) >> count
    fitting = (width for width in range(2, bits + 1) if bits % width == 0 and states << width * count <= _TABLE_ENTRIES)
    return max(fitting, default=1)


@cache
def _tables(count: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Bits of places and next states, by state and some bits of each axis: uint64, shape (states << count * bits,)."""
    digits, following = _steps(count)
    entries = np.arange(len(digits) >> count << count * bits)
    state, out = entries >> count * bits, np.zeros(len(entries), np.uint64)
    for bit in range(bits - 1, -1, -1):
        entry = state
        for axis in range(count - 1, -1, -1):
            entry = entry << 1 | entries >> axis * bits + bit & 1
        out = out << np.uint64(count) | digits[entry]
        state = following[entry]
    return out, state.astype(np.uint64)


@cache
def _steps(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The tables for one bit of each axis: bits of places, uint64, and next states."""
    first: _State = tuple((axis, 0) for axis in range(count)), 0
    numbers, waiting = {first: 0}, [first]
    digits, following = [], []
    for state in waiting:
        for point in product((0, 1), repeat=count):
            digit, after = _step(state, point)
            if after not in numbers:
                numbers[after] = len(waiting)
                waiting.append(after)
            digits.append(digit)
            following.append(numbers[after])
    return np.array(digits, np.uint64), np.array(following)


def _step(state: _State, point: Sequence[int]) -> tuple[int, _State]:
    """Bits of the place, first axis highest, and the next state."""
    axes, turned = list(state[0]), state[1]
    bits = [point[axis] ^ mirrored for axis, mirrored in axes]
    for number, bit in enumerate(bits):
        if bit:
            axes[0] = (axes[0][0], axes[0][1] ^ 1)
        else:
            axes[0], axes[number] = axes[number], axes[0]
    digit = gray = 0
    for bit in bits:
        gray ^= bit
        digit = digit << 1 | gray ^ turned
    return digit, (tuple(axes), turned ^ gray)
