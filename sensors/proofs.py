"""Watches for compactions that other engines commit, and has them proved, for the tables whose `proofs` ask for it.

The cursor holds, for each table, the snapshot last looked at, and the one up to which a proof was asked for and has no
result yet. What was proved is in the results of the check. A run that failed is asked for again after a pause.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import dagster as dg
from dagster import DagsterInstance

from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.expired import again_if_expired
from maintenance.operations.checks.prove_compactions import is_of_others
from maintenance.project.config import TableConfig
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.proofs import Proved
from paimon_maintenance.assets.project.table_of_run import run_config, run_tags
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.pauses import last_failures, pausing
from paimon_maintenance.sensors.cursor import Cursor
from paimon_maintenance.sensors.hints import HINTS
from paimon_maintenance.sensors.latest import in_progress
from paimon_maintenance.sensors.turns import Turns, unread

INTERVAL_SECONDS = 60
_LOOKED_AT = 1000
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """What is remembered of a table. `snapshot`: what the newest was; `open`: up to which a proof is to come, or empty.

    Both are what snapshots are, as text.
    """

    snapshot: str = ""
    open: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Seen":
        return cls(str(stored["snapshot"]), str(stored["open"]))


def look(catalog: PaimonCatalog, config: TableConfig, before: Seen) -> Seen | None:
    """What is new; None: nothing."""
    if HINTS.nothing_new(catalog.warehouse, config.identifier, before.snapshot):
        return None
    try:
        table = catalog.get_table(config.identifier)
    except NotFoundError:
        return None
    return again_if_expired(lambda: _seen(table, before), _ATTEMPTS)


def _seen(table: Table, before: Seen) -> Seen | None:
    newest = table.snapshots.latest_identity()
    if newest is None or str(newest) == before.snapshot:
        return None
    last = SnapshotIdentity.parse(before.snapshot)
    compacted = False
    for snapshot in islice(table.snapshots.newest_first(), _LOOKED_AT):
        if last is not None and snapshot.id <= last.id and SnapshotIdentity.of(snapshot) == last:
            break
        compacted = compacted or is_of_others(snapshot)
    return Seen(str(newest), str(newest) if compacted else before.open)


def is_proved(instance: DagsterInstance, table: TableConfig, snapshot: str) -> bool:
    """Whether a result of the check is about that snapshot, or a later one."""
    asked = SnapshotIdentity.parse(snapshot)
    trail = [SnapshotIdentity.parse(text) for text in Proved.of(instance, keys.spot_of(table)).trail]
    return asked is not None and any(
        found is not None and found.id >= asked.id and found.time_millis >= asked.time_millis for found in trail
    )


def proof_sensor(tables: Sequence[TableConfig], jobs: Sequence[Any]) -> dg.SensorDefinition:
    """The sensor for all tables. It is on from the start where a table's `proofs` ask for it."""
    watched = [table for table in tables if table.proofs is not None]
    described = {table.identifier: table for table in watched}

    @dg.sensor(
        name=keys.PROOF_SENSOR,
        jobs=jobs,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if watched else dg.DefaultSensorStatus.STOPPED,
        description="Has compactions of other engines proved, of the tables whose setting 'proofs' asks for it.",
    )
    def foreign_compactions(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        now, cursor = time.time(), Cursor.parse(context.cursor, Seen.of)
        turns = Turns(lambda table: look(catalog, table, cursor.tables.get(table.identifier, Seen())), cursor, now)
        turn = turns.take(watched)
        seen = {**cursor.tables, **turn.found}
        busy = in_progress(context.instance, watched)
        requests = []
        for name, one in seen.items():
            if one.open and name in described and name not in busy:
                if is_proved(context.instance, described[name], one.open):
                    seen[name] = Seen(one.snapshot)
                elif not pausing(context.instance, name, now, keys.PROVE):
                    _, failures = last_failures(context.instance, name, keys.PROVE)
                    key = f"{name}@{one.open}#{failures}" if failures else f"{name}@{one.open}"
                    table = described[name]
                    requests.append(
                        dg.RunRequest(key, run_config(table), run_tags(table), keys.job_of(table, keys.PROVE))
                    )
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else unread(turn.errors) or "No new compactions of other engines.",
            cursor=turn.cursor(seen).serialize(),
        )

    return foreign_compactions
