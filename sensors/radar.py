"""Looks at what was committed since the last tick and reports the tables' checks, without a run.

The cursor holds, for each table, the snapshot last judged and the checks that failed then. A table is judged again when
it has another snapshot, and now and then, since time alone turns a check (its age, a holder's age). Tables are read
side by side and in turn: a tick that comes near the time limit leaves the rest to the next one, which begins with them.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import dagster as dg

from assets.config import TableConfig
from assets.judgements import evaluation, judge
from assets.resources import PaimonCatalog
from maintenance.errors import NotFoundError
from maintenance.monitor.judgement import Judgement
from sensors.turns import Trouble, Turns

INTERVAL_SECONDS = 30
# How often a table without a new snapshot is judged all the same.
_AGAIN_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Judged:
    """What is remembered of a table. `at`: seconds since 1970; `failing`: names of checks."""

    snapshot: int
    at: float
    failing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Radar:
    """The cursor. `first`: the table that the next tick begins with."""

    first: str
    tables: Mapping[str, Judged]
    troubles: Mapping[str, Trouble] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> "Radar":
        """The cursor of a text; one that makes no sense counts as none: every table is judged anew."""
        try:
            found = json.loads(text or "{}")
            tables = {
                name: Judged(int(of["snapshot"]), float(of["at"]), tuple(of["failing"]))
                for name, of in found.get("tables", {}).items()
            }
            troubles = {n: Trouble(int(of["times"]), float(of["again"])) for n, of in found.get("troubles", {}).items()}
            return cls(str(found.get("first", "")), tables, troubles)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls("", {})

    def serialize(self) -> str:
        tables = {name: asdict(judged) for name, judged in self.tables.items()}
        troubles = {name: asdict(trouble) for name, trouble in self.troubles.items()}
        return json.dumps({"first": self.first, "tables": tables, "troubles": troubles}, sort_keys=True)


def look(
    catalog: PaimonCatalog, config: TableConfig, before: Judged | None
) -> tuple[Judged, tuple[Judgement, ...]] | None:
    """The table judged, or None where there is nothing to judge again."""
    try:
        table = catalog.get_table(config.identifier)
    except NotFoundError:
        return None  # described in tables.yaml, but not there yet
    snapshot = table.snapshots.latest_id() or 0
    now = datetime.now(UTC)
    if before is not None and before.snapshot == snapshot and now.timestamp() - before.at < _AGAIN_SECONDS:
        return None
    judgements = judge(config, table, now)
    failing = tuple(sorted(judgement.check for judgement in judgements if not judgement.passed))
    return Judged(snapshot, now.timestamp(), failing), judgements


def radar_sensor(tables: Sequence[TableConfig]) -> dg.SensorDefinition:
    """The sensor for all tables."""

    @dg.sensor(
        name="check_radar",
        asset_selection=dg.AssetSelection.all_asset_checks(),
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Judges each new snapshot: conflicting writers, gaps, backlogs. Reports checks, starts no run.",
    )
    def check_radar(context: dg.SensorEvaluationContext, catalog: PaimonCatalog) -> dg.SensorResult:
        radar = Radar.parse(context.cursor)
        turn = Turns(lambda table: look(catalog, table, radar.tables.get(table.identifier)), time.time(),
                     troubles=radar.troubles).take(tables, radar.first)  # fmt: skip
        known = {**radar.tables, **{name: judged for name, (judged, _) in turn.found.items()}}
        events = [evaluation(name, judgement) for name, (_, found) in turn.found.items() for judgement in found]
        for table, error in turn.errors.items():
            context.log.error(f"{table} cannot be read; it will be looked at again: {error}")
        if turn.errors and not events:
            told = "; ".join(f"{table}: {error}" for table, error in turn.errors.items())
            text = f"Cannot read {len(turn.errors)} of the tables. {told}"
            raise dg.DagsterError(text) from next(iter(turn.errors.values()))
        failing = [f"{name}: {', '.join(of.failing)}" for name, of in known.items() if of.failing]
        return dg.SensorResult(
            asset_events=events,
            cursor=Radar(turn.first, known, turn.troubles).serialize(),
            skip_reason=f"{len(events)} checks reported. " + ("; ".join(failing) or "All is well."),
        )

    return check_radar
