"""`min`: the smallest value in Paimon's order; nulls are skipped."""

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.max import COMPARABLE, is_comparable, smallest
from maintenance.merge.inputs import Inputs


def _smallest(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    return smallest(inputs)


MIN = Aggregate("min", is_comparable, COMPARABLE, _smallest)
