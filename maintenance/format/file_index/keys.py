"""Values of a column as the keys of its bitmap indexes: distinct, in order, as Java writes and as Java hashes them.

A key is bytes for texts, else a 64-bit integer that sorts as the values do: floats by their bits (-0.0 below 0.0, one
NaN above all), timestamps in milliseconds up to precision 3 and in microseconds above, decimals without their point.
Source: data section 9.4, Java `BitmapTypeVisitor`, `KeyFactory`, `BitSliceIndexBitmapFileIndex`.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.bytes.murmur import hash_bytes
from maintenance.format.bytes.ragged import Ragged, ends, fixed, interleaved
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS, parts_of
from maintenance.types.values import NANOS_PER_UNIT

Key: TypeAlias = int | bytes

# The bytes of a key in Java's DataOutput. Floats are written as their bits.
_STORED = {
    "BOOLEAN": "u1",
    "TINYINT": "i1",
    "SMALLINT": ">i2",
    "INT": ">i4",
    "DATE": ">i4",
    "TIME": ">i4",
    "FLOAT": ">i4",
    "BIGINT": ">i8",
    "DOUBLE": ">i8",
    "DECIMAL": ">i8",
    "TIMESTAMP": ">i8",
    "TIMESTAMP_LTZ": ">i8",
}
_HASH_OF_TRUE, _HASH_OF_FALSE = 1231, 1237
_NANOS_PER_MILLI, _NANOS_PER_MICRO = 10**6, 10**3
_SAMPLED = 4096
NUMBERS = frozenset(_STORED)


@dataclass(frozen=True, slots=True)
class Keys:
    """Distinct values of a column, ascending. `values`: int64, or large binary for texts."""

    values: "np.ndarray | pa.LargeBinaryArray"
    data_type: DataType

    def __len__(self) -> int:
        return len(self.values)

    def stored(self) -> Ragged:
        """The bytes of each key: numbers big endian, texts after their length (int32)."""
        if isinstance(self.values, np.ndarray):
            return fixed(stored_numbers(self.values, self.data_type))
        texts = texts_of(self.values)
        return interleaved(fixed(texts.sizes.astype(">i4")), texts)

    def java_hashes(self) -> np.ndarray:
        """Java's `hashCode` of each. Returns: int32, shape (n,)."""
        if not isinstance(self.values, np.ndarray):
            texts = texts_of(self.values)
            return hash_bytes(texts.data, texts.offsets)
        root = self.data_type.root
        if root == "BOOLEAN":
            return np.where(self.values == 1, _HASH_OF_TRUE, _HASH_OF_FALSE).astype(np.int32)
        bits = unsorted_bits(self.values, root)
        if np.dtype(_STORED[root]).itemsize < 8:
            return bits.astype(np.int32)
        unsigned = bits.view(np.uint64)
        return (unsigned ^ (unsigned >> np.uint64(32))).astype(np.uint32).view(np.int32)


def stored_width(data_type: DataType) -> int | None:
    """Bytes of a stored key, None where they vary."""
    return None if data_type.is_string else np.dtype(_STORED[data_type.root]).itemsize


def stored_numbers(keys: np.ndarray, data_type: DataType) -> np.ndarray:
    """Number keys as they are stored."""
    return unsorted_bits(keys, data_type.root).astype(_STORED[data_type.root])


def parse_numbers(stored: np.ndarray, data_type: DataType) -> np.ndarray:
    """Keys of stored ones. `stored`: of the type `stored_dtype`. Returns: int64."""
    return unsorted_bits(stored.astype(np.int64), data_type.root)


def stored_dtype(data_type: DataType) -> str:
    """NumPy's name for how numbers are stored."""
    return _STORED[data_type.root]


def unsorted_bits(keys: np.ndarray, root: str) -> np.ndarray:
    """Keys of floats as their bits; its own inverse. Other keys as they are."""
    match root:
        case "FLOAT":
            return np.asarray(keys ^ ((keys >> 31) & 0x7FFFFFFF))
        case "DOUBLE":
            return np.asarray(keys ^ ((keys >> 63) & 0x7FFFFFFFFFFFFFFF))
    return keys


