"""The refresh of a materialized table as an operation: Flink's `ALTER MATERIALIZED TABLE … REFRESH` and more."""

from typing import TYPE_CHECKING

from maintenance.catalog import Catalog
from maintenance.metadata.partition_names import Spec
from maintenance.operations.operation import Keeping, Operation, Plan, Run, Shown
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.progress import Progress
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.materialized.plan import RefreshPlan, RefreshRequest, plan_refresh
from maintenance.sql.materialized.refresh import RefreshReport, carry_out, report_of
from maintenance.sql.materialized.stored import apply_refresh, stored
from maintenance.sql.session import Session
from maintenance.sql.session_names import SessionNames, names_of
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _query(run: Run, table: Table) -> DefiningQuery:
    names = names_of(run)
    return DefiningQuery.of(names.session, table, names.catalog)


def plan(run: Run, table: Table, request: RefreshRequest) -> Plan[RefreshRequest, RefreshReport]:
    """What has to be made again."""
    made = plan_refresh(_query(run, table), table, request)
    return Plan(request, report_of(made), work=made)


def apply(run: Run, _: Table, planned: Plan[RefreshRequest, RefreshReport]) -> RefreshReport:
    """Make the rows, and replace or add them."""
    made: RefreshPlan = planned.work
    return carry_out(made, run.session, run.progress)


def _make(_: Run, __: Table, planned: Plan[RefreshRequest, RefreshReport]) -> StoredPlan:
    return stored(planned.work, planned.request)


def _carry_out(run: Run, table: Table, kept: StoredPlan) -> RefreshReport:
    return apply_refresh(_query(run, table), table, kept, run.session, run.progress)


def _shown(report: RefreshReport) -> Shown:
    row = {
        "kind": report.kind,
        "reason": report.reason,
        "partitions": ", ".join(report.partitions),
        "rows": report.rows,
        "snapshot_id": report.snapshot_ids[-1] if report.snapshot_ids else None,
    }
    return Shown.one(row, nothing_to_do=report.kind == "nothing")


OPERATION = Operation(
    "refresh_materialized_table",
    "Refresh a materialized table where its sources have changed.",
    RefreshRequest,
    plan,
    apply,
    shown=_shown,
    keeping=Keeping(_make, _carry_out),
    uses_spark=True,
    has_job=False,
)


def refresh_materialized_table(
    catalog: Catalog,
    table: str,
    *,
    partition: Spec | None = None,
    full: bool = False,
    zone: str = "UTC",
    dry_run: bool = False,
    spark: "SparkSession | None" = None,
    progress: Progress | None = None,
) -> RefreshReport:
    """Refresh a materialized table where its sources have changed.

    Args:
        table: ``database.table``.
        partition: refresh this partition, even if nothing has changed: partition columns to values.
        full: refresh the whole table.
        zone: the time zone of partitions that are named after the time.
        dry_run: only say what would be done.
        spark: runs the query and writes; None = this process does.
    Raises: see `maintenance.sql.materialized.refresh.refresh_materialized_table`.
    """
    names = SessionNames(Session(catalog, spark, "flink", makes_default=False))
    run = Run(spark, progress or Run().progress, names=names)
    request = RefreshRequest(partition, full, zone)
    return OPERATION.run(run, names.session.table(tuple(table.split("."))), request, dry_run=dry_run)
