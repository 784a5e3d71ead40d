"""The shared part of functions over serialized objects: one object per key, made from all of the key's values."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.ragged import MOST_GROUPS, Unions, spread
from maintenance.merge.inputs import Inputs, Op, scatter

SideBySide = Callable[[pa.Array, np.ndarray], Unions]
"""Unions of groups of values at once, the first of each group given; the others are made one by one."""


def united(inputs: Inputs, union: Callable[[list[bytes]], bytes], side_by_side: SideBySide | None = None) -> pa.Array:
    """The union of each segment's values. A single value stays as it is.

    Args: `union`: of two and more values, in the order in which they are put together: late ones first;
        `side_by_side`: what can be done of it for all segments at once.
    """
    inputs = inputs.since_set
    count = len(inputs.starts)
    if not inputs.valid.any():
        return pa.nulls(count, inputs.column.type)
    present, segments = inputs if inputs.valid.all() else None, np.arange(count)
    if present is None:
        present, segments = inputs.only(inputs.valid)
    if present.has(Op.BEHIND):
        present = _late_first(present)
    values, counts = present.values, present.counts
    # Of each segment, where its value is among those that are there and those that are made.
    at, parts, length = present.starts.copy(), [values], len(values)
    several = np.flatnonzero(counts > 1)
    for made, data in _made_at_once(values, present, several, side_by_side) if side_by_side else ():
        at[made] = length + np.arange(len(data))
        parts.append(data)
        length += len(data)
    slow = several[at[several] < len(values)]
    if len(slow):
        at[slow] = length + np.arange(len(slow))
        bounds = zip(present.starts[slow].tolist(), present.ends[slow].tolist(), strict=True)
        parts.append(pa.array([union(values[start:end].to_pylist()) for start, end in bounds], values.type))
    # Their lengths may add up to more than the type of a single one can say.
    whole = pa.concat_arrays([part.cast(pa.large_binary()) for part in parts]).take(pa.array(at))
    return scatter(whole.cast(inputs.column.type), segments, count)


def _made_at_once(
    values: pa.Array, present: Inputs, several: np.ndarray, side_by_side: SideBySide
) -> Iterator[tuple[np.ndarray, pa.Array]]:
    """Unions of segments of several values, and which these are."""
    for begin in range(0, len(several), MOST_GROUPS):
        part = several[begin : begin + MOST_GROUPS]
        counts = present.counts[part]
        chosen = values.take(pa.array(spread(present.starts[part], counts)))
        made = side_by_side(chosen, np.cumsum(counts) - counts)
        buffers = [None, pa.py_buffer(made.united.offsets), pa.py_buffer(made.united.data)]
        yield part[made.groups], pa.Array.from_buffers(pa.large_binary(), len(made.groups), buffers)


def _late_first(inputs: Inputs) -> Inputs:
    """Late records in front, the latest first."""
    position = np.arange(len(inputs.order))
    order = np.lexsort((np.where(inputs.is_op(Op.BEHIND), -position, position), inputs.segment))
    return Inputs(inputs.column, inputs.order[order], inputs.starts)
