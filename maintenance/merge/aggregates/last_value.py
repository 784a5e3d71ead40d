"""`last_value`: the newest value, null too; a retraction makes it null."""

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, any_type
from maintenance.merge.inputs import Inputs, Op


def last_value(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    """Late additions change nothing; a retraction counts whenever it comes."""
    if inputs.ops is None:
        return inputs.records(inputs.last())
    last = inputs.last(inputs.ops != Op.BEHIND)
    retracted = (last >= 0) & (inputs.ops[last] == Op.RETRACT)
    return inputs.records(np.where(retracted, -1, last))


LAST_VALUE = Aggregate("last_value", any_type, "every type", last_value, retracts=True)
