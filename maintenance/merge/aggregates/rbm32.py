"""`rbm32`: the union of 32-bit roaring bitmaps; a single one is not changed. Source: Java `FieldRoaringBitmap32Agg`."""

from functools import reduce
from operator import ior

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.errors import DataError
from maintenance.format.bytes.roaring import ARRAY_LIMIT
from maintenance.format.bytes.roaring32_rows import united_arrays_32
from maintenance.format.bytes.roaring_kinds import united_kinds
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.binary import united
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataType


def union32(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    return united(inputs, lambda bitmaps: _union(bitmaps, column.where), united_arrays_32)


def _union(bitmaps: list[bytes], where: str) -> bytes:
    try:
        # One by one: a union of many at once makes 8 KB of bits of each container, however few its numbers are.
        result = reduce(ior, map(BitMap.deserialize, bitmaps))
    except (IndexError, ValueError, RuntimeError) as error:
        raise DataError(f"bytes that are not a roaring bitmap: {error}", where, "Write serialized bitmaps.") from error
    result.run_optimize()
    data: bytes = result.serialize()
    return united_kinds(data, bitmaps) if _has_neighbours(result) else data


def _has_neighbours(bitmap: BitMap) -> bool:
    """Whether numbers may follow each other, without which no container can be runs."""
    if len(bitmap) > ARRAY_LIMIT:
        return True
    numbers = np.asarray(bitmap.to_array())
    return bool((numbers[1:] - numbers[:-1] == 1).any())


def is_varbinary(data_type: DataType) -> bool:
    return data_type.root == "VARBINARY"


RBM32 = Aggregate("rbm32", is_varbinary, "VARBINARY and BYTES", union32)
