"""Serialized rows, the `bytes` fields of manifests: single rows here, columns of rows in `binary_columns`.

The layout is told in `binary_layout`. In manifests it is preceded by the number of fields as a big endian int32, which
is not part of the row: neither the offsets nor the hash count it. Source: metadata section 4.4, Java `BinaryRow`.
"""

import decimal
import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.errors import CorruptFileError, DataError
from maintenance.format.binary_columns import encode_rows
from maintenance.format.binary_layout import (
    INLINE_BYTES,
    is_compact,
    is_supported,
    null_bits_size,
    reserved_bytes,
    unsupported,
)
from maintenance.format.murmur import hash_rows
from maintenance.types.data_type import DataType
from maintenance.types.values import Value

EMPTY_ROW = bytes(12)

_ARITY_SIZE = 4
_NANOS_PER_MILLI = 1_000_000
_FIXED = {
    "BOOLEAN": struct.Struct("<?"),
    "TINYINT": struct.Struct("<b"),
    "SMALLINT": struct.Struct("<h"),
    "INT": struct.Struct("<i"),
    "BIGINT": struct.Struct("<q"),
    "FLOAT": struct.Struct("<f"),
    "DOUBLE": struct.Struct("<d"),
    "DATE": struct.Struct("<i"),
    "TIME": struct.Struct("<i"),
}
_LONG = struct.Struct("<q")
_SLOT = struct.Struct("<II")  # length (of a timestamp: nanoseconds within the millisecond) and offset
# Large enough that no DECIMAL(38) is rounded; a value that would be is refused.
_EXACT = decimal.Context(prec=80, traps=[decimal.Inexact, decimal.InvalidOperation])


