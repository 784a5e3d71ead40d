"""Columns of numbers as NumPy arrays and back; decimals as their unscaled integers, in two halves."""

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.types.data_type import DataType


def is_number(data_type: DataType) -> bool:
    return data_type.is_integer or data_type.root in ("FLOAT", "DOUBLE", "DECIMAL")


def integer_bounds(arrow: pa.DataType) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    bits = arrow.bit_width - 1
    return -(1 << bits), (1 << bits) - 1


def plain(values: pa.Array) -> np.ndarray:
    """Integers as int64, floats as they are; null is 0."""
    filled = values.fill_null(0) if values.null_count else values
    numbers = filled.to_numpy(zero_copy_only=False)
    return np.asarray(numbers.astype(np.int64) if numbers.dtype.kind == "i" else numbers)


def unscaled_halves(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The unscaled integers of decimals: `high` (int64) * 2**64 + `low` (uint64); null is 0."""
    halves = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset : 2 * (values.offset + len(values))]
    nulls = values.is_null().to_numpy(zero_copy_only=False)
    return np.where(nulls, 0, halves[1::2]), np.where(nulls, 0, halves[0::2]).view(np.uint64)


def decimals(high: np.ndarray, low: np.ndarray, nulls: np.ndarray, arrow: pa.DataType) -> pa.Array:
    """Decimals of their unscaled halves. A value with more digits than the type has stays as it is, as in Paimon."""
    halves = np.empty(2 * len(high), np.int64)
    halves[0::2], halves[1::2] = low.view(np.int64), high
    validity = pa.array(~nulls, pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(arrow, len(high), [validity, pa.py_buffer(halves)], int(nulls.sum()))


def overflow(function: str, data_type: DataType, where: str) -> DataError:
    return DataError(
        f"{function} leaves the range of {data_type.as_nullable()}", where, "Give the column a wider type."
    )
