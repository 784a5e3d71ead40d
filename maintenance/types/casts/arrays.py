"""Arrow arrays as NumPy values and back, for rules that compute: nulls are kept beside the values."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError

_DECIMAL_BITS = 38


def values_of(array: pa.Array) -> np.ndarray:
    """Values of a primitive array, shape (n,); zero where null."""
    if pa.types.is_timestamp(array.type) or pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        array = array.cast(pa.int64() if pa.types.is_timestamp(array.type) else pa.int32())
    filled = array.fill_null(False if pa.types.is_boolean(array.type) else 0) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def array_of(values: np.ndarray, data_type: pa.DataType, like: pa.Array) -> pa.Array:
    """Values as an array that is null where `like` is."""
    return pa.array(values, data_type, mask=nulls_of(like) if like.null_count else None)


def nulls_of(array: pa.Array) -> np.ndarray:
    """True where null, shape (n,)."""
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def unscaled(array: pa.Array) -> pa.Array:
    """The digits of decimals as decimals of scale 0: 12.34 is 1234."""
    return pa.Array.from_buffers(
        pa.decimal128(_DECIMAL_BITS, 0), len(array), array.buffers(), array.null_count, array.offset
    )


def low_words(array: pa.Array) -> np.ndarray:
    """The lower 64 bits of the digits of decimals as int64, shape (n,): what Java's `BigInteger.longValue` is."""
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), np.int64)
    words = np.frombuffer(buffer, np.int64)[2 * array.offset : 2 * (array.offset + len(array)) : 2]
    return np.where(nulls_of(array), 0, words) if array.null_count else words


def texts_of_characters(characters: np.ndarray, lengths: np.ndarray, like: pa.Array) -> pa.Array:
    """Texts of ASCII characters. `characters`: uint8, shape (n, width); `lengths`: how many of each row, shape (n,)."""
    if array_nulls := like.null_count:
        lengths = np.where(nulls_of(like), 0, lengths)
    kept = np.arange(characters.shape[1]) < lengths[:, None]
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    texts = pa.StringArray.from_buffers(
        len(lengths), pa.py_buffer(offsets.tobytes()), pa.py_buffer(characters[kept].tobytes())
    )
    return pc.if_else(like.is_valid(), texts, pa.scalar(None, pa.string())) if array_nulls else texts


def refuse(array: pa.Array, wrong: pa.Array, target: Any) -> None:
    """Raise DataError with the first value where `wrong` (boolean, null = fine) is true."""
    if pc.any(wrong).as_py():
        value = array.filter(wrong)[0].as_py()
        raise DataError(
            f"'{value}' is not a value of type {target}",
            "cast",
            "Give the column its former type, or leave it out of the read.",
        )
