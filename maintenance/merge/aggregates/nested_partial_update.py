"""`nested_partial_update`: arrays of rows by `nested-key`; each field of a row takes its newest value that is not null.

Options as for `nested_update`; the key is required here. Source: Java `FieldNestedPartialUpdateAgg`, where the rows
have no order.
"""

import numpy as np
import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.nested_update import NestedRows, check, is_array_of_rows, names_of
from maintenance.merge.elements import Elements
from maintenance.merge.inputs import Inputs, Op


def nested_partial(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    elements = Elements.of(inputs.since_set)
    inputs = elements.inputs
    rows = NestedRows.of(elements.items, column)
    as_it_came = _untouched(inputs)[elements.segment]
    numbers = np.flatnonzero(np.array(rows.usable, bool) & ~as_it_came)
    composed, owners = _composed(elements, np.array(rows.codes, np.int64), numbers)
    kept = np.flatnonzero(as_it_came)
    items = pa.concat_arrays([composed, elements.items.take(pa.array(kept))])
    segments = np.concatenate([owners, elements.segment[kept]])
    order = pa.array(np.argsort(segments, kind="stable"))
    offsets = np.append(0, np.cumsum(np.bincount(segments, minlength=len(inputs.starts))))
    nulls = pa.array(~elements.has_value())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items.take(order), elements.values.type, mask=nulls)


def _untouched(inputs: Inputs) -> np.ndarray:
    """Segments whose value stays as it came: set, or put in front of a null, with nothing merged to it since."""
    if inputs.ops is None:
        return np.zeros(len(inputs.starts), bool)
    first = inputs.first(inputs.valid)
    late = inputs.ops == Op.BEHIND
    merges = (inputs.valid & (inputs.ops == Op.ADD)) | late
    came = (first >= 0) & ((inputs.ops[first] == Op.SET) | late[first])
    return np.asarray(came & (inputs.last(merges) <= first))


def _composed(elements: Elements, codes: np.ndarray, numbers: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """One row for each key of each segment, put together from these elements; and its segment."""
    if not len(numbers):
        return elements.items.slice(0, 0), numbers
    # The rows of one key, oldest first and late ones in front, are a segment of their own.
    pairs = elements.segment * (int(codes.max()) + 1) + codes
    record = elements.record
    age = np.where(elements.inputs.is_op(Op.BEHIND)[record], -record, record)
    order = numbers[np.lexsort((numbers, age[numbers], pairs[numbers]))]
    starts = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    fields = []
    for field in elements.items.flatten():
        of_key = Inputs(field, order, starts)
        at = of_key.records(of_key.last(of_key.valid))
        fields.append(field.take(pa.array(at, mask=at < 0)))
    return pa.StructArray.from_arrays(fields, fields=list(elements.items.type)), elements.segment[order[starts]]


def _check(column: AggregatedColumn) -> None:
    check(column)
    if not names_of(column, "nested-key"):
        raise OptionError(
            "aggregate function 'nested_partial_update' without a key",
            column.where,
            f"Set '{column.key('nested-key')}'.",
        )


NESTED_PARTIAL_UPDATE = Aggregate(
    "nested_partial_update", is_array_of_rows, "ARRAY of ROW", nested_partial, check=_check
)
