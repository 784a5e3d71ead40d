"""Kept plans of DELETE and UPDATE by the names they had before an operation was one record.

Deprecated: `OPERATION` of `operations.rows.delete` and `operations.rows.update` has `dry_run` and `carry_out`.
"""

import warnings
from dataclasses import dataclass
from typing import Any

from maintenance.operations.operation import Operation
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.rows import delete, update
from maintenance.operations.rows.row_changes import RowChangeReport
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class RowChangePlans:
    """The plans of one of the two."""

    operation: Operation[Any, Any, RowChangeReport]

    def plan(self, table: Table, **arguments: Any) -> StoredPlan:
        """Which rows would be changed now. `arguments`: those of the operation."""
        _warn(self.operation.name, "dry_run")
        return self.operation.dry_run(table, **arguments)

    def apply(self, table: Table, plan: StoredPlan) -> RowChangeReport:
        """Do what a plan says. Raises: OutdatedPlanError: something else would be done now."""
        _warn(self.operation.name, "carry_out")
        return self.operation.carry_out(table, plan)


def _warn(name: str, method: str) -> None:
    text = f"Use maintenance.operations.rows.{name}.OPERATION.{method} instead of operations.plans.row_change_plans."
    warnings.warn(text, DeprecationWarning, stacklevel=3)


DELETE, UPDATE = RowChangePlans(delete.OPERATION), RowChangePlans(update.OPERATION)
