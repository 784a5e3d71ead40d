"""`last_non_null_value`: the newest value that is not null; the retraction of a value makes it null."""

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, any_type
from maintenance.merge.inputs import Inputs, Op


def last_non_null_value(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    """A late addition fills a value that is missing, and changes nothing else."""
    if inputs.ops is None:
        return inputs.records(inputs.last(inputs.valid))
    inputs = inputs.since_set
    assert inputs.ops is not None
    deciding = inputs.last(inputs.valid & (inputs.ops != Op.BEHIND))
    missing = (deciding < 0) | (inputs.ops[deciding] == Op.RETRACT)
    if not missing.any() or not inputs.has(Op.BEHIND):
        return inputs.records(np.where(missing, -1, deciding))
    # Behind the record that made it null, or from the start: the first late value fills it.
    after = np.arange(len(inputs.order)) > np.repeat(deciding, inputs.counts)
    filling = inputs.first(after & inputs.valid & (inputs.ops == Op.BEHIND))
    return inputs.records(np.where(missing, filling, deciding))


LAST_NON_NULL_VALUE = Aggregate("last_non_null_value", any_type, "every type", last_non_null_value, retracts=True)
