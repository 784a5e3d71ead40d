"""Hashes of whole columns: XXH64 of texts and bytes, Thomas Wang's hash of 64 bit integers.

XXH64 takes 32 bytes at a time, then 8, 4 and single bytes of the rest. All rows take each step together: sorted by
length, longest first, the rows that still have a step to take are a prefix. Source: xxHash specification, XXH64 with
seed 0; Wang's "Integer Hash Function", whose shifts to the right are arithmetic in Java.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_LANES = (np.uint64(0x60EA27EEADC0B5D6), _P2, np.uint64(0), np.uint64(0x61C8864E7A143579))  # P1 + P2, P2, 0, -P1


def long_hashes(values: np.ndarray) -> np.ndarray:
    """Wang's hash of each value. `values`: int64, shape (n,). Returns: int64, shape (n,)."""
    key = (values << 21) + ~values
    key ^= key >> 24
    key *= 1 + (1 << 3) + (1 << 8)
    key ^= key >> 14
    key *= 1 + (1 << 2) + (1 << 4)
    key ^= key >> 28
    key *= 1 + (1 << 31)
    return np.asarray(key)


def xxh64(array: pa.Array) -> np.ndarray:
    """XXH64 with seed 0 of each value's bytes. `array`: n texts or bytes; nulls get some hash. Returns: int64, (n,)."""
    binary = pc.cast(array, pa.large_binary())
    offsets = np.frombuffer(binary.buffers()[1], np.int64)[binary.offset : binary.offset + len(binary) + 1]
    data = np.frombuffer(binary.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    order = np.argsort(-lengths, kind="stable")
    hashes = np.empty(len(binary), np.uint64)
    hashes[order] = _xxh64_longest_first(data, offsets[:-1][order], lengths[order])
    return hashes.view(np.int64)


def _xxh64_longest_first(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Hashes of `data[start : start + length]`, lengths descending. Returns: uint64, shape (n,)."""
    words = _words(data, 8)
    hashes = np.full(len(starts), _P5)
    long = int(np.count_nonzero(lengths >= 32))
    hashes[:long] = _stripes(words, starts[:long], lengths[:long] // 32)
    hashes += lengths.astype(np.uint64)
    position = starts + lengths // 32 * 32
    rest = lengths % 32
    for step in range(3):
        rows = np.flatnonzero(rest >= 8 * (step + 1))
        lane = _round(np.zeros(len(rows), np.uint64), words[position[rows] + 8 * step])
        hashes[rows] = _rotated(hashes[rows] ^ lane, 27) * _P1 + _P4
    position, rest = position + rest // 8 * 8, rest % 8
    rows = np.flatnonzero(rest >= 4)
    lane = _words(data, 4)[position[rows]].astype(np.uint64) * _P1
    hashes[rows] = _rotated(hashes[rows] ^ lane, 23) * _P2 + _P3
    position, rest = position + rest // 4 * 4, rest % 4
    for step in range(3):
        rows = np.flatnonzero(rest > step)
        lane = data[position[rows] + step].astype(np.uint64) * _P5
        hashes[rows] = _rotated(hashes[rows] ^ lane, 11) * _P1
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
    return hashes ^ (hashes >> np.uint64(32))


def _stripes(words: np.ndarray, starts: np.ndarray, stripes: np.ndarray) -> np.ndarray:
    """The state after all 32 byte stripes. `stripes`: how many each row has, at least 1, descending."""
    lanes = [np.full(len(starts), seed) for seed in _LANES]
    for stripe in range(int(stripes[0]) if len(stripes) else 0):
        active = int(np.searchsorted(-stripes, -stripe, side="left"))
        for number, lane in enumerate(lanes):
            lane[:active] = _round(lane[:active], words[starts[:active] + (32 * stripe + 8 * number)])
    state = np.zeros(len(starts), np.uint64)
    for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True):
        state += _rotated(lane, bits)
    for lane in lanes:
        state = (state ^ _round(np.zeros(len(lane), np.uint64), lane)) * _P1 + _P4
    return state


def _round(lane: np.ndarray, word: np.ndarray) -> np.ndarray:
    return _rotated(lane + word * _P2, 31) * _P1


def _rotated(values: np.ndarray, bits: int) -> np.ndarray:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


def _words(data: np.ndarray, size: int) -> np.ndarray:
    """A view of `data` in which element i is the little endian integer of `size` bytes at byte i."""
    return np.ndarray((max(0, len(data) - size + 1),), f"<u{size}", data, strides=(1,))
