"""Prune the stripes of an ORC file with a filter and their minimum and maximum values.

Arrow prunes row groups of parquet but nothing of ORC. Its datasets drop fragments whose guarantee contradicts a filter,
so each stripe becomes a fragment without content, with its bounds as the guarantee.
Source: ORC specification v1, "Column Statistics".
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.fs as pafs

from maintenance.format.bytes.protobuf import Message, messages, number_of, numbers, parse_message
from maintenance.format.bytes.varint import unzigzag
from maintenance.format.orc.tail import Kind, OrcTail

_VALUES, _INTEGERS, _TEXTS, _DATES, _HAS_NULL = 1, 2, 4, 7, 10


def matching_stripes(tail: OrcTail, schema: pa.Schema, filter_: pc.Expression) -> list[int]:
    """Numbers of the stripes whose statistics do not rule the filter out. `schema`: the file's, as Arrow reads it."""
    statistics = tail.stripe_statistics()
    if len(statistics) != len(tail.stripes):
        return list(range(len(tail.stripes)))
    file_format = pads.IpcFileFormat()  # of nothing that is ever opened
    nowhere = pafs.LocalFileSystem()
    fragments = [
        file_format.make_fragment(str(number), nowhere, _guarantee(schema, tail, columns))
        for number, columns in enumerate(statistics)
    ]
    dataset = pads.FileSystemDataset(fragments, schema, file_format, nowhere)
    try:
        return [int(fragment.path) for fragment in dataset.get_fragments(filter_)]
    except pa.ArrowException:  # the filter compares a TIME, which ORC holds as a number
        return list(range(len(tail.stripes)))


def _guarantee(schema: pa.Schema, tail: OrcTail, statistics: Sequence[Message]) -> pc.Expression:
    """What holds for all rows of a stripe. `statistics`: by the id of the type."""
    ids = zip(schema, tail.types[0].subtypes, strict=True)
    guarantees = (_guaranteed(field, tail.types[number].kind, statistics[number]) for field, number in ids)
    return reduce(and_, (part for part in guarantees if part is not None), pc.scalar(True))


def _guaranteed(field: pa.Field, kind: int, statistics: Message) -> pc.Expression | None:
    column = pc.field(field.name)
    if not number_of(statistics, _VALUES, 1):
        return column.is_null()
    place, read = _BOUNDS.get(kind, (0, _no_bounds))
    of_type = messages(statistics, place)
    bounds = read(parse_message(of_type[0])) if of_type else None
    if bounds is None:
        return None
    low, high = (_scalar(bound, field.type) for bound in bounds)
    within = (column >= low) & (column <= high)
    return within | column.is_null() if number_of(statistics, _HAS_NULL, 1) else within


def _no_bounds(_: Message) -> None:
    return None


def _integers(statistics: Message) -> tuple[int, int] | None:
    low, high = (list(numbers(statistics, number)) for number in (1, 2))
    return (unzigzag(low[0]), unzigzag(high[0])) if low and high else None


def _texts(statistics: Message) -> tuple[str, str] | None:
    low, high = (messages(statistics, number) for number in (1, 2))
    return (low[0].decode(), high[0].decode()) if low and high else None


def _scalar(bound: int | str, target: pa.DataType) -> pa.Scalar:
    return pa.scalar(bound, pa.int32()).cast(target) if pa.types.is_date32(target) else pa.scalar(bound, target)


# Of each kind of type where its statistics stand in the message, and how its bounds are written. Floats may hold NaN.
_BOUNDS: Mapping[int, tuple[int, Callable[[Message], tuple[int, int] | tuple[str, str] | None]]] = {
    **dict.fromkeys((Kind.BYTE, Kind.SHORT, Kind.INT, Kind.LONG), (_INTEGERS, _integers)),
    **dict.fromkeys((Kind.STRING, Kind.VARCHAR), (_TEXTS, _texts)),
    Kind.DATE: (_DATES, _integers),
}
