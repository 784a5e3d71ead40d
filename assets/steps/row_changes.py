"""Rows of a table deleted or updated from the Launchpad: one job for all tables.

It needs no pool: where a compaction or another writer is quicker, the change is planned again on the new state.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.operation import Run
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.rows.delete import OPERATION as DELETE
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.row_changes import RowChangeReport, count_rows
from maintenance.operations.rows.update import OPERATION as UPDATE
from maintenance.operations.rows.update import update
from maintenance.table.shape import table_shape
from maintenance.table.table import Table
from paimon_maintenance.assets.pages.materialization import closing_page, data_version, materialization
from paimon_maintenance.assets.pages.metadata import (
    before_and_after,
    report_metadata,
    report_numbers,
    shape_numbers,
    warn_of_finding,
)
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.runs.history import keep_summary
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary
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


def change_rows_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Change rows of a table, and report its new state to its asset."""
    by_name = {table.identifier: table for table in tables}

    @dg.op(
        name=STEP,
        description="Deletes or updates rows: by deletion vectors, by rewriting files or as records, as the table is.",
    )
    def change_rows(
        context: dg.OpExecutionContext, config: RowChangeConfig, catalog: PaimonCatalog, spark: Spark
    ) -> dict[str, Any]:
        with as_dagster_failure(context, lambda: catalog.place_of(config.table)):
            if config.table not in by_name:
                raise NotFoundError(
                    f"'{config.table}' is not one of the tables here",
                    f"job {CHANGE_ROWS}",
                    f"There are: {', '.join(by_name)}.",
                )
            table = catalog.get_table(config.table).of_run(context.run_id)
            _check(table, config)
            if config.dry_run:
                rows = count_rows(spark.session(), table, config.where)
                verb = "deleted" if config.delete else "updated"
                context.log.info(f"{rows:,} rows of {config.table} would be {verb}.")
                kept = kept_plan(context, catalog, _planned(spark, table, config))
                context.add_output_metadata({"rows that would change": rows, **kept, **spark.metadata()})
                return {"rows": rows}
            before = shape_numbers(table_shape(table))
            report = _changed(spark, table, config)
            warn_of_finding(context, report)
            shape = table_shape(table)
            after = shape_numbers(shape)
            summary = RunSummary.of(report.operation, StepSummary(report_numbers(report), before, after))
            context.add_output_metadata(
                {
                    **report_metadata(report, plotted=False),
                    "before and after": before_and_after(before, after),
                    **spark.metadata(),
                }
            )
            keep_summary(context, catalog, config.table, shape, summary)
            page = closing_page(context, catalog, by_name[config.table], table, shape, summary)
            text = f"After {report.operation} of rows where {config.where}."
            version = data_version(table, shape.snapshot_id)
            context.log_event(materialization(config.table, version, text, page))
            return {**report_numbers(report), "method": report.method, "snapshot_ids": list(report.snapshot_ids)}

    return change_rows


def _check(table: Table, config: RowChangeConfig) -> None:
    """Raises: OptionError: it is not said what to do with the rows, or two things are."""
    if config.delete == bool(config.assignments):
        raise OptionError(
            "'delete' and 'assignments' are both set" if config.delete else "neither 'delete' nor 'assignments' is set",
            f"job {CHANGE_ROWS} of {table.identifier}",
            "Set 'delete' to true, or give 'assignments'.",
        )


def _planned(spark: Spark, table: Table, config: RowChangeConfig) -> StoredPlan:
    if config.delete:
        return DELETE.dry_run(table, Run(spark.session()), where=config.where)
    return UPDATE.dry_run(table, Run(spark.session()), assignments=config.assignments, where=config.where)


def _changed(spark: Spark, table: Table, config: RowChangeConfig) -> RowChangeReport:
    if config.delete:
        return delete(spark.session(), table, config.where)
    return update(spark.session(), table, config.assignments, config.where)
