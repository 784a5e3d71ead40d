"""Single values in serialized rows: their 8 bytes in the row, and what is in the variable part.

Values are internal ones (`types/values`); an ARRAY or VECTOR is a sequence of values, a MAP or MULTISET a sequence of
pairs, a ROW a tuple, a VARIANT the pair of its value and metadata. Nested values are in the variable part, with offsets
that count from their own start:

- ROW: a row without its number of fields.
- ARRAY: number of elements (int32), null bits in words of 4 bytes, elements of 1, 2, 4 or 8 bytes, all rounded up to 8
  bytes, then its variable part. Unlike in a row, a null reserves nothing there.
- MAP: size of the array of keys (int32), that array, the array of values.
- VECTOR: number of elements (int32), elements of 1, 2, 4 or 8 bytes, which are rounded up to 8 bytes.
- VARIANT, a pair of byte strings: size of the value (int32), value, metadata.

Source: metadata section 4.4, Java `BinaryRow`, `BinaryArray`, `BinaryMap`.
"""

import decimal
import struct
from collections.abc import Callable, Sequence
from typing import Any

from maintenance.errors import DataError
from maintenance.format.rows.binary_layout import (
    FIXED_WIDTHS,
    INLINE_BYTES,
    is_compact,
    null_bits_size,
    reserved_bytes,
    unsupported,
)
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataType

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
_INT = struct.Struct("<i")
_LONG = struct.Struct("<q")
_SLOT = struct.Struct("<II")  # length (of a timestamp: nanoseconds within the millisecond) and offset
# Large enough that no DECIMAL(38) is rounded; a value that would be is refused.
_EXACT = decimal.Context(prec=80, traps=[decimal.Inexact, decimal.InvalidOperation])


