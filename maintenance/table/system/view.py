"""The handle of a system table, with the reading half of a table's contract."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import NotFoundError, UnsupportedError
from maintenance.predicate.arrow import mask
from maintenance.predicate.sql import parse
from maintenance.table.system.audit_log import LOGS, AuditLogView
from maintenance.table.system.registry import SYSTEM_TABLES
from maintenance.table.system.system_table import SystemTable
from maintenance.table.table import Table
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOT_YET = frozenset(
    {
        "schemas", "file_key_ranges", "branches", "manifests", "aggregation_fields",
        "statistics", "table_indexes", "row_tracking",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SystemTableView:
    """`table$name`, read like a table."""

    table: Table
    system: SystemTable

    @property
    def identifier(self) -> str:
        return f"{self.table.identifier}${self.system.name}"

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows; arguments as of `Table.to_arrow`."""
        rows = self.system.read(self.table.copy(options or {}))
        if where is not None:
            plain = [field for field in rows.schema if not pa.types.is_nested(field.type)]
            fields = [DataField(i, field.name, data_type_of_arrow(field.type)) for i, field in enumerate(plain)]
            rows = rows.filter(mask(parse(where, fields), rows))
        return rows if columns is None else rows.select(list(columns))

    def to_spark(
        self,
        spark: "SparkSession",
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> "DataFrame":
        """The rows as a DataFrame; metadata is small, so it is made on the driver."""
        return spark.createDataFrame(self.to_arrow(columns, where, options))


def system_table(table: Table, name: str) -> Table | SystemTableView | AuditLogView:
    """The system table of that name. Raises: UnsupportedError: not yet; NotFoundError: Paimon has none."""
    if name == "ro":
        return replace(table, read_optimized=True)
    if name in LOGS:
        return AuditLogView(table, name)
    if name in SYSTEM_TABLES:
        return SystemTableView(table, SYSTEM_TABLES[name])
    known = ", ".join(sorted({*SYSTEM_TABLES, *LOGS, "ro"}))
    if name in _NOT_YET:
        raise UnsupportedError(f"system table '${name}' is not supported yet", table.identifier, f"There are: {known}.")
    raise NotFoundError(f"system table '${name}' does not exist", table.identifier, f"There are: {known}.")
