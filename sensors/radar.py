"""Looks at what was committed since the last tick and reports the tables' checks and pages, without a run.

The cursor holds, for each table, the snapshot last judged, the checks that failed then and what was published. A table
is judged again when its newest snapshot is another one, when tables.yaml gives it other settings, and now and then,
since time alone turns a check (its age, a holder's age). The latter takes two seconds of a tick, for those that were
judged longest ago, so that thousands of tables at rest do not keep a processor busy. One that cannot be read has a
check that says so, and is looked at again after a while, twice as long each time. Tables are read side by side and in
turn: a tick that comes near its time limit leaves the rest to the next one, which begins with them. Where
the warehouse itself cannot be reached, that alone is reported.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.monitor.judgement import Judgement
from maintenance.monitor.readable import READABLE
from maintenance.operations.history import history_table, read_histories
from maintenance.project.config import Project, TableConfig, TablePattern
from maintenance.project.followed import FollowedTables
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import repeated_checks
from paimon_maintenance.assets.checks.databases import evaluations, last_rows
from paimon_maintenance.assets.checks.due import Automation, automation_of
from paimon_maintenance.assets.checks.health_past import remember
from paimon_maintenance.assets.checks.judgements import evaluation
from paimon_maintenance.assets.checks.judging import see
from paimon_maintenance.assets.pages.freeable import beside_of
from paimon_maintenance.assets.pages.holders import IN_PASSING, OrphansOf, holders_page, who_holds
from paimon_maintenance.assets.pages.table_page import settings_digest
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.bins import due_in_bin
from paimon_maintenance.assets.warehouse.configuration import CONFIGURATION, configuration
from paimon_maintenance.sensors.cursor import Cursor, Trouble
from paimon_maintenance.sensors.hints import HINTS
from paimon_maintenance.sensors.publishing import Event, Examined, Judged, Publisher
from paimon_maintenance.sensors.turns import Turn, Turns

INTERVAL_SECONDS = 30
# Of a tick: for looks at tables with news; and after so long no more of them is published. The next tick goes on with
# the others: under many commits the sensor takes no more than half of a processor.
_LOOKED_AT_SECONDS, _PUBLISHED_AFTER_SECONDS = 8.0, 15.0
# Of a tick, for tables without news.
_AT_REST_SECONDS = 2.0
# What is remembered of the page over all tables.
_FLEET = "fleet_page"
# Older runs are not on a table's page.
_PAST = timedelta(days=30)
_AT_ONCE = 500


def cursor_of(text: str | None) -> Cursor[Judged]:
    """What is remembered of each table, and under CONFIGURATION of tables.yaml."""
    return Cursor.parse(text, Judged.of)


@dataclass(frozen=True, slots=True)
class Examiner:
    """Examines tables in one tick.

    Attributes:
        now: with a time zone.
        automation: what starts compactions and expiries by itself.
        again: seconds after which a table is judged again though nothing was committed to it.
        zone: where days begin, unless a table's settings say otherwise.
        orphans: gives the bytes of a table that nothing names, as last counted.
    """

    catalog: PaimonCatalog
    now: datetime
    automation: Automation
    again: float
    zone: ZoneInfo
    orphans: Callable[[str], int | None]

    def has_news(self, config: TableConfig, before: Judged, trouble: Trouble | None) -> bool:
        """Whether a table has another snapshot or settings, or could not be read and its pause is over."""
        over = trouble is not None and self.now.timestamp() >= trouble.again
        return over or self._state_of(config, before.state) != before.state

    def at_rest(self, tables: Iterable[TableConfig], before: Mapping[str, Judged | None]) -> list[TableConfig]:
        """The tables that were last judged long enough ago to be judged again, the longest first."""
        judged = [(known.at, table) for table in tables if (known := before[table.identifier]) is not None]
        due = [one for one in judged if self.now.timestamp() >= one[0] + self.again]
        return [table for _, table in sorted(due, key=itemgetter(0))]

    def at(self, config: TableConfig) -> Examined | None:
        """The table judged, or None where there is nothing to judge: it is in tables.yaml, but not there yet."""
        state = self._state_of(config, "")
        health = see(self.catalog, config, self.now, automation=self.automation, zone=self.zone, orphans=self.orphans)
        if not health.judgements:
            return None
        return Examined(config, Judged(state, self.now.timestamp(), _failing(health.judgements)), health)

    def _state_of(self, config: TableConfig, before: str) -> str:
        """What the newest snapshot and schema are, and the settings; these alone where the table cannot be read.

        `before`: as it was; a table is not opened to see that it is still so, where its folders or hints say it.
        """
        settings, warehouse = settings_digest(config), self.catalog.warehouse
        known, _, own = before.rpartition(" ")
        if own == settings and HINTS.nothing_new(warehouse, config.identifier, known.rpartition(" ")[0]):
            return before
        try:
            table = self.catalog.get_table(config.identifier)
            HINTS.read(warehouse, table)
            newest = f"{table.snapshots.latest_identity() or ''} {table.schema.id}"
        except Exception:  # noqa: BLE001 - the judgement says what is wrong
            newest = ""
        return f"{newest} {settings}"


def is_broken(examined: Examined) -> bool:
    """Whether the table could not be read."""
    return READABLE in examined.judged.failing


def _failing(judgements: Iterable[Judgement]) -> tuple[str, ...]:
    return tuple(sorted(judgement.check for judgement in judgements if not judgement.passed))


def radar_sensor(
    project: Project, tables: Sequence[TableConfig], doubtful: Sequence[TablePattern] = ()
) -> dg.SensorDefinition:
    """The sensor for all tables.

    Args:
        project: as tables.yaml describes it.
        tables: those of it, and those that were found in the catalog.
        doubtful: patterns that matched nothing when the definitions were loaded.
    """
    zone = ZoneInfo(project.expiry.time_zone)

    followed = FollowedTables(project, tables)

    @dg.sensor(
        name=keys.RADAR_SENSOR,
        asset_selection=dg.AssetSelection.all(),
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Judges each new snapshot: damage, conflicting writers, backlogs. Keeps the pages of the tables and"
        " of the fleet up to date. Starts no run.",
    )
    def check_radar(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        started = time.monotonic()
        cursor, tables = cursor_of(context.cursor), followed.now()
        now = datetime.now(UTC)
        again = project.radar.again_seconds
        origin = context.code_location_origin
        location = None if origin is None else origin.location_name
        automation = automation_of(context.instance, location)
        orphans = OrphansOf(context.instance, tables)
        examiner = Examiner(catalog, now, automation, again, zone, orphans.bytes_of)
        whole = configuration(project, catalog, doubtful)
        news, judged = _news(whole.judgement, cursor.tables.get(CONFIGURATION, Judged()), now, again)
        before = {table.identifier: cursor.tables.get(table.identifier) for table in tables}
        turns = Turns(
            examiner.at,
            cursor,
            now.timestamp(),
            _LOOKED_AT_SECONDS,
            ready=lambda table, trouble: examiner.has_news(table, before[table.identifier] or Judged(), trouble),
            broken=is_broken,
            longest_pause=again,
        )
        there = tables if whole.reachable else ()
        turn = turns.take(there)
        rest = [table for table in there if table.identifier not in {*turn.found, *turn.errors, *turn.troubles}]
        later = replace(turns, cursor=replace(cursor, first=""), seconds=_AT_REST_SECONDS, ready=lambda *_: True)
        turn = turn.and_then(later.take(examiner.at_rest(rest, before)))
        materialized, by_runs = _materialized(context.instance, turn)
        publisher = Publisher(
            now,
            origin.location_name if origin else None,
            _histories(context, catalog, turn, now),
            materialized,
            by_runs,
            again,
            lambda table: holders_page(who_holds(orphans, catalog, table, IN_PASSING, context.log.warning)),
            news,
            beside=beside_of(context.instance, lambda: due_in_bin(catalog, tables, now)),
        )
        reported: dict[str, Judged] = {}
        for name, found in turn.found.items():
            if reported and time.monotonic() - started > _PUBLISHED_AFTER_SECONDS:
                break
            reported[name] = publisher.publish(found, before[name] or Judged())
        turn = turn.only(reported, cursor.troubles)
        records = {name: found.health.record for name, found in turn.found.items() if found.health.record is not None}
        remember(context.instance, records)
        publisher.events += _of_databases(context.instance, tables, publisher.judged)
        publisher.events += repeated_checks(context.instance, publisher.committed, of_runs=True)
        known = {name: table for name, table in before.items() if table} | reported
        fleet = publisher.publish_fleet(list(known.values()), cursor.tables.get(_FLEET, Judged()))
        for name, error in turn.errors.items():
            context.log.error(f"{name} could not be judged: {error}")
        failing = [f"{name}: {', '.join(table.failing)}" for name, table in known.items() if table.failing]
        failing += [f"{name}: {error}" for name, error in turn.errors.items()]
        failing += [] if whole.judgement.passed else [whole.judgement.summary]
        remembered = {**known, CONFIGURATION: judged, _FLEET: fleet}
        after = turn.cursor(remembered) if whole.reachable else replace(cursor, tables=remembered)
        return dg.SensorResult(
            asset_events=publisher.events,
            cursor=after.serialize(),
            skip_reason=f"{len(publisher.events)} events reported. " + ("; ".join(failing) or "No open problems."),
        )

    return check_radar


def _histories(
    context: dg.SensorEvaluationContext, catalog: PaimonCatalog, turn: Turn[Examined], now: datetime
) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """What was done to the tables, newest first; read once per tick, and not at all where no table was looked at."""
    if catalog.history is None or not turn.found:
        return {}
    try:
        return read_histories(catalog.open(), history_table(catalog.history), now - _PAST)
    except Exception as error:  # noqa: BLE001 - the pages are shown without the last runs
        context.log.warning(f"The history could not be read: {error}")
        return {}


def _materialized(instance: dg.DagsterInstance, turn: Turn[Examined]) -> tuple[dict[keys.Spot, float], set[keys.Spot]]:
    """When the tables that were looked at were last materialised, seconds since 1970; which by a run."""
    spots = [keys.spot_of(examined.config) for examined in turn.found.values()]
    records = instance.get_asset_records([spot.asset for spot in spots if spot.partition is None])
    last = {keys.Spot(r.asset_entry.asset_key): r.asset_entry.last_materialization_record for r in records}
    known: dict[keys.Spot, dg.EventLogRecord] = {spot: record for spot, record in last.items() if record is not None}
    known |= last_of_partitions(instance, spots)
    return (
        {key: record.timestamp for key, record in known.items()},
        {key for key, record in known.items() if record.run_id},
    )


def _of_databases(
    instance: dg.DagsterInstance, tables: Sequence[TableConfig], judged: Mapping[str, Sequence[Judgement]]
) -> list[Event]:
    """The checks of the databases whose tables are partitions, as far as tables of them were judged."""
    by_database: dict[str, dict[str, Sequence[Judgement]]] = {}
    for table, judgements in judged.items():
        by_database.setdefault(table.partition(".")[0], {})[table] = judgements
    members: dict[str, list[str]] = {}
    for one in tables:
        if one.grouped:
            members.setdefault(one.identifier.partition(".")[0], []).append(one.identifier)
    before = last_rows(instance, list(by_database))
    return [event for name, found in by_database.items() for event in evaluations(name, members[name], found, before)]


def last_of_partitions(instance: dg.DagsterInstance, spots: Sequence[keys.Spot]) -> dict[keys.Spot, dg.EventLogRecord]:
    """The last materialisations of those that are partitions of their database."""
    found: dict[keys.Spot, dg.EventLogRecord] = {}
    names = {spot.partition for spot in spots if spot.partition is not None}
    for asset in {spot.asset for spot in spots if spot.partition is not None}:
        latest = instance.event_log_storage.get_latest_storage_id_by_partition(
            asset, dg.DagsterEventType.ASSET_MATERIALIZATION, names
        )
        ids = list(latest.values())
        for start in range(0, len(ids), _AT_ONCE):
            chosen = dg.AssetRecordsFilter(asset, storage_ids=ids[start : start + _AT_ONCE])
            for record in instance.fetch_materializations(chosen, limit=_AT_ONCE).records:
                found[keys.Spot(asset, record.partition_key)] = record
    return found


def _news(judgement: Judgement, before: Judged, now: datetime, again: float) -> tuple[list[Event], Judged]:
    """The judgement over the configuration as an event, unless it is what was reported a short while ago."""
    if judgement.summary == before.state and now.timestamp() - before.at < again:
        return [], before
    return [evaluation(keys.Spot(keys.FLEET), judgement)], Judged(
        judgement.summary, now.timestamp(), _failing([judgement])
    )
