"""`first_non_null_value`, also called `first_not_null_value`: the oldest value that is not null."""

from dataclasses import replace

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, any_type
from maintenance.merge.inputs import Inputs, Op


def first_non_null_value(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    if inputs.ops is None:
        return inputs.records(inputs.first(inputs.valid))
    return inputs.records(_step_by_step(inputs, inputs.ops))


def _step_by_step(inputs: Inputs, ops: np.ndarray) -> np.ndarray:
    """With late additions the function has a state: whether a first value was found.

    A late addition takes the place of the value so far, with null too, once one was found; before that it fills a value
    that is missing, and what was there already counts as found. Source: Java `FieldFirstNonNullValueAgg`, whose late
    additions run with the two values swapped.
    """
    holder = np.full(len(inputs.starts), -1)
    has_value = np.zeros(len(inputs.starts), bool)
    for segments, positions in inputs.ranks():
        op, valid, had_value = ops[positions], inputs.valid[positions], has_value[segments]
        held = holder[segments]
        holds = (held >= 0) & inputs.valid[held]
        opens = (op == Op.ADD) & valid & ~had_value
        late = op == Op.BEHIND
        keeps = late & ~had_value & holds
        takes = (op == Op.SET) | opens | (late & ~keeps)
        holder[segments] = np.where(takes, positions, held)
        has_value[segments] = had_value | opens | keeps
    return np.where((holder >= 0) & inputs.valid[holder], holder, -1)


FIRST_NON_NULL_VALUE = Aggregate("first_non_null_value", any_type, "every type", first_non_null_value)
FIRST_NOT_NULL_VALUE = replace(FIRST_NON_NULL_VALUE, name="first_not_null_value")
