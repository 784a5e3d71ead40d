"""Protocol buffers without their schemas: a message as its fields, in order, to change some and keep the others.

Source: protobuf encoding; ORC's footers are such messages.
"""

from collections.abc import Iterator, Sequence

from maintenance.format.bytes.varint import read_varint, varint

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {FIXED64: 8, FIXED32: 4}

# Number and value of each field: an int for VARINT, bytes for all others, with the wire type between.
Message = list[tuple[int, int, int | bytes]]


def parse_message(data: bytes) -> Message:
    """The fields of a message. Raises: ValueError, IndexError: it is none."""
    fields: Message = []
    position = 0
    while position < len(data):
        tag, position = read_varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, position = read_varint(data, position)
            fields.append((number, wire, value))
            continue
        if wire == BYTES:
            size, position = read_varint(data, position)
        elif wire in _FIXED_SIZES:
            size = _FIXED_SIZES[wire]
        else:
            raise ValueError(f"a field has the wire type {wire}")
        if position + size > len(data):
            raise ValueError("a field reaches beyond the end of its message")
        fields.append((number, wire, data[position : position + size]))
        position += size
    return fields


def serialize_message(fields: Sequence[tuple[int, int, int | bytes]]) -> bytes:
    """The bytes of a message."""
    out = bytearray()
    for number, wire, value in fields:
        out += varint(number << 3 | wire)
        if isinstance(value, int):
            out += varint(value)
        else:
            out += varint(len(value)) if wire == BYTES else b""
            out += value
    return bytes(out)


def numbers(fields: Message, number: int) -> Iterator[int]:
    """Values of a number field, packed or not."""
    for field, _, value in fields:
        if field != number:
            continue
        if isinstance(value, int):
            yield value
            continue
        position = 0
        while position < len(value):
            item, position = read_varint(value, position)
            yield item


def number_of(fields: Message, number: int, default: int = 0) -> int:
    """The value of a number field that is there at most once."""
    return next(numbers(fields, number), default)


def messages(fields: Message, number: int) -> list[bytes]:
    """Values of a field of messages, texts or bytes."""
    return [value for field, _, value in fields if field == number and isinstance(value, bytes)]


def with_number(fields: Message, number: int, value: int) -> Message:
    """The message with another value of a number field, which goes to the end if it was not there."""
    changed: Message = [(field, wire, value if field == number else old) for field, wire, old in fields]
    return changed if any(field == number for field, _, _ in fields) else [*changed, (number, VARINT, value)]
