"""Mirrors the partitions of the tables: adds new ones, drops those that are gone, tells which changed or are compacted.

The table is the truth, whoever writes and compacts it; nothing here starts a run. The cursor holds, for each table, the
snapshot last mirrored and a digest of each partition. Of a table with more partitions than its limit the newest are
mirrored. A tick reports a bounded number of events; the rest follows with the next.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
from dagster import DagsterInstance

from maintenance.amounts import number_of
from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.operations.partition_states import PartitionState, PartitionStates, partition_states
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.databases import Database
from paimon_maintenance.assets.partitions import key_of, recorded_digest, state_metadata
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.sensors.cursor import Cursor, snapshot_text
from paimon_maintenance.sensors.turns import Turns, unread

INTERVAL_SECONDS = 30
_EVENTS = 1000
_EVENTS_EACH = 3
Event = dg.AssetMaterialization | dg.AssetObservation


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What is remembered of a table. `snapshot`: what it is, empty until all of it is reported; `digests`: by
    partition key.
    """

    snapshot: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Mirrored":
        snapshot = stored["snapshot"]
        return cls(
            snapshot and snapshot_text(snapshot), {str(key): str(digest) for key, digest in stored["digests"].items()}
        )


def cursor_of(text: str | None) -> Cursor[Mirrored]:
    """What is remembered of each table."""
    return Cursor.parse(text, Mirrored.of)


def look(catalog: PaimonCatalog, config: TableConfig, before: Mirrored) -> PartitionStates | None:
    """The partitions, or None where there is nothing new."""
    try:
        table = catalog.get_table(config.identifier)
    except NotFoundError:
        return None
    latest = table.snapshots.latest_identity()
    return None if latest is None or str(latest) == before.snapshot else partition_states(table)


def newest(states: Iterable[PartitionState], limit: int) -> dict[str, PartitionState]:
    """At most `limit` partitions, the most recently changed, in the order of their keys."""
    lately = sorted(states, key=lambda state: (-state.changed_millis, key_of(state.spec)))[:limit]
    return dict(sorted((key_of(state.spec), state) for state in lately))


