"""The jobs. For each table: one that runs its whole chain, one that compacts, one that expires, and others; one that
expires all tables. The tables that are partitions of their databases share theirs, each for any of them.

A run is one process with one Spark session; its steps follow one another. Runs of different tables go side by side.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.long_checks import LONG_CHECKS
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.steps.any_table import AnyTable
from paimon_maintenance.assets.steps.chain import COMPACTION, EXPIRY, INGEST, NamedOp, chain
from paimon_maintenance.assets.steps.ops import RECORD, job_of, job_of_op
from paimon_maintenance.assets.tables import TableSteps

EXPIRE, EXPIRE_ALL = "expire", "expire_all"
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
    """The expiry of one table. The job of the table and the job `expire` share it: its name is unique."""
    return _graph(keys.job(EXPIRE, steps.table.identifier), (*steps.expiry, steps.record))


def expire_table_job(table: TableConfig, graph: dg.GraphDefinition) -> dg.JobDefinition:
    """Expire partitions, snapshots and tags of one table."""
    return _job(graph, TEXTS[EXPIRE].format(table.identifier), _tags(table, EXPIRE))


def any_table_jobs(steps: AnyTable) -> dict[str, dg.JobDefinition]:
    """The jobs for any of the tables that are partitions, by their actions."""
    ingestion = [steps.step(INGEST)] if any(table.landing for table in steps.tables) else []
    compaction, expiry = ([steps.step(step) for step in part] for part in (COMPACTION, EXPIRY))
    chains = {
        "maintain": [*ingestion, *compaction, *expiry],
        "ingest": ingestion,
        "compact": compaction,
        "expire": expiry,
    }
    parts = {action: [*those, steps.op(RECORD)] for action, those in chains.items() if those}
    parts |= {check.action: steps.checks(check.action) for check in LONG_CHECKS}
    return {action: _any_table_job(steps, action, those) for action, those in parts.items() if those}


def _any_table_job(steps: AnyTable, action: str, parts: Sequence[NamedOp]) -> dg.JobDefinition:
    name = keys.EXPIRE_TABLE if action == EXPIRE else action
    text = f"{TEXTS[action].format('a table')} Which one the config of the step {keys.CHOOSE} says."
    return _job(_graph(name, [steps.choose(), *parts]), text, {"paimon/action": action})


def expire_jobs(tables: Sequence[TableConfig], graphs: Sequence[dg.GraphDefinition]) -> list[dg.JobDefinition]:
    """Expire all tables, or those that the config names, in one run: `expire_all`, and as it was called before.

    `graphs`: of tables that are assets. Where all are, the former job has a step for each step of each of them.
    """
    text = "Expires partitions, snapshots and tags of tables. A failing table does not stop the others."
    op = AnyTable(tables).in_turn("expire_tables", text, EXPIRE, EXPIRY)

    @dg.graph(name=EXPIRE)
    def expire() -> None:
        for graph in graphs if len(graphs) == len(tables) else (op,):
            graph()

    former = f"Deprecated: use {EXPIRE_ALL}, which takes the tables one after the other in one step."
    return [job_of_op(EXPIRE_ALL, op, EXPIRE), _job(expire, former, {"paimon/action": EXPIRE})]


def compact_small_job(tables: Sequence[TableConfig]) -> dg.JobDefinition:
    """Compact tables one after the other in one run, as the jobs of each do."""
    text = "Compacts tables one after the other, with changelog and file index; the sensor gives it small ones."
    return job_of_op(keys.COMPACT_SMALL, AnyTable(tables).in_turn(keys.IN_TURN, text, "compact", COMPACTION), "compact")


def _tags(table: TableConfig, action: str) -> dict[str, str]:
    return {"paimon/table": table.identifier, "paimon/action": action}


def _graph(name: str, steps: Sequence[NamedOp]) -> dg.GraphDefinition:
    @dg.graph(name=name)
    def steps_of_table() -> None:
        chain(steps)

    return steps_of_table


def _chain_job(table: TableConfig, action: str, steps: Sequence[NamedOp], description: str) -> dg.JobDefinition:
    """A job of some steps of a table, which ends with a record of them."""
    return _job(_graph(keys.job(action, table.identifier), steps), description, _tags(table, action))


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
