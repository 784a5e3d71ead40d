"""Maps with a null key, which Paimon's ORC files can hold and Arrow's arrays cannot.

Arrow ends the process when its reader meets one. So what the file says about the keys is asked before.
"""

from collections.abc import Iterator, Sequence

from maintenance.errors import UnsupportedError
from maintenance.format.orc.tail import OrcTail
from maintenance.types.arrow import map_parts
from maintenance.types.data_type import DataField, DataType


def check_map_keys(tail: OrcTail, fields: Sequence[DataField], path: str) -> None:
    """Raises: UnsupportedError naming the column: a map in it has a null key."""
    root = tail.types[0]
    ids = dict(zip(root.names, root.subtypes, strict=True))
    for field in filter(has_map, fields):
        if any(tail.has_null(key) for key in _key_ids(tail, field.type, ids[field.name])):
            raise null_key(field.name, path)


def null_key(column: str, path: str) -> UnsupportedError:
    """The error of a file that has one."""
    return UnsupportedError(
        f"a map in column '{column}' has a null key, which Arrow cannot hold", path, "Leave the column out of the read."
    )


def has_map(field: DataField) -> bool:
    """Whether a column is, or has inside, what ORC holds as maps."""
    return any(part.root in ("MAP", "MULTISET") for part in field.type.walk())


def _inner(data_type: DataType) -> list[DataType]:
    """The types inside, in the order of the file's tree."""
    match data_type.root:
        case "MAP" | "MULTISET":
            return list(map_parts(data_type))
        case "ROW":
            return [field.type for field in data_type.fields]
    return [] if data_type.element is None else [data_type.element]


def _key_ids(tail: OrcTail, data_type: DataType, type_id: int) -> Iterator[int]:
    """The ids of the keys of all maps in a type."""
    inner = tail.types[type_id].subtypes
    if data_type.root in ("MAP", "MULTISET"):
        yield inner[0]
    for part, part_id in zip(_inner(data_type), inner, strict=True):
        yield from _key_ids(tail, part, part_id)
