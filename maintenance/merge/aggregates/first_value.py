"""`first_value`: the oldest value, null too."""

import numpy as np

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, any_type
from maintenance.merge.inputs import Inputs, Op


def first_value(inputs: Inputs, _column: AggregatedColumn) -> np.ndarray:
    """The first addition of all decides; later ones change nothing, late ones take its place, and so does a SET.

    A SET before every addition only holds until the first addition, unless that one is late.
    """
    if inputs.ops is None:
        return inputs.records(inputs.first())
    opening = inputs.first((inputs.ops == Op.ADD) | (inputs.ops == Op.BEHIND))
    position = np.arange(len(inputs.order))
    is_opening = position == np.repeat(opening, inputs.counts)
    # A late addition that opens finds a value that was SET, or null, and leaves it.
    decides = (inputs.ops == Op.SET) | ((inputs.ops == Op.BEHIND) & ~is_opening) | (is_opening & (inputs.ops == Op.ADD))
    return inputs.records(inputs.last(decides))


FIRST_VALUE = Aggregate("first_value", any_type, "every type", first_value)
