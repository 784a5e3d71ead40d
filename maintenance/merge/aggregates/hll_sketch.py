"""`hll_sketch`: the union of HLL sketches; a single one is not changed.

Each union has the precision of the sketch that is added. Source: Java `FieldHllSketchAgg`, Apache DataSketches: the
result is a compact HLL_4 sketch, and each step starts from its bytes, since the order of its entries depends on it.
"""

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.binary import united
from maintenance.merge.aggregates.rbm32 import is_varbinary
from maintenance.merge.aggregates.sketches import sketch_library
from maintenance.merge.inputs import Inputs


def union_hll(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    return united(inputs, lambda sketches: _union(sketches, column.where))


def _union(sketches: list[bytes], where: str) -> bytes:
    library = sketch_library(where)
    try:
        total = sketches[0]
        for data in sketches[1:]:
            sketch = library.hll_sketch.deserialize(data)
            union = library.hll_union(sketch.lg_config_k)
            union.update(sketch)
            union.update(library.hll_sketch.deserialize(total))
            total = union.get_result(library.tgt_hll_type.HLL_4).serialize_compact()
    except (IndexError, ValueError, RuntimeError) as error:
        raise DataError(f"bytes that are not an HLL sketch: {error}", where, "Write compact HLL sketches.") from error
    return total


HLL_SKETCH = Aggregate("hll_sketch", is_varbinary, "VARBINARY and BYTES", union_hll)
