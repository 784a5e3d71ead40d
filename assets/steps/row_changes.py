"""Rows of a table deleted or updated from the Launchpad: one job for all tables.

It needs no pool: where a compaction or another writer is quicker, the change is planned again on the new state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.amounts import number_of
from maintenance.errors import OptionError
from maintenance.operations.operation import Operation, Run
from maintenance.operations.rows.delete import OPERATION as DELETE
from maintenance.operations.rows.delete import Delete
from maintenance.operations.rows.row_changes import RowChangeReport, count_rows
from maintenance.operations.rows.update import OPERATION as UPDATE
from maintenance.operations.rows.update import Update
from maintenance.project.config import TableConfig
from maintenance.table.shape import table_shape
from maintenance.table.table import Table
from paimon_maintenance.assets.pages.metadata import before_and_after, report_metadata, shape_numbers, warn_of_finding
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary, report_numbers
from paimon_maintenance.assets.steps.ops import known_table, record_state
from paimon_maintenance.assets.steps.plans import kept_plan

CHANGE_ROWS = "change_rows"  # the job
STEP = "row_change"


class RowChangeConfig(dg.Config):
    """DELETE or UPDATE."""

    table: str = Field(description="database.table, one of those in tables.yaml.")
    where: str = Field(description="Which rows, in Spark SQL; true: all. Rows for which it is null stay.")
    assignments: dict[str, str] = Field(
        default={}, description="Column -> new value in Spark SQL, of the row as it was. Empty: only with delete."
    )
    delete: bool = Field(default=False, description="Delete the rows.")
    dry_run: bool = Field(default=False, description="Only count the rows that would be changed, and keep a plan.")


@dataclass(frozen=True, slots=True)
class RowChange:
    """What came of it. `rows`: that were changed, or would be; `report`: None after a dry run."""

    rows: int
    report: RowChangeReport | None = None


def change_rows_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Change rows of a table, and report its new state to its asset."""

    @dg.op(
        name=STEP,
        description="Deletes or updates rows: by deletion vectors, by rewriting files or as records, as the table is.",
    )
    def change_rows(
        context: dg.OpExecutionContext, config: RowChangeConfig, catalog: PaimonCatalog, spark: Spark
    ) -> RowChange:
        with as_dagster_failure(context, lambda: catalog.place_of(config.table)):
            described = known_table(tables, config.table, CHANGE_ROWS)
            table = catalog.get_table(config.table).of_run(context.run_id)
            operation, request = _asked(table, config)
            run = Run(spark.session())
            if config.dry_run:
                rows = count_rows(run.session(), table, config.where)
                verb = "deleted" if config.delete else "updated"
                context.log.info(f"{number_of(rows, 'row')} of {config.table} would be {verb}.")
                kept = kept_plan(context, catalog, operation.keepable(run, table, request)[1])
                context.add_output_metadata({"rows that would change": rows, **kept, **spark.metadata()})
                return RowChange(rows)
            before = shape_numbers(table_shape(table))
            report: RowChangeReport = operation.run(run, table, request)
            warn_of_finding(context, report)
            after = shape_numbers(table_shape(table))
            context.add_output_metadata(
                {
                    **report_metadata(report, plotted=False),
                    "before and after": before_and_after(before, after),
                    **spark.metadata(),
                }
            )
            summary = RunSummary.of(report.operation, StepSummary(report_numbers(report), before, after))
            record_state(context, catalog, described, summary, f" of rows where {config.where}")
            return RowChange(report.deleted_rows + report.updated_rows, report)

    return change_rows


def _asked(table: Table, config: RowChangeConfig) -> tuple[Operation[Any, Any, Any], Delete | Update]:
    """What is to be done. Raises: OptionError: it is not said what to do with the rows, or two things are."""
    if config.delete == bool(config.assignments):
        raise OptionError(
            "'delete' and 'assignments' are both set" if config.delete else "neither 'delete' nor 'assignments' is set",
            f"job {CHANGE_ROWS} of {table.identifier}",
            "Set 'delete' to true, or give 'assignments'.",
        )
    return (DELETE, Delete(config.where)) if config.delete else (UPDATE, Update(config.assignments, config.where))
