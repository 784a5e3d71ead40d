"""A predicate against the indexes of one data file: can some row of the file match?

Whatever no index answers keeps the file, and so do indexes of kinds this engine does not know.
"""

from collections.abc import Mapping

from maintenance.format.file_index.kinds import KINDS
from maintenance.predicate.tree import And, Constant, IsNull, Leaf, Not, Or, Predicate, push_down_not
from maintenance.types.data_type import DataField


def may_match(
    predicate: Predicate, indexes: Mapping[str, Mapping[str, bytes | None]], fields: Mapping[str, DataField]
) -> bool:
    """False only if no row of the file can satisfy the predicate.

    Args:
        predicate: its columns and values are of `fields`.
        indexes: column, kind, body, as `parse_container` returns them.
        fields: by name, the columns with the types they had when the file was written.

    Raises: CorruptFileError: a body is damaged.
    """
    return _may_match(push_down_not(predicate), indexes, fields)


def _may_match(
    pushed: Predicate, indexes: Mapping[str, Mapping[str, bytes | None]], fields: Mapping[str, DataField]
) -> bool:
    match pushed:
        case Constant(value):
            return value is True
        case And(children):
            return all(_may_match(child, indexes, fields) for child in children)
        case Or(children):
            return any(_may_match(child, indexes, fields) for child in children)
        case Not() | IsNull():
            return True
    bodies = indexes.get(pushed.column, {})
    return pushed.column not in fields or all(
        _body_may_match(pushed, kind, body, fields[pushed.column]) for kind, body in bodies.items()
    )


def _body_may_match(leaf: Leaf, kind: str, body: bytes | None, field: DataField) -> bool:
    """A leaf is true only for a value that is there; an index without a body was given no rows."""
    if body is None:
        return False
    return kind not in KINDS or not KINDS[kind].supports(field.type) or KINDS[kind].may_match(leaf, body, field.type)
