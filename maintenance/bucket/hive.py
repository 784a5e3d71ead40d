"""Hive's hash of rows, for tables whose buckets Hive computes too. Source: metadata section 7, Java `HiveHasher`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.rows.binary_columns import Texts, natural_array, texts_of_array
from maintenance.types.data_type import DataType

_MULTIPLIER = np.uint32(31)
# A DATE reaches Java's hash as the number of its day, a TIME as its milliseconds.
_INTS = {
    "BOOLEAN": pa.uint8(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "DATE": pa.int32(),
    "TIME": pa.int32(),
}


def hive_hashes(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> np.ndarray:
    """Hive's hash of each row: 31 times the hash of the columns before, plus the value's; null is 0.

    Args: `columns`: at least one, n rows each.
    Returns: int32, shape (n,).
    Raises: UnsupportedError: a type that Hive's function does not take, among them the timestamps.
    """
    hashes = np.zeros(len(columns[0]), np.uint32)
    for column, data_type in zip(columns, types, strict=True):
        hashes = hashes * _MULTIPLIER + _value_hashes(column, data_type)
    return hashes.view(np.int32)


def _value_hashes(column: pa.Array | pa.ChunkedArray, data_type: DataType) -> np.ndarray:
    """uint32, shape (n,)."""
    root = data_type.root
    if data_type.is_string or data_type.is_bytes:
        return _text_hashes(texts_of_array(natural_array(column, data_type)))
    if root == "DECIMAL":
        return _decimal_hashes(natural_array(column, data_type), data_type.scale or 0)
    if root in _INTS:
        return _values(natural_array(column, data_type).cast(_INTS[root])).astype(np.int32).view(np.uint32)
    if root in ("BIGINT", "DOUBLE"):
        return _folded(_bits(natural_array(column, data_type)))
    if root == "FLOAT":
        return _bits(natural_array(column, data_type))
    raise UnsupportedError(
        f"{data_type} as a bucket key", "bucket-function.type = hive", "Use another key, or the default function."
    )


def _values(array: pa.Array) -> np.ndarray:
    """The values, 0 for null."""
    values: np.ndarray = array.fill_null(0).to_numpy(zero_copy_only=False)
    return values


def _bits(array: pa.Array) -> np.ndarray:
    """The values' bits; those of floats as Java sees them: one NaN, and no negative zero."""
    values = _values(array)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
        values = np.where(values == 0, values.dtype.type(0), values)
    return values.view(f"u{values.dtype.itemsize}")


def _folded(bits: np.ndarray) -> np.ndarray:
    """Java's hash of 64 bit values: their halves, combined."""
    return np.asarray(((bits ^ (bits >> np.uint64(32))) & np.uint64(0xFFFFFFFF)).astype(np.uint32))


def _text_hashes(texts: Texts) -> np.ndarray:
    """31 times the hash of the bytes before, plus the byte, which is signed."""
    # By falling length: at every step the texts that still have bytes are the first ones.
    order = np.argsort(-texts.lengths, kind="stable")
    starts, lengths = texts.starts[order], texts.lengths[order]
    content = texts.content.view(np.int8)
    state = np.zeros(len(order), np.uint32)
    for step in range(int(lengths[0]) if len(order) else 0):
        active = int(np.searchsorted(-lengths, -step, side="left"))
        state[:active] = state[:active] * _MULTIPLIER + content[starts[:active] + step].astype(np.uint32)
    hashes = np.empty(len(order), np.uint32)
    hashes[order] = state
    return hashes


def _decimal_hashes(array: pa.Array, scale: int) -> np.ndarray:
    """Java's hash of decimals without trailing zeros: 31 times the hash of the unscaled number, plus the scale."""
    limbs, negative = _magnitudes(array)
    scales = np.full(len(array), scale, np.int64)
    for _ in range(scale):
        quotient, rest = _divided_by_ten(limbs)
        shorter = (rest == 0) & (scales > 0)
        if not shorter.any():
            break
        limbs = np.where(shorter, quotient, limbs)
        scales -= shorter
    state = np.zeros(len(array), np.uint32)
    for limb in limbs:
        state = state * _MULTIPLIER + limb.astype(np.uint32)
    state = np.where(negative, np.uint32(0) - state, state) * _MULTIPLIER + scales.astype(np.uint32)
    return np.where((limbs == 0).all(axis=0), np.uint32(0), state)


def _magnitudes(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Absolute unscaled values as four 32 bit limbs, highest first, uint64, shape (4, n); and which are negative."""
    raw = np.frombuffer(array.buffers()[1] or b"", "<u4", 4 * len(array), array.offset * 16).reshape(-1, 4)
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    limbs = np.where(nulls[:, None], 0, raw).astype(np.uint64)
    negative = limbs[:, 3] >= 1 << 31
    flipped = np.where(negative[:, None], limbs ^ np.uint64(0xFFFFFFFF), limbs)
    carry = negative.astype(np.uint64)
    out = np.empty((4, len(array)), np.uint64)
    for limb in range(4):
        total = flipped[:, limb] + carry
        out[3 - limb], carry = total & np.uint64(0xFFFFFFFF), total >> np.uint64(32)
    return out, negative


def _divided_by_ten(limbs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quotient, shape (4, n), and remainder, shape (n,), of numbers as `_magnitudes` gives them."""
    quotient, rest = np.empty_like(limbs), np.zeros(limbs.shape[1], np.uint64)
    for index, limb in enumerate(limbs):
        quotient[index], rest = np.divmod(rest << np.uint64(32) | limb, np.uint64(10))
    return quotient, rest
