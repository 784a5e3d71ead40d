"""`t$row_tracking`: the rows with the id that each keeps for life and the number of the commit that changed it last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER
from maintenance.options.table import ROW_TRACKING_ENABLED
from maintenance.predicate.tree import Predicate, restrict
from maintenance.scan.plan import ScanPlan
from maintenance.table.system.planned import PlannedView, ViewRead, selected_columns
from maintenance.table.table import Table
from maintenance.types.data_type import DataField


def as_they_are(rows: pa.Table) -> pa.Table:
    return rows


@dataclass(frozen=True, slots=True)
class RowTrackingView(PlannedView):
    """`table$row_tracking`, read like a table."""

    table: Table

    @property
    def identifier(self) -> str:
        return f"{self.table.identifier}$row_tracking"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns. Raises: OptionError: the table does not track its rows."""
        if not self.table.model.tracks_rows:
            fix = f"Set '{ROW_TRACKING_ENABLED.key}' when the table is made, or read another system table."
            raise OptionError(f"'{ROW_TRACKING_ENABLED.key}' is not set", self.table.identifier, fix)
        table, _ = self.table.target()
        return (*table.schema.fields, ROW_ID, SEQUENCE_NUMBER)

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table with further options for reading."""
        return replace(self, table=self.table.copy(options))

    def plan(
        self, columns: Sequence[str] | None = None, predicate: Predicate | None = None
    ) -> tuple[ScanPlan, ViewRead]:
        """Splits of a read, and how to read them. Raises: PredicateError: a column does not exist."""
        selected, needed = selected_columns(self, columns, predicate)
        table, _ = self.table.target()
        pushed = None if predicate is None else restrict(predicate, table.schema.field_names)
        plan, read = self.table.plan(needed, pushed)
        return plan, ViewRead(read, selected, predicate, as_they_are)
