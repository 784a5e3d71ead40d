"""The handles of system tables, with the reading half of a table's contract."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from maintenance.errors import NotFoundError
from maintenance.metadata.expired import again_if_expired
from maintenance.predicate.arrow import mask
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Predicate
from maintenance.table.rows import check_column, rows_to_spark
from maintenance.table.system.audit_log import AUDIT_LOG, BINLOG, AuditLogView
from maintenance.table.system.handle import SystemTableHandle
from maintenance.table.system.registry import SYSTEM_TABLES
from maintenance.table.system.row_tracking import RowTrackingView
from maintenance.table.system.system_table import SystemTable
from maintenance.table.table import Table
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ArrowView(SystemTableHandle):
    """A table whose rows are made on the driver, all at once; read like a table."""

    __slots__ = ()

    @abstractmethod
    def rows(self, options: Mapping[str, str]) -> pa.Table:
        """All rows. `options`: further ones, of this read."""

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows; arguments as of `Table.to_arrow`. Nested columns cannot be filtered.

        Raises: PredicateError: a column does not exist, or the filter does not fit the columns.
        """
        rows = self.rows(options or {})
        for name in columns or ():
            check_column(name, rows.column_names, self.identifier)
        if where is not None:
            plain = [field for field in fields_of(rows.schema) if not field.type.is_nested]
            predicate = parse(where, plain)
            self._check_condition(predicate)
            rows = rows.filter(mask(predicate, rows))
        return rows.select(self.shown(rows.column_names) if columns is None else list(columns))

    def _check_condition(self, predicate: Predicate) -> None:
        """Raises: NotFoundError: a condition names what is not there, and Paimon refuses to look for it."""

    def shown(self, names: Sequence[str]) -> list[str]:
        """The columns of a read that selects none by name."""
        return list(names)

    def to_spark(
        self,
        spark: "SparkSession",
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> "DataFrame":
        """The rows as a DataFrame. Arguments as of `to_arrow`."""
        rows = self.to_arrow(columns, where, options)
        return rows_to_spark(spark, rows, fields_of(rows.schema))


class MetadataView(ArrowView):
    """A table over metadata, which is small."""

    __slots__ = ()

    @property
    @abstractmethod
    def schema(self) -> pa.Schema: ...

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns."""
        return fields_of(self.schema)


@dataclass(frozen=True, slots=True)
class SystemTableView(MetadataView):
    """`table$name` over metadata."""

    table: Table
    system: SystemTable

    @property
    def identifier(self) -> str:
        return f"{self.table.identifier}${self.system.name}"

    @property
    def schema(self) -> pa.Schema:
        return self.system.schema

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table with further options for reading."""
        return replace(self, table=self.table.copy(options))

    def _check_condition(self, predicate: Predicate) -> None:
        if self.system.check is not None:
            self.system.check(self.table, predicate)

    def shown(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name in self.system.schema.names]

    def rows(self, options: Mapping[str, str]) -> pa.Table:
        return again_if_expired(lambda: self.system.read(self.table.copy(options)))


AnyView = Table | SystemTableView | AuditLogView | RowTrackingView
# Those that read data, and so are planned as tables are.
_OVER_DATA: Mapping[str, Callable[[Table], AnyView]] = {
    AUDIT_LOG: AuditLogView,
    BINLOG: lambda table: AuditLogView(table, BINLOG),
    "ro": lambda table: replace(table, read_optimized=True),
    "row_tracking": RowTrackingView,
}
NAMES = tuple(sorted({*SYSTEM_TABLES, *_OVER_DATA}))


def fields_of(schema: pa.Schema) -> tuple[DataField, ...]:
    """Arrow's columns as fields, numbered."""
    kinds = (replace(data_type_of_arrow(field.type), nullable=field.nullable) for field in schema)
    return tuple(
        DataField(number, field.name, kind) for number, (field, kind) in enumerate(zip(schema, kinds, strict=True))
    )


def system_table(table: Table, name: str) -> AnyView:
    """The system table of that name. Raises: NotFoundError: Paimon has none."""
    if name in SYSTEM_TABLES:
        return SystemTableView(table, SYSTEM_TABLES[name])
    if name in _OVER_DATA:
        return _OVER_DATA[name](table)
    raise NotFoundError(f"system table '${name}' does not exist", table.identifier, f"There are: {', '.join(NAMES)}.")
