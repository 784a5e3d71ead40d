"""`primary-key`: the function of the primary key's columns, whose values are all equal."""

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, any_type
from maintenance.merge.inputs import Inputs


def primary_key(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    return inputs.records(inputs.last())


PRIMARY_KEY = Aggregate("primary-key", any_type, "every type", primary_key, retracts=True)
