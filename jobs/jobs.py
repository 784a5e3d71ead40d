"""The jobs: one per table that runs its whole chain, one per table that only compacts, one that expires all tables, one
that changes rows of any table.

A run is one process with one Spark session; its steps follow one another. Runs of different tables go side by side.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets import keys
from assets.checks.asset_checks import CHANGELOG_HOLDS, FSCK
from assets.project.config import TableConfig
from assets.steps.row_changes import CHANGE_ROWS, change_rows_op
from assets.tables import TableSteps, chain

EXPIRE = "expire"


def maintain_job(steps: TableSteps, loggers: Mapping[str, dg.LoggerDefinition]) -> Any:
    """Run the whole chain of a table: materialise its asset, or, of a table that others write, compact and expire."""
    table = steps.table
    name, tags = keys.job("maintain", table.identifier), {"paimon/table": table.identifier, "paimon/action": "maintain"}
    if not table.is_external:
        return dg.define_asset_job(
            name,
            selection=dg.AssetSelection.assets(keys.asset_key(table.identifier)).without_checks(),
            description=f"Ingest, compact, index and expire {table.identifier}.",
            tags=tags,
            executor_def=dg.in_process_executor,
        )

    @dg.graph(name=name)
    def maintain() -> None:
        chain([*steps.compaction, *steps.expiry, steps.record])

    return maintain.to_job(
        description=f"Compact, index and expire {table.identifier}, which others write.",
        tags=tags,
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
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
    """Examine the table's files."""
    return dg.define_asset_job(
        keys.job("fsck", table.identifier),
        selection=dg.AssetSelection.checks(dg.AssetCheckKey(keys.asset_key(table.identifier), FSCK)),
        description=f"Examine everything that {table.identifier} is made of; changes nothing.",
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


def expire_job(tables: Sequence[TableSteps], loggers: Mapping[str, dg.LoggerDefinition]) -> dg.JobDefinition:
    """Expire partitions, snapshots and tags of every table. A table that fails does not block the others."""
    graphs = [_expiry_graph(steps) for steps in tables]

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


def _expiry_graph(steps: TableSteps) -> dg.GraphDefinition:
    @dg.graph(name=keys.job("expire", steps.table.identifier))
    def expiry() -> None:
        chain([*steps.expiry, steps.record])

    return expiry
