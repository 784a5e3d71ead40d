"""`rbm64`: the union of 64-bit roaring bitmaps; a single one is not changed. Source: Java `FieldRoaringBitmap64Agg`."""

import struct
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from pyroaring import BitMap

from maintenance.errors import CorruptFileError, DataError
from maintenance.format.bytes.roaring import (
    ARRAY,
    Bitmap64,
    Container,
    bitmaps_of,
    parse_bitmap64,
    parse_portable,
    serialize_bitmap64,
)
from maintenance.format.bytes.roaring64_rows import united_arrays
from maintenance.format.bytes.roaring_kinds import united_kind
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.binary import united
from maintenance.merge.aggregates.rbm32 import is_varbinary
from maintenance.merge.inputs import Inputs

# Up to so many values are united one by one.
_FEW = 64
_ARRAYS = [struct.Struct(f"<{count}H") for count in range(_FEW + 1)]


def union64(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    return united(inputs, lambda bitmaps: union_of(bitmaps, column.where), united_arrays)


def union_of(bitmaps: list[bytes], where: str) -> bytes:
    """Containers keep the order of the first bitmap; what others bring is added in the order of its keys."""
    try:
        parsed = [parse_bitmap64(data, where) for data in bitmaps]
        order, slots = dict.fromkeys(parsed[0].containers), parsed[0].slots
        for bitmap in parsed[1:]:
            for key in sorted(bitmap.containers.keys() - order.keys()):
                order[key] = None
                slots = _grown(slots, len(order))
        return serialize_bitmap64(Bitmap64(_containers(order, parsed), slots))
    except CorruptFileError as error:
        raise DataError(error.found, where, error.fix) from error


def _grown(slots: int, count: int) -> int:
    """Places for containers once the last of `count` is there: Java's array grows by half when it is full."""
    return slots if count <= slots else max(slots + slots // 2, count)


def _containers(order: Iterable[int], bitmaps: Sequence[Bitmap64]) -> dict[int, Container]:
    parts = {key: [b.containers[key] for b in bitmaps if key in b.containers] for key in order}
    united = {key: _few(members) for key, members in parts.items()}
    others = {key: members for key, members in parts.items() if united[key] is None}
    if others:
        united |= _many(others, [Bitmap64({k: c for k, c in b.containers.items() if k in others}) for b in bitmaps])
    return {key: container for key, container in united.items() if container is not None}


def _few(members: Sequence[Container]) -> Container | None:
    """The union of arrays of few values, if it is an array that cannot be runs: most often the whole of the work."""
    values: set[int] = set()
    for container in members:
        if container.kind != ARRAY or container.cardinality > _FEW:
            return None
        values.update(_ARRAYS[container.cardinality].unpack(container.data))
    count, runs = len(values), sum(value + 1 not in values for value in values)
    if count > _FEW or count // 2 >= runs:
        return None
    return Container(ARRAY, count, _ARRAYS[count].pack(*sorted(values)))


def _many(parts: Mapping[int, Sequence[Container]], bitmaps: Sequence[Bitmap64]) -> dict[int, Container]:
    """The unions of any containers. `bitmaps`: what they stand in."""
    halves: dict[int, list[BitMap]] = {}
    for bitmap in bitmaps:
        for high, half in bitmaps_of(bitmap).items():
            halves.setdefault(high, []).append(half)
    containers: dict[int, Container] = {}
    for high, members in halves.items():
        union = BitMap.union(*members)
        union.run_optimize()
        for low, container in parse_portable(union.serialize()):
            containers[high << 16 | low] = container
    return {key: united_kind(containers[key], members) for key, members in parts.items()}


RBM64 = Aggregate("rbm64", is_varbinary, "VARBINARY and BYTES", union64)
