"""Timestamps of seven to nine digits of all years, as columns of whole nanoseconds since 1970.

Arrow's nanoseconds are 64 bits and end in 1677 and 2262. Inside the engine such columns are decimals of 128 bits,
whose digits are the nanoseconds: they compare, sort and join like every other number. `NANOS` is a type that no
DECIMAL has (its point stands before the first digit), so that nothing else is taken for it.

A value has at most 64 bits of microseconds (292,000 years), which is what `TIMESTAMP(6)` has, too.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NANOS = pa.decimal128(37, 38)

_PER_MICRO = 1000
# 2^64 nanoseconds in microseconds, and the remainder.
_WORD_MICROS, _WORD_REST = divmod(2**64, _PER_MICRO)
_MICROS_PER = {"s": 10**6, "ms": 10**3, "us": 1}
_U32 = np.uint64(32)
_LOW_HALF = 0xFFFFFFFF


def of_parts(micros: np.ndarray, rest: np.ndarray, nulls: np.ndarray | None = None) -> pa.Array:
    """Timestamps of microseconds since 1970 and the nanoseconds behind them.

    Args: `micros`: int64, shape (n,); `rest`: int64, 0 to 999; `nulls`: true where null, None = nowhere.
    """
    upper = (micros >> 32) * _PER_MICRO
    lower = (micros & _LOW_HALF) * _PER_MICRO + rest
    shifted = (upper & _LOW_HALF).astype(np.uint64) << _U32
    low = shifted + lower.astype(np.uint64)  # wraps around where the upper half gets one more
    high = (upper >> 32) + (low < shifted)
    return _of_words(low, high, nulls)


def _of_words(low: np.ndarray, high: np.ndarray, nulls: np.ndarray | None) -> pa.Array:
    words = np.empty((len(low), 2), "<u8")
    words[:, 0] = low
    words[:, 1] = high.view(np.uint64)
    valid = None
    if nulls is not None and nulls.any():
        words[nulls] = 0
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(NANOS, len(low), [valid, pa.py_buffer(words)])


def widened(array: pa.Array) -> pa.Array:
    """Timestamps of any unit as `NANOS`. Raises: pa.ArrowInvalid: 64 bits of microseconds do not hold one."""
    nulls = _nulls(array)
    if array.type.unit == "ns":
        low = _numbers(array)
        return _of_words(low.view(np.uint64), low >> 63, nulls)
    return of_parts(_numbers(array.cast(pa.timestamp("us", array.type.tz))), np.zeros(len(array), np.int64), nulls)


def parts_of(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Microseconds since 1970 and the nanoseconds behind them, 0 to 999: int64, shape (n,); of nulls, zeros."""
    low, high = _words(array)
    below = high * _WORD_REST + (low % np.uint64(_PER_MICRO)).astype(np.int64)
    more, rest = np.divmod(below, _PER_MICRO)
    micros = high * _WORD_MICROS + (low // np.uint64(_PER_MICRO)).astype(np.int64) + more
    return micros, rest


def micros_of(array: pa.Array, tz: str | None) -> pa.Array:
    """The timestamps in microseconds, what is behind them cut off towards the past."""
    micros, _ = parts_of(array)
    return pa.array(micros, pa.int64(), mask=_nulls(array)).cast(pa.timestamp("us", tz))


def with_rest(micros: pa.Array, rest: np.ndarray) -> pa.Array:
    """Timestamps in microseconds as `NANOS` with the nanoseconds behind them."""
    return of_parts(_numbers(micros), rest, _nulls(micros))


def fits_nanoseconds(array: pa.Array) -> bool:
    """Whether Arrow's nanoseconds hold all of them."""
    low, high = _words(array)
    return bool((high == low.view(np.int64) >> 63).all())


def has_finer_digits(array: pa.Array) -> bool:
    """Whether microseconds do not hold all of them."""
    return bool(parts_of(array)[1].any())


def in_nanoseconds(array: pa.Array, tz: str | None) -> pa.Array:
    """As Arrow's nanoseconds, which must hold all of them: see `fits_nanoseconds`."""
    low, _ = _words(array)
    return pa.array(low.view(np.int64), pa.int64(), mask=_nulls(array)).cast(pa.timestamp("ns", tz))


def floored(array: pa.Array, precision: int) -> pa.Array:
    """Without the digits behind a precision of 6 to 9, towards the past."""
    step = 10 ** (9 - precision)
    if step == 1:
        return array
    micros, rest = parts_of(array)
    return of_parts(micros, rest // step * step, _nulls(array))


def scalar(nanos: int | None) -> pa.Scalar:
    """Nanoseconds since 1970 as a scalar. Raises: OverflowError: 64 bits of microseconds do not hold it."""
    return array_of([nanos])[0]


def array_of(values: "list[Any]") -> pa.Array:
    """Nanoseconds since 1970, or None, as an array. For a few values. Raises: OverflowError."""
    pairs = [(0, 0) if value is None else divmod(int(value), _PER_MICRO) for value in values]
    nulls = np.array([value is None for value in values], bool)
    micros = np.array([pair[0] for pair in pairs], np.int64)
    return of_parts(micros, np.array([pair[1] for pair in pairs], np.int64), nulls)


def list_of(array: pa.Array | pa.ChunkedArray) -> list[int | None]:
    """Nanoseconds since 1970. For a few values, not for data."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in list_of(chunk)]
    micros, rest = parts_of(array)
    pairs = zip(micros.tolist(), rest.tolist(), array.is_null().to_pylist(), strict=True)
    return [None if null else whole * _PER_MICRO + below for whole, below, null in pairs]


def _words(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The lower half of each value, uint64, and the upper one, int64; of nulls, zeros."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), np.uint64), np.zeros(len(array), np.int64)
    words = np.frombuffer(buffer, "<u8", 2 * len(array), 16 * array.offset)
    low, high = np.ascontiguousarray(words[::2]), np.ascontiguousarray(words[1::2]).view(np.int64)
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        low, high = np.where(nulls, np.uint64(0), low), np.where(nulls, 0, high)
    return low, high


def _numbers(array: pa.Array) -> np.ndarray:
    return np.asarray(pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))


def _nulls(array: pa.Array) -> np.ndarray | None:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False)) if array.null_count else None
