"""A view: columns and the queries that define it, one per SQL dialect.

Source: Java `View`, `ViewSchema`, `ViewChange`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from maintenance.errors import AlreadyExistsError, NotFoundError
from maintenance.metastore.schema import FieldSpec, field_of
from maintenance.metastore.schema_change import RemoveOption, SetOption, UpdateComment
from maintenance.types.data_type import DataField


@dataclass(frozen=True)
class View:
    """A view to create, or one that a catalog holds.

    Attributes:
        fields: (name, type) or (name, type, comment), types as Paimon's text; those of a stored view are `DataField`s.
        query: the text that defines it; `dialects`: texts for some engines, which these prefer.
    """

    fields: Sequence[FieldSpec]
    query: str
    dialects: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def columns(self) -> tuple[DataField, ...]:
        """The columns, numbered from 0. Raises: SchemaError: a type cannot be read."""
        return tuple(replace(field_of(spec), id=number) for number, spec in enumerate(self.fields))

    def query_for(self, dialect: str) -> str:
        """The text that an engine runs."""
        return self.dialects.get(dialect, self.query)


@dataclass(frozen=True, slots=True)
class AddDialect:
    """Add the text for an engine."""

    dialect: str
    query: str


@dataclass(frozen=True, slots=True)
class UpdateDialect:
    """Replace the text for an engine."""

    dialect: str
    query: str


@dataclass(frozen=True, slots=True)
class DropDialect:
    """Remove the text for an engine, which then runs the view's own."""

    dialect: str


ViewChange = SetOption | RemoveOption | UpdateComment | AddDialect | UpdateDialect | DropDialect


def changed_view(view: View, changes: Sequence[ViewChange], name: str) -> View:
    """The view after changes, one after the other.

    Raises: AlreadyExistsError, NotFoundError: of a dialect.
    """
    options, dialects, comment = dict(view.options), dict(view.dialects), view.comment
    for change in changes:
        match change:
            case SetOption(key, value):
                options[key] = str(value)
            case RemoveOption(key):
                options.pop(key, None)
            case UpdateComment(text):
                comment = text
            case AddDialect(dialect, query):
                if dialect in dialects:
                    raise AlreadyExistsError(
                        f"dialect '{dialect}' exists", f"view {name}", "Use the action update to change its text."
                    )
                dialects[dialect] = query
            case UpdateDialect(dialect, query):
                _check_dialect(dialect, dialects, name)
                dialects[dialect] = query
            case DropDialect(dialect):
                _check_dialect(dialect, dialects, name)
                del dialects[dialect]
    return replace(view, options=options, dialects=dialects, comment=comment)


def _check_dialect(dialect: str, dialects: Mapping[str, str], name: str) -> None:
    if dialect not in dialects:
        known = ", ".join(sorted(dialects)) or "none"
        raise NotFoundError(f"dialect '{dialect}' does not exist", f"view {name}", f"Dialects of it: {known}.")
