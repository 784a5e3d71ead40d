"""ORC's run-length encoding of integers, version 2 (`DIRECT_V2`), a run of up to 512 numbers at a time.

Arrow reads and writes all columns but some timestamps, whose streams are decoded and encoded here.
Source: ORC specification v1, "Run Length Encoding".
"""

import numpy as np

from maintenance.format.bytes.varint import read_varint, unzigzag

_SHORT_REPEAT, _DIRECT, _PATCHED, _DELTA = range(4)
_MAX_RUN = 512
_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)


def decode_integers(data: bytes, *, signed: bool) -> np.ndarray:
    """All numbers of a stream, int64. Raises: ValueError, IndexError: it is damaged."""
    runs, position = [], 0
    while position < len(data):
        encoding = data[position] >> 6
        if encoding == _SHORT_REPEAT:
            values, position = _short_repeat(data, position, signed)
        elif encoding == _DIRECT:
            values, position = _direct(data, position, signed)
        elif encoding == _DELTA:
            values, position = _delta(data, position, signed)
        else:
            values, position = _patched(data, position)
        runs.append(values)
    return np.concatenate(runs) if runs else np.zeros(0, np.int64)


def _short_repeat(data: bytes, position: int, signed: bool) -> tuple[np.ndarray, int]:
    header = data[position]
    end = position + 2 + (header >> 3 & 7)
    value = int.from_bytes(data[position + 1 : end], "big")
    return np.full((header & 7) + 3, unzigzag(value) if signed else _wrapped(value), np.int64), end


def _width_and_length(data: bytes, position: int) -> tuple[int, int]:
    """The width's code and the number of values, out of two bytes."""
    header = data[position]
    return header >> 1 & 0x1F, ((header & 1) << 8 | data[position + 1]) + 1


def _direct(data: bytes, position: int, signed: bool) -> tuple[np.ndarray, int]:
    code, length = _width_and_length(data, position)
    values, end = _unpacked(data, position + 2, _WIDTHS[code], length)
    if signed:
        values = (values >> np.uint64(1)) ^ (~(values & np.uint64(1)) + np.uint64(1))
    return values.view(np.int64), end


def _wrapped(value: int) -> int:
    """The int64 of the same 64 bits."""
    return value - (1 << 64) if value >> 63 else value


def _delta(data: bytes, position: int, signed: bool) -> tuple[np.ndarray, int]:
    code, length = _width_and_length(data, position)
    base, position = read_varint(data, position + 2)
    step, position = read_varint(data, position)
    first, step = unzigzag(base) if signed else _wrapped(base), unzigzag(step)
    steps = np.full(length, step, np.int64)
    steps[0] = first
    if code and length > 2:
        further, position = _unpacked(data, position, _WIDTHS[code], length - 2)
        steps[2:] = further.view(np.int64) if step >= 0 else -further.view(np.int64)
    return np.cumsum(steps), position


def _patched(data: bytes, position: int) -> tuple[np.ndarray, int]:
    """Most values in few bits; patches hold further high bits of some, and the distances between these."""
    code, length = _width_and_length(data, position)
    width = _WIDTHS[code]
    base_bytes, patch_width = (data[position + 2] >> 5) + 1, _WIDTHS[data[position + 2] & 0x1F]
    gap_width, patches = (data[position + 3] >> 5) + 1, data[position + 3] & 0x1F
    position += 4
    base = int.from_bytes(data[position : position + base_bytes], "big")
    sign = 1 << 8 * base_bytes - 1
    base = -(base & ~sign) if base & sign else base
    values, position = _unpacked(data, position + base_bytes, width, length)
    packed = next(fitting for fitting in _WIDTHS if fitting >= patch_width + gap_width)
    listed, position = _unpacked(data, position, packed, patches)
    places = np.cumsum(listed >> np.uint64(patch_width)).astype(np.int64)
    bits = listed & np.uint64((1 << patch_width) - 1)
    there = bits != 0  # a gap too large for its bits is split, with patches of nothing between
    values[places[there]] |= bits[there] << np.uint64(width)
    return values.view(np.int64) + base, position


def _unpacked(data: bytes, position: int, width: int, count: int) -> tuple[np.ndarray, int]:
    """Numbers of `width` bits each, most significant bit first, uint64; and the position after their last byte."""
    size = (width * count + 7) // 8
    if position + size > len(data):
        raise ValueError("a run of numbers is cut off")
    bits = np.unpackbits(np.frombuffer(data, np.uint8, size, position))[: width * count].reshape(count, width)
    weights = np.uint64(1) << np.arange(width - 1, -1, -1, dtype=np.uint64)
    return bits.astype(np.uint64) @ weights, position + size


def encode_integers(values: np.ndarray, *, signed: bool) -> bytes:
    """Numbers, int64, as runs of equally many bits each. Unsigned ones are given as their 64 bits."""
    words = ((values << 1) ^ (values >> 63)).view(np.uint64) if signed else values.view(np.uint64)
    runs = []
    for start in range(0, len(words), _MAX_RUN):
        run = words[start : start + _MAX_RUN]
        width = next(fitting for fitting in _WIDTHS if fitting >= int(run.max()).bit_length())
        header = 1 << 14 | _WIDTHS.index(width) << 9 | len(run) - 1
        bits = np.unpackbits(run.astype(">u8").view(np.uint8)).reshape(-1, 64)[:, 64 - width :]
        runs.append(header.to_bytes(2, "big") + np.packbits(bits).tobytes())
    return b"".join(runs)
