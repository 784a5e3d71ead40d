"""`bool_and`: whether all values are true; nulls are skipped."""

import numpy as np
import pyarrow as pa

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataType


def all_true(inputs: Inputs, _column: AggregatedColumn) -> pa.Array:
    inputs = inputs.since_set
    values = inputs.column.fill_null(True).to_numpy(zero_copy_only=False)[inputs.order]
    nothing = ~np.logical_or.reduceat(inputs.valid, inputs.starts)
    return pa.array(np.logical_and.reduceat(values, inputs.starts), pa.bool_(), mask=nothing)


def is_boolean(data_type: DataType) -> bool:
    return data_type.root == "BOOLEAN"


BOOL_AND = Aggregate("bool_and", is_boolean, "BOOLEAN", all_true)
