"""What Dagster loads: the only place where tables, assets, jobs, schedules and sensors come together."""

from zoneinfo import ZoneInfo

import dagster as dg

from paimon_maintenance.assets.automation import automated
from paimon_maintenance.assets.checks.asset_checks import changelog_check, fsck_check
from paimon_maintenance.assets.checks.judgements import table_checks
from paimon_maintenance.assets.checks.orphan_check import orphan_check
from paimon_maintenance.assets.pages.catalogue import landing_asset
from paimon_maintenance.assets.pages.fleet import fleet_asset
from paimon_maintenance.assets.project.config import Project, project_of_environment
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import spark_of
from paimon_maintenance.assets.run_launcher.scope import scoped
from paimon_maintenance.assets.runs.progress import progress_logger
from paimon_maintenance.assets.steps.apply_plan import apply_plan_job
from paimon_maintenance.assets.steps.launched import launched_jobs
from paimon_maintenance.assets.steps.many_tables import compact_many_job
from paimon_maintenance.assets.steps.partitions import changelog_asset, compaction_asset, state_asset
from paimon_maintenance.assets.steps.tags import tag_schedules, tags_asset
from paimon_maintenance.assets.tables import TableSteps, alone, table_asset
from paimon_maintenance.assets.warehouse.discovery import discover
from paimon_maintenance.jobs.jobs import (
    audit_job,
    change_rows_job,
    compact_job,
    copy_jobs,
    empty_bin_job,
    expire_job,
    expire_table_job,
    expiry_graph,
    fleet_job,
    fsck_job,
    ingest_job,
    maintain_job,
    refresh_job,
    statement_job,
)
from paimon_maintenance.jobs.schedules import daily_empty_bin, daily_expiry, fleet_schedule
from paimon_maintenance.sensors.alerts import alert_sensor
from paimon_maintenance.sensors.latest import latest_sensor
from paimon_maintenance.sensors.materialized import refresh_sensors
from paimon_maintenance.sensors.partitions import partition_sensor
from paimon_maintenance.sensors.radar import radar_sensor

LOGGERS = {"console": dg.colored_console_logger, "progress": progress_logger}


def build_definitions(project: Project) -> dg.Definitions:
    """Assets, checks, jobs, schedules and sensors for the tables of `project` and those that its patterns find."""
    catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog, history=project.history)
    described, discovered = project, discover(project, catalog)
    project = discovered.project
    zone = ZoneInfo(project.expiry.time_zone)
    tables = [TableSteps.of(table, zone) for table in project.tables]
    compact_jobs = [compact_job(steps, LOGGERS) for steps in tables]
    maintain_jobs = [maintain_job(steps, LOGGERS) for steps in tables]
    refresh_jobs = [refresh_job(steps.table) for steps in tables if steps.refresh]
    expiries = [expiry_graph(steps) for steps in tables]
    expire = expire_job(expiries, LOGGERS)
    fleet = fleet_job()
    empty_bin = empty_bin_job(project.tables, LOGGERS)
    tag_jobs, tag_times = tag_schedules(project.tables, zone)
    partitioned = [table for table in project.tables if table.partition_keys]
    audited = [table for table in project.tables if table.has_changelog]
    return dg.Definitions(
        assets=[
            *(automated(table_asset(steps), steps.table, catalog) for steps in tables),
            *(alone(landing_asset(table)) for table in project.tables if table.landing),
            *(alone(state_asset(table)) for table in partitioned),
            *(compaction_asset(table) for table in partitioned),
            *(changelog_asset(table) for table in partitioned if table.writes_changelog),
            *(tags_asset(table, policy, zone) for table in project.tables if (policy := table.period_tags)),
            fleet_asset(described, project.tables),
        ],
        asset_checks=[
            *(table_checks(table) for table in project.tables),
            *(changelog_check(table) for table in audited),
            *(fsck_check(table) for table in project.tables),
            *(orphan_check(table) for table in project.tables),
        ],
        jobs=[
            *maintain_jobs,
            *refresh_jobs,
            *compact_jobs,
            *(expire_table_job(of.table, graph, LOGGERS) for of, graph in zip(tables, expiries, strict=True)),
            *(ingest_job(steps, LOGGERS) for steps in tables if steps.ingestion),
            *(audit_job(table) for table in audited),
            *(fsck_job(table) for table in project.tables),
            expire,
            *([compact_many_job(project.tables, LOGGERS)] if project.tables else []),
            *tag_jobs,
            fleet,
            empty_bin,
            *([change_rows_job(project.tables, LOGGERS)] if project.tables else []),
            *([apply_plan_job(project.tables, zone, LOGGERS)] if project.tables else []),
            *(launched_jobs(project.tables, zone, LOGGERS) if project.tables else []),
            *([statement_job(project.tables, zone, LOGGERS)] if project.tables else []),
            *copy_jobs(LOGGERS),
        ],
        schedules=[
            daily_expiry(expire, project.expiry),
            *tag_times,
            fleet_schedule(fleet, project.fleet),
            daily_empty_bin(empty_bin, project.empty_bin),
        ],
        sensors=[
            latest_sensor(project.tables, compact_jobs, [*maintain_jobs, *refresh_jobs]),
            radar_sensor(described, project.tables, discovered.doubtful),
            partition_sensor(partitioned),
            *refresh_sensors(project.tables),
            alert_sensor(project),
        ],
        resources={
            "catalog": catalog,
            "spark": spark_of(project),
        },
        executor=dg.in_process_executor,
        loggers=LOGGERS,
    )


@dg.definitions
def definitions() -> dg.Definitions:
    return build_definitions(scoped(project_of_environment()))
