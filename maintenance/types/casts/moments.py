"""Casts of dates, times and timestamps. TIMESTAMP_LTZ is an instant; the zone is that of the process that reads.

Source: Java `DateTimeUtils`, `Timestamp…CastRule`.
"""

import numpy as np
import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type, timestamp_type
from maintenance.types.casts.arrays import array_of, values_of
from maintenance.types.casts.zones import instants_of, wall_clock
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_DAY_SECONDS = 86_400
_DAY_MILLIS = _DAY_SECONDS * 1000


def timestamp_to_timestamp(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    rest = nanos.parts_of(array)[1] if array.type == NANOS else None
    array = in_micros(array, source)
    if source.root == "TIMESTAMP" and target.root == "TIMESTAMP_LTZ":
        array = instants_of(array, zone)
    elif source.root == "TIMESTAMP_LTZ" and target.root == "TIMESTAMP":
        array = wall_clock(array, zone)
    if rest is not None and arrow_type(target) == NANOS:
        return nanos.floored(nanos.with_rest(array, rest), target.precision or 0)
    return at_precision(array, target, cut=(source.precision or 0) > (target.precision or 0))


def in_micros(array: pa.Array, source: DataType) -> pa.Array:
    """Timestamps in microseconds where the type has finer digits, which are cut off towards the past; else as is."""
    return nanos.micros_of(array, timestamp_type(source).tz) if array.type == NANOS else array


def at_precision(array: pa.Array, target: DataType, *, cut: bool) -> pa.Array:
    """Timestamps of the same kind in the unit of `target`; with `cut` without the digits behind its precision.

    Of milliseconds or microseconds.

    Up to milliseconds digits are cut toward 1970, finer ones toward the past. Source: `DateTimeUtils.truncate`.
    """
    kind, precision = arrow_type(target), target.precision or 0
    if not cut:
        return _in_finer_unit(array, target)
    values = values_of(array)
    to, digits = _DIGITS[kind.unit], _DIGITS[array.type.unit]
    values = values // 10 ** (digits - to) if digits > to else values * 10 ** (to - digits)
    step = 10 ** (to - precision)
    sign = np.sign(values) if precision <= 3 else 1
    values = sign * (sign * values // step * step)
    return array_of(values, pa.int64(), array).cast(kind)


def _in_finer_unit(array: pa.Array, target: DataType) -> pa.Array:
    kind = arrow_type(target)
    try:
        return nanos.widened(array) if kind == NANOS else array.cast(pa.timestamp(kind.unit, array.type.tz))
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"a timestamp is out of the range that {target} has here: {error}",
            "cast",
            "Leave the column out of the read.",
        ) from error


def _millis(array: pa.Array) -> np.ndarray:
    """Milliseconds of timestamps, int64, shape (n,)."""
    values = values_of(array)
    per = _PER_SECOND[array.type.unit]
    return values // (per // 1000) if per >= 1000 else values * 1000


def timestamp_to_integer(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """Seconds since 1970, the fraction cut off toward it; INT wraps."""
    millis = _millis(in_micros(array, source))
    seconds = np.sign(millis) * (np.abs(millis) // 1000)
    kind = arrow_type(target)
    return array_of(seconds.astype(kind.to_pandas_dtype()), kind, array)


def integer_to_timestamp(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """Seconds since 1970, wrapping around in milliseconds.

    For TIMESTAMP_LTZ the local wall clock of that moment is taken for UTC, as Paimon does.
    """
    millis = array_of(values_of(array).astype(np.int64) * 1000, pa.int64(), array).cast(pa.timestamp("ms", "UTC"))
    if target.root == "TIMESTAMP_LTZ":
        millis = wall_clock(millis, zone)
    return _in_finer_unit(millis.cast(pa.timestamp("ms", timestamp_type(target).tz)), target)


def timestamp_to_date(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """The day. Before 1970 a TIMESTAMP that is not midnight falls on the next one, as in Paimon up to 2.0."""
    millis = _millis(_wall(array, source, zone))
    sign = np.sign(millis) if source.root == "TIMESTAMP" else 1
    days = sign * (sign * millis // _DAY_MILLIS)
    return array_of(days.astype(np.int32), pa.int32(), array).cast(pa.date32())


def timestamp_to_time(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    millis = _millis(_wall(array, source, zone)) % _DAY_MILLIS
    return times_of(millis.astype(np.int32), target, array)


def _wall(array: pa.Array, source: DataType, zone: str) -> pa.Array:
    array = in_micros(array, source)
    return wall_clock(array, zone) if source.root == "TIMESTAMP_LTZ" else array


def times_of(millis: np.ndarray, target: DataType, like: pa.Array) -> pa.Array:
    """Milliseconds of a day as TIME."""
    return array_of(millis, pa.int32(), like).cast(pa.time32("ms")).cast(arrow_type(target))


def time_millis(array: pa.Array) -> np.ndarray:
    """TIME as milliseconds of a day, int32, shape (n,)."""
    return values_of(array.cast(pa.time32("ms")))


def date_to_timestamp(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """Midnight, for TIMESTAMP_LTZ that of the zone."""
    seconds = values_of(array).astype(np.int64) * _DAY_SECONDS
    wall = array_of(seconds, pa.int64(), array).cast(pa.timestamp("s"))
    return _in_finer_unit(instants_of(wall, zone) if target.root == "TIMESTAMP_LTZ" else wall, target)


def time_to_timestamp(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """The time on 1970-01-01, in UTC."""
    millis = array_of(time_millis(array).astype(np.int64), pa.int64(), array)
    return _in_finer_unit(millis.cast(pa.timestamp("ms", timestamp_type(target).tz)), target)
