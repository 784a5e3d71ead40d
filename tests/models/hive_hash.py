"""Hive's hash of single values, as Java computes it: the obvious model of `maintenance.bucket.hive`."""

import struct
from collections.abc import Sequence
from decimal import Context, Decimal

from maintenance.types.data_type import DataType
from maintenance.types.values import Value


def signed(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def big_integer_hash(value: int) -> int:
    """Java's `BigInteger.hashCode`: the words of the magnitude, highest first, then the sign."""
    magnitude, state = abs(value), 0
    for word in range(7, -1, -1):
        state = (31 * state + (magnitude >> 32 * word & 0xFFFFFFFF)) % (1 << 32)
    return signed(state if value >= 0 else -state)


def decimal_hash(value: Decimal) -> int:
    """Java's `BigDecimal.hashCode` after trailing zeros behind the point are gone."""
    if value == 0:
        return 0
    sign, digits, exponent = value.normalize(Context(prec=80)).as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    return signed(31 * big_integer_hash(-unscaled if sign else unscaled) + max(-exponent, 0))


def value_hash(value: Value, data_type: DataType) -> int:
    if value is None:
        return 0
    if isinstance(value, (str, bytes)):
        state = 0
        for byte in value.encode() if isinstance(value, str) else value:
            state = signed(31 * state + (byte - 256 if byte >= 128 else byte))
        return state
    if isinstance(value, Decimal):
        return decimal_hash(value)
    if isinstance(value, float):
        value = 0.0 if value == 0 else value
        nan = value != value
        if data_type.root == "FLOAT":
            return 0x7FC00000 if nan else struct.unpack("<i", struct.pack("<f", value))[0]
        bits = 0x7FF8 << 48 if nan else struct.unpack("<Q", struct.pack("<d", value))[0]
        return signed(bits ^ bits >> 32)
    if data_type.root == "BIGINT":
        bits = int(value) % (1 << 64)
        return signed(bits ^ bits >> 32)
    return int(value)


def row_hash(values: Sequence[Value], types: Sequence[DataType]) -> int:
    state = 0
    for value, data_type in zip(values, types, strict=True):
        state = signed(31 * state + value_hash(value, data_type))
    return state
