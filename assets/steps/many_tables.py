"""Compaction of many tables in one run and one Spark, a few tables at a time, each reported to its own asset.

The tables' pools are not taken: what another run compacts meanwhile is committed once, the other one plans again. The
sensor `latest_snapshots` asks for nothing while such a run is unfinished.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import OptionError, PaimonError
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.databases.compact_database import (
    COMPACT_DATABASE,
    OPERATION,
    CompactDatabase,
    CompactDatabaseReport,
    DatabasePlan,
    again,
)
from maintenance.operations.databases.compact_database import plan as plan_compaction
from maintenance.operations.operation import Operation, Run
from maintenance.operations.plan_store import UNPLANNED, StoredPlan
from maintenance.table.table import Table
from paimon_maintenance.assets.checks.closing import write_checks
from paimon_maintenance.assets.pages.materialization import data_version, materialization
from paimon_maintenance.assets.pages.metadata import report_numbers, shape_numbers
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure, group_error, parts_failed, worst_part
from paimon_maintenance.assets.runs.history import keep_summary
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary
from paimon_maintenance.assets.steps.config import request_of, step_config
from paimon_maintenance.assets.steps.ops import job_of_op
from paimon_maintenance.assets.steps.plans import kept_plan, planned

_CONFIG: Any = step_config(
    OPERATION,
    instead={
        "tables": (list[str], Field(["*.*"], description="Patterns such as sales.*, of the tables that Dagster has.")),
        "without": (list[str], Field([], description="Patterns of tables to leave out.")),
        **dict.fromkeys(("databases", "excluded", "options", "mode")),
    },
)


def compact_many_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Compact all tables, or those that the config names."""
    described = {table.identifier: table for table in tables}

    @dg.op(
        name="compact_tables",
        description="Compacts many tables in one run, a few at a time. A table that fails does not block the others.",
        tags={"paimon/action": "compact"},
        out=dg.Out(dg.Nothing),
        config_schema=_CONFIG.to_config_schema(),
    )
    def compact_tables(context: dg.OpExecutionContext, catalog: PaimonCatalog, spark: Spark) -> None:
        config = _CONFIG(**context.op_config)
        with as_dagster_failure(context):
            plan = planned(config, catalog, "max_concurrent")
            if plan is not None:
                apply_many(context, catalog, spark, described, plan, max_concurrent=config.max_concurrent)
                return
            operation, run = _operation(context, described), Run(spark.session, context.log.info)
            request = replace(request_of(OPERATION, config, {}), tables=_pattern(described, config))
            if config.dry_run:
                plan = operation.keepable(run, catalog.open(), request)[1]
                tell_plan(context, plan, kept_plan(context, catalog, plan))
                return
            _tell(context, catalog, described, operation.run(run, catalog.open(), request), spark.metadata())

    return compact_tables


def apply_many(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    spark: Spark,
    described: Mapping[str, TableConfig],
    plan: StoredPlan,
    *,
    max_concurrent: int = 2,
) -> None:
    """Carry out a plan for many tables, and report each to its asset. `described`: the tables of tables.yaml."""
    with as_dagster_failure(context):
        run = Run(spark.session, context.log.info)
        operation = _operation(context, described)
        report = operation.carry_out(catalog.open(), plan, run, max_concurrent=max_concurrent)
        _tell(context, catalog, described, report, spark.metadata())


def _operation(
    context: dg.OpExecutionContext, described: Mapping[str, TableConfig]
) -> Operation[CompactDatabase, DatabasePlan, CompactDatabaseReport]:
    """The compaction that gives each table the run's id and what tables.yaml says of its compaction."""

    def opened(table: Table) -> Table:
        policy = described[table.identifier].compaction
        return table.of_run(context.run_id).copy(policy.options(table.is_primary_key_table))

    return replace(OPERATION, plan=partial(plan_compaction, opened=opened), again=partial(again, opened=opened))


def _pattern(described: Mapping[str, TableConfig], config: Any) -> str:
    names = [
        name
        for name in described
        if any(fnmatchcase(name, pattern) for pattern in config.tables)
        and not any(fnmatchcase(name, pattern) for pattern in config.without)
    ]
    if not names:
        problem = f"no table matches {', '.join(config.tables) or 'nothing'}"
        raise OptionError(problem, "config of compact_tables", f"There are {', '.join(list(described)[:20])}.")
    return "|".join(re.escape(name) for name in names)


def tell_plan(context: dg.OpExecutionContext, plan: StoredPlan, kept: Mapping[str, Any]) -> None:
    """Show a plan; fails if some tables could not be planned: they are missing in it."""
    context.add_output_metadata(dict(kept))
    unplanned = plan.arguments.get(UNPLANNED)
    if unplanned:
        first, fix = (
            next(iter(unplanned.values())),
            "Correct it and launch a new dry run, or apply the plan without it.",
        )
        raise dg.Failure(
            description=f"{len(unplanned)} tables could not be planned: {first} Next step: {fix}",
            metadata={"tables that could not be planned": dg.MetadataValue.json(unplanned), "next step": fix, **kept},
            allow_retries=False,
        )


def _tell(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    described: Mapping[str, TableConfig],
    report: CompactDatabaseReport,
    metadata: Mapping[str, Any],
) -> None:
    """Report each table that was changed to its asset and the history; fails if one failed."""
    rows = []
    for name, done in report.reports.items():
        rows.append(_row(name, done))
        if done.snapshot_ids:
            summary = RunSummary.of(COMPACT_DATABASE, StepSummary(_numbers(done), shape_numbers(done.before)))
            keep_summary(context, catalog, name, done.after, summary)
            if name in described:
                write_checks(context, catalog, described[name])
            context.log_event(_materialization(catalog.get_table(name), done))
    context.add_output_metadata({
        **metadata,
        "tables": len(report.reports),
        "tables that were changed": sum(bool(done.snapshot_ids) for done in report.reports.values()),
        "what was done": dg.MetadataValue.table([dg.TableRecord(row) for row in rows]) if rows else "nothing",
    })  # fmt: skip
    outcomes: dict[str, PaimonError | None] = {**dict.fromkeys(report.reports), **report.errors}
    outcomes |= {name: group_error(done.groups) for name, done in report.reports.items() if done.failed}
    worst = worst_part(outcomes)
    if worst is not None:
        with as_dagster_failure(context, lambda: catalog.place_of(worst)):
            raise parts_failed(outcomes, "tables")


def _numbers(done: CompactReport) -> dict[str, Any]:
    return {**report_numbers(done), "input_bytes": sum(group.input_bytes for group in done.groups)}


def _row(name: str, done: CompactReport) -> dict[str, Any]:
    files = f"{done.before.files} -> {done.after.files}"
    proof = str(done.proof.get("mode", ""))
    seconds = round(done.seconds, 1)
    return {"table": name, "snapshots": len(done.snapshot_ids), "files": files, "proof": proof, "seconds": seconds}


def _materialization(table: Table, done: CompactReport) -> dg.AssetMaterialization:
    metadata = {"snapshot": done.after.snapshot_id or 0, **shape_numbers(done.after)}
    version = data_version(table, done.after.snapshot_id)
    return materialization(table.identifier, version, "After compact_database.", metadata)


def compact_many_job(tables: Sequence[TableConfig]) -> dg.JobDefinition:
    """The job of that op alone."""
    text = "Compact many tables in one run; choose them by patterns in the config."
    return job_of_op(COMPACT_DATABASE, compact_many_op(tables), text, "compact")
