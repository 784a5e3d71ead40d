"""Hypothesis strategies that more than one test module uses."""

import struct
from decimal import Decimal

from hypothesis import strategies as st

from maintenance.types.data_type import DataType, parse_type
from maintenance.types.values import Value

INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64, "DATE": 32}


def data_types() -> st.SearchStrategy[DataType]:
    """Every type that a serialized row can hold."""
    simple = st.sampled_from([*INTEGER_BITS, "BOOLEAN", "FLOAT", "DOUBLE", "STRING", "BYTES", "CHAR(9)", "BINARY(9)"])
    decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: f"DECIMAL({p}, {s})"))
    moments = st.builds("{}({})".format, st.sampled_from(["TIMESTAMP", "TIMESTAMP_LTZ"]), st.integers(0, 9))
    return st.one_of(simple, decimals, moments).map(parse_type)


def values(data_type: DataType) -> st.SearchStrategy[Value]:
    """Internal values of a type, null among them."""
    return st.none() | _values(data_type)


def _values(data_type: DataType) -> st.SearchStrategy[Value]:
    if data_type.root in INTEGER_BITS:
        bound = 1 << INTEGER_BITS[data_type.root] - 1
        return st.integers(-bound, bound - 1)
    if data_type.root == "BOOLEAN":
        return st.booleans()
    if data_type.root == "DOUBLE":
        return st.floats()
    if data_type.root == "FLOAT":
        return st.floats(width=32)
    if data_type.is_string:
        return st.text(max_size=20)
    if data_type.is_bytes:
        return st.binary(max_size=20)
    if data_type.root == "DECIMAL":
        limit = 10 ** (data_type.precision or 0) - 1
        scale = data_type.scale or 0
        return st.integers(-limit, limit).map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)))
    precision = data_type.precision or 0
    unit = 10**6 if precision <= 3 else 10**3 if precision <= 6 else 1
    return st.integers(-(2**63) // unit + 1, (2**63 - 1) // unit).map(lambda n: n * unit)


def bits(value: Value) -> object:
    """A value to compare by: floats by their bits, so that NaN equals itself and zeros differ by sign."""
    return struct.pack("<d", value) if isinstance(value, float) else value
