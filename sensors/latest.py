"""Watches the tables' newest snapshots and asks for compaction where a table needs it.

A table's LATEST file is a hint that may be torn, stale or missing; the engine confirms it against the snapshot files.
The cursor holds, for each table, the snapshot that was last judged: a table without a new snapshot is not looked at
again. A table that cannot be read keeps its place in the cursor, so that it is judged once it can be read; so does one
that a run is just maintaining, since that run may compact it itself.
"""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import dagster as dg

from assets import keys
from assets.config import TableConfig
from assets.resources import PaimonCatalog
from maintenance.errors import NotFoundError
from maintenance.monitor.triggers import compaction_need

INTERVAL_SECONDS = 30
_UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A table at its newest snapshot, as the sensor found it."""

    snapshot_id: int
    due: bool
    reason: str


def due(sightings: Mapping[str, Sighting]) -> dict[str, Sighting]:
    """The tables that need compaction."""
    return {table: sighting for table, sighting in sightings.items() if sighting.due}


def look(catalog: PaimonCatalog, identifier: str, judged: int | None) -> Sighting | None:
    """The table's state, or None if there is nothing new since snapshot `judged`: no table, or no later snapshot.

    An id below `judged` is new too: after a rollback, or when the table was created again.
    """
    try:
        table = catalog.get_table(identifier)
    except NotFoundError:
        return None  # described in tables.yaml, but not ingested into yet
    snapshot_id = table.snapshots.latest_id()
    if snapshot_id is None or snapshot_id == judged:
        return None
    need = compaction_need(table)
    return Sighting(need.snapshot_id or snapshot_id, need.due, need.reason)


def in_progress(instance: dg.DagsterInstance, tables: Sequence[TableConfig]) -> set[str]:
    """The tables that an unfinished run maintains or compacts, whether launched as a job or from the asset's page."""
    busy: set[str] = set()
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        selected = run.asset_selection or frozenset()
        busy |= {
            table.identifier
            for table in tables
            if run.tags.get("paimon/table") == table.identifier or keys.asset_key(table.identifier) in selected
        }
    return busy


def latest_sensor(tables: Sequence[TableConfig], jobs: Sequence[dg.JobDefinition]) -> dg.SensorDefinition:
    """The sensor for all tables; `jobs`: their compaction jobs."""

    @dg.sensor(
        name="latest_snapshots",
        jobs=jobs,
        minimum_interval_seconds=INTERVAL_SECONDS,
        description="Requests compaction of a table whose newest snapshot needs it.",
    )
    def latest_snapshots(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        judged = parse_cursor(context.cursor)
        sightings: dict[str, Sighting] = {}
        errors: dict[str, Exception] = {}
        busy = in_progress(context.instance, tables)
        for table in tables:
            if table.identifier in busy:
                continue
            try:
                sighting = look(catalog, table.identifier, judged.get(table.identifier))
            except Exception as error:  # one broken table must not blind the sensor for the others
                context.log.exception(f"{table.identifier} cannot be read; it will be looked at again")
                errors[table.identifier] = error
            else:
                if sighting:
                    sightings[table.identifier] = sighting
        requests = [_request(table, sighting) for table, sighting in due(sightings).items()]
        if errors and not requests:
            raise dg.DagsterError(_told(errors)) from next(iter(errors.values()))
        cursor = {**judged, **{table: sighting.snapshot_id for table, sighting in sightings.items()}}
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else _silence(sightings, busy),
            cursor=json.dumps(cursor, sort_keys=True),
        )

    return latest_snapshots


def parse_cursor(text: str | None) -> dict[str, int]:
    """Table -> snapshot id last judged. A cursor that makes no sense counts as none: every table is judged anew."""
    try:
        cursor = json.loads(text or "{}")
    except ValueError:
        return {}
    if not isinstance(cursor, dict):
        return {}
    return {table: snapshot for table, snapshot in cursor.items() if isinstance(snapshot, int)}


def _request(table: str, sighting: Sighting) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=f"{table}@{sighting.snapshot_id}",
        job_name=keys.job("compact", table),
        tags={"paimon/base_snapshot": str(sighting.snapshot_id), "paimon/reason": sighting.reason},
    )


def _silence(sightings: Mapping[str, Sighting], busy: Set[str]) -> str:
    reasons = [f"{table}: {sighting.reason}" for table, sighting in sightings.items()]
    reasons += [f"{table}: a run is at work on it" for table in sorted(busy)]
    return "; ".join(reasons) or "No table has a new snapshot."


def _told(errors: Mapping[str, Exception]) -> str:
    listed = "; ".join(f"{table}: {error}" for table, error in errors.items())
    return f"Cannot read {len(errors)} of the tables. {listed}"
