"""The jobs. For each table: one that runs its whole chain, one that compacts, one that expires, and others; one that
expires all tables, one that changes rows of any table.

A run is one process with one Spark session; its steps follow one another. Runs of different tables go side by side.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from assets import keys
from assets.checks.asset_checks import CHANGELOG_HOLDS, FSCK
from assets.checks.orphan_check import ORPHAN_BYTES
from assets.project.config import TableConfig
from assets.steps.bin import EMPTY_BIN, empty_bin_op
from assets.steps.copies import clone_op, migrate_database_op, migrate_table_op
from assets.steps.row_changes import CHANGE_ROWS, change_rows_op
from assets.steps.statements import STATEMENT, statement_op
from assets.tables import TableSteps, chain
from maintenance.operations.databases.clone_plan import CLONE
from maintenance.operations.databases.migrate_database import MIGRATE_DATABASE
from maintenance.operations.databases.migrated_origin import MIGRATE_TABLE

EXPIRE = "expire"


def refresh_job(table: TableConfig) -> Any:
    """Refresh a materialized table: materialise its asset."""
    return dg.define_asset_job(
        keys.job(keys.REFRESH, table.identifier),
        selection=dg.AssetSelection.assets(keys.asset_key(table.identifier)).without_checks(),
        description=f"Make the rows of {table.identifier} again as far as its sources have changed.",
        tags=keys.refresh_tags(table.identifier),
        executor_def=dg.in_process_executor,
    )


def maintain_job(steps: TableSteps, loggers: Mapping[str, dg.LoggerDefinition]) -> Any:
    """Run the whole chain of a table: materialise its asset. Of a materialized table what is behind the refresh."""
    return _upkeep_job(steps, loggers) if steps.refresh else _whole_job(steps.table)


def _upkeep_job(steps: TableSteps, loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    table = steps.table

    @dg.graph(name=keys.job("maintain", table.identifier))
    def maintain() -> None:
        chain([*steps.compaction, *steps.expiry, steps.record])

    return maintain.to_job(
        description=f"Compact, index and expire {table.identifier}, without refreshing it.",
        tags={"paimon/table": table.identifier, "paimon/action": "maintain"},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )


def _whole_job(table: TableConfig) -> Any:
    first = "Compact" if table.is_external else "Ingest, compact"
    return dg.define_asset_job(
        keys.job("maintain", table.identifier),
        selection=dg.AssetSelection.assets(keys.asset_key(table.identifier)).without_checks(),
        description=f"{first}, index and expire {table.identifier}{', which others write' * table.is_external}.",
        tags={"paimon/table": table.identifier, "paimon/action": "maintain"},
        executor_def=dg.in_process_executor,
    )


def ingest_job(steps: TableSteps, loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    """Commit what landed, and nothing else."""
    table = steps.table

    @dg.graph(name=keys.job("ingest", table.identifier))
    def ingest() -> None:
        chain([*steps.ingestion, steps.record])

    return ingest.to_job(
        description=f"Commit what landed for {table.identifier}, without maintenance.",
        tags={"paimon/table": table.identifier, "paimon/action": "ingest"},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )


def audit_job(table: TableConfig) -> Any:
    """Check the table's changelog."""
    return dg.define_asset_job(
        keys.job("audit", table.identifier),
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(keys.asset_key(table.identifier), CHANGELOG_HOLDS)),
        description=f"Prove that the changelog of {table.identifier} turns one state into the next.",
        tags={"paimon/table": table.identifier, "paimon/action": "audit"},
        executor_def=dg.in_process_executor,
    )


def fsck_job(table: TableConfig) -> Any:
    """Examine the table's files: those that its metadata names, and those that nothing names."""
    asset = keys.asset_key(table.identifier)
    return dg.define_asset_job(
        keys.job("fsck", table.identifier),
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(asset, FSCK), dg.AssetCheckKey(asset, ORPHAN_BYTES)),
        description=f"Examine all that {table.identifier} is made of, and count its orphan files; changes nothing.",
        tags={"paimon/table": table.identifier, "paimon/action": "fsck"},
        executor_def=dg.in_process_executor,
    )


