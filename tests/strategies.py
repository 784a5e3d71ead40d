"""Hypothesis strategies that more than one test module uses."""

import struct
from decimal import Decimal

from hypothesis import strategies as st

from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.values import Value

FIELD_NAMES = st.text(st.sampled_from("abcXYZ 9_`.,<>:'é中"), min_size=1, max_size=6).filter(str.strip)
INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64, "DATE": 32}


def data_types() -> st.SearchStrategy[DataType]:
    """Every type that a serialized row can hold."""
    simple = st.sampled_from(
        [*INTEGER_BITS, "TIME(3)", "BOOLEAN", "FLOAT", "DOUBLE", "STRING", "BYTES", "CHAR(9)", "BINARY(9)"]
    )
    decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: f"DECIMAL({p}, {s})"))
    moments = st.builds("{}({})".format, st.sampled_from(["TIMESTAMP", "TIMESTAMP_LTZ"]), st.integers(0, 9))
    return st.one_of(simple, decimals, moments).map(parse_type)


def nested_types(counted: st.SearchStrategy[DataType] | None = None) -> st.SearchStrategy[DataType]:
    """Types with ARRAY, MAP, MULTISET and ROW among them, to a few levels; ids of fields are their positions.

    Args: `counted`: what a MULTISET holds, None = anything that is not nested.
    """
    atoms = data_types()
    return st.recursive(
        _maybe_not_null(atoms),
        lambda inner: _maybe_not_null(_nested(inner, atoms, atoms if counted is None else counted)),
        max_leaves=6,
    )


def _maybe_not_null(types: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    return st.builds(DataType.as_nullable, types, st.booleans())


def _nested(
    inner: st.SearchStrategy[DataType], atoms: st.SearchStrategy[DataType], counted: st.SearchStrategy[DataType]
) -> st.SearchStrategy[DataType]:
    keys = atoms.map(lambda key: key.as_nullable(False))
    rows = st.lists(st.tuples(FIELD_NAMES, inner), min_size=1, max_size=4, unique_by=lambda part: part[0].lower())
    return st.one_of(
        inner.map(lambda element: DataType("ARRAY", element=element)),
        counted.map(lambda element: DataType("MULTISET", element=element.as_nullable(False))),
        st.builds(lambda key, value: DataType("MAP", key=key, value=value), keys, inner),
        rows.map(lambda parts: DataType("ROW", fields=tuple(DataField(n, *part) for n, part in enumerate(parts)))),
    )


def values(data_type: DataType) -> st.SearchStrategy[Value]:
    """Internal values of a type, null among them."""
    return st.none() | present_values(data_type)


def present_values(data_type: DataType) -> st.SearchStrategy[Value]:
    """Internal values of a type, without null."""
    if data_type.root in INTEGER_BITS:
        bound = 1 << INTEGER_BITS[data_type.root] - 1
        return st.integers(-bound, bound - 1)
    if data_type.root == "TIME":
        return st.integers(0, 86_399_999)
    if data_type.root == "BOOLEAN":
        return st.booleans()
    if data_type.root == "DOUBLE":
        return st.floats()
    if data_type.root == "FLOAT":
        return st.floats(width=32)
    if data_type.is_string:
        return st.text(max_size=min(20, data_type.length or 20))
    if data_type.is_bytes:
        return st.binary(max_size=min(20, data_type.length or 20))
    if data_type.root == "DECIMAL":
        limit = 10 ** (data_type.precision or 0) - 1
        scale = data_type.scale or 0
        return st.integers(-limit, limit).map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)))
    precision = data_type.precision or 0
    unit = 10**6 if precision <= 3 else 10**3 if precision <= 6 else 1
    return st.integers(-(2**63) // unit + 1, (2**63 - 1) // unit).map(lambda n: n * unit)


def bits(value: object) -> object:
    """A value to compare by: floats by their bits, so that NaN equals itself and zeros differ by sign."""
    return struct.pack("<d", value) if isinstance(value, float) else value
