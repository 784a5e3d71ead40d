"""What Dagster loads: the only place where tables, assets, jobs, schedules and sensors come together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.errors import OptionError
from maintenance.project.config import Project, TableConfig, TablePattern
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.automation import automated
from paimon_maintenance.assets.checks.judgements import table_checks
from paimon_maintenance.assets.checks.long_checks import LONG_CHECKS
from paimon_maintenance.assets.dagster_release import CHECKS_HAVE_PARTITIONS
from paimon_maintenance.assets.databases import Database, database_asset, database_checks, databases_of
from paimon_maintenance.assets.night import night_op
from paimon_maintenance.assets.pages.catalogue import landing_asset
from paimon_maintenance.assets.pages.fleet import fleet_asset
from paimon_maintenance.assets.partitions import changelog_asset, compaction_asset, state_asset
from paimon_maintenance.assets.project.environment import project_of_environment
from paimon_maintenance.assets.project.scope import scoped
from paimon_maintenance.assets.proposals import PROPOSE, proposals_op
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import spark_of
from paimon_maintenance.assets.runs.progress import LOGGERS
from paimon_maintenance.assets.steps.any_table import AnyTable
from paimon_maintenance.assets.steps.apply_plan import apply_plan_op, statement_op
from paimon_maintenance.assets.steps.fleet import PLAN_FLEET, plan_fleet_op
from paimon_maintenance.assets.steps.launched import (
    APPROVAL,
    acknowledgement,
    empty_bin,
    launched_job,
    launched_jobs,
)
from paimon_maintenance.assets.steps.many_tables import COPIES, compact_many
from paimon_maintenance.assets.steps.ops import job_of_op
from paimon_maintenance.assets.steps.row_changes import CHANGE_ROWS, change_rows_op
from paimon_maintenance.assets.tables import TableSteps, alone, table_asset
from paimon_maintenance.assets.tags import tag_schedules, tags_asset
from paimon_maintenance.assets.warehouse.discovery import discover
from paimon_maintenance.jobs.jobs import (
    any_table_jobs,
    check_job,
    compact_small_job,
    expire_jobs,
    expire_table_job,
    expiry_graph,
    fleet_job,
    maintain_job,
    refresh_job,
    steps_job,
)
from paimon_maintenance.jobs.schedules import daily_report, hourly_work, schedule, weekly_proposals
from paimon_maintenance.sensors.alerts import alert_sensor
from paimon_maintenance.sensors.latest import latest_sensor
from paimon_maintenance.sensors.materialized import refresh_sensors
from paimon_maintenance.sensors.partitions import partition_sensor
from paimon_maintenance.sensors.proofs import proof_sensor
from paimon_maintenance.sensors.radar import radar_sensor


@dataclass(frozen=True)
class _Loaded:
    """What the builders below are given.

    Tables that are partitions of their databases have neither steps nor jobs of their own.

    Attributes:
        described: the project as it was written; `project`: with what its patterns have found.
        doubtful: patterns that match nothing.
        zone: where days begin, unless a table's settings say otherwise.
        steps: of each table that is an asset.
        any_table: the steps of those that are partitions.
        alike: the jobs of these, by their actions; empty where there is none.
    """

    described: Project
    project: Project
    doubtful: Sequence[TablePattern]
    catalog: PaimonCatalog
    zone: ZoneInfo
    steps: Sequence[TableSteps]
    any_table: AnyTable
    alike: Mapping[str, dg.JobDefinition]

    @classmethod
    def of(cls, project: Project) -> "_Loaded":
        catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog, history=project.history)
        found, zone = discover(project, catalog), ZoneInfo(project.expiry.time_zone)
        grouped = [table for table in found.project.tables if table.grouped]
        if grouped and not CHECKS_HAVE_PARTITIONS:
            raise OptionError(
                "tables cannot be partitions: the checks of this release of Dagster have none",
                "tables.yaml, assets: per: database",
                "Install Dagster 1.13 or newer, or leave the setting out.",
            )
        steps = [TableSteps.of(table) for table in found.project.tables if not table.grouped]
        any_table = AnyTable(grouped)
        alike = any_table_jobs(any_table) if grouped else {}
        return cls(project, found.project, found.doubtful, catalog, zone, steps, any_table, alike)

    @property
    def tables(self) -> Sequence[TableConfig]:
        return self.project.tables

    @property
    def own(self) -> Sequence[TableConfig]:
        """The tables that are assets."""
        return [steps.table for steps in self.steps]

    @property
    def databases(self) -> Sequence[Database]:
        return databases_of(self.any_table.tables)

    @property
    def partitioned(self) -> Sequence[TableConfig]:
        return [table for table in self.own if table.partition_keys]


def build_definitions(project: Project) -> dg.Definitions:
    """Assets, checks, jobs, schedules and sensors for the tables of `project` and those that its patterns find."""
    loaded = _Loaded.of(project)
    common = dg.Definitions(
        resources={"catalog": loaded.catalog, "spark": spark_of(loaded.project)},
        executor=dg.in_process_executor,
        loggers=LOGGERS,
    )
    builders = (_tables, _partitions, _tags, _checks, _expiry, _fleet, _bin, _on_demand)
    return dg.Definitions.merge(common, *(build(loaded) for build in builders))


def _tables(loaded: _Loaded) -> dg.Definitions:
    """Each table: its asset, the jobs of its chain, and what starts them."""
    compact_jobs = [steps_job(steps, "compact") for steps in loaded.steps]
    shown_at = [maintain_job(steps) for steps in loaded.steps]
    shown_at += [refresh_job(steps.table) for steps in loaded.steps if steps.refresh]
    alike = [loaded.alike["compact"]] if loaded.alike else []
    together = [compact_small_job(loaded.tables)] if loaded.tables else []
    ingest_jobs = [steps_job(steps, "ingest") for steps in loaded.steps if steps.ingestion]
    return dg.Definitions(
        assets=[
            *(automated(table_asset(steps), steps.table, loaded.catalog) for steps in loaded.steps),
            *(alone(landing_asset(table)) for table in loaded.own if table.landing),
            *(database_asset(database, loaded.any_table) for database in loaded.databases),
        ],
        jobs=[*compact_jobs, *shown_at, *ingest_jobs, *loaded.alike.values(), *together],
        sensors=[
            latest_sensor(loaded.tables, [*compact_jobs, *alike, *together], shown_at),
            *refresh_sensors(loaded.own),
        ],
    )


def _partitions(loaded: _Loaded) -> dg.Definitions:
    """The partitions of tables, as assets beside them."""
    partitioned = loaded.partitioned
    return dg.Definitions(
        assets=[
            *(alone(state_asset(table)) for table in partitioned),
            *(compaction_asset(table) for table in partitioned),
            *(changelog_asset(table) for table in partitioned if table.writes_changelog),
        ],
        sensors=[partition_sensor(partitioned, loaded.databases)],
    )


def _tags(loaded: _Loaded) -> dg.Definitions:
    """Tags of periods."""
    jobs, schedules = tag_schedules(loaded.tables, loaded.zone)
    tagged = [(table, policy) for table in loaded.tables if (policy := table.period_tags)]
    assets = [tags_asset(table, policy, loaded.zone) for table, policy in tagged]
    return dg.Definitions(assets=assets, jobs=jobs, schedules=schedules)


def _checks(loaded: _Loaded) -> dg.Definitions:
    """What is wrong with tables, and who is told of it."""
    audited = [table for table in loaded.own if table.has_changelog]
    night = job_of_op(keys.NIGHT_REPORT, night_op(loaded.project, loaded.tables))
    prove_jobs = [check_job(table, keys.PROVE) for table in loaded.own]
    alike = [loaded.alike[keys.PROVE]] if loaded.alike else []
    return dg.Definitions(
        asset_checks=[
            *(table_checks(table) for table in loaded.own),
            *(check.of_table(table) for check in LONG_CHECKS for table in loaded.own if check.applies(table)),
            *(checks for database in loaded.databases for checks in database_checks(database)),
        ],
        jobs=[
            *(check_job(table, "audit") for table in audited),
            *(check_job(table, "fsck") for table in loaded.own),
            *prove_jobs,
            night,
        ],
        schedules=daily_report(night, loaded.project.alerts, loaded.project.warehouse),
        sensors=[
            radar_sensor(loaded.described, loaded.tables, loaded.doubtful),
            alert_sensor(loaded.project),
            proof_sensor(loaded.tables, [*prove_jobs, *alike]),
        ],
    )


def _expiry(loaded: _Loaded) -> dg.Definitions:
    """The daily expiry of all tables, and that of each."""
    graphs = [expiry_graph(steps) for steps in loaded.steps]
    expire, former = expire_jobs(loaded.tables, graphs)
    of_tables = [expire_table_job(of, graph) for of, graph in zip(loaded.own, graphs, strict=True)]
    daily = schedule(keys.EXPIRY_SCHEDULE, expire, loaded.project.expiry, "Expire all tables", loaded.project.warehouse)
    return dg.Definitions(jobs=[expire, former, *of_tables], schedules=[daily])


def _fleet(loaded: _Loaded) -> dg.Definitions:
    """The page over all tables, and the work on all of them within a budget."""
    fleet, work = fleet_job(), job_of_op(PLAN_FLEET, plan_fleet_op(loaded.project, loaded.tables))
    tuned = [table for table in loaded.tables if table.tuning is not None]
    proposed = [job_of_op(PROPOSE, proposals_op(tuned))] if tuned else []
    return dg.Definitions(
        assets=[fleet_asset(loaded.described, loaded.tables)],
        jobs=[fleet, work, *proposed],
        schedules=[
            schedule("fleet_summary", fleet, loaded.project.fleet, "Health of all tables", loaded.project.warehouse),
            hourly_work(work, loaded.project.fleet, loaded.project.warehouse),
            *(weekly_proposals(job, loaded.project.fleet, loaded.project.warehouse) for job in proposed),
        ],
    )


def _bin(loaded: _Loaded) -> dg.Definitions:
    """Where deleted files wait."""
    job = launched_job(empty_bin(loaded.tables), loaded.tables)
    text = "Destroy what is past the bin's window"
    emptying = schedule("daily_empty_bin", job, loaded.project.empty_bin, text, loaded.project.warehouse)
    return dg.Definitions(jobs=[job], schedules=[emptying])


def _on_demand(loaded: _Loaded) -> dg.Definitions:
    """Jobs whose config says what to do, to any of the tables."""
    tables = loaded.tables
    of_tables = [
        launched_job(compact_many(tables), tables, "compact"),
        launched_job(acknowledgement(tables), tables),
        job_of_op(CHANGE_ROWS, change_rows_op(tables)),
        job_of_op(keys.APPLY_PLAN, apply_plan_op(tables)),
        *launched_jobs(tables),
        job_of_op(keys.STATEMENT, statement_op(tables)),
    ] if tables else []  # fmt: skip
    return dg.Definitions(jobs=[*of_tables, *(launched_job(step, tables) for step in (*COPIES, APPROVAL))])


@dg.definitions
def definitions() -> dg.Definitions:
    return build_definitions(scoped(project_of_environment()))
