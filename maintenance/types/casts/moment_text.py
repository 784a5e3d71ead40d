"""Dates, times and timestamps as texts, and out of texts. Source: Java `DateTimeUtils`."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types import nanos
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.arrays import array_of, refuse, texts_of_characters, values_of
from maintenance.types.casts.civil import civil_of_days, days_of_civil, month_lengths
from maintenance.types.casts.moments import at_precision, in_micros, time_millis, times_of
from maintenance.types.casts.number_text import to_integer
from maintenance.types.casts.zones import instants_of, wall_clock
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INT = DataType("INT")
_BIGINT = DataType("BIGINT")
_NUMBER = r"^-?\d+$"
_B = r"[\x00-\x20]*"
_DATE = rf"^{_B}(?P<y>\d+){_B}(?:-{_B}(?P<m>\d+){_B}(?:-{_B}(?P<d>\d+){_B})?)?$"
_TIME = (
    r"^\s*(?P<h>\d+)\s*(?::\s*(?P<m>\d+)\s*(?::\s*(?P<s>\d+)\s*(?:\.(?P<f>[^+:-]*))?)?)?"
    r"(?:(?P<sign>[+-])\s*(?P<zh>\d+)\s*(?::\s*(?P<zm>\d+)\s*)?)?$"
)
_STAMP = (
    r"^(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"
    r"(?:(?: (?P<h>\d{1,2}):(?P<n>\d{1,2}):(?P<s>\d{1,2})(?:\.(?P<f>\d{0,9}))?)"
    r"|(?:T(?P<th>\d{1,2}):(?P<tn>\d{1,2})(?::(?P<ts>\d{1,2})(?:\.(?P<tf>\d{0,9}))?)?))?$"
)
_UNIT_OF_NUMBERS = {0: "s", 3: "ms", 6: "us", 9: "ns"}


def date_to_text(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    characters = _date_characters(values_of(array).astype(np.int64))
    return texts_of_characters(characters, np.full(len(array), 10), array)


def time_to_text(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """``12:34:56.7``: digits up to the precision, zeros at the end left out but for the first."""
    millis, precision = time_millis(array).astype(np.int64), min(source.precision or 0, 3)
    characters = np.concatenate([_clock_characters(millis // 1000), _fraction(millis % 1000, 3)], axis=1)
    if precision == 0:
        return texts_of_characters(characters, np.full(len(array), 8), array)
    cut = millis % 1000 // 10 ** (3 - precision)
    zeros = sum((cut % 10**k == 0).astype(np.int64) for k in range(1, precision)) if precision > 1 else 0
    return texts_of_characters(characters, 9 + precision - np.zeros(len(array), np.int64) - zeros, array)


def timestamp_to_text(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """``2024-02-29 12:34:56.789``, all digits of the precision, and further ones where the value has them."""
    clock = in_micros(array, source)
    wall = wall_clock(clock, zone) if source.root == "TIMESTAMP_LTZ" else clock
    per, precision = _PER_SECOND[wall.type.unit], source.precision or 0
    values = values_of(wall)
    seconds, fraction = values // per, values % per
    if array.type == NANOS:
        per, fraction = _PER_SECOND["ns"], fraction * 1000 + nanos.parts_of(array)[1]
    width = len(str(per)) - 1
    blank = np.full((len(array), 1), ord(" "), np.uint8)
    parts = [
        _date_characters(seconds // 86_400),
        blank,
        _clock_characters(seconds % 86_400),
        _fraction(fraction, width),
    ]
    digits = np.full(len(array), min(precision, width))
    for used in range(precision + 1, width + 1):
        digits = np.where(fraction % 10 ** (width - used + 1) != 0, used, digits)
    return texts_of_characters(np.concatenate(parts, axis=1), np.where(digits > 0, 20 + digits, 19), array)


def _date_characters(days: np.ndarray) -> np.ndarray:
    """``2024-02-29``: uint8, shape (n, 10). Years are shown by their last four digits."""
    year, month, day_of_month = civil_of_days(days)
    dash = np.full((len(days), 1), ord("-"), np.uint8)
    return np.concatenate([_digits(year, 4), dash, _digits(month, 2), dash, _digits(day_of_month, 2)], axis=1)


def _clock_characters(seconds: np.ndarray) -> np.ndarray:
    """``12:34:56``: uint8, shape (n, 8)."""
    colon = np.full((len(seconds), 1), ord(":"), np.uint8)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return np.concatenate([_digits(hour, 2), colon, _digits(minute, 2), colon, _digits(second, 2)], axis=1)


def _fraction(values: np.ndarray, width: int) -> np.ndarray:
    """``.789``: uint8, shape (n, width + 1)."""
    point = np.full((len(values), 1), ord("."), np.uint8)
    return np.concatenate([point, _digits(values, width)], axis=1) if width else point


def _digits(values: np.ndarray, width: int) -> np.ndarray:
    powers = 10 ** np.arange(width - 1, -1, -1, dtype=np.int64)
    size = np.abs(values)[:, None] // powers % 10
    # Java adds each digit to the character '0', also negative ones.
    return np.asarray((ord("0") + np.sign(values)[:, None] * size).astype(np.uint8))


def text_to_date(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """``2024-2-9`` (month and day may be missing; what follows a blank is ignored), or a number of days."""
    is_number = pc.match_substring_regex(array, _NUMBER)
    days = to_integer(pc.if_else(is_number, array, "0"), source, _INT)
    first = pc.replace_substring_regex(array, r"^([^ ][^ ]*) .*$", r"\1")
    parts = pc.extract_regex(pc.if_else(is_number, "0", first), _DATE)
    refuse(array, pc.and_(array.is_valid(), parts.is_null()), target)
    year, month, day = _parts(parts, ("0", "1", "1"))
    month_end = month_lengths(year, np.clip(month, 1, 12))
    wrong = (year > 9999) | (month < 1) | (month > 12) | (day < 1) | (day > month_end)
    refuse(array, pc.and_(pc.invert(is_number), pa.array(wrong)), target)
    civil = days_of_civil(year, np.clip(month, 1, 12), day).astype(np.int32)
    result = np.where(_true(is_number), values_of(days), civil)
    return array_of(result, pa.int32(), array).cast(pa.date32())


def text_to_time(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """``12:34:56.789`` with minutes and what follows optional, or a number of milliseconds."""
    is_number = pc.match_substring_regex(array, _NUMBER)
    millis = values_of(to_integer(pc.if_else(is_number, array, "0"), source, _INT)).astype(np.int64)
    parts = pc.extract_regex(pc.if_else(is_number, "0", array), _TIME)
    refuse(array, pc.and_(array.is_valid(), parts.is_null()), target)
    hour, minute, second = _parts(parts, ("0", "0", "0"))
    away = np.where(_true(pc.equal(pc.struct_field(parts, 4), "-")), -1, 1)
    hour, minute = (
        hour + away * _number(pc.struct_field(parts, 5), "0"),
        minute + away * _number(pc.struct_field(parts, 6), "0"),
    )
    clock = hour * 3_600_000 + minute * 60_000 + second * 1000 + _rounded_millis(pc.struct_field(parts, 3))
    result = np.where(_true(is_number), millis, clock)
    refuse(array, pc.and_(array.is_valid(), pa.array((result < 0) | (result >= 86_400_000))), target)
    return times_of(result.astype(np.int32), target, array)


def _rounded_millis(fraction: pa.Array) -> np.ndarray:
    """Up to three digits, the fourth rounds; what is not a digit counts as 0. Source: `DateTimeUtils.parseFraction`."""
    digits = pc.replace_substring_regex(pc.utf8_trim_whitespace(fraction), r"[^0-9]", "0").fill_null("")
    padded = pc.utf8_rpad(pc.utf8_slice_codeunits(digits, 0, 4), 4, "0")
    value = np.asarray(padded.cast(pa.int32()).to_numpy(zero_copy_only=False)).astype(np.int64)
    return value // 10 + (value % 10 >= 5)


def text_to_timestamp(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    """``2024-02-29 12:34:56.789`` or with a T; for TIMESTAMP also a number in the unit of its precision."""
    is_number = pc.match_substring_regex(array, _NUMBER)
    units = _UNIT_OF_NUMBERS.get(target.precision or 0)
    if target.root == "TIMESTAMP_LTZ" or units is None:
        is_number = pc.if_else(array.is_valid(), False, pa.scalar(None, pa.bool_()))
    parts = pc.extract_regex(pc.if_else(is_number, "1970-01-01", array), _STAMP)
    refuse(array, pc.and_(array.is_valid(), parts.is_null()), target)
    year, month, day = _parts(parts, ("1970", "1", "1"))
    hour, minute, second = (_first_of(parts, 3 + i, 7 + i) for i in range(3))
    fraction = _nanos(parts)
    midnight = (hour == 24) & (minute == 0) & (second == 0) & (fraction == 0)
    wrong = (month < 1) | (month > 12) | (day < 1) | (day > 31)
    wrong |= (year < 1) | ((hour > 23) & ~midnight) | (minute > 59) | (second > 59)
    refuse(array, pc.and_(array.is_valid(), pa.array(wrong)), target)
    month = np.clip(month, 1, 12)
    day = np.minimum(day, month_lengths(year, month))
    seconds = days_of_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    step = 10 ** (9 - (target.precision or 0))
    wall = _read_moments(seconds, fraction // step * step, array, target, zone)
    if target.root == "TIMESTAMP_LTZ" or units is None or not pc.any(is_number).as_py():
        return wall
    numbers = to_integer(pc.if_else(is_number, array, "0"), source, _BIGINT)
    if units == "s":
        numbers, units = array_of(values_of(numbers) * 1000, pa.int64(), numbers), "ms"
    moments = at_precision(numbers.cast(pa.timestamp(units)), target, cut=False)
    return pc.if_else(is_number, moments, wall)


def _read_moments(seconds: np.ndarray, fraction: np.ndarray, like: pa.Array, target: DataType, zone: str) -> pa.Array:
    """What the wall clock shows as timestamps of a type. `fraction`: nanoseconds of the second."""
    is_wide = arrow_type(target) == NANOS
    unit = "us" if is_wide else arrow_type(target).unit
    per = _PER_SECOND[unit]
    moments = array_of(seconds * per + fraction // (10**9 // per), pa.int64(), like).cast(pa.timestamp(unit))
    if target.root == "TIMESTAMP_LTZ":  # zones move whole seconds
        moments = instants_of(moments, zone)
    return nanos.with_rest(moments, fraction % 1000) if is_wide else moments


def _nanos(parts: pa.Array) -> np.ndarray:
    spaced, with_t = pc.struct_field(parts, 6), pc.struct_field(parts, 10)
    fraction = pc.if_else(pc.equal(spaced, ""), with_t, spaced).fill_null("")
    padded = pc.utf8_rpad(fraction, 9, "0")
    return np.asarray(padded.cast(pa.int64()).to_numpy(zero_copy_only=False))


def _first_of(parts: pa.Array, first: int, second: int) -> np.ndarray:
    text = pc.struct_field(parts, first)
    return _number(pc.if_else(pc.equal(text, ""), pc.struct_field(parts, second), text), "0")


def _parts(parts: pa.Array, missing: tuple[str, str, str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second, third = (_number(pc.struct_field(parts, i), missing[i]) for i in range(3))
    return first, second, third


def _number(texts: pa.Array, missing: str) -> np.ndarray:
    """Digits as int64; what is longer than nine digits is out of every range, and stays so."""
    texts = pc.if_else(pc.equal(texts, ""), missing, texts).fill_null(missing)
    short = pc.if_else(pc.greater(pc.utf8_length(texts), 9), "999999999", texts)
    return np.asarray(short.cast(pa.int64()).to_numpy(zero_copy_only=False))


def _true(flags: pa.Array) -> np.ndarray:
    return np.asarray(flags.fill_null(False).to_numpy(zero_copy_only=False))
