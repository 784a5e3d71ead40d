"""`nested_partial_update`: arrays of rows by `nested-key`; of the fields of a row the newest that is not null counts.

Options as of `nested_update`, whose key is needed here. Source: Java `FieldNestedPartialUpdateAgg`, where the rows have
no order.
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
    codes, usable = np.array(rows.codes, np.int64), np.array(rows.usable, bool)
    numbers = np.flatnonzero(usable)
    if not len(numbers):
        return elements.chosen(numbers, np.zeros(len(inputs.starts), np.int64))
    # The rows of one key, oldest first and late ones in front, are a segment of their own.
    pairs = elements.segment * (int(codes.max()) + 1) + codes
    record = elements.record
    age = np.where(inputs.is_op(Op.BEHIND)[record], -record - 1, record)
    order = numbers[np.lexsort((numbers, age[numbers], pairs[numbers]))]
    starts = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    fields = []
    for field in elements.items.flatten():
        of_key = Inputs(field, order, starts)
        at = of_key.records(of_key.last(of_key.valid))
        fields.append(field.take(pa.array(at, mask=at < 0)))
    items = pa.StructArray.from_arrays(fields, fields=list(elements.items.type))
    counts = np.bincount(elements.segment[order[starts]], minlength=len(inputs.starts))
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
    return pa.ListArray.from_arrays(offsets, items, elements.values.type, mask=pa.array(~elements.has_value()))


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
