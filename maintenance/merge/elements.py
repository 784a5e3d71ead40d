"""Elements of ARRAY and MAP columns, by segment: which are the same, and lists made of chosen ones.

Functions of such columns choose elements by their numbers; the values themselves are only taken at the end, by Arrow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.merge.inputs import Inputs, Op
from maintenance.merge.sort_words import key_ranks


@dataclass(frozen=True)
class Elements:
    """The elements of the values of some inputs.

    Attributes:
        inputs: of an ARRAY or MAP column.
        values: its values in order, ListArray or MapArray.
    """

    inputs: Inputs
    values: pa.Array

    @classmethod
    def of(cls, inputs: Inputs) -> "Elements":
        return cls(inputs, inputs.values)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Number of the first element of each record, and the end. Shape (n + 1,)."""
        return np.asarray(self.values.offsets.to_numpy()).astype(np.int64)

    @cached_property
    def record(self) -> np.ndarray:
        """The record that each element is of."""
        return np.repeat(np.arange(len(self.values)), np.diff(self.offsets))

    @cached_property
    def segment(self) -> np.ndarray:
        return np.asarray(self.inputs.segment[self.record])

    @property
    def items(self) -> pa.Array:
        """Elements of arrays, values of maps."""
        return self.values.items if pa.types.is_map(self.values.type) else self.values.values

    @property
    def keys(self) -> pa.Array:
        """Keys of maps."""
        return self.values.keys

    def has_value(self) -> np.ndarray:
        """Whether a segment was given a value that is not null. Shape (k,)."""
        adds_value = self.inputs.valid & ~self.inputs.is_op(Op.RETRACT)
        return np.asarray(np.logical_or.reduceat(adds_value, self.inputs.starts))

    def chosen(self, numbers: np.ndarray, counts: np.ndarray) -> pa.Array:
        """A value for each segment from elements of these numbers. `counts`: how many belong to each segment."""
        at = pa.array(numbers, pa.int64())
        offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
        nulls = pa.array(~self.has_value())
        if pa.types.is_map(self.values.type):
            return pa.MapArray.from_arrays(
                offsets, self.keys.take(at), self.items.take(at), self.values.type, mask=nulls
            )
        return pa.ListArray.from_arrays(offsets, self.items.take(at), self.values.type, mask=nulls)

    def chosen_lists(self, lists: Sequence[Sequence[int]]) -> pa.Array:
        """The same from a list of numbers for each segment."""
        counts = np.array([len(numbers) for numbers in lists], np.int64)
        return self.chosen(np.array([n for numbers in lists for n in numbers], np.int64), counts)

    def chosen_where(self, kept: np.ndarray) -> pa.Array:
        """The same from the elements for which `kept` holds, in their order."""
        numbers = np.flatnonzero(kept)
        return self.chosen(numbers, np.bincount(self.segment[numbers], minlength=len(self.inputs.starts)))


def identities(*columns: pa.Array) -> np.ndarray:
    """Integers that are equal where rows of these columns are: NaN equals itself, the zeros differ. Shape (n,)."""
    flat = [part for column in columns for part in _flat(column)]
    return key_ranks(flat) if len(flat[0]) else np.array([], np.int64)


def _flat(column: pa.Array) -> list[pa.Array]:
    """Columns of types with an order that tell the rows of a column apart."""
    if pa.types.is_struct(column.type):
        parts = [_part for field in column.flatten() for _part in _flat(field)]
        return [column.is_valid(), *parts]
    if pa.types.is_nested(column.type):
        codes: dict[Any, int] = {}
        return [pa.array([codes.setdefault(_frozen(value), len(codes)) for value in column.to_pylist()], pa.int64())]
    if pa.types.is_time(column.type):
        return [column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())]
    return [column]


def _frozen(value: Any) -> Any:
    """A nested value as one that can be looked up."""
    if isinstance(value, dict):
        return tuple((key, _frozen(part)) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_frozen, value))
    return (type(value), repr(value)) if isinstance(value, float) else value