def serialize_row(values: Sequence[Value], types: Sequence[DataType]) -> bytes:
    """The bytes of a row, number of fields first.

    Raises: DataError: a value does not fit its type; UnsupportedError: a value, not null, of a type without a form.
    """
    if len(values) != len(types):
        raise DataError(f"{len(values)} values for {len(types)} columns", "row", "Give one value per column.")
    start = null_bits_size(len(types))
    row = bytearray(start + 8 * len(types))
    for index, (value, data_type) in enumerate(zip(values, types, strict=True)):
        if value is None:
            row[(index + 8) // 8] |= 1 << index % 8
        slot = slice(start + 8 * index, start + 8 * index + 8)
        try:
            row[slot], variable = _slot_and_variable(value, data_type, len(row))
        except (struct.error, decimal.DecimalException, AttributeError, TypeError, ValueError) as error:
            raise DataError(f"{value!r} is no {data_type}", f"field {index}", "Cast the value first.") from error
        row += variable
    return struct.pack(">i", len(types)) + bytes(row)


def _slot_and_variable(value: Value, data_type: DataType, offset: int) -> tuple[bytes, bytes]:
    """The 8 bytes of a value's slot, and its part of the variable part, which begins at `offset`."""
    if value is None:
        reserved = reserved_bytes(data_type)
        return _SLOT.pack(0, offset) if reserved else bytes(8), bytes(reserved)
    if data_type.root in _FIXED:
        return _FIXED[data_type.root].pack(value).ljust(8, b"\0"), b""
    if data_type.is_string or data_type.is_bytes:
        content = value.encode("utf-8") if data_type.is_string else bytes(value)  # type: ignore[union-attr, arg-type]
        if len(content) <= INLINE_BYTES:
            return content.ljust(INLINE_BYTES, b"\0") + bytes([0x80 | len(content)]), b""
        return _SLOT.pack(len(content), offset), content + bytes(-len(content) % 8)
    if data_type.root == "DECIMAL":
        unscaled = _unscaled(decimal.Decimal(value), data_type)  # type: ignore[arg-type]
        if is_compact(data_type):
            return _LONG.pack(unscaled), b""
        content = _signed_bytes(unscaled)
        return _SLOT.pack(len(content), offset), content.ljust(16, b"\0")
    if data_type.is_timestamp:
        millis, nanos = divmod(int(value), _NANOS_PER_MILLI)
        if is_compact(data_type):
            return _LONG.pack(millis), b""
        return _SLOT.pack(nanos, offset), _LONG.pack(millis)
    raise unsupported(data_type, "row")


def _unscaled(value: decimal.Decimal, data_type: DataType) -> int:
    """The digits of a decimal as an integer. Raises: ValueError: more digits than the type has."""
    scaled = value.scaleb(data_type.scale or 0, _EXACT)
    unscaled = int(scaled.to_integral_exact(context=_EXACT))
    if abs(unscaled) >= 10 ** (data_type.precision or 0):
        raise ValueError("too many digits")
    return unscaled


def _signed_bytes(value: int) -> bytes:
    """The shortest big endian two's complement, as Java's BigInteger writes it."""
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def parse_row(data: bytes, types: Sequence[DataType], *, skip_unsupported: bool = False) -> tuple[Value, ...]:
    """The values of a row with its number of fields first.

    Args: `skip_unsupported`: give None for values of types without a form here, as for statistics, where it is unknown.
    Raises: CorruptFileError: another number of fields, or cut off; UnsupportedError: a value, not null, of a type
        without a form here.
    """
    arity = int.from_bytes(data[:_ARITY_SIZE], "big", signed=True)
    if len(data) < _ARITY_SIZE or arity != len(types):
        raise CorruptFileError(f"a row of {arity} fields where {len(types)} are due", "row", "Check the schema id.")
    row = data[_ARITY_SIZE:]
    start = null_bits_size(arity)
    if len(row) < start + 8 * arity:
        raise CorruptFileError(f"a row of {arity} fields in {len(row)} bytes", "row", "Restore the file.")
    try:
        return tuple(
            None
            if row[(index + 8) // 8] >> index % 8 & 1 or (skip_unsupported and not is_supported(data_type))
            else _value(row, start + 8 * index, data_type)
            for index, data_type in enumerate(types)
        )
    except (struct.error, UnicodeDecodeError) as error:
        raise CorruptFileError(f"a value of a row: {error}", "row", "Restore the file.") from error


def _value(row: bytes, slot: int, data_type: DataType) -> Value:
    """The value, not null, whose slot is at byte `slot` of the row."""
    if data_type.root in _FIXED:
        value: Value = _FIXED[data_type.root].unpack_from(row, slot)[0]
        return value
    if data_type.is_string or data_type.is_bytes:
        content = _content(row, slot)
        return content.decode("utf-8") if data_type.is_string else content
    if data_type.root == "DECIMAL":
        unscaled = (
            _LONG.unpack_from(row, slot)[0]
            if is_compact(data_type)
            else int.from_bytes(_variable(row, *_SLOT.unpack_from(row, slot)), "big", signed=True)
        )
        return decimal.Decimal(unscaled).scaleb(-(data_type.scale or 0), _EXACT)
    if data_type.is_timestamp:
        if is_compact(data_type):
            return int(_LONG.unpack_from(row, slot)[0]) * _NANOS_PER_MILLI
        nanos, offset = _SLOT.unpack_from(row, slot)
        return int(_LONG.unpack_from(row, offset)[0]) * _NANOS_PER_MILLI + int(nanos)
    raise unsupported(data_type, "row")


def _content(row: bytes, slot: int) -> bytes:
    mark = row[slot + 7]
    if mark & 0x80:
        return row[slot : slot + (mark & 0x7F)]
    return _variable(row, *_SLOT.unpack_from(row, slot))


def _variable(row: bytes, length: int, offset: int) -> bytes:
    if offset + length > len(row):
        raise struct.error(f"bytes {offset} to {offset + length} of {len(row)}")
    return row[offset : offset + length]


def row_hashes(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> np.ndarray:
    """Hash of each row of columns: murmur over its bytes without the number of fields.

    Args: `columns`: at least one, n rows each, of the types' Arrow types or ones that cast to them.
    Returns: int32, shape (n,).
    Raises: UnsupportedError: a column of a type without a form here; DataError: a column does not cast to its type.
    Source: metadata section 7, Java `BinaryRow.hashCode`.
    """
    rows = len(columns[0])
    hashes = np.empty(rows, np.int32)
    for first, encoded in encode_rows(columns, types):
        hashes[first : first + len(encoded.starts)] = hash_rows(encoded.words, encoded.starts, encoded.sizes)
    return hashes


def serialize_rows(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> list[bytes]:
    """Each row of columns as `serialize_row` writes it. Args and errors: as `row_hashes`."""
    arity, out = struct.pack(">i", len(types)), []
    for _, encoded in encode_rows(columns, types):
        content = encoded.words.tobytes()
        ends = (encoded.starts + encoded.sizes) * 8
        out += [arity + content[start:end] for start, end in zip(encoded.starts * 8, ends, strict=True)]
    return out
