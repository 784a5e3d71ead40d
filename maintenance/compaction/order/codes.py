"""Columns as 64-bit numbers, or as bytes, that sort as the values do and hold beyond one call.

Unlike those of `merge.sort_words` they do not depend on which values are there; the price is that they are not exact:
texts count with their first bytes, timestamps with their milliseconds, decimals as doubles. Source: data section 2.10,
Java `ZIndexer` and `ConvertBinaryUtil`.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError

_SIGN = np.uint64(1 << 63)
_PER_MILLI = {"s": 0, "ms": 1, "us": 1000, "ns": 10**6}
WORD_BYTES = 8


def column_bytes(column: pa.Array, text_bytes: int = WORD_BYTES) -> np.ndarray:
    """uint8, shape (n, width), most significant first; null is all zeros. `text_bytes`: width of texts and bytes."""
    if _is_text(column.type):
        return _text_bytes(column, text_bytes)
    codes = np.where(column.is_null().to_numpy(zero_copy_only=False), np.uint64(0), _codes(column))
    return codes.astype(">u8").view(np.uint8).reshape(-1, WORD_BYTES)


def column_codes(column: pa.Array) -> np.ndarray:
    """uint64, shape (n,). Null is 0."""
    return np.ascontiguousarray(column_bytes(column)).view(">u8").reshape(-1).astype(np.uint64)


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_binary(arrow))


def _codes(column: pa.Array) -> np.ndarray:
    """Of values that are not null, right; of nulls, anything."""
    arrow = column.type
    if pa.types.is_boolean(arrow):
        return column.fill_null(False).to_numpy(zero_copy_only=False).astype(np.uint64) << np.uint64(63)
    if pa.types.is_floating(arrow) or pa.types.is_decimal(arrow):
        return _of_doubles(column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
    if pa.types.is_temporal(arrow):
        numbers = column.view(pa.int32() if arrow.bit_width == 32 else pa.int64()).cast(pa.int64())
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        per_milli = _PER_MILLI[arrow.unit] if pa.types.is_timestamp(arrow) else 1
        return (values // max(1, per_milli)).astype(np.int64).view(np.uint64) ^ _SIGN
    if pa.types.is_integer(arrow):
        return column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64) ^ _SIGN
    raise UnsupportedError(f"values of Arrow type {arrow} cannot be ordered", "order_by", "Use another column.")


def _of_doubles(values: np.ndarray) -> np.ndarray:
    bits = np.where(np.isnan(values), np.float64("nan"), values).view(np.int64)
    return np.where(bits < 0, ~bits, bits ^ np.int64(-(2**63))).view(np.uint64)


def _text_bytes(column: pa.Array, width: int) -> np.ndarray:
    lengths = pc.binary_length(column.fill_null(b"" if pa.types.is_binary(column.type) else "")).to_numpy()
    binary = column.cast(pa.binary())
    offsets = np.frombuffer(binary.buffers()[1], np.int32)[binary.offset : binary.offset + len(binary)].astype(np.int64)
    data = binary.buffers()[2]
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    out = np.zeros((len(binary), width), np.uint8)
    for place in range(width):
        at = np.minimum(offsets + place, len(content) - 1)
        out[:, place] = np.where(place < lengths, content[at], 0)
    return out
