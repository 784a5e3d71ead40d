"""Looks at what was committed since the last tick and reports the tables' checks, without a run.

The cursor holds, for each table, the snapshot last judged and the checks that failed then. A table is judged again when
its newest snapshot is another file, and now and then, since time alone turns a check (its age, a holder's age). One
that cannot be read has a check that says so, and is looked at again after a while, twice as long each time. Tables are
read side by side and in turn: a tick that comes near its time limit leaves the rest to the next one, which begins with
them. Where the warehouse itself cannot be reached, that alone is reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from assets import keys
from assets.checks.due import is_watched
from assets.checks.judgements import evaluation
from assets.checks.judging import look_at
from assets.project.config import Project, TableConfig, TablePattern
from assets.resources.catalog import PaimonCatalog
from assets.warehouse.configuration import CONFIGURATION, configuration
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.readable import READABLE
from sensors.cursor import Cursor, Trouble
from sensors.turns import AGAIN_SECONDS, Turns

INTERVAL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Judged:
    """What is remembered of a table, or of the configuration.

    Attributes:
        state: the newest snapshot: its id, and what changes when its file does; of the configuration what was said.
        at: when it was judged, seconds since 1970.
        failing: names of checks.
    """

    state: str = ""
    at: float = 0.0
    failing: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Judged":
        return cls(str(found["state"]), float(found["at"]), tuple(found["failing"]))


def cursor_of(text: str | None) -> Cursor[Judged]:
    """What is remembered of each table, and under CONFIGURATION of tables.yaml."""
    return Cursor.parse(text, Judged.of)


Sight = tuple[Judged, tuple[Judgement, ...]]


@dataclass(frozen=True, slots=True)
class Looking:
    """One tick's look at tables. `watched`: the sensor is on that starts compactions; `now`: with a time zone."""

    catalog: PaimonCatalog
    now: datetime
    watched: bool

    def is_due(self, config: TableConfig, before: Judged, trouble: Trouble | None) -> bool:
        """Whether to judge a table: it has another snapshot, or was last judged long enough ago."""
        over = self.now.timestamp() >= (trouble.again if trouble else before.at + AGAIN_SECONDS)
        return over or self._state_of(config) != before.state

    def at(self, config: TableConfig) -> Sight | None:
        """The table judged, or None where there is nothing to judge: it is in tables.yaml, but not there yet."""
        state = self._state_of(config)
        found = look_at(self.catalog, config, self.now, watched=self.watched)
        return (Judged(state, self.now.timestamp(), _failing(found)), found) if found else None

    def _state_of(self, config: TableConfig) -> str:
        """The newest snapshot, without reading it; empty if there is none, or it cannot be known."""
        try:
            table = self.catalog.get_table(config.identifier)
            latest = table.snapshots.latest_id()
            return "" if latest is None else f"{latest} {table.file_io.version(table.paths.snapshot(latest))}"
        except Exception:  # noqa: BLE001 - the judgement says what is wrong
            return ""


def is_broken(sight: Sight) -> bool:
    """Whether the table could not be read."""
    return READABLE in sight[0].failing


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

    @dg.sensor(
        name="check_radar",
        asset_selection=dg.AssetSelection.all_asset_checks(),
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Judges each new snapshot: damage, conflicting writers, backlogs. Reports checks, starts no run.",
    )
    def check_radar(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        cursor = cursor_of(context.cursor)
        now = datetime.now(UTC)
        looking = Looking(catalog, now, is_watched(context.instance, context.code_location_origin))
        whole = configuration(project, catalog, doubtful)
        events, judged = _news(whole.judgement, cursor.tables.get(CONFIGURATION, Judged()), now)
        before = {table.identifier: cursor.tables.get(table.identifier) for table in tables}
        turns = Turns(
            looking.at,
            cursor,
            now.timestamp(),
            ready=lambda table, trouble: looking.is_due(table, before[table.identifier] or Judged(), trouble),
            broken=is_broken,
        )
        turn = turns.take(tables if whole.reachable else ())
        known = {name: of for name, of in before.items() if of} | {name: of for name, (of, _) in turn.found.items()}
        for name, (_, found) in turn.found.items():
            events += [evaluation(keys.asset_key(name), judgement) for judgement in found]
        for name, error in turn.errors.items():
            context.log.error(f"{name} could not be judged: {error}")
        failing = [f"{name}: {', '.join(of.failing)}" for name, of in known.items() if of.failing]
        failing += [f"{name}: {error}" for name, error in turn.errors.items()]
        failing += [] if whole.judgement.passed else [whole.judgement.summary]
        remembered = {**known, CONFIGURATION: judged}
        after = turn.cursor(remembered) if whole.reachable else replace(cursor, tables=remembered)
        return dg.SensorResult(
            asset_events=events,
            cursor=after.serialize(),
            skip_reason=f"{len(events)} checks reported. " + ("; ".join(failing) or "No open problems."),
        )

    return check_radar


def _news(found: Judgement, before: Judged, now: datetime) -> tuple[list[dg.AssetCheckEvaluation], Judged]:
    """The judgement over the configuration as an event, unless it is what was reported a short while ago."""
    if found.summary == before.state and now.timestamp() - before.at < AGAIN_SECONDS:
        return [], before
    return [evaluation(keys.FLEET, found)], Judged(found.summary, now.timestamp(), _failing([found]))
