"""`merge_map`: the entries of all maps; of equal keys the newest counts. A retraction removes its keys.

A late map adds only missing keys. Source: Java `FieldMergeMapAgg`.
"""

import numpy as np
import pyarrow as pa

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.elements import Elements, identities
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.data_type import DataType


def merged_maps(inputs: Inputs, _column: AggregatedColumn) -> pa.Array:
    elements = Elements.of(inputs.since_set)
    if not len(elements.record):
        return elements.chosen_where(np.array([], bool))
    codes = identities(elements.keys)
    # The entries of one key, oldest first, are a segment of their own.
    pairs = elements.segment * (int(codes.max()) + 1) + codes
    order = np.argsort(pairs, kind="stable")
    starts = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    ops = elements.inputs.ops
    of_key = Inputs(elements.items, order, starts, None if ops is None else ops[elements.record][order])
    numbers = np.sort(_deciding(of_key))
    return elements.chosen_where(np.isin(np.arange(len(codes)), numbers[numbers >= 0]))


def _deciding(entries: Inputs) -> np.ndarray:
    """The entry that each key keeps, -1 if it has none."""
    if entries.ops is None:
        return entries.records(entries.last())
    last = entries.last(entries.ops != Op.BEHIND)
    missing = (last < 0) | (entries.ops[last] == Op.RETRACT)
    after = np.arange(len(entries.order)) > np.repeat(last, entries.counts)
    filling = entries.first(after & (entries.ops == Op.BEHIND))
    return entries.records(np.where(missing, filling, last))


def _accepts(data_type: DataType) -> bool:
    return data_type.root == "MAP"


MERGE_MAP = Aggregate("merge_map", _accepts, "MAP", merged_maps, retracts=True)
