"""Paimon's hashes of bytes: 32 bit Murmur3 over little endian words. Source: metadata section 7."""

import numpy as np

SEED = 42


def hash_rows(words: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Hash of each row.

    Args: `words`: uint64, the rows one after the other; `starts`, `sizes`: int64, shape (n,), of each row in words.
    Returns: int32, shape (n,).
    """
    halves = words.view("<u4")
    state = np.full(len(sizes), SEED, np.uint32)
    if len(sizes) and (sizes == sizes[0]).all():
        for half in halves.reshape(len(sizes), -1).T:
            _mix(state, half)
        return _finished(state ^ np.uint32(8 * sizes[0])).view(np.int32)
    # Rows by falling size: at every step the rows that still have words are the first ones.
    order = np.argsort(-sizes, kind="stable")
    starts, sizes = 2 * starts[order], 2 * sizes[order]
    active = len(order)
    for step in range(int(sizes[0]) if len(order) else 0):
        if sizes[active - 1] <= step:
            active = int(np.searchsorted(-sizes, -step, side="left"))
        _mix(state[:active], halves[starts[:active] + step])
    hashes = np.empty(len(order), np.uint32)
    hashes[order] = _finished(state ^ (4 * sizes).astype(np.uint32))
    return hashes.view(np.int32)


def _scrambled(word: np.ndarray) -> np.ndarray:
    word = word * np.uint32(0xCC9E2D51)
    _rotate(word, 15)
    word *= np.uint32(0x1B873593)
    return word


def _mix(state: np.ndarray, word: np.ndarray) -> None:
    """In place, as a new array each time takes longer to get than to fill."""
    state ^= _scrambled(word)
    _rotate(state, 13)
    state *= np.uint32(5)
    state += np.uint32(0xE6546B64)


def _finished(state: np.ndarray) -> np.ndarray:
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray(state ^ (state >> np.uint32(16)))


def _rotate(word: np.ndarray, bits: int) -> None:
    low = word >> np.uint32(32 - bits)
    word <<= np.uint32(bits)
    word |= low


def hash_bytes(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Hash of each string of bytes: whole words, then each byte that is left as a (signed) word of its own.

    Args: `data`: uint8, the strings one after the other; `offsets`: int64, shape (n + 1,).
    Returns: int32, shape (n,). Source: Java `MurmurHashUtils.hashBytes`.
    """
    sizes = np.diff(offsets)
    order = np.argsort(-sizes, kind="stable")
    starts, sizes = offsets[:-1][order], sizes[order]
    state = np.full(len(order), SEED, np.uint32)
    words = np.ndarray((max(0, len(data) - 3),), "<u4", np.ascontiguousarray(data), strides=(1,))
    for step in range(int(sizes[0]) // 4 if len(order) else 0):
        active = int(np.searchsorted(-sizes, -4 * (step + 1), side="right"))
        _mix(state[:active], words[starts[:active] + 4 * step])
    for step in range(3):
        rows = np.flatnonzero(sizes % 4 > step)
        tail = data[starts[rows] + sizes[rows] // 4 * 4 + step].view(np.int8).astype(np.int32).view(np.uint32)
        some = state[rows]
        _mix(some, tail)
        state[rows] = some
    hashes = np.empty(len(order), np.uint32)
    hashes[order] = _finished(state ^ sizes.astype(np.uint32))
    return hashes.view(np.int32)


def unseeded_hash(data: bytes) -> int:
    """Hash of one string of bytes as Murmur3 defines it, seed 0; 0 to 2^32 - 1. Source: Guava's `murmur3_32`."""
    whole = len(data) // 4 * 4
    state = np.zeros(1, np.uint32)
    for word in np.frombuffer(data[:whole], "<u4").reshape(-1, 1):
        _mix(state, word)
    if whole < len(data):
        state = state ^ _scrambled(np.array([int.from_bytes(data[whole:], "little")], np.uint32))
    return int(_finished(state ^ np.uint32(len(data)))[0])
