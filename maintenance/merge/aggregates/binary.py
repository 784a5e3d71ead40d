"""The shared part of functions over serialized objects: one object per key, made from all of the key's values."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from maintenance.merge.inputs import Inputs, Op, scatter

SideBySide = Callable[[pa.Array, np.ndarray], Sequence[bytes | None]]
"""Unions of groups of values at once, the first of each group given; None for those that are to be made one by one."""


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
    values = present.values.to_pylist()
    unions: list[bytes | None] = [None] * len(present.starts)
    several = present.counts > 1
    if side_by_side is not None and several.any():
        counts = present.counts[several]
        made = side_by_side(
            present.values.take(pa.array(np.flatnonzero(np.repeat(several, present.counts)))),
            np.cumsum(counts) - counts,
        )
        for segment, data in zip(np.flatnonzero(several).tolist(), made, strict=True):
            unions[segment] = data
    for segment, (start, end) in enumerate(zip(present.starts.tolist(), present.ends.tolist(), strict=True)):
        if unions[segment] is None:
            unions[segment] = values[start] if end == start + 1 else union(values[start:end])
    return scatter(pa.array(unions, inputs.column.type), segments, count)


def _late_first(inputs: Inputs) -> Inputs:
    """Late records in front, the latest first."""
    position = np.arange(len(inputs.order))
    order = np.lexsort((np.where(inputs.is_op(Op.BEHIND), -position, position), inputs.segment))
    return Inputs(inputs.column, inputs.order[order], inputs.starts)
