"""`max`: the largest value in Paimon's order; nulls are skipped."""

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.inputs import Inputs
from maintenance.merge.sort_words import dense_ranks, sort_words
from maintenance.types.data_type import DataType


def largest(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    inputs = inputs.since_set
    codes = ordinals(inputs)
    return _holding(inputs, codes, np.maximum.reduceat(np.where(inputs.valid, codes, np.uint64(0)), inputs.starts))


def smallest(inputs: Inputs) -> np.ndarray:
    inputs = inputs.since_set
    codes = ordinals(inputs)
    none = np.uint64(2**64 - 1)
    return _holding(inputs, codes, np.minimum.reduceat(np.where(inputs.valid, codes, none), inputs.starts))


def ordinals(inputs: Inputs) -> np.ndarray:
    """Integers that sort as the values do. uint64, shape (n,)."""
    words = sort_words([inputs.column])
    if len(words) == 1:
        return np.asarray(words[0][inputs.order])
    return np.asarray(dense_ranks(words).astype(np.uint64)[inputs.order])


def _holding(inputs: Inputs, codes: np.ndarray, extremes: np.ndarray) -> np.ndarray:
    """Records that hold these codes, the first of each segment."""
    return inputs.records(inputs.first((codes == np.repeat(extremes, inputs.counts)) & inputs.valid))


def is_comparable(data_type: DataType) -> bool:
    return not data_type.is_nested and data_type.root not in ("VARIANT", "BLOB")


COMPARABLE = "types with an order: no nested ones, no VARIANT, no BLOB"

MAX = Aggregate("max", is_comparable, COMPARABLE, largest)
