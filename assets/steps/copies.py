"""Clones and migrations from the Launchpad: one job each, for any table of the catalog.

A dry run keeps a plan; without it the job makes the plan and does exactly what it says. Each table that was copied is
reported: a clone as an observation of its source, a migrated table as a materialization of the new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import OptionError, PaimonError
from maintenance.metastore.warehouse import known_folder
from maintenance.operations.bin.run import BinRun
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone_plan import CLONE, CLONE_DATABASE, apply_clone, apply_clone_database
from maintenance.operations.databases.migrate_database import MIGRATE_DATABASE, apply_migrate_database
from maintenance.operations.databases.migrate_table import apply_migrate_table
from maintenance.operations.databases.migrated_origin import MIGRATE_TABLE
from maintenance.operations.databases.migration import MigrateReport
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql import Session
from maintenance.sql.procedures.clones import catalogs_of
from maintenance.sql.procedures.procedure import Call
from maintenance.sql.procedures.registry import PROCEDURES
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import data_version, materialization
from paimon_maintenance.assets.pages.metadata import report_metadata
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure, parts_failed, worst_part
from paimon_maintenance.assets.steps.by_session import session_of
from paimon_maintenance.assets.steps.many_tables import tell_plan
from paimon_maintenance.assets.steps.plans import kept_plan

COPIES = (CLONE, CLONE_DATABASE, MIGRATE_TABLE, MIGRATE_DATABASE)
_HIVE = {"connector": "hive"}


class CloneConfig(dg.Config):
    """Which table, or all of a database, and where to."""

    database: str = Field(description="Of the source.")
    table: str | None = Field(default=None, description="Of that database; empty: all tables, one after the other.")
    target_catalog: dict[str, str] = Field(
        default={}, description="Options of the other catalog, such as {warehouse: s3://copy/lake}; empty: this one. "
        "${NAME} is read from the environment: write secrets so.",
    )  # fmt: skip
    target_database: str | None = Field(default=None, description="Empty: that of the source.")
    target_table: str | None = Field(default=None, description="Empty: the name of the source.")
    included_tables: list[str] = Field(default=[], description="Of a database: only these; empty: all.")
    excluded_tables: list[str] = Field(default=[], description="Of a database: not these.")
    where: str | None = Field(default=None, description="Of a table: only partitions for which this is true.")
    snapshot_id: int | None = Field(default=None, description="Of a table: the state to copy; empty: the newest.")
    tag: str | None = Field(default=None, description="Of a table: copy what this tag holds.")
    dry_run: bool = Field(default=False, description="Only say what would be copied, and keep it as a plan.")


class MigrateTableConfig(dg.Config):
    """Which table of plain files, and what becomes of it."""

    source_table: str = Field(description="database.table, a format table or a plain Hive table.")
    target_table: str | None = Field(default=None, description="database.table; empty: it takes the source's name.")
    options: dict[str, str] = Field(default={}, description="Of the new table.")
    delete_origin: bool = Field(default=False, description="Drop the source once its files are committed.")
    into_bin: bool = Field(default=False, description="Its files go into the bin.")
    dry_run: bool = Field(default=False, description="Only say what would be copied, and keep it as a plan.")


class MigrateDatabaseConfig(dg.Config):
    """The tables of plain files of a database."""

    source_database: str = Field(description="The database.")
    included_tables: list[str] = Field(default=[], description="Only these; empty: all.")
    excluded_tables: list[str] = Field(default=[], description="Not these.")
    options: dict[str, str] = Field(default={}, description="Of the new tables.")
    delete_origin: bool = Field(default=False, description="Drop the sources once their files are committed.")
    into_bin: bool = Field(default=False, description="Their files go into the bin.")
    dry_run: bool = Field(default=False, description="Only say what would be copied, and keep it as a plan.")


def clone_op() -> dg.OpDefinition:
    """Clone a table, or those of a database."""

    @dg.op(
        name="copy_to",
        description="Copies tables to another warehouse, or brings the copies up to date; each file is compared.",
        out=dg.Out(dg.Nothing),
    )
    def copy(context: dg.OpExecutionContext, config: CloneConfig, catalog: PaimonCatalog, spark: Spark) -> None:
        values = config.model_dump(exclude={"target_catalog", "dry_run"})
        _launched(context, catalog, spark, CLONE, {**values, "target_catalog_conf": config.target_catalog}, config)

    return copy


def migrate_table_op() -> dg.OpDefinition:
    """Migrate a table of plain files."""

    @dg.op(
        name="plain_table",
        description="Makes a table of Paimon of the files of a format table; the source stays unless it is to go.",
        out=dg.Out(dg.Nothing),
    )
    def migrate(context: dg.OpExecutionContext, config: MigrateTableConfig, catalog: PaimonCatalog) -> None:
        values = config.model_dump(exclude={"into_bin", "dry_run"})
        _launched(context, catalog, None, MIGRATE_TABLE, {**_HIVE, **values}, config, into_bin=config.into_bin)

    return migrate


def migrate_database_op() -> dg.OpDefinition:
    """Migrate the tables of plain files of a database."""

    @dg.op(
        name="plain_tables",
        description="Makes tables of Paimon of the format tables of a database, one after the other.",
        out=dg.Out(dg.Nothing),
    )
    def migrate(context: dg.OpExecutionContext, config: MigrateDatabaseConfig, catalog: PaimonCatalog) -> None:
        values = config.model_dump(exclude={"into_bin", "dry_run"})
        _launched(context, catalog, None, MIGRATE_DATABASE, {**_HIVE, **values}, config, into_bin=config.into_bin)

    return migrate


def _launched(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    spark: Spark | None,
    procedure: str,
    values: Mapping[str, Any],
    config: Any,
    *,
    into_bin: bool = False,
) -> None:
    """Plan what a procedure would do with these arguments, and do it unless it is a dry run."""
    given = {name: value for name, value in values.items() if value not in (None, [], {}, False)}
    with as_dagster_failure(context):
        planning = PROCEDURES[procedure].planning
        assert planning is not None
        plan = planning.make(Call(session_of(context, catalog), given, context.log.info))
        assert plan is not None
        kept = kept_plan(context, catalog, plan)
        if config.dry_run:
            tell_plan(context, plan, kept)
            return
    apply_copy(context, catalog, spark, plan, into_bin=into_bin)


@dataclass(frozen=True, slots=True)
class _Copied:
    """What became of each table, by the name of its source."""

    reports: Mapping[str, CloneReport | MigrateReport]
    errors: Mapping[str, PaimonError]


def apply_copy(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    spark: Spark | None,
    plan: StoredPlan,
    *,
    into_bin: bool = False,
) -> None:
    """Carry out the plan of a clone or a migration; a table that failed fails the run, after the others are reported.

    `spark`: copies what is cloned; `into_bin`: the sources of a migration go there.
    """
    with as_dagster_failure(context):
        metadata: dict[str, Any] = {"plan id": plan.id}
        if plan.operation in (CLONE, CLONE_DATABASE):
            assert spark is not None
            spark.serve(CLONE, None)
            done = _cloned(session_of(context, catalog, spark.session()), plan, context)
            metadata |= spark.metadata()
        else:
            done = _migrated(session_of(context, catalog), plan, context, into_bin)
        _report(context, catalog, done, metadata)


def _cloned(session: Session, plan: StoredPlan, context: dg.OpExecutionContext) -> _Copied:
    source, target = catalogs_of(plan.arguments, session)
    others: dict[str, Any] = {"spark": session.spark, "progress": context.log.info}
    if plan.operation == CLONE_DATABASE:
        report = apply_clone_database(source, target, plan, **others)
        return _Copied(report.reports, report.errors)
    table = source.get_table(plan.table)
    if not isinstance(table, Table):
        raise OptionError(f"'{plan.table}' has no files of its own", f"plan {plan.id}", "Launch a dry run again.")
    return _Copied({plan.table: apply_clone(table, target, plan, **others)}, {})


def _migrated(session: Session, plan: StoredPlan, context: dg.OpExecutionContext, into_bin: bool) -> _Copied:
    catalog, say = session.current(), context.log.info

    def into(source: FormatTable) -> BinRun:
        return BinRun.begin(source, known_folder(catalog), MIGRATE_TABLE)

    if plan.operation == MIGRATE_DATABASE:
        report = apply_migrate_database(catalog, plan, into=into if into_bin else None, progress=say)
        return _Copied(report.reports, report.errors)
    source = catalog.get_table(plan.table)
    if not isinstance(source, FormatTable):
        raise OptionError(f"'{plan.table}' is not a table of plain files", f"plan {plan.id}", "Launch a dry run again.")
    taken = into(source) if into_bin and plan.arguments["delete_origin"] else None
    return _Copied({plan.table: apply_migrate_table(source, catalog, plan, into=taken, progress=say)}, {})


def _report(context: dg.OpExecutionContext, catalog: PaimonCatalog, done: _Copied, metadata: Mapping[str, Any]) -> None:
    """An event for each table that was copied, and one table of all; fails if one failed."""
    rows = []
    for name, report in done.reports.items():
        context.log_event(_event(catalog, name, report))
        counts = {"files": report.files, "copied files": report.copied_files, "copied bytes": report.copied_bytes}
        row: dict[str, int | str] = {
            "source": name,
            "target": report.target,
            "snapshot": report.snapshot_id or 0,
            **counts,
        }
        rows.append(dg.TableRecord(row))
    shown = {"what was done": dg.MetadataValue.table(rows)} if rows else {}
    context.add_output_metadata({**metadata, "tables": len(rows), **shown})
    outcomes: dict[str, PaimonError | None] = {**dict.fromkeys(done.reports), **done.errors}
    if worst_part(outcomes) is not None:
        raise parts_failed(outcomes, "tables")


def _event(
    catalog: PaimonCatalog, source: str, report: CloneReport | MigrateReport
) -> dg.AssetObservation | dg.AssetMaterialization:
    metadata = report_metadata(report)
    if isinstance(report, MigrateReport):
        summary = f"Made of the files of {source}."
        version = data_version(catalog.get_table(report.target), report.snapshot_id)
        return materialization(report.target, version, summary, metadata)
    return dg.AssetObservation(keys.asset_key(source), description=f"Copied to {report.target}.", metadata=metadata)
