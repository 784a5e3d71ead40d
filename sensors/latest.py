"""Watches the tables' newest snapshots: asks for compaction where one is needed.

A table's LATEST file is a hint that may be torn, stale or missing; the engine confirms it against the snapshot files.
The cursor holds, for each table, what the snapshot is that was last judged, not its number alone, which another one has
after a rollback: a table without a new snapshot is not looked at again. A table that cannot be read keeps its place in
the cursor, so that it is judged once it can be read; so does one that a run is just maintaining, since that run may
compact it itself, one whose last runs failed, until their pause is over, one to whose other writers our compaction
backs off, until that pause is over, and one for which this tick has no request left.

What a run costs before and after its work is more than a small table's compaction. So where many small tables are due
at once, some share a run, which compacts them one after the other. One that has failed there gets a run of its own.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster import DagsterInstance

from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.partition_value import PartitionValue
from maintenance.monitor.census import take_census
from maintenance.monitor.health import COMMITS_LOOKED_AT
from maintenance.monitor.second_compactor import pause_for_others
from maintenance.monitor.triggers import judge_snapshot
from maintenance.operations.databases.compact_database import COMPACT_DATABASE
from maintenance.operations.fleet.plan_fleet import PLAN_FLEET
from maintenance.project.config import TableConfig
from maintenance.table.compactors import refusal
from maintenance.table.shape import LiveRuns
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.table_of_run import (
    FAILED_TABLES,
    failed_tables_of,
    run_config,
    run_tags,
    small_tables_of,
    table_of,
)
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.pauses import UNFINISHED, pausing
from paimon_maintenance.assets.steps.any_table import SMALL_BYTES
from paimon_maintenance.sensors.cursor import Cursor, snapshot_text
from paimon_maintenance.sensors.hints import HINTS
from paimon_maintenance.sensors.turns import Turn, Turns, unread

INTERVAL_SECONDS = 30
# A tick asks for no more runs than this, so that it stays quick; the rest follows tick by tick.
_REQUESTS = 100
_ATTEMPTS = 3
_FAILED = "its last compactions failed, the next one waits"
# Small tables share up to so many runs, each of so many tables if there are as many, and never of more: to start and
# end a run takes as long as to compact several of them.
_SHARED_RUNS, _WORTH_A_RUN, _TOGETHER = 4, 5, 20
_RUNS_LOOKED_AT = 10


@dataclass(frozen=True, slots=True)
class NewestState:
    """A table at its newest snapshot.

    Attributes:
        snapshot: what it is.
        waits: why its compaction is put off although it is due.
        full: the partitions that are to be merged fully, empty = all; None: by the table's rules.
        bytes: of its live files.
    """

    snapshot: SnapshotIdentity
    due: bool
    reason: str
    full: tuple[PartitionValue, ...] | None = None
    waits: str = ""
    bytes: int = 0


def cursor_of(text: str | None) -> Cursor[str]:
    """What the snapshot last judged is, by table."""
    return Cursor.parse(text, snapshot_text)


def due(states: Mapping[str, NewestState]) -> dict[str, NewestState]:
    """The tables that need compaction."""
    return {table: state for table, state in states.items() if state.due}


def look(catalog: PaimonCatalog, config: TableConfig, judged: str | None) -> NewestState | None:
    """The table's state, or None if there is nothing new since snapshot `judged`: no table, or the same snapshot.

    A snapshot of a lower or the same number is new too: after a rollback, or when the table was created again.
    """
    if HINTS.nothing_new(catalog.warehouse, config.identifier, judged):
        return None
    try:
        table = catalog.get_table(config.identifier).copy(config.compaction.conduct)
    except NotFoundError:
        return None  # described in tables.yaml, but not ingested into yet
    HINTS.read(catalog.warehouse, table)
    return again_if_expired(lambda: _judged(table, config, judged), _ATTEMPTS)


def _judged(table: Table, config: TableConfig, judged: str | None) -> NewestState | None:
    """The snapshot is read once: on a store each look at what is the newest costs three requests."""
    snapshot = table.snapshots.latest()
    if snapshot is None or str(SnapshotIdentity.of(snapshot)) == judged:
        return None
    runs = LiveRuns.of(table, snapshot)
    need = judge_snapshot(table, snapshot, runs, config.compaction.triggers)
    reason = need.reason if config.compaction.automatic else f"{need.reason}, and its compaction is not automatic"
    seen = NewestState(SnapshotIdentity.of(snapshot), False, reason, bytes=runs.bytes)
    seen = replace(seen, full=need.partitions) if need.full else seen
    return _for_others(table, seen) if need.due and config.compaction.automatic else seen


def _for_others(table: Table, seen: NewestState) -> NewestState:
    """A table that needs compaction: it is due, unless another engine compacts it, and waits for those who may."""
    refused = refusal(table)
    if refused is not None:
        return replace(seen, reason=f"{seen.reason}, but {refused.found}")
    pause = pause_for_others(table, take_census(table, limit=COMMITS_LOOKED_AT), datetime.now(UTC))
    return replace(seen, due=True, waits="" if pause is None else pause.reason)


def in_progress(instance: DagsterInstance, tables: Sequence[TableConfig]) -> set[str]:
    """The tables that an unfinished run maintains or compacts, whether launched as a job or from the asset's page.

    A run over many tables counts for all of them.
    """
    names = {table.identifier for table in tables}
    busy: set[str] = set()
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    if not runs:
        return busy
    by_key = {make(name): name for name in names for make in (keys.asset_key, keys.compaction, keys.changelog)}
    for run in runs:
        busy |= {by_key[key] for key in run.asset_selection or () if key in by_key}
        busy |= ({table_of(run)} | small_tables_of(run)) & names
        busy |= names if run.job_name in (COMPACT_DATABASE, PLAN_FLEET) else set()
    return busy


def latest_sensor(
    tables: Sequence[TableConfig], jobs: Sequence[dg.JobDefinition], shown_at: Sequence[Any]
) -> dg.SensorDefinition:
    """The sensor for all tables.

    Args: `jobs`: their compaction jobs; `shown_at`: the jobs of their assets. The sensor launches none of these, but
        Dagster names a sensor on an asset's page only if a job of the asset is among its targets.
    """

    described = {table.identifier: table for table in tables}

    @dg.sensor(
        name=keys.LATEST_SENSOR,
        jobs=[*jobs, *shown_at],
        minimum_interval_seconds=INTERVAL_SECONDS,
        description="Requests compaction where a new snapshot needs it.",
    )
    def latest_snapshots(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        now = time.time()
        cursor = cursor_of(context.cursor)
        busy = in_progress(context.instance, tables)
        turns = Turns(lambda table: look(catalog, table, cursor.tables.get(table.identifier)), cursor, now)
        turn = turns.take(tables, busy)
        for table, error in turn.errors.items():
            context.log.error(f"{table} cannot be read; it will be looked at again: {error}")
        due_tables = due(turn.found)
        paused = {table: state.waits for table, state in due_tables.items() if state.waits}
        paused |= {table: _FAILED for table in due_tables if pausing(context.instance, table, now)}
        chosen = [table for table in due_tables if table not in paused][:_REQUESTS]
        small = _small(context.instance, [described[table] for table in chosen], due_tables)
        postponed = due_tables.keys() - set(chosen)
        states = {table: state for table, state in turn.found.items() if table not in postponed}
        judged = {**cursor.tables, **{table: str(state.snapshot) for table, state in states.items()}}
        return dg.SensorResult(
            run_requests=[
                *(_request(described[table], due_tables[table]) for table in chosen if table not in small),
                *(_request_of(some, due_tables) for some in shares(small)),
            ],
            skip_reason=None if chosen else _silence(turn, busy, paused),
            cursor=turn.cursor(judged).serialize(),
        )

    return latest_snapshots


def _request(table: TableConfig, state: NewestState) -> dg.RunRequest:
    reason = {"paimon/base_snapshot": str(state.snapshot.id), "paimon/reason": state.reason}
    return dg.RunRequest(
        run_key=f"{table.identifier}@{state.snapshot}",
        job_name=keys.job_of(table, "compact"),
        run_config=run_config(table, _config(state)),
        tags={**run_tags(table), **reason},
    )


def _small(
    instance: DagsterInstance, tables: Sequence[TableConfig], states: Mapping[str, NewestState]
) -> Sequence[str]:
    """Of the tables that are due, those that share runs; a single one has a run of its own."""
    if len(tables) <= 1:
        return ()
    over_many = instance.get_runs(dg.RunsFilter(job_name=keys.COMPACT_SMALL), limit=_RUNS_LOOKED_AT)
    failed = {name for run in over_many for name in _failed_in(run)}
    alike = [table.identifier for table in tables if not table.spark_options and table.identifier not in failed]
    small = [name for name in alike if states[name].full is None and states[name].bytes <= SMALL_BYTES]
    return small if len(small) > 1 else ()


def _failed_in(run: dg.DagsterRun) -> Sequence[str]:
    """The tables that have failed in a run over several: all of them where it died before it could say which."""
    if FAILED_TABLES in run.tags:
        return failed_tables_of(run)
    return sorted(small_tables_of(run)) if run.status == dg.DagsterRunStatus.FAILURE else ()


def shares(tables: Sequence[str]) -> Sequence[Sequence[str]]:
    """The tables of each shared run."""
    runs = min(_SHARED_RUNS, -(-len(tables) // _WORTH_A_RUN))
    size = min(_TOGETHER, -(-len(tables) // runs)) if runs else 1
    return [tables[start : start + size] for start in range(0, len(tables), size)]


def _request_of(tables: Sequence[str], states: Mapping[str, NewestState]) -> dg.RunRequest:
    """A run for several tables."""
    key = "\n".join(f"{table}@{states[table].snapshot}" for table in tables)
    config = {"tables": list(tables)}
    return dg.RunRequest(
        run_key=hashlib.sha256(key.encode()).hexdigest(),
        job_name=keys.COMPACT_SMALL,
        run_config={"ops": {keys.IN_TURN: {"config": config}}},
        tags={"paimon/reason": f"{len(tables)} small tables are due at once"},
    )


def _config(state: NewestState) -> dict[str, Any]:
    if state.full is None:
        return {}
    return {"ops": {"compact": {"config": {"full": True, "partitions": [one.by_name() for one in state.full]}}}}


def _silence(turn: Turn[NewestState], busy: set[str], paused: Mapping[str, str]) -> str:
    reasons = [f"{table}: {state.reason}" for table, state in turn.found.items() if table not in paused]
    reasons += [f"{table}: a run is at work on it" for table in sorted(busy)]
    reasons += [f"{table}: {paused[table]}" for table in sorted(paused)]
    reasons = [*filter(None, [unread(turn.errors)]), *reasons[:_REQUESTS]]
    return "; ".join(reasons) or "No table has a new snapshot."
