"""The jobs. For each table: one that runs its whole chain, one that compacts, one that expires, and others; one that
expires all tables.

A run is one process with one Spark session; its steps follow one another. Runs of different tables go side by side.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.long_checks import LONG_CHECKS
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.steps.chain import NamedOp, chain
from paimon_maintenance.assets.steps.ops import job_of
from paimon_maintenance.assets.tables import TableSteps

EXPIRE = "expire"
# What the job of an action does to a table.
TEXTS: Mapping[str, str] = {
    "maintain": "Compact, index and expire {}.",
    "ingest": "Commit what landed for {}, without maintenance.",
    "compact": "Compact {}, with its changelog and file index.",
    "expire": "Expire partitions, snapshots and tags of {}.",
    "fsck": "Examine all that {} is made of, and count its orphan files; changes nothing.",
    "audit": "Prove that the changelog of {} turns one state into the next.",
    keys.PROVE: "Prove that compactions of {} by other engines left every row as it was.",
}


def refresh_job(table: TableConfig) -> Any:
    """Refresh a materialized table: materialise its asset."""
    text = f"Make the rows of {table.identifier} again as far as its sources have changed."
    name = keys.job(keys.REFRESH, table.identifier)
    return _asset_job(name, _asset_of(table), text, keys.refresh_tags(table.identifier))


def maintain_job(steps: TableSteps) -> Any:
    """Run the whole chain of a table: materialise its asset. Of a materialized table what is behind the refresh."""
    table, action = steps.table, "maintain"
    if steps.refresh:
        text = f"Compact, index and expire {table.identifier}, without refreshing it."
        return _chain_job(table, action, (*steps.compaction, *steps.expiry, steps.record), text)
    first = "Compact" if table.is_external else "Ingest, compact"
    text = f"{first}, index and expire {table.identifier}{', which others write' * table.is_external}."
    return _asset_job(keys.job(action, table.identifier), _asset_of(table), text, _tags(table, action))


def steps_job(steps: TableSteps, action: str) -> dg.JobDefinition:
    """The steps of an action alone: ``ingest`` or ``compact``."""
    parts = steps.ingestion if action == "ingest" else steps.compaction
    return _chain_job(steps.table, action, (*parts, steps.record), TEXTS[action].format(steps.table.identifier))


def check_job(table: TableConfig, action: str) -> Any:
    """The checks of an action alone: ``fsck``, ``audit`` or the proof of compactions."""
    asset = keys.asset_key(table.identifier)
    names = [check.name for check in LONG_CHECKS if check.action == action]
    selection = dg.AssetSelection.checks(*(dg.AssetCheckKey(asset, name) for name in names))
    text = TEXTS[action].format(table.identifier)
    return _asset_job(keys.job(action, table.identifier), selection, text, _tags(table, action))


def fleet_job() -> Any:
    """Write the page over all tables."""
    text = "Health of all tables, on one page; reads metadata alone."
    return _asset_job("fleet_summary", dg.AssetSelection.assets(keys.FLEET), text, {"paimon/action": "fleet"})


def expiry_graph(steps: TableSteps) -> dg.GraphDefinition:
    """The expiry of one table. The job of the table and the job of all tables share it: its name is unique."""
    return _chain(steps.table, "expire", (*steps.expiry, steps.record))


def expire_job(graphs: Sequence[dg.GraphDefinition]) -> dg.JobDefinition:
    """Expire partitions, snapshots and tags of every table. A table that fails does not block the others."""

    @dg.graph(name=EXPIRE)
    def expire() -> None:
        for graph in graphs:
            graph()

    return _job(expire, TEXTS[EXPIRE].format("every table"), {"paimon/action": EXPIRE})


def expire_table_job(table: TableConfig, graph: dg.GraphDefinition) -> dg.JobDefinition:
    """Expire partitions, snapshots and tags of one table."""
    return _job(graph, TEXTS[EXPIRE].format(table.identifier), _tags(table, EXPIRE))


def _tags(table: TableConfig, action: str) -> dict[str, str]:
    return {"paimon/table": table.identifier, "paimon/action": action}


def _chain(table: TableConfig, action: str, steps: Sequence[NamedOp]) -> dg.GraphDefinition:
    @dg.graph(name=keys.job(action, table.identifier))
    def steps_of_table() -> None:
        chain(steps)

    return steps_of_table


def _chain_job(table: TableConfig, action: str, steps: Sequence[NamedOp], description: str) -> dg.JobDefinition:
    """A job of some steps of a table, which ends with a record of them."""
    return _job(_chain(table, action, steps), description, _tags(table, action))


def _job(graph: dg.GraphDefinition, description: str, tags: Mapping[str, str]) -> dg.JobDefinition:
    return job_of(graph, description, tags, _pages(tags))


def _pages(tags: Mapping[str, str]) -> Mapping[str, dg.MetadataValue[Any]]:
    """The page of the console of the table that a job is about; of all tables, where it is about several."""
    table = tags.get("paimon/table")
    return console_link("tables", table) if table else console_link("")


def _asset_of(table: TableConfig) -> dg.AssetSelection:
    return dg.AssetSelection.assets(keys.asset_key(table.identifier)).without_checks()


def _asset_job(name: str, selection: dg.AssetSelection, description: str, tags: Mapping[str, str]) -> Any:
    return dg.define_asset_job(
        name,
        selection=selection,
        description=description,
        tags=tags,
        metadata=_pages(tags),
        executor_def=dg.in_process_executor,
    )
