"""`collect`: the elements of all arrays in one; `fields.<column>.distinct` keeps each once.

A retraction takes one equal element away for each of its elements. Late arrays are added at the end like others. An
array that is SET keeps what is in it twice until something is added, null too. Source: Java
`FieldCollectAgg`, where distinct elements have no order.
"""

import numpy as np
import pyarrow as pa

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.elements import Elements, identities
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.data_type import DataType


def collected(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    elements = Elements.of(inputs.since_set)
    distinct = column.flag("distinct")
    if elements.inputs.has(Op.RETRACT):
        return _with_retractions(elements, distinct=distinct)
    if not distinct:
        return elements.chosen_where(np.ones(len(elements.record), bool))
    codes = identities(elements.items)
    pairs = elements.segment * (int(codes.max(initial=0)) + 1) + codes
    _, first = np.unique(pairs, return_index=True)
    kept = np.zeros(len(codes), bool)
    kept[first] = True
    as_set = elements.inputs.is_op(Op.SET) & (elements.inputs.counts == 1)[elements.inputs.segment]
    return elements.chosen_where(kept | as_set[elements.record])


def _with_retractions(elements: Elements, *, distinct: bool) -> pa.Array:
    """One record after the other."""
    inputs = elements.inputs
    codes = identities(elements.items).tolist()
    retract, is_set = inputs.is_op(Op.RETRACT).tolist(), inputs.is_op(Op.SET).tolist()
    bounds = elements.offsets.tolist()
    lists: list[list[int]] = []
    for start, end in zip(inputs.starts.tolist(), inputs.ends.tolist(), strict=True):
        held: list[int] = []
        for record in range(start, end):
            added = range(bounds[record], bounds[record + 1])
            if retract[record]:
                held = _without(held, [codes[number] for number in added], codes)
            elif distinct and not is_set[record]:
                held = _distinct([*held, *added], codes)
            else:
                held += added
        lists.append(held)
    return elements.chosen_lists(lists)


def _distinct(numbers: list[int], codes: list[int]) -> list[int]:
    places: dict[int, int] = {}
    for number in numbers:
        places.setdefault(codes[number], number)
    return list(places.values())


def _without(held: list[int], taken: list[int], codes: list[int]) -> list[int]:
    kept = []
    for number in held:
        if codes[number] in taken:
            taken.remove(codes[number])
        else:
            kept.append(number)
    return kept


def _accepts(data_type: DataType) -> bool:
    return data_type.root == "ARRAY"


def _check(column: AggregatedColumn) -> None:
    column.flag("distinct")


COLLECT = Aggregate("collect", _accepts, "ARRAY", collected, retracts=True, check=_check)
