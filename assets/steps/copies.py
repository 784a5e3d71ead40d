"""Clones and migrations from the Launchpad: one job each, for any table of the catalog.

A dry run keeps a plan; without it the job makes the plan and does exactly what it says. Each table that was copied is
reported: a clone as an observation of its source, a migrated table as a materialization of the new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import PaimonError
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone_database import CloneDatabaseReport
from maintenance.operations.databases.clone_tables import OPERATION as CLONE
from maintenance.operations.databases.migrate_database import OPERATION as MIGRATE_DATABASE
from maintenance.operations.databases.migrate_database import MigrateDatabaseReport
from maintenance.operations.databases.migrate_table import OPERATION as MIGRATE_TABLE
from maintenance.operations.databases.migration import MigrateReport
from maintenance.operations.operation import Operation, Run
from maintenance.operations.plan_store import StoredPlan
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import data_version, materialization
from paimon_maintenance.assets.pages.metadata import report_metadata
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure, parts_failed, worst_part
from paimon_maintenance.assets.steps.config import copying_config, request_of
from paimon_maintenance.assets.steps.many_tables import tell_plan
from paimon_maintenance.assets.steps.ops import job_of_op
from paimon_maintenance.assets.steps.plans import kept_plan

_TARGET = "target_catalog"
_HIVE = {"connector": "hive"}


@dataclass(frozen=True)
class Copying:
    """One of the operations in Dagster.

    Attributes:
        op: the name of its op.
        job: what its job says of it.
        fixed: fields of the request that are not asked for.
        instead: fields of the config in place of the request's; None = not here.
    """

    operation: Operation[Any, Any, Any]
    op: str
    description: str
    job: str
    fixed: Mapping[str, Any]
    instead: Mapping[str, Any]

    @cached_property
    def config(self) -> type[dg.Config]:
        return copying_config(self.operation, {**dict.fromkeys(self.fixed), **self.instead})

    def request(self, config: Any) -> Any:
        target = getattr(config, _TARGET, None)
        return request_of(self.operation, config, {**self.fixed, **({"target_catalog_conf": target} if target else {})})


_COPIES = (
    Copying(
        CLONE,
        "copy_to",
        "Copies tables to another warehouse, or brings the copies up to date; each file is compared.",
        "Copy a table, or a database, to another warehouse",
        {"clone_from": "paimon"},
        {
            "database": (str, Field(description="Of the source.")),
            "target_catalog_conf": None,
            _TARGET: (
                dict[str, str],
                Field(
                    default={},
                    description="Options of the other catalog, such as {warehouse: s3://copy/lake}; empty: this one."
                    " ${NAME} is read from the environment: write secrets so.",
                ),
            ),
            **dict.fromkeys(("prefer_file_format", "target_table_conf")),
        },
    ),
    Copying(
        MIGRATE_TABLE,
        "plain_table",
        "Makes a table of Paimon of the files of a format table; the source stays unless it is to go.",
        "Make a table of Paimon of the files of a format table",
        _HIVE,
        {"options_map": None},
    ),
    Copying(
        MIGRATE_DATABASE,
        "plain_tables",
        "Makes tables of Paimon of the format tables of a database, one after the other.",
        "Make tables of Paimon of the format tables of a database",
        _HIVE,
        {"options_map": None},
    ),
)
COPIES: Mapping[str, Operation[Any, Any, Any]] = {
    key: each.operation
    for each in _COPIES
    for key in (each.operation.key, *(each.operation.keeping.others if each.operation.keeping else ()))
}


def copy_jobs() -> list[dg.JobDefinition]:
    """The jobs: they copy tables to another warehouse, and make tables of Paimon of plain files."""
    which = "dry_run: only say which files."
    return [job_of_op(each.operation.name, _op(each), f"{each.job}; {which}") for each in _COPIES]


def _op(copying: Copying) -> dg.OpDefinition:
    operation = copying.operation
    schema: Any = copying.config.to_config_schema()

    @dg.op(
        name=copying.op,
        description=copying.description,
        out=dg.Out(dg.Nothing),
        config_schema=schema,
        required_resource_keys={"catalog", "spark"} if operation.uses_spark else {"catalog"},
    )
    def copied(context: dg.OpExecutionContext) -> None:
        config: Any = copying.config(**context.op_config)
        catalog = context.resources.catalog
        with as_dagster_failure(context):
            plan = operation.keepable(Run(progress=context.log.info), catalog.open(), copying.request(config))[1]
            kept = kept_plan(context, catalog, plan)
            if config.dry_run:
                tell_plan(context, plan, kept)
                return
        spark = context.resources.spark if operation.uses_spark else None
        apply_copy(context, catalog, spark, plan, into_bin=getattr(config, "into_bin", False))

    return copied


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
    operation = COPIES[plan.operation]
    with as_dagster_failure(context):
        metadata: dict[str, Any] = {"plan id": plan.id}
        session = None
        if operation.uses_spark and spark is not None:
            spark.serve(operation.name, None)
            session = spark.session
        run = Run(session, context.log.info, warehouse=catalog.root, into_bin=into_bin)
        done = _copied(plan, operation.carry_out(catalog.open(), plan, run))
        _report(
            context, catalog, done, metadata if session is None or spark is None else {**metadata, **spark.metadata()}
        )


def _copied(plan: StoredPlan, report: Any) -> _Copied:
    if isinstance(report, CloneDatabaseReport | MigrateDatabaseReport):
        return _Copied(report.reports, report.errors)
    return _Copied({plan.table: report}, {})


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
