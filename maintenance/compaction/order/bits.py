"""Interleaves the bits of columns: the highest bit of every column first, then the next ones.

A word of the result takes some neighbouring bits of each column, which are moved apart until there is room between
them for those of the others. That is done for all of them at once: halves are moved apart, then the halves of these.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

WORD_BITS = 64
# As many as a processor's cache holds with what is made of them.
_ROWS_AT_ONCE = 1 << 13


def in_turn(columns: Sequence[np.ndarray], bits: int) -> list[np.ndarray]:
    """Words, most significant first, filled up with zeros below: uint64, shape (n,).

    Args: `columns`: uint64, shape (n,) each, below 2**bits.
    """
    count, rows = len(columns), len(columns[0])
    if count == 1:
        return [columns[0] << np.uint64(WORD_BITS - bits)]
    out = [np.zeros(rows, np.uint64) for _ in range(-(-count * bits // WORD_BITS))]
    moved = np.empty(min(rows, _ROWS_AT_ONCE), np.uint64)
    spare = np.empty_like(moved)
    for start in range(0, rows, _ROWS_AT_ONCE):
        stop = min(rows, start + _ROWS_AT_ONCE)
        part, other = moved[: stop - start], spare[: stop - start]
        for number, word in enumerate(out):
            into = word[start:stop]
            for column, values in enumerate(columns):
                _take(values[start:stop], _share(number, column, count, bits), part, other)
                into |= part
    return out


@cache
def _share(word: int, column: int, count: int, bits: int) -> tuple[int, int, int, tuple[tuple[int, int], ...]]:
    """What a word takes of a column: where its lowest bit is in the column and in the word; how many; how they move."""
    first = -(-(word * WORD_BITS - column) // count)
    last = min(bits - 1, ((word + 1) * WORD_BITS - 1 - column) // count)
    taken = last - first + 1
    return bits - 1 - last, (word + 1) * WORD_BITS - 1 - (last * count + column), taken, tuple(_moves(taken, count))


def _moves(bits: int, stride: int) -> Iterator[tuple[int, int]]:
    """Steps that move this many bits apart: by how much to shift, and the bits that then are right."""
    size = 1 << max(0, bits - 1).bit_length()
    while size > 1:
        size //= 2
        mask = sum(1 << (bit // size * size * stride + bit % size) for bit in range(bits))
        yield size * (stride - 1), mask & (1 << WORD_BITS) - 1


def _take(
    values: np.ndarray, share: tuple[int, int, int, tuple[tuple[int, int], ...]], into: np.ndarray, spare: np.ndarray
) -> None:
    low, place, taken, moves = share
    np.right_shift(values, np.uint64(low), out=into)
    np.bitwise_and(into, np.uint64((1 << max(0, taken)) - 1), out=into)
    for shift, mask in moves:
        np.left_shift(into, np.uint64(shift), out=spare)
        np.bitwise_or(into, spare, out=into)
        np.bitwise_and(into, np.uint64(mask), out=into)
    np.left_shift(into, np.uint64(place), out=into)