def fleet_job() -> Any:
    """Write the page over all tables."""
    return dg.define_asset_job(
        "fleet_summary",
        selection=dg.AssetSelection.assets(keys.FLEET),
        description="Health of all tables, on one page; reads metadata alone.",
        tags={"paimon/action": "fleet"},
        executor_def=dg.in_process_executor,
    )


def change_rows_job(tables: Sequence[TableConfig], loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    """Delete or update rows of a table that the run's config names."""
    change = change_rows_op(tables)

    @dg.graph(name=CHANGE_ROWS)
    def change_rows() -> None:
        change()

    return change_rows.to_job(
        description="Delete or update rows of a table, as the run's config says.",
        tags={"paimon/action": CHANGE_ROWS},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )


def empty_bin_job(tables: Sequence[TableConfig], loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    """Empty the bin. Nothing else is in this job, and no job that fills the bin has this op."""
    text = "Destroy what has been in the bin for long enough; dry_run: only list it."
    return _job_of_op(EMPTY_BIN, empty_bin_op(tables), text, loggers)


def _job_of_op(
    name: str, op: dg.OpDefinition, description: str, loggers: Mapping[str, dg.LoggerDefinition]
) -> dg.JobDefinition:
    return dg.GraphDefinition(name=name, node_defs=[op]).to_job(
        description=description,
        tags={"paimon/action": name},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )


def statement_job(
    tables: Sequence[TableConfig], zone: ZoneInfo, loggers: Mapping[str, dg.LoggerDefinition]
) -> dg.JobDefinition:
    """Carry out a statement about tables of the project, as the run's config says."""
    text = "DELETE, UPDATE, MERGE INTO or CALL: plan a statement and carry it out; dry_run: only keep the plan."
    return _job_of_op(STATEMENT, statement_op(tables, zone), text, loggers)


def copy_jobs(loggers: Mapping[str, dg.LoggerDefinition]) -> list[dg.JobDefinition]:
    """Copy tables to another warehouse, and make tables of Paimon of plain files."""
    jobs = (
        (CLONE, clone_op(), "Copy a table, or a database, to another warehouse; dry_run: only say which files."),
        (
            MIGRATE_TABLE,
            migrate_table_op(),
            "Make a table of Paimon of the files of a format table; dry_run: only say which files.",
        ),
        (
            MIGRATE_DATABASE,
            migrate_database_op(),
            "Make tables of Paimon of the format tables of a database; dry_run: only say which files.",
        ),
    )
    return [_job_of_op(name, op, description, loggers) for name, op, description in jobs]


def compact_job(steps: TableSteps, loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    """Compact the table, and bring its changelog and indexes up to date."""
    table = steps.table

    @dg.graph(name=keys.job("compact", table.identifier))
    def compact() -> None:
        chain([*steps.compaction, steps.record])

    return compact.to_job(
        description=f"Compact {table.identifier}, with its changelog and file index; the sensor launches this.",
        tags={"paimon/table": table.identifier, "paimon/action": "compact"},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )


def expiry_graph(steps: TableSteps) -> dg.GraphDefinition:
    """The expiry of one table. The job of the table and the job of all tables share it: its name is unique."""

    @dg.graph(name=keys.job("expire", steps.table.identifier))
    def expiry() -> None:
        chain([*steps.expiry, steps.record])

    return expiry


def expire_job(graphs: Sequence[dg.GraphDefinition], loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    """Expire partitions, snapshots and tags of every table. A table that fails does not block the others."""

    @dg.graph(name=EXPIRE)
    def expire() -> None:
        for graph in graphs:
            graph()

    return expire.to_job(
        description="Expire partitions, snapshots and tags of every table.",
        tags={"paimon/action": "expire"},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )


def expire_table_job(
    table: TableConfig, graph: dg.GraphDefinition, loggers: Mapping[str, dg.LoggerDefinition]
) -> dg.JobDefinition:
    """Expire partitions, snapshots and tags of one table."""
    return graph.to_job(
        description=f"Expire partitions, snapshots and tags of {table.identifier}.",
        tags={"paimon/table": table.identifier, "paimon/action": "expire"},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )
