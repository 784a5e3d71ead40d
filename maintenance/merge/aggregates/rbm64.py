"""`rbm64`: the union of 64-bit roaring bitmaps; a lone one is left as it is. Source: Java `FieldRoaringBitmap64Agg`."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyroaring import BitMap

from maintenance.errors import CorruptFileError, DataError
from maintenance.format.roaring import (
    Bitmap64,
    Container,
    bitmaps_of,
    parse_bitmap64,
    parse_portable,
    serialize_bitmap64,
)
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.binary import united
from maintenance.merge.aggregates.rbm32 import is_varbinary
from maintenance.merge.inputs import Inputs


def union64(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    return united(inputs, lambda bitmaps: _union(bitmaps, column.where))


def _union(bitmaps: list[bytes], where: str) -> bytes:
    """Containers keep the order of the first bitmap; what others bring is added in the order of its keys."""
    order: dict[int, None] = {}
    parts: dict[int, list[BitMap]] = {}
    slots = 0
    try:
        for data in bitmaps:
            bitmap = parse_bitmap64(data, where)
            slots = slots or bitmap.slots
            order.update(dict.fromkeys(bitmap.containers if not order else sorted(bitmap.containers)))
            if len(order) > slots:
                slots = max(slots + slots // 2, len(order))
            for high, part in bitmaps_of(bitmap).items():
                parts.setdefault(high, []).append(part)
    except CorruptFileError as error:
        raise DataError(error.found, where, error.fix) from error
    return serialize_bitmap64(Bitmap64(_containers(order, parts), slots))


def _containers(order: Iterable[int], parts: Mapping[int, Sequence[BitMap]]) -> dict[int, Container]:
    found: dict[int, Container] = {}
    for high, members in parts.items():
        bitmap = BitMap.union(*members)
        bitmap.run_optimize()
        for low, container in parse_portable(bitmap.serialize()):
            found[high << 16 | low] = container
    return {key: found[key] for key in order}


RBM64 = Aggregate("rbm64", is_varbinary, "VARBINARY and BYTES", union64)
