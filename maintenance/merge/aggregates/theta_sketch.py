"""`theta_sketch`: the union of theta sketches; a lone one is left as it is.

Source: Java `FieldThetaSketchAgg`, Apache DataSketches: a union of 4096 nominal entries, stored compact and in order.
"""

import struct

import pyarrow as pa
from datasketches import compact_theta_sketch, theta_union

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.binary import united
from maintenance.merge.aggregates.rbm32 import is_varbinary
from maintenance.merge.inputs import Inputs

_ALWAYS = struct.pack("<f", 1.0)


def union_theta(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    return united(inputs, lambda sketches: _union(sketches, column.where))


def _union(sketches: list[bytes], where: str) -> bytes:
    union = theta_union()
    try:
        for data in sketches:
            union.update(compact_theta_sketch.deserialize(data))
    except (ValueError, RuntimeError) as error:
        raise DataError(f"bytes that are no theta sketch: {error}", where, "Write compact theta sketches.") from error
    return _with_probability(union.get_result().serialize())


def _with_probability(data: bytes) -> bytes:
    """With the sampling probability that Java notes in sketches of several entries, and the C++ library leaves 0."""
    longs = data[0] & 0x3F
    return data[:12] + _ALWAYS + data[16:] if longs > 1 else data


THETA_SKETCH = Aggregate("theta_sketch", is_varbinary, "VARBINARY and BYTES", union_theta)
