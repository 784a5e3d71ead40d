"""Changes of a table's definition. Source: Java `SchemaChange`.

A column is named by its name, or by a path into it: ``("r", "x")`` is field x of the ROW in column r. On the way
``element`` stands for the elements of an ARRAY and ``value`` for the values of a MAP; keys of a MAP cannot change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from maintenance.types.data_type import DataType

Column = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a column goes among its neighbours. `reference`: the neighbour of ``before`` and ``after``."""

    where: Literal["first", "last", "before", "after"]
    reference: str | None = None


FIRST = Position("first")
LAST = Position("last")


def after(reference: str) -> Position:
    return Position("after", reference)


def before(reference: str) -> Position:
    return Position("before", reference)


@dataclass(frozen=True, slots=True)
class SetOption:
    """Set a table option."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoveOption:
    """Unset a table option."""

    key: str


@dataclass(frozen=True, slots=True)
class ExpectOption:
    """Change nothing, but refuse the other changes where an option has another value. `value`: None = it is unset."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class UpdateComment:
    """Set the table's comment, None removes it."""

    comment: str | None


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a column, or a field of a ROW. Old rows have null there, also where there is a default.

    Attributes:
        type: nullable, as text or data type.
        position: None = at the end, or before the partition columns with `add-column-before-partition`.
        default_value: text of what writers put in place of null.
    """

    column: Column
    type: str | DataType
    comment: str | None = None
    position: Position | None = None
    default_value: str | None = None


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Give a column another name; options that name it follow."""

    column: Column
    new_name: str


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Forget a column. Its id is never given again: a later column of that name is another one."""

    column: Column


@dataclass(frozen=True, slots=True)
class UpdateColumnType:
    """Give a column another type, which its values are cast to when read.

    `keep_nullability`: whether null is allowed stays as it is, whatever `type` says.
    """

    column: Column
    type: str | DataType
    keep_nullability: bool = False


@dataclass(frozen=True, slots=True)
class UpdateColumnNullability:
    """Allow or forbid null."""

    column: Column
    nullable: bool


@dataclass(frozen=True, slots=True)
class UpdateColumnComment:
    """Set a column's comment, None removes it."""

    column: Column
    comment: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnDefaultValue:
    """Set what writers put in place of null, None removes it. Rows that are there stay as they are."""

    column: Column
    default_value: str | None


@dataclass(frozen=True, slots=True)
class UpdateColumnPosition:
    """Move a top-level column."""

    column: str
    position: Position


@dataclass(frozen=True, slots=True)
class DropPrimaryKey:
    """Make an append table of one that holds nothing yet."""


ColumnChange = (
    AddColumn
    | RenameColumn
    | DropColumn
    | UpdateColumnType
    | UpdateColumnNullability
    | UpdateColumnComment
    | UpdateColumnDefaultValue
    | UpdateColumnPosition
)
SchemaChange = SetOption | RemoveOption | ExpectOption | UpdateComment | DropPrimaryKey | ColumnChange


def path_of(column: Column) -> tuple[str, ...]:
    """The names on the way to a column."""
    return (column,) if isinstance(column, str) else tuple(column)
