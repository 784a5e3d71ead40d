"""What Dagster loads: the only place where tables, assets, jobs, schedules and sensors come together."""

import os
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg

from assets.checks import changelog_check
from assets.config import Project, load_project
from assets.progress import progress_logger
from assets.resources import PaimonCatalog, Spark
from assets.tables import TableSteps, table_asset
from jobs.jobs import audit_job, compact_job, expire_job, maintain_job
from jobs.schedules import daily_expiry
from sensors.latest import latest_sensor

FOLDER = Path(__file__).resolve().parent
LOGGERS = {"console": dg.colored_console_logger, "progress": progress_logger}


def project() -> Project:
    """The tables to maintain: those of PAIMON_TABLES, a file like demo/tables.yaml, or else the example's."""
    return load_project(Path(os.environ.get("PAIMON_TABLES") or FOLDER / "demo" / "tables.yaml"), FOLDER)


def build_definitions(project: Project) -> dg.Definitions:
    """Assets, jobs, a schedule and a sensor for the tables of `project`."""
    zone = ZoneInfo(project.expiry.time_zone)
    tables = [TableSteps.of(table, zone) for table in project.tables]
    compact_jobs = [compact_job(steps, LOGGERS) for steps in tables]
    expire = expire_job(tables, LOGGERS)
    audited = [table for table in project.tables if table.has_changelog]
    return dg.Definitions(
        assets=[table_asset(steps) for steps in tables],
        jobs=[
            *(maintain_job(steps) for steps in tables),
            *compact_jobs,
            *(audit_job(table) for table in audited),
            expire,
        ],
        asset_checks=[changelog_check(table) for table in audited],
        schedules=[daily_expiry(expire, project.expiry)],
        sensors=[latest_sensor(project.tables, compact_jobs)],
        resources={
            "catalog": PaimonCatalog(warehouse=project.warehouse, options=project.catalog),
            "spark": Spark(master=project.spark.master, remote=project.spark.remote, options=project.spark.options),
        },
        executor=dg.in_process_executor,
        loggers=LOGGERS,
    )


@dg.definitions
def definitions() -> dg.Definitions:
    return build_definitions(project())
