"""Columns as 64-bit numbers, or as bytes, that sort as the values do and hold beyond one call.

Unlike those of `merge.sort_words` they do not depend on which values are there; the price is that they are not exact:
texts count with their first bytes, timestamps with their milliseconds, decimals as doubles. Source: data section 2.10,
Java `ZIndexer` and `ConvertBinaryUtil`.
"""

import numpy as np
import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.types.nanos import NANOS, parts_of

_SIGN = np.uint64(1 << 63)
# Bytes of a word.
_KEPT = np.array([2**64 - 2 ** (64 - 8 * length) for length in range(9)], np.uint64)
_PER_MILLI = {"s": 0, "ms": 1, "us": 1000, "ns": 10**6}
WORD_BYTES = 8
"""Of a number."""


def column_bytes(column: pa.Array, text_bytes: int = WORD_BYTES) -> np.ndarray:
    """uint8, shape (n, width), most significant first; null is all zeros. `text_bytes`: width of texts and bytes."""
    if not is_text(column.type):
        return column_codes(column).astype(">u8").view(np.uint8).reshape(-1, WORD_BYTES)
    words = [_text_codes(column, start) for start in range(0, text_bytes, WORD_BYTES)]
    return np.stack(words, axis=1).astype(">u8").view(np.uint8)[:, :text_bytes]


def column_codes(column: pa.Array) -> np.ndarray:
    """uint64, shape (n,). Null is 0."""
    if is_text(column.type):
        return _text_codes(column, 0)
    if not column.null_count:
        return _codes(column)
    codes = np.zeros(len(column), np.uint64)
    codes[column.is_valid().to_numpy(zero_copy_only=False)] = _codes(column.drop_null())
    return codes


def is_text(arrow: pa.DataType) -> bool:
    """Whether values are texts or bytes, which count with their first bytes."""
    return bool(pa.types.is_string(arrow) or pa.types.is_binary(arrow))


def _codes(column: pa.Array) -> np.ndarray:
    """The same of values none of which is null."""
    arrow = column.type
    if pa.types.is_boolean(arrow):
        return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.uint64) * _SIGN)
    if arrow == NANOS:
        return np.asarray((parts_of(column)[0] // 1000).view(np.uint64) ^ _SIGN)
    if pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return _of_doubles(column.cast(pa.float64()).to_numpy())
    if pa.types.is_temporal(arrow):
        numbers = column.view(pa.int32() if arrow.bit_width == 32 else pa.int64()).cast(pa.int64())
        values = numbers.to_numpy()
        per_milli = _PER_MILLI[arrow.unit] if pa.types.is_timestamp(arrow) else 1
        return np.asarray((values // max(1, per_milli)).astype(np.int64).view(np.uint64) ^ _SIGN)
    if pa.types.is_integer(arrow):
        return np.asarray(column.cast(pa.int64()).to_numpy().view(np.uint64) ^ _SIGN)
    raise UnsupportedError(
        f"values of Arrow type {arrow} cannot be ordered", "order_by", "Sort by columns of other types."
    )


def _of_doubles(values: np.ndarray) -> np.ndarray:
    nan = np.isnan(values)
    bits = (np.where(nan, np.float64("nan"), values) if nan.any() else values).view(np.int64)
    return np.where(bits < 0, ~bits, bits ^ np.int64(-(2**63))).view(np.uint64)


def _text_codes(column: pa.Array, start: int) -> np.ndarray:
    """The eight bytes from the number `start` on, filled up with zeros, as numbers."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    offsets = offsets.astype(np.int64)
    lengths = np.diff(offsets) - start
    if column.null_count:
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
    first, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    # Copied, so that it is aligned, and a word and the next one can be read anywhere.
    content = np.zeros((size + start) // WORD_BYTES + 2, "<u8")
    if size:
        content.view(np.uint8)[:size] = np.frombuffer(column.buffers()[2], np.uint8, size, first)
    at = offsets[:-1] - first + start
    word, shift = at // WORD_BYTES, (at % WORD_BYTES * 8).view(np.uint64)
    low, high = content[word] >> shift, content[word + 1] << np.uint64(1) << np.uint64(63) - shift
    return np.asarray((low | high).byteswap() & _KEPT[np.clip(lengths, 0, WORD_BYTES)])
