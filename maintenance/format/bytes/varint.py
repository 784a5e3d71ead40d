"""Numbers of 7 bits a byte, lowest first, as Avro, protocol buffers and snappy write them."""


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A number of 7 bits a byte, and the position after it."""
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return value, position


def varint(value: int) -> bytes:
    """A number that is not negative, 7 bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def unzigzag(value: int) -> int:
    """The signed number of a zigzag form."""
    return (value >> 1) ^ -(value & 1)


def zigzag(value: int) -> int:
    """The form of a signed number of 64 bits that is not negative, and small where the number is."""
    return (value << 1) ^ (value >> 63)