def row_bytes(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    """A row without its number of fields.

    Raises: DataError: a value does not fit its type; UnsupportedError: a value, not null, of a type without a form.
    """
    start = null_bits_size(len(types))
    row = bytearray(start + 8 * len(types))
    for index, (value, data_type) in enumerate(zip(values, types, strict=True)):
        if value is None:
            row[(index + 8) // 8] |= 1 << index % 8
        slot = start + 8 * index
        try:
            row[slot : slot + 8], variable = _slot_and_variable(value, data_type, len(row))
        except (struct.error, decimal.DecimalException, AttributeError, TypeError, ValueError) as error:
            raise DataError(f"{value!r} is not {data_type}", f"field {index}", "Cast the value first.") from error
        row += variable
    return bytes(row)


def _slot_and_variable(value: Any, data_type: DataType, offset: int) -> tuple[bytes, bytes]:
    """The 8 bytes of a value's slot, and its part of the variable part, which begins at `offset`."""
    if value is None:
        reserved = reserved_bytes(data_type)
        return _SLOT.pack(0, offset) if reserved else bytes(8), bytes(reserved)
    if data_type.root in _FIXED:
        return _FIXED[data_type.root].pack(value).ljust(8, b"\0"), b""
    if data_type.is_string or data_type.is_bytes:
        content = value.encode("utf-8") if data_type.is_string else bytes(value)
        if len(content) <= INLINE_BYTES:
            return content.ljust(INLINE_BYTES, b"\0") + bytes([0x80 | len(content)]), b""
        return _in_variable_part(content, offset)
    if data_type.root == "DECIMAL":
        unscaled = _unscaled(decimal.Decimal(value), data_type)
        if is_compact(data_type):
            return _LONG.pack(unscaled), b""
        content = _signed_bytes(unscaled)
        return _SLOT.pack(len(content), offset), content.ljust(16, b"\0")
    if data_type.is_timestamp:
        millis, nanos = divmod(int(value), _NANOS_PER_MILLI)
        if is_compact(data_type):
            return _LONG.pack(millis), b""
        return _SLOT.pack(nanos, offset), _LONG.pack(millis)
    return _in_variable_part(_nested_bytes(value, data_type), offset)


def _in_variable_part(content: bytes, offset: int) -> tuple[bytes, bytes]:
    return _SLOT.pack(len(content), offset), content + bytes(-len(content) % 8)


def _nested_bytes(value: Any, data_type: DataType) -> bytes:
    match data_type.root:
        case "ROW":
            return row_bytes(value, [field.type for field in data_type.fields])
        case "ARRAY":
            return _array_bytes(value, element_of(data_type))
        case "MAP" | "MULTISET":
            key, item = map_parts(data_type)
            keys = _array_bytes([pair[0] for pair in value], key)
            return _INT.pack(len(keys)) + keys + _array_bytes([pair[1] for pair in value], item)
        case "VECTOR":
            elements = b"".join(_FIXED[element_of(data_type).root].pack(item) for item in value)
            return _INT.pack(len(value)) + elements + bytes(-len(elements) % 8)
        case "VARIANT":
            content, metadata = value
            return _INT.pack(len(content)) + bytes(content) + bytes(metadata)
    raise unsupported(data_type, "row")


def _array_bytes(values: Sequence[Any], element: DataType) -> bytes:
    width = FIXED_WIDTHS.get(element.root, 8)
    start = _array_header_size(len(values))
    array = bytearray(-(-(start + width * len(values)) // 8) * 8)
    _INT.pack_into(array, 0, len(values))
    for index, value in enumerate(values):
        if value is None:
            array[4 + index // 8] |= 1 << index % 8
            continue
        slot = start + width * index
        content, variable = _slot_and_variable(value, element, len(array))
        array[slot : slot + width] = content[:width]
        array += variable
    return bytes(array)


def _array_header_size(count: int) -> int:
    return 4 + -(-count // 32) * 4


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


def row_values(
    row: bytes, types: Sequence[DataType], is_read: Callable[[DataType], bool] = lambda _: True
) -> tuple[Any, ...]:
    """The values of a row without its number of fields; None for those of types that are not `is_read`.

    Raises: struct.error, UnicodeDecodeError: it is cut off or damaged; UnsupportedError: a value, not null, of a type
        without a form.
    """
    start = null_bits_size(len(types))
    if len(row) < start + 8 * len(types):
        raise struct.error(f"{len(types)} fields in {len(row)} bytes")
    return tuple(
        None
        if row[(index + 8) // 8] >> index % 8 & 1 or not is_read(data_type)
        else _value(row, start + 8 * index, data_type)
        for index, data_type in enumerate(types)
    )


def _value(row: bytes, slot: int, data_type: DataType) -> Any:
    """The value, not null, whose slot is at byte `slot` of the row or array."""
    if data_type.root in _FIXED:
        return _FIXED[data_type.root].unpack_from(row, slot)[0]
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
    return _nested_value(row, slot, data_type)


def _nested_value(row: bytes, slot: int, data_type: DataType) -> Any:
    if data_type.root == "VARIANT":
        content = _variable(row, *_SLOT.unpack_from(row, slot))
        end = 4 + int(_INT.unpack_from(content)[0])
        return content[4:end], content[end:]
    if data_type.root == "VECTOR":
        return _vector_values(_variable(row, *_SLOT.unpack_from(row, slot)), element_of(data_type))
    if not data_type.is_nested:
        raise unsupported(data_type, "row")
    content = _variable(row, *_SLOT.unpack_from(row, slot))
    if data_type.root == "ROW":
        return row_values(content, [field.type for field in data_type.fields])
    if data_type.root == "ARRAY":
        return _array_values(content, element_of(data_type))
    key, item = map_parts(data_type)
    end = 4 + int(_INT.unpack_from(content)[0])
    pairs = zip(_array_values(content[4:end], key), _array_values(content[end:], item), strict=True)
    return list(pairs)


def _array_values(array: bytes, element: DataType) -> list[Any]:
    count = int(_INT.unpack_from(array)[0])
    width = FIXED_WIDTHS.get(element.root, 8)
    start = _array_header_size(count)
    if count < 0 or len(array) < start + width * count:
        raise struct.error(f"an array of {count} elements in {len(array)} bytes")
    return [
        None if array[4 + index // 8] >> index % 8 & 1 else _value(array, start + width * index, element)
        for index in range(count)
    ]


def _vector_values(content: bytes, element: DataType) -> list[Any]:
    form, count = _FIXED[element.root], int(_INT.unpack_from(content)[0])
    return [form.unpack_from(content, 4 + form.size * index)[0] for index in range(count)]


def _content(row: bytes, slot: int) -> bytes:
    mark = row[slot + 7]
    if mark & 0x80:
        return row[slot : slot + (mark & 0x7F)]
    return _variable(row, *_SLOT.unpack_from(row, slot))


def _variable(row: bytes, length: int, offset: int) -> bytes:
    if offset + length > len(row):
        raise struct.error(f"bytes {offset} to {offset + length} of {len(row)}")
    return row[offset : offset + length]
