"""Casts between numbers as Java computes them: integers wrap, floats saturate and lose their fraction, NaN is 0.

A decimal that its type cannot hold becomes null; rounding is half away from zero.
"""

import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.arrow import arrow_type
from maintenance.types.casts.arrays import array_of, low_words, unscaled, values_of
from maintenance.types.casts.float_text import float_texts
from maintenance.types.casts.number_text import decimals_of_texts
from maintenance.types.data_type import DataType

_COMPACT_DIGITS = 18
_WIDE = 76


def to_number(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Integers, floats and booleans as integers or floats. Source: Java `NumericPrimitiveCastRule`."""
    kind = arrow_type(target)
    return array_of(_converted(values_of(array), kind.to_pandas_dtype()), kind, array)


def _converted(values: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "i" and values.dtype.kind == "f":
        values = _saturated(values, np.int64 if kind.itemsize == 8 else np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(kind)


def _saturated(values: np.ndarray, dtype: type[np.signedinteger]) -> np.ndarray:
    """Floats as integers, toward zero; beyond the range its end, NaN as 0."""
    limits = np.iinfo(dtype)
    high, low = values >= float(limits.max) + (0 if dtype is np.int64 else 1), values < float(limits.min)
    inside = np.where(high | low | np.isnan(values), 0, values).astype(dtype)
    return np.where(high, limits.max, np.where(low, limits.min, inside))


def to_boolean(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Integers as booleans: true unless 0."""
    return pc.not_equal(array, pa.scalar(0, array.type))


def integer_to_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Integers and booleans as decimals."""
    digits = array.cast(pa.int8()) if source.root == "BOOLEAN" else array
    return fitted(digits.cast(pa.decimal256(_WIDE, 0)), target)


def float_to_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Floats as decimals, by way of the text of the double. Source: Java `BigDecimal.valueOf`."""
    return decimals_of_texts(float_texts(array.cast(pa.float64())), target)


def decimal_to_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Decimals at another precision and scale."""
    return fitted(array.cast(pa.decimal256(_WIDE, source.scale or 0)), target)


def fitted(array: pa.Array, target: DataType) -> pa.Array:
    """Wide decimals (decimal256) rounded to the scale of `target`; null where its precision does not suffice."""
    precision, scale = target.precision or 10, target.scale or 0
    if array.type.scale > scale:
        array = pc.round(array, scale, "half_towards_infinity")
    array = array.cast(pa.decimal256(_WIDE, scale))
    limit = pa.scalar(decimal.Decimal(1).scaleb(precision - scale), pa.decimal256(_WIDE, scale))
    fits = pc.less(pc.abs(array), limit)
    return pc.if_else(fits, array, pa.scalar(None, array.type)).cast(arrow_type(target))


def decimal_to_integer(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Decimals as integers: the fraction is cut off, the lower bits are kept. Source: `BigDecimal.longValue`."""
    whole = pc.trunc(array).cast(pa.decimal128(38, 0)) if source.scale else unscaled(array)
    kind = arrow_type(target)
    return array_of(low_words(whole).astype(kind.to_pandas_dtype()), kind, array)


def decimal_to_float(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Decimals as the nearest double; up to 18 digits as the quotient of two. Source: `DecimalUtils.doubleValue`."""
    if (source.precision or 10) <= _COMPACT_DIGITS:
        doubles = low_words(array).astype(np.float64) / 10.0 ** (source.scale or 0)
    else:
        doubles = values_of(array.cast(pa.string()).cast(pa.float64()))
    kind = arrow_type(target)
    return array_of(_converted(doubles, kind.to_pandas_dtype()), kind, array)
