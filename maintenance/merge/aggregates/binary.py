"""The shared part of functions over serialized objects: one object per key, made from all of the key's values."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from maintenance.merge.inputs import Inputs, Op, scatter


def united(inputs: Inputs, union: Callable[[list[bytes]], bytes]) -> pa.Array:
    """The union of each segment's values. A single value stays as it is.

    Args: `union`: of two and more values, in the order in which they are put together: late ones first.
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
    unions = []
    for start, end in zip(present.starts.tolist(), present.ends.tolist(), strict=True):
        unions.append(values[start] if end == start + 1 else union(values[start:end]))
    return scatter(pa.array(unions, inputs.column.type), segments, count)


def _late_first(inputs: Inputs) -> Inputs:
    """Late records in front, the latest first."""
    position = np.arange(len(inputs.order))
    order = np.lexsort((np.where(inputs.is_op(Op.BEHIND), -position, position), inputs.segment))
    return Inputs(inputs.column, inputs.order[order], inputs.starts)
