"""A predicate against the indexes of one data file: which rows of the file can match?

All indexes of a column are used, and the rows that they return are intersected; AND intersects, OR unites. Conditions
that no index answers keep every row, and so do indexes of unknown kinds and damaged ones: an index only saves work.
Source: data section 9.7, Java `FileIndexPredicate`.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap

from maintenance.errors import CorruptFileError
from maintenance.format.file_index.kind import Condition, IndexedColumn
from maintenance.format.file_index.kinds import KINDS
from maintenance.predicate.tree import And, Constant, In, IsNull, Not, Or, Predicate, push_down_not
from maintenance.types.data_type import DataField

# To look up more values than that takes longer than to read the rows, and hardly ever leaves one out.
_MOST_VALUES = 1000
_LOG = logging.getLogger(__name__)
Body = bytes | None


@dataclass(frozen=True, slots=True)
class FileIndexes:
    """The indexes of one data file.

    Attributes:
        names: kinds of index by column, as the container has them.
        body: loads a body; None for one that was given no rows. Raises CorruptFileError.
        fields: columns by name, with the types they had when the file was written.
        row_count: of the file.
        where: the file, for warnings.
    """

    names: Mapping[str, tuple[str, ...]]
    body: Callable[[str, str], Body]
    fields: Mapping[str, DataField]
    row_count: int
    where: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows that can match.

    Attributes:
        rows: their numbers; None for every row.
        used: the indexes that ruled out rows, as ``kind of column``.
    """

    rows: BitMap | None = None
    used: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_empty(self) -> bool:
        """Whether no row can match."""
        return self.rows is not None and not self.rows


def select(predicate: Predicate, indexes: FileIndexes) -> Selection:
    """The rows of a file that can satisfy the predicate. `predicate`: over the file's own columns."""
    selection = _select(push_down_not(predicate), indexes)
    if selection.rows is not None and len(selection.rows) == indexes.row_count:
        return Selection()
    return selection


def _select(pushed: Predicate, indexes: FileIndexes) -> Selection:
    match pushed:
        case Constant(value):
            return Selection() if value is True else Selection(BitMap())
        case And(children):
            selection = Selection()
            for child in children:
                selection = _both(selection, _select(child, indexes))
                if selection.is_empty:
                    break
            return selection
        case Or(children):
            return _either([_select(child, indexes) for child in children])
    leaf = pushed.child if isinstance(pushed, Not) else pushed
    assert not isinstance(leaf, Constant | And | Or | Not)
    selection = Selection()
    if isinstance(leaf, In) and len(leaf.values) > _MOST_VALUES:
        return selection
    if leaf.column in indexes.fields:
        for kind in indexes.names.get(leaf.column, ()):
            selection = _both(selection, _by_index(leaf if leaf is pushed else Not(leaf), leaf.column, kind, indexes))
            if selection.is_empty:
                break
    return selection


def _by_index(condition: Condition, column: str, kind: str, indexes: FileIndexes) -> Selection:
    of_kind = KINDS.get(kind)
    data_type = indexes.fields[column].type
    if of_kind is None or not of_kind.supports(data_type):
        return Selection()
    try:
        body = indexes.body(column, kind)
        if body is None:
            # Nothing was ever given to the index: there is no value, but there may be rows without.
            rows = None if isinstance(condition, IsNull) else BitMap()
        else:
            rows = of_kind.select(condition, body, IndexedColumn(data_type, indexes.row_count))
    except CorruptFileError as error:
        _LOG.warning("the index '%s' of column '%s' is ignored: %s", kind, column, error.at(indexes.where))
        return Selection()
    return Selection(rows, () if rows is None else (f"{kind} of {column}",))


def _both(one: Selection, other: Selection) -> Selection:
    if one.rows is None or other.rows is None:
        return other if one.rows is None else one
    return Selection(one.rows & other.rows, tuple(dict.fromkeys((*one.used, *other.used))))


def _either(selections: list[Selection]) -> Selection:
    rows = [selection.rows for selection in selections if selection.rows is not None]
    if len(rows) < len(selections):
        return Selection()
    used = dict.fromkeys(name for selection in selections for name in selection.used)
    return Selection(BitMap.union(BitMap(), *rows), tuple(used))
