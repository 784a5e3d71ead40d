"""Values as JSON messages of several tools hold them: times, numbers since 1970, bytes in base64."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.cast import STRING, cast
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataType

PER_SECOND: Mapping[str, int] = {"ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
INTEGER = r"^-?[0-9]+$"
_WHOLE = r"^-?[0-9]+(\.0+)?$"
_ZONED = r"(?:[zZ]|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))$"
_AFTER_TIME = r"(:[0-9]{2}(?:\.[0-9]+)?)\s*(?:[zZ]|[+-][0-9]{2}:?[0-9]{2})$"
_ISO = r"^([0-9]{4,}-[0-9]{2}-[0-9]{2})T"
_DATE = r"^-?[0-9]{4,}-[0-9]{1,2}-[0-9]{1,2}"
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_MICROS_OF_HOUR = 3_600_000_000


def is_bytes(data_type: DataType) -> bool:
    return data_type.root in ("BINARY", "VARBINARY", "BLOB")


def is_timestamp(data_type: DataType) -> bool:
    return data_type.root in ("TIMESTAMP", "TIMESTAMP_LTZ")


def plain_values(texts: pa.Array, data_type: DataType, zone: str = UTC) -> pa.Array:
    """Texts and numbers as they are, times in ISO 8601 or SQL, bytes in base64.

    Args: `zone`: of times of a TIMESTAMP WITH LOCAL TIME ZONE that name none. Raises: DataError: not such a value.
    """
    if is_bytes(data_type):
        return base64_values(texts, data_type)
    if data_type.root in _INTEGERS:
        check(texts, lambda each: pc.match_substring_regex(each, _WHOLE), "no whole number")
    if is_timestamp(data_type):
        return _timestamps(texts, data_type, zone)
    return _cast(texts, data_type, zone)


def _cast(texts: pa.Array, data_type: DataType, zone: str) -> pa.Array:
    if data_type.is_string:
        return texts.cast(arrow_type(data_type))
    return cast(pa.chunked_array([texts]), STRING, data_type.as_nullable(), zone).combine_chunks()


def listed_values(texts: pa.Array, data_type: DataType) -> pa.Array:
    """Lists of texts, written with commas between them; nothing is an empty list."""
    target = arrow_type(data_type)
    empty = pa.scalar([], pa.list_(pa.string()))
    return pc.if_else(pc.equal(texts, ""), empty, pc.split_pattern(texts, ",")).cast(target)


def check(texts: pa.Array, fits: Callable[[pa.Array], pa.Array], what: str) -> None:
    """Raises: DataError: one of the texts does not fit."""
    wrong = texts.filter(pc.invert(fits(texts)))
    if len(wrong):
        fix = "Correct the value where the messages are made, or leave the column out of the table."
        raise DataError(f"'{wrong[0]}' is {what}", "value", fix)


def _timestamps(texts: pa.Array, data_type: DataType, zone: str) -> pa.Array:
    check(texts, lambda each: pc.match_substring_regex(each, _DATE), "no date and time")
    texts = pc.replace_substring_regex(texts, _ISO, r"\1 ")
    zoned = pc.match_substring_regex(texts, _AFTER_TIME)
    if data_type.root == "TIMESTAMP":
        problem = "a time with a zone, and the column is a TIMESTAMP without"
        check(texts, lambda each: pc.invert(pc.match_substring_regex(each, _AFTER_TIME)), problem)
        return _cast(texts, data_type, zone)
    wall = pc.replace_substring_regex(texts, _AFTER_TIME, r"\1")
    if not pc.any(zoned).as_py():
        return _cast(wall, data_type, zone)
    micros, rest = nanos.parts_of(nanos_of(_cast(wall, data_type, UTC)))
    moved = of_micros(micros - _offsets(texts), rest, texts, data_type)
    return pc.if_else(pc.fill_null(zoned, False), moved, _cast(wall, data_type, zone))


def _offsets(texts: pa.Array) -> np.ndarray:
    """Microseconds that the zones behind times are ahead of UTC, int64."""
    parts = pc.extract_regex(texts, _ZONED)
    hours, minutes = (
        np.asarray(pc.fill_null(pc.if_else(pc.equal(part, ""), "0", part), "0").cast(pa.int64()))
        for part in (pc.struct_field(parts, "hours"), pc.struct_field(parts, "minutes"))
    )
    behind = pc.fill_null(pc.equal(pc.struct_field(parts, "sign"), "-"), False).to_numpy(zero_copy_only=False)
    ahead = (hours * 60 + minutes) * (_MICROS_OF_HOUR // 60)
    moved: np.ndarray = np.where(behind, -ahead, ahead)
    return moved


def nanos_of(array: pa.Array) -> pa.Array:
    return array if array.type == nanos.NANOS else nanos.widened(array)


def of_micros(micros: np.ndarray, rest: np.ndarray, like: pa.Array, data_type: DataType) -> pa.Array:
    """Timestamps of a type: microseconds since 1970, the nanoseconds behind them; null where `like` is."""
    nulls = like.is_null().to_numpy(zero_copy_only=False)
    kind = arrow_type(data_type)
    if kind == nanos.NANOS:
        return nanos.of_parts(micros, rest, nulls)
    return pa.array(micros, mask=nulls).cast(pa.timestamp("us", kind.tz)).cast(kind, safe=False)


def timestamps_of_numbers(texts: pa.Array, unit: str, data_type: DataType) -> pa.Array:
    """Timestamps from whole numbers since 1970. `unit`: ms, us or ns. Raises: DataError."""
    numbers = _numbers(texts)
    micros, rest = np.divmod(numbers, 1000) if unit == "ns" else (numbers, np.zeros_like(numbers))
    return of_micros(micros * (1000 if unit == "ms" else 1), rest, texts, data_type)


def times_of_numbers(texts: pa.Array, unit: str, data_type: DataType) -> pa.Array:
    """Times of day from whole numbers since midnight; digits that TIME does not hold are cut. Raises: DataError."""
    millis = _numbers(texts) // (PER_SECOND[unit] // 1000)
    if ((millis < 0) | (millis >= 24 * _MICROS_OF_HOUR // 1000)).any():
        raise DataError(f"a number of {unit} is no time of day", "value", "Check the unit of the tool's times.")
    nulls = texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(millis.astype(np.int32), mask=nulls).cast(pa.time32("ms")).cast(arrow_type(data_type))


def dates_of_numbers(texts: pa.Array, data_type: DataType) -> pa.Array:
    """Days since 1970. Raises: DataError."""
    nulls = texts.is_null().to_numpy(zero_copy_only=False)
    return pa.array(_numbers(texts).astype(np.int32), mask=nulls).cast(arrow_type(data_type))


def _numbers(texts: pa.Array) -> np.ndarray:
    """Whole numbers, int64; zero where null. Raises: DataError."""
    check(texts, lambda each: pc.match_substring_regex(each, INTEGER), "no whole number")
    try:
        return np.asarray(pc.fill_null(texts.cast(pa.int64()), 0))
    except pa.ArrowInvalid as error:
        fix = "Correct the value where the messages are made, or leave the column out of the table."
        raise DataError(str(error).splitlines()[0], "value", fix) from error


def base64_values(texts: pa.Array, data_type: DataType) -> pa.Array:
    """Raises: DataError: a text is not base64."""
    return _decoded(texts).cast(arrow_type(data_type))


def _decoded(texts: pa.Array) -> pa.Array:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("texts", pa.table({"text": texts}))
        found = connection.sql("SELECT TRY(from_base64(text)) AS decoded FROM texts").to_arrow_table()
    decoded = found["decoded"].combine_chunks().cast(pa.binary())
    check(texts, lambda each: pc.or_(pc.is_valid(decoded), pc.is_null(each)), "not base64")
    return decoded


def decimals_of_bytes(texts: pa.Array, scale: int, data_type: DataType) -> pa.Array:
    """Decimals from base64 of their unscaled digits, a signed big-endian number. Raises: DataError."""
    decoded = _decoded(texts)
    length = pc.fill_null(pc.binary_length(decoded), 1)
    check(texts, lambda _: pc.and_(pc.greater(length, 0), pc.less_equal(length, 16)), "no decimal of 38 digits")
    first = pc.fill_null(pc.binary_slice(decoded, 0, 1), b"\0")
    negative = pc.greater_equal(first, pa.scalar(b"\x80", pa.binary()))
    padding = pc.if_else(negative, pa.scalar(b"\xff" * 16, pa.binary()), pa.scalar(b"\0" * 16, pa.binary()))
    padded = pc.binary_slice(pc.binary_join_element_wise(padding, pc.fill_null(decoded, b""), b""), -16)
    words = np.frombuffer(padded.cast(pa.binary(16)).buffers()[1], "u1").reshape(-1, 16)[: len(texts), ::-1]
    valid = pc.is_valid(decoded).to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    made = pa.Array.from_buffers(pa.decimal128(38, scale), len(texts), [bits, pa.py_buffer(words.tobytes())])
    return _cast(made.cast(pa.string()), data_type, UTC)


def latin1_values(texts: pa.Array, data_type: DataType) -> pa.Array:
    """Bytes from a text of as many characters, ISO 8859-1. Raises: DataError: a text has others."""
    check(texts, lambda each: pc.match_substring_regex(each, r"^[\x00-\x{ff}]*$"), "no text of ISO 8859-1")
    whole = pa.array(texts.cast(pa.string()), pa.string()) if texts.offset else texts.cast(pa.string())
    filled = pc.fill_null(whole, "")
    offsets = np.frombuffer(filled.buffers()[1], "i4")[: len(filled) + 1]
    data = np.frombuffer(filled.buffers()[2] or b"", "u1")[: offsets[-1]]
    leads = data >= 0xC0  # of two bytes in UTF-8
    single = data.copy()
    single[leads] = ((data[leads] & 3) << 6) | (data[np.flatnonzero(leads) + 1] & 0x3F)
    kept = (data & 0xC0) != 0x80
    starts = np.concatenate([[0], np.cumsum(kept)])[offsets].astype("i4")
    nulls = texts.is_valid().to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(nulls, bitorder="little"))
    made = pa.Array.from_buffers(
        pa.binary(), len(filled), [bits, pa.py_buffer(starts.tobytes()), pa.py_buffer(single[kept].tobytes())]
    )
    return made.cast(arrow_type(data_type))
