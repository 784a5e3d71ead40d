"""Tags by the clock: each table whose policy has a cron is tagged at the end of every period.

`<table>_tags` is an asset over these periods. A schedule tags each one when it ends; a backfill tags those that were
missed, from the snapshot that was the newest then, as long as it is there. A period that cannot be tagged any more
fails by itself and says why.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.operations.refs.period_tags import Period, tag_period
from maintenance.project.config import TableConfig
from maintenance.project.policies import TagPolicy
from maintenance.project.tag_periods import schedule_of
from maintenance.table.shape import table_shape
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import data_version
from paimon_maintenance.assets.project.tag_partitions import period_in, periods_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.runs.history import keep_failure, keep_summary
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary, report_numbers


def tags_asset(table: TableConfig, policy: TagPolicy, zone: ZoneInfo) -> dg.AssetsDefinition:
    """The tags of the table's periods; materialising one tags the state at its end. `zone`: of the expiry."""

    @dg.asset(
        key=keys.tags(table.identifier),
        description=f"The tags of {table.identifier}, one at the end of each period; a backfill tags missed ones.",
        group_name=keys.asset_key(table.identifier).path[0],
        deps=[] if table.grouped else [keys.asset_key(table.identifier)],
        partitions_def=periods_of(policy, zone),
        backfill_policy=dg.BackfillPolicy.multi_run(1),
        kinds={"paimon"},
        owners=list(table.owners) or None,
        pool=keys.pool(table.identifier),
        op_tags={"paimon/table": table.identifier, "paimon/action": "tag"},
    )
    def tags(context: dg.AssetExecutionContext, catalog: PaimonCatalog, spark: Spark) -> dg.MaterializeResult:
        try:
            with as_dagster_failure(context, lambda: catalog.place_of(table.identifier)):
                period = period_in(policy, zone, context.partition_time_window)
                return _tagged(context, catalog, spark, table, period, policy.lifetime)
        except dg.Failure as failure:
            keep_failure(context.op_execution_context, catalog, table.identifier, "tag", failure)
            raise

    return tags


def _tagged(
    context: dg.AssetExecutionContext,
    catalog: PaimonCatalog,
    spark: Spark,
    table: TableConfig,
    period: Period,
    lifetime: timedelta,
) -> dg.MaterializeResult:
    opened = catalog.get_table(table.identifier).of_run(context.run.run_id)
    report = tag_period(opened, period, time_retained=lifetime, spark=spark.session)
    if report is None:
        return dg.MaterializeResult(metadata={"tag": f"none: at {period.end.isoformat()} there was no snapshot yet"})
    if report.created:
        summary = RunSummary.of("tag", StepSummary(report_numbers(report)))
        keep_summary(context.op_execution_context, catalog, table.identifier, table_shape(opened), summary)
    metadata: dict[str, Any] = {
        "tag": report.name,
        "snapshot": report.snapshot_id,
        "was there before": not report.created,
    }
    return dg.MaterializeResult(
        metadata=metadata, data_version=dg.DataVersion(data_version(opened, report.snapshot_id))
    )


def tag_schedules(tables: Sequence[TableConfig], zone: ZoneInfo) -> tuple[list[Any], list[Any]]:
    """A job and a schedule for all tables that are tagged at the same times, of every such group."""
    groups: dict[tuple[str, str], list[TableConfig]] = {}
    for table in tables:
        policy = table.period_tags
        if policy is not None and policy.cron is not None:
            groups.setdefault((policy.cron, policy.time_zone or str(zone)), []).append(table)
    jobs = [_job(cron, name, members) for (cron, name), members in groups.items()]
    return jobs, [_schedule(job, name) for job, (_, name) in zip(jobs, groups, strict=True)]


def _job(cron: str, zone: str, tables: Iterable[TableConfig]) -> Any:
    return dg.define_asset_job(
        schedule_of(cron, zone),
        selection=[keys.tags(table.identifier) for table in tables],
        description=f"Tag tables at the end of a period: {cron} in {zone}.",
        tags={"paimon/action": "tag"},
        executor_def=dg.in_process_executor,
    )


def _schedule(job: Any, zone: str) -> Any:
    return dg.build_schedule_from_partitioned_job(
        job, name=job.name, description=f"Tags each period when it ends, in {zone}."
    )
