"""Paimon's row hash, one row and one word at a time: the obvious model of `maintenance.format.bytes.murmur`."""

from collections.abc import Sequence

from maintenance.format.rows.binary_row import serialize_row
from maintenance.types.data_type import DataType
from maintenance.types.values import Value

MASK = 0xFFFFFFFF


def rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & MASK


def murmur(data: bytes, seed: int = 42) -> int:
    """The signed 32 bit hash of bytes whose number is a multiple of four."""
    state = seed
    for start in range(0, len(data), 4):
        word = int.from_bytes(data[start : start + 4], "little")
        word = rotated(word * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
        state = (rotated(state ^ word, 13) * 5 + 0xE6546B64) & MASK
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & MASK
    state ^= state >> 16
    return state - (1 << 32) if state >= 1 << 31 else state


def row_hash(values: Sequence[Value], types: Sequence[DataType]) -> int:
    """The hash of a row; the number of fields in front of it does not count."""
    return murmur(serialize_row(values, types)[4:])
