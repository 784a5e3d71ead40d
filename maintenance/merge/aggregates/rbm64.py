"""`rbm64`: the union of 64-bit roaring bitmaps; a lone one is left as it is. Source: Java `FieldRoaringBitmap64Agg`."""

import pyarrow as pa

from maintenance.errors import CorruptFileError, DataError
from maintenance.format.roaring import (
    Bitmap64,
    Container,
    bitmap_of,
    compacted,
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
    shared: dict[int, list[Container]] = {}
    slots = 0
    try:
        for number, data in enumerate(bitmaps):
            bitmap = parse_bitmap64(data, where)
            slots = slots or bitmap.slots
            # Containers keep the order of the first bitmap; what others bring is added in the order of its keys.
            for key in bitmap.containers if number == 0 else sorted(bitmap.containers):
                shared.setdefault(key, []).append(bitmap.containers[key])
                if len(shared) > slots:
                    slots = max(slots + slots // 2, len(shared))
    except CorruptFileError as error:
        raise DataError(error.found, where, error.fix) from error
    return serialize_bitmap64(Bitmap64({key: _joined(containers) for key, containers in shared.items()}, slots))


def _joined(containers: list[Container]) -> Container:
    if len(containers) == 1:
        return compacted(containers[0])
    bitmap = bitmap_of(containers[0])
    for container in containers[1:]:
        bitmap |= bitmap_of(container)
    return compacted(parse_portable(bitmap.serialize())[0][1])


RBM64 = Aggregate("rbm64", is_varbinary, "VARBINARY and BYTES", union64)
