"""XXH64, Wang's hash and the bloom filter of one column, one value at a time, from their public descriptions."""

import math
import struct
from collections.abc import Iterable

_MASK = 2**64 - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def xxh64(data: bytes) -> int:
    """XXH64 with seed 0, as a signed number."""
    position = 0
    if len(data) >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while position + 32 <= len(data):
            for number in range(4):
                lanes[number] = _round(lanes[number], _int(data, position + 8 * number, 8))
            position += 32
        state = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            state = ((state ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        state = _P5
    state = (state + len(data)) & _MASK
    while position + 8 <= len(data):
        state = (_rotate(state ^ _round(0, _int(data, position, 8)), 27) * _P1 + _P4) & _MASK
        position += 8
    if position + 4 <= len(data):
        state = (_rotate(state ^ (_int(data, position, 4) * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in data[position:]:
        state = _rotate(state ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    state = (state ^ state >> 33) * _P2 & _MASK
    state = (state ^ state >> 29) * _P3 & _MASK
    return _signed(state ^ state >> 32, 64)


def wang(key: int) -> int:
    """Wang's hash of a signed 64 bit number; Python's `>>` is arithmetic, as in Java."""
    key = _signed(~key + (key << 21), 64)
    key ^= key >> 24
    key = _signed(key + (key << 3) + (key << 8), 64)
    key ^= key >> 14
    key = _signed(key + (key << 2) + (key << 4), 64)
    key ^= key >> 28
    return _signed(key + (key << 31), 64)


def bloom_filter(hashes: Iterable[int], items: int, fpp: float) -> bytes:
    """The body of a filter of signed 64 bit hashes."""
    bits = int(-items * math.log(fpp) / math.log(2) ** 2)
    bits += 8 - bits % 8
    count = max(1, math.floor(bits / items * math.log(2) + 0.5))
    filled = bytearray(bits // 8)
    for value in hashes:
        low, high = _signed(value, 32), _signed(value >> 32, 32)
        for number in range(1, count + 1):
            combined = _signed(low + number * high, 32)
            bit = (~combined if combined < 0 else combined) % bits
            filled[bit // 8] |= 1 << bit % 8
    return struct.pack(">i", count) + bytes(filled)


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _int(data: bytes, start: int, length: int) -> int:
    return int.from_bytes(data[start : start + length], "little")


def _signed(value: int, bits: int) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >> bits - 1 else value