@dataclass(slots=True)
class Telling:
    """One table's news. `room`: how many events this tick may still report."""

    instance: DagsterInstance
    table: TableConfig
    room: int
    events: list[Event] = field(default_factory=list)

    def tell(self, observed: PartitionStates, states: Mapping[str, PartitionState], before: Mirrored) -> Mirrored:
        """Report the partitions that are not as before; returns what is remembered then."""
        snapshot = observed.snapshot
        assert snapshot is not None
        digests = {key: digest for key, digest in before.digests.items() if key in states}
        changed = [key for key, state in states.items() if digests.get(key) != state.digest]
        reported = changed[: self.room // _EVENTS_EACH]
        for key in reported:
            if states[key].stale or key not in digests:
                self._observe(key, states[key], snapshot)
        for key in reported:
            found_so = (self._found(asset, key, states[key], snapshot) for asset in self._up_to_date(states[key]))
            self.events += [event for event in found_so if event is not None]
        digests.update({key: states[key].digest for key in reported})
        self.room -= _EVENTS_EACH * len(reported)
        return Mirrored(str(snapshot) if len(reported) == len(changed) else "", digests)

    def _observe(self, key: str, state: PartitionState, snapshot: SnapshotIdentity) -> None:
        """Told at once, not at the end of the tick, since what is compacted has to point to it."""
        self.instance.report_runless_asset_event(
            dg.AssetObservation(
                keys.partition_states(self.table.identifier),
                partition=key,
                metadata=state_metadata(state, snapshot.id),
                tags={"dagster/data_version": str(snapshot)},
            )
        )

    def _up_to_date(self, state: PartitionState) -> list[dg.AssetKey]:
        """The assets for which nothing is to be done in a partition, whoever has done it."""
        assets = [] if state.stale else [keys.compaction(self.table.identifier)]
        waits = state.level0_files if self.table.options.get("changelog-producer") == "lookup" else state.stale
        if self.table.writes_changelog and not waits:
            assets.append(keys.changelog(self.table.identifier))
        return assets

    def _found(self, asset: dg.AssetKey, key: str, state: PartitionState, snapshot: SnapshotIdentity) -> Event | None:
        """As a run would record it: with the state that was worked on, so that a later one makes it stale.

        None where a run has recorded this state itself, and against the latest observation.
        """
        states_asset = keys.partition_states(self.table.identifier)
        record = self.instance.get_latest_data_version_record(states_asset, True, key)
        event = None if record is None else record.event_log_entry.asset_observation
        version = (event.tags if event else {}).get("dagster/data_version", str(snapshot))
        pointer = f"dagster/input_event_pointer/{states_asset.to_user_string()}"
        seen = 0 if record is None else record.storage_id
        record_before = self.instance.get_latest_data_version_record(asset, False, key)
        made = None if record_before is None else record_before.event_log_entry.asset_materialization
        if made is not None and recorded_digest(made) == state.digest and _number(made.tags, pointer) >= seen:
            return None
        return dg.AssetMaterialization(
            asset,
            partition=key,
            description=f"Found up to date at snapshot {snapshot.id}.",
            metadata=state_metadata(state, snapshot.id),
            tags={
                "dagster/data_version": str(snapshot),
                "dagster/code_version": "found",  # without one Dagster takes no notice of what follows
                f"dagster/input_data_version/{states_asset.to_user_string()}": version,
                **({pointer: str(seen)} if seen else {}),
            },
        )


def _number(tags: Mapping[str, str] | None, name: str) -> int:
    """The storage id that a tag holds, -1 for none."""
    text = (tags or {}).get(name, "")
    return int(text) if text.isdecimal() else -1


def mirror(instance: DagsterInstance, name: str, wanted: Collection[str]) -> None:
    """Make the dynamic partitions of a name those wanted.

    All at once: of the requests that a tick may return instead, the daemon asks for each partition whether it is there.
    """
    there = set(instance.get_dynamic_partitions(name))
    new = [key for key in wanted if key not in there]
    if new:
        instance.add_dynamic_partitions(name, new)
    for key in sorted(there.difference(wanted)):
        instance.delete_dynamic_partition(name, key)


def partition_sensor(tables: Sequence[TableConfig], databases: Sequence[Database] = ()) -> dg.SensorDefinition:
    """The sensor for all partitioned tables, and for databases whose tables are partitions."""

    @dg.sensor(
        name="partition_mirror",
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if tables or databases else dg.DefaultSensorStatus.STOPPED,
        description="Mirrors the partitions of the tables, and which of them are compacted. Starts no run.",
    )
    def partition_mirror(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        cursor = cursor_of(context.cursor)
        mirrored = {table.identifier: cursor.tables.get(table.identifier, Mirrored()) for table in tables}
        turns = Turns(lambda table: look(catalog, table, mirrored[table.identifier]), cursor, time.time())
        turn = turns.take(tables)
        for name, error in turn.errors.items():
            context.log.error(f"{name} cannot be read; it will be looked at again: {error}")
        for database in databases:
            mirror(context.instance, keys.partitions(database.name), [table.identifier for table in database.tables])
        events: list[Event] = []
        room = _EVENTS
        for table in tables:
            observed = turn.found.get(table.identifier)
            if observed is None or room < _EVENTS_EACH:
                continue
            states = newest(observed.partitions, table.partitions.max_keys)
            telling = Telling(context.instance, table, room)
            mirror(context.instance, keys.partitions(table.identifier), states)
            mirrored[table.identifier] = telling.tell(observed, states, mirrored[table.identifier])
            events, room = events + telling.events, telling.room
        return dg.SensorResult(
            asset_events=events,
            cursor=turn.cursor(mirrored).serialize(),
            skip_reason=f"{number_of(len(turn.found), 'table has', 'tables have')} changed; "
            f"{number_of(len(events), 'partition was', 'partitions were')} found up to date. " + unread(turn.errors),
        )

    return partition_mirror
