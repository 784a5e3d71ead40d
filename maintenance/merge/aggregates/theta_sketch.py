"""`theta_sketch`: the union of theta sketches; a single one is not changed.

Source: Java `FieldThetaSketchAgg`, Apache DataSketches: a union of 4096 nominal entries, stored compact and in order.
"""

import struct

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.bytes.theta_sketches import united_sketches
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.binary import united
from maintenance.merge.aggregates.rbm32 import is_varbinary
from maintenance.merge.aggregates.sketches import sketch_library
from maintenance.merge.inputs import Inputs

_ALWAYS_SAMPLED = struct.pack("<f", 1.0)
_EMPTY, _SINGLE = 0x04, 0x20


def union_theta(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    return united(inputs, lambda sketches: _union(sketches, column.where), united_sketches)


def _union(sketches: list[bytes], where: str) -> bytes:
    library = sketch_library(where)
    union = library.theta_union()
    try:
        for data in sketches:
            union.update(library.compact_theta_sketch.deserialize(data))
    except (IndexError, ValueError, RuntimeError) as error:
        raise DataError(
            f"bytes that are not a theta sketch: {error}", where, "Write compact theta sketches."
        ) from error
    return _as_java(union.get_result().serialize())


def _as_java(data: bytes) -> bytes:
    """With what Java writes into a sketch and the C++ library leaves 0: a probability, and that there is one entry."""
    longs, flags = data[0] & 0x3F, data[5]
    if longs > 1:
        return data[:12] + _ALWAYS_SAMPLED + data[16:]
    return data if flags & _EMPTY else data[:5] + bytes([flags | _SINGLE]) + data[6:]


THETA_SKETCH = Aggregate("theta_sketch", is_varbinary, "VARBINARY and BYTES", union_theta)
