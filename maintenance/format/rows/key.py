"""Serialized keys as tuples that compare as Paimon compares keys."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from maintenance.format.rows.binary_row import parse_row
from maintenance.types.data_type import DataType
from maintenance.types.values import Value


def key_reader(types: Sequence[DataType]) -> Callable[[bytes], tuple[Any, ...]]:
    """A function from a serialized row of these types to a tuple whose order is the order of the keys."""

    def read(data: bytes) -> tuple[Any, ...]:
        return tuple(comparable(value) for value in parse_row(data, types))

    return read


def comparable(value: Value) -> tuple[bool, Any]:
    """A value that sorts as Paimon sorts: nulls first, strings by UTF-8 bytes, -0.0 before 0.0, NaN largest."""
    if value is None:
        return (False, 0)
    if isinstance(value, str):
        return (True, value.encode())
    if isinstance(value, float):
        if math.isnan(value):
            return (True, (math.inf, 2))
        return (True, (value, 0 if math.copysign(1, value) < 0 and value == 0 else 1))
    return (True, value)
