"""The tables that a query reads: each is given a name of its own in the engine that runs the query."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from maintenance.errors import PaimonError
from maintenance.metastore.global_tables import GlobalView
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Predicate
from maintenance.scan.startup import Latest, startup_of
from maintenance.sql.query.case_names import marked_field, plain
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.planning import tracked_fields
from maintenance.table.system.audit_log import AuditLogView
from maintenance.table.system.metadata_columns import MetadataView
from maintenance.table.system.row_tracking import RowTrackingView
from maintenance.table.system.view import AnyView
from maintenance.table.table import Table
from maintenance.types.casts.text import has_chars
from maintenance.types.data_type import DataField

Readable = AnyView | GlobalView | ObjectTable | FormatTable | MetadataView
PlannedTable = Table | AuditLogView | RowTrackingView | MetadataView
"""What has data for rows, read split by split; other tables have metadata."""


@dataclass(slots=True)
class Relation:
    """One table of a query, read once for each place where it stands.

    Attributes:
        name: in the engine that runs the query.
        path: its names in the query.
        where: conditions on its columns that the query implies, in Spark's SQL dialect.
        limit: how many rows the query can use at most.
        mentioned: names in the query, in lower case: every column that a filter may need is among them.
        same: names that differ only in case, in lower case: the query has others for them, see `case_names`.
        keeps_schema: see `TableHandle`.
        fills_chars: whether each CHAR has the blanks that Spark reads it with, whatever is stored.
    """

    name: str
    path: tuple[str, ...]
    view: Readable
    options: dict[str, str]
    where: list[str] = field(default_factory=list)
    limit: int | None = None
    mentioned: frozenset[str] = frozenset()
    same: frozenset[str] = frozenset()
    keeps_schema: bool = False
    fills_chars: bool = False
    _opened: Readable | None = field(default=None, repr=False)
    _fields: Sequence[DataField] | None = field(default=None, repr=False)

    def opened(self) -> Readable:
        """The table with the query's options for it. Raises: OptionError, NotFoundError."""
        if self._opened is None:
            self._opened = self.view.copy(self.options) if self.options else self.view
            if self.keeps_schema and isinstance(self._opened, Table):
                self._opened = replace(self._opened, keeps_schema=True)
        return self._opened

    def show(self, view: Readable) -> None:
        """Read another view of the same table."""
        self.view, self._opened, self._fields = view, None, None

    def tell_apart(self, same: frozenset[str]) -> None:
        """Have the names of a query that tells these apart."""
        self.same, self._fields = same, None

    def over(self, table: Table) -> "Relation":
        """The same relation of the same table, which may have other rows by now."""
        return replace(self, view=table, _opened=None)

    @property
    def sees_newest(self) -> bool:
        """Whether it is a table as it is when it is read: no option says which rows or which schema."""
        return isinstance(self.view, Table) and not self.options and isinstance(startup_of(self.view.model), Latest)

    def fields(self) -> Sequence[DataField]:
        """The columns that a read sees, under their names in the query."""
        if self._fields is None:
            fields = fields_of_view(self.opened())
            self._fields = [marked_field(field, self.same) for field in fields] if self.same else fields
        return self._fields

    def understands(self, condition: str) -> bool:
        """Whether a scan can test a condition over the columns, which are there as they are stored."""
        view = self.opened()
        tracked = tracked_fields(view) if isinstance(view, Table) else ()
        try:
            stored = [column for column in fields_of_view(view) if not self.is_filled(column)]
            parse(plain(condition), (*stored, *tracked))
        except PaimonError:  # more than a scan understands: the engine that runs the query judges it
            return False
        return True

    def is_filled(self, column: DataField) -> bool:
        """Whether a column has other values than those that are stored."""
        return self.fills_chars and has_chars(column.type)

    def needed(self) -> list[DataField]:
        """The columns that the query may look at, at least one."""
        fields = self.fields()
        return [column for column in fields if column.name.lower() in self.mentioned] or list(fields[:1])

    @property
    def condition(self) -> str | None:
        """The conditions as one, over the columns' own names."""
        return " AND ".join(f"({plain(part)})" for part in self.where) or None


def fields_of_view(view: Readable) -> Sequence[DataField]:
    """The columns that a read sees."""
    return view.target()[0].schema.fields if isinstance(view, Table) else view.fields


def predicate_of(view: Readable, condition: str | None) -> Predicate | None:
    """A condition over the columns of a view."""
    if condition is None:
        return None
    return view.predicate(condition) if isinstance(view, Table) else parse(condition, fields_of_view(view))


def own_alias(node: exp.Table) -> str:
    """The name that columns of a table may have in front."""
    return node.alias or node.name


def place_at(stored: exp.Expr, node: exp.Table) -> None:
    """What an expression that is stored with a table or view is at fault of, the statement is where it names that."""
    start, end = node.parts[0].meta.get("start"), node.parts[-1].meta.get("end")
    for part in stored.walk():
        for key, offset in (("start", start), ("end", end)):
            if key in part.meta and offset is None:
                del part.meta[key]
            elif key in part.meta:
                part.meta[key] = offset
