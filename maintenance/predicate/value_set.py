"""The values of an IN condition: a tuple that caches its lookup structures.

A list of many values is asked for each file (does one lie between its bounds?) and for each batch of rows (which of
them are in it?), so what that needs is made once. It does not travel: another process makes it again.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pyarrow as pa

from maintenance.types.values import Value


class ValueSet(tuple[Value, ...]):
    """Internal values of one column type, none of which is None; equal to the plain tuple of them."""

    @cached_property
    def has_nan(self) -> bool:
        return any(isinstance(value, float) and math.isnan(value) for value in self)

    @cached_property
    def ascending(self) -> "tuple[Value, ...]":
        """In order, without NaN."""
        return tuple(sorted(value for value in self if not (isinstance(value, float) and math.isnan(value))))  # type: ignore[type-var]

    @cached_property
    def _arrays(self) -> dict[pa.DataType, pa.Array]:
        return {}

    def any_between(self, low: Any, high: Any) -> bool:
        """Whether a value lies between two bounds, both included; None is not a bound."""
        ordered = self.ascending
        first = 0 if low is None else bisect_left(ordered, low)
        return first < len(ordered) and (high is None or not high < ordered[first])

    def array(self, arrow: pa.DataType, make: "Callable[[tuple[Value, ...]], pa.Array]") -> pa.Array:
        """All values but NaN as an array of a type. `make`: does it, once for each type."""
        array = self._arrays.get(arrow)
        if array is None:
            array = self._arrays[arrow] = make(self.ascending)
        return array

    def __reduce__(self) -> "tuple[type[ValueSet], tuple[tuple[Value, ...]]]":
        return ValueSet, (tuple(self),)
