"""Values of nested types in tests: an ARRAY is a list, a MAP or MULTISET a list of pairs, a ROW a tuple.

Everything else is an internal value (`types/values`).
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from maintenance.types.arrow import arrow_type, element_of, map_parts
from maintenance.types.data_type import DataType
from maintenance.types.values import arrow_of_values, values_of_arrow
from tests.strategies import bits, present_values


def nested_values(data_type: DataType) -> st.SearchStrategy[Any]:
    """Values of a type, null among them where it is nullable."""
    actual = _of_type(data_type)
    return st.none() | actual if data_type.nullable else actual


def _of_type(data_type: DataType) -> st.SearchStrategy[Any]:
    match data_type.root:
        case "ARRAY":
            return st.lists(nested_values(element_of(data_type)), max_size=3)
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            item = nested_values(value) if data_type.root == "MAP" else st.integers(1, 9)
            pairs = st.tuples(nested_values(key.as_nullable(False)), item)
            return st.lists(pairs, max_size=3, unique_by=lambda pair: bits(pair[0]))
        case "ROW":
            return st.tuples(*(nested_values(field.type) for field in data_type.fields))
    actual: st.SearchStrategy[Any] = present_values(data_type)
    if data_type.is_timestamp:
        step = 10 ** (9 - (data_type.precision or 0))
        return actual.map(lambda value: -(-value // step) * step if value < 0 else value // step * step)
    return actual


def array_of(items: Sequence[Any], data_type: DataType) -> pa.Array:
    """Values as an Arrow array of the type's natural Arrow type; a NOT NULL field in a ROW that is null is null too."""
    arrow = arrow_type(data_type)
    mask = pa.array([item is None for item in items], pa.bool_())
    match data_type.root:
        case "ARRAY":
            inner = array_of([part for item in items for part in item or ()], element_of(data_type))
            return pa.ListArray.from_arrays(_offsets(items), inner, type=arrow, mask=mask)
        case "MAP" | "MULTISET":
            pairs = [pair for item in items for pair in item or ()]
            keys, actual = (array_of([pair[n] for pair in pairs], part) for n, part in enumerate(map_parts(data_type)))
            return pa.MapArray.from_arrays(_offsets(items), keys, actual, type=arrow, mask=mask)
        case "ROW":
            children = [
                array_of([None if item is None else item[n] for item in items], field.type)
                for n, field in enumerate(data_type.fields)
            ]
            return pa.StructArray.from_arrays(children, fields=list(arrow), mask=mask)
    return arrow_of_values(items, data_type)


def _offsets(items: Sequence[Any]) -> pa.Array:
    return pa.array(accumulate((len(item or ()) for item in items), initial=0), pa.int32())


def values_of(array: pa.Array, data_type: DataType) -> list[Any]:
    """The values of an Arrow array, floats and keys so that they compare bit by bit."""
    if not data_type.is_nested:
        return [bits(value) for value in values_of_arrow(array)]
    return [_value(scalar, data_type) for scalar in array]


def _value(scalar: pa.Scalar, data_type: DataType) -> Any:
    if not scalar.is_valid:
        return None
    match data_type.root:
        case "ARRAY":
            return values_of(scalar.values, element_of(data_type))
        case "MAP" | "MULTISET":
            parts = zip(scalar.values.flatten(), map_parts(data_type), strict=True)
            return list(zip(*(values_of(array, part) for array, part in parts), strict=True))
        case "ROW":
            return tuple(_single(scalar[n], field.type) for n, field in enumerate(data_type.fields))
    return _single(scalar, data_type)


def _single(scalar: pa.Scalar, data_type: DataType) -> Any:
    if data_type.is_nested:
        return _value(scalar, data_type)
    return values_of(pa.array([scalar], scalar.type), data_type)[0]


def comparable(item: Any, data_type: DataType) -> Any:
    """A value as `values_of` gives it."""
    if item is None:
        return None
    match data_type.root:
        case "ARRAY":
            return [comparable(part, element_of(data_type)) for part in item]
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return [(comparable(k, key), comparable(v, value)) for k, v in item]
        case "ROW":
            return tuple(comparable(part, field.type) for part, field in zip(item, data_type.fields, strict=True))
    return bits(item)
