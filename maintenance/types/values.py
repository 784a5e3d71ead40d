"""Single values as metadata holds them (partition values, minimum and maximum, literals of filters).

An *internal value* is: bool, int (integers; DATE as days and the timestamps as nanoseconds since 1970-01-01, TIME as
milliseconds of the day), float, `decimal.Decimal`, str, bytes, or None. Columns of data never take this form: they
stay in Arrow.
"""

import datetime as dt
import decimal
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from maintenance.types import nanos
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS

Value = bool | int | float | decimal.Decimal | str | bytes | None

MILLIS_PER_DAY = 86_400_000
NANOS_PER_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def arrow_of_values(values: Sequence[Value], data_type: DataType) -> pa.Array:
    """Internal values as an Arrow array of the type's natural Arrow type."""
    arrow = arrow_type(data_type)
    if arrow == NANOS:
        return nanos.array_of(list(values))
    if data_type.is_timestamp:
        divisor = NANOS_PER_UNIT[arrow.unit]
        units: list[Any] = [None if value is None else int(value) // divisor for value in values]
        return pa.array(units, pa.int64()).cast(arrow)
    if data_type.root in ("DATE", "TIME"):
        return pa.array(values, pa.int32()).cast(arrow)
    return pa.array(values, arrow)


def values_of_arrow(array: pa.Array | pa.ChunkedArray) -> list[Value]:
    """Internal values of an Arrow array. For a few values, not for data."""
    if array.type == NANOS:
        return list(nanos.list_of(array))
    if pa.types.is_timestamp(array.type):
        factor = NANOS_PER_UNIT[array.type.unit]
        return [None if value is None else value * factor for value in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        array = array.cast(pa.int32())
    values: list[Value] = array.to_pylist()
    return values


def text_of_value(value: Value, data_type: DataType) -> str:
    """A value as people read it, and as casts to STRING write it: dates and times in ISO form with a blank between."""
    if value is None:
        return "null"
    if data_type.root == "DATE":
        return (dt.date(1970, 1, 1) + dt.timedelta(days=int(value))).isoformat()
    if data_type.root == "TIME":
        return _text_of_time(int(value), data_type.precision or 0)
    if data_type.is_timestamp:
        seconds, nanos = divmod(int(value), 10**9)
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
        precision = data_type.precision or 0
        fraction = f".{nanos:09d}"[: precision + 1] if precision else ""
        return moment.isoformat(" ", "seconds") + fraction
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def _text_of_time(millis: int, precision: int) -> str:
    """As Java casts a TIME to text: the fraction without the zeros at its end, but one digit of it at least."""
    seconds, rest = divmod(millis % MILLIS_PER_DAY, 1000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = f"{rest:03d}".rstrip("0")[:precision] or "0"
    return f"{clock}.{digits}" if precision else clock