def distinct(array: pa.Array, data_type: DataType) -> tuple[Keys, np.ndarray]:
    """The distinct keys of a column without nulls, and the number of the key of each row."""
    if data_type.is_string:
        keys, codes = _by_hash(pc.cast(array, pa.large_binary()))
        return Keys(keys, data_type), codes
    numbers = number_keys(array, data_type)
    sample = numbers[:: 1 + len(numbers) // _SAMPLED]
    if len(np.unique(sample)) > len(sample) // 2:
        # Of many values a table of hashes leaves the processor's cache: sorting is quicker.
        values, codes = np.unique(numbers, return_inverse=True)
        return Keys(values, data_type), codes
    keys, codes = _by_hash(pa.array(numbers))
    return Keys(keys.to_numpy(), data_type), codes


def _by_hash(array: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The distinct values in order, and the number of that of each row."""
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return encoded.dictionary.take(pa.array(order)), rank[encoded.indices.to_numpy()]


def number_keys(array: pa.Array, data_type: DataType) -> np.ndarray:
    """The key of each value, none of them null. Returns: int64, shape (n,).

    Raises: DataError: a decimal without its point does not fit 64 bits.
    """
    match data_type.root:
        case "BOOLEAN":
            return np.asarray(array.cast(pa.int8()).to_numpy().astype(np.int64))
        case "FLOAT" | "DOUBLE":
            return float_keys(array.to_numpy(zero_copy_only=False), data_type.root)
        case "DATE" | "TIME":
            return np.asarray(array.cast(pa.int32()).to_numpy().astype(np.int64))
        case "DECIMAL":
            return _unscaled(array)
    if array.type == NANOS:
        return parts_of(array)[0]
    numbers = array.cast(pa.int64()).to_numpy()
    if data_type.is_timestamp:
        stored, grain = NANOS_PER_UNIT[array.type.unit], timestamp_grain(data_type)
        return np.asarray(numbers * (stored // grain) if stored >= grain else numbers // (grain // stored))
    return np.asarray(numbers)


def float_keys(values: np.ndarray, root: str) -> np.ndarray:
    """Keys of floats. `values`: float32 or float64, as the type is."""
    one_nan = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return unsorted_bits(one_nan.view(np.int32 if root == "FLOAT" else np.int64).astype(np.int64), root)


def timestamp_grain(data_type: DataType) -> int:
    """Nanoseconds between two keys of a timestamp type."""
    return _NANOS_PER_MILLI if (data_type.precision or 0) <= 3 else _NANOS_PER_MICRO


def _unscaled(array: pa.Array) -> np.ndarray:
    words = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = words[::2], words[1::2]
    if (high != low >> 63).any():
        raise DataError(
            "a decimal of more than 64 bits cannot be indexed", "file index", "Leave the column out of the index."
        )
    return np.ascontiguousarray(low)


def texts_of(array: "pa.LargeBinaryArray") -> Ragged:
    """Texts in Arrow's layout."""
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    start = int(offsets[0]) if len(offsets) else 0
    return (
        Ragged(data[start : int(offsets[-1])], offsets - start) if len(array) else Ragged(data[:0], ends(np.zeros(0)))
    )


def parse_key(data: bytes, at: int, data_type: DataType) -> tuple[Any, int]:
    """The stored key at a position, and where it ends. Raises: ValueError: the bytes end before."""
    width = stored_width(data_type)
    if width is None:
        start = at + 4
        width = int.from_bytes(data[at:start], "big", signed=True)
    else:
        start = at
    if width < 0 or start + width > len(data):
        raise ValueError(f"a key of {width} bytes at byte {at} of {len(data)}")
    if data_type.is_string:
        return data[start : start + width], start + width
    stored = np.frombuffer(data, _STORED[data_type.root], 1, start)
    return int(parse_numbers(stored, data_type)[0]), start + width
