"""`bool_or`: whether any value is true; nulls are skipped."""

import numpy as np
import pyarrow as pa

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.bool_and import is_boolean
from maintenance.merge.inputs import Inputs


def any_true(inputs: Inputs, _column: AggregatedColumn) -> pa.Array:
    inputs = inputs.since_set
    values = inputs.column.fill_null(False).to_numpy(zero_copy_only=False)[inputs.order]
    nothing = ~np.logical_or.reduceat(inputs.valid, inputs.starts)
    return pa.array(np.logical_or.reduceat(values, inputs.starts), pa.bool_(), mask=nothing)


BOOL_OR = Aggregate("bool_or", is_boolean, "BOOLEAN", any_true)
