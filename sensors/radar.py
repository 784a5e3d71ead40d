"""Looks at what was committed since the last tick and reports the tables' checks, without a run.

The cursor holds, for each table, the snapshot last judged and the checks that failed then. A table is judged again when
it has another snapshot, and now and then, since time alone turns a check (its age, a holder's age). Tables are read
side by side and in turn: a tick that comes near the time limit leaves the rest to the next one, which begins with them.
"""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import dagster as dg

from assets.config import TableConfig
from assets.judgements import evaluation, judge
from assets.resources import PaimonCatalog
from maintenance.errors import NotFoundError
from maintenance.monitor.judgement import Judgement

INTERVAL_SECONDS = 30
_SECONDS = 40.0  # of the 60 that the code server allows a tick
_READERS = 8
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
    tables: dict[str, Judged]

    @classmethod
    def parse(cls, text: str | None) -> "Radar":
        """The cursor of a text; one that makes no sense counts as none: every table is judged anew."""
        try:
            found = json.loads(text or "{}")
            tables = {
                name: Judged(int(of["snapshot"]), float(of["at"]), tuple(of["failing"]))
                for name, of in found.get("tables", {}).items()
            }
            return cls(str(found.get("first", "")), tables)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls("", {})

    def serialize(self) -> str:
        return json.dumps(
            {"first": self.first, "tables": {n: asdict(j) for n, j in self.tables.items()}}, sort_keys=True
        )


def in_turn(tables: Sequence[TableConfig], first: str) -> list[TableConfig]:
    """The tables, beginning with the one named."""
    names = [table.identifier for table in tables]
    start = names.index(first) if first in names else 0
    return [*tables[start:], *tables[:start]]


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
        started = time.monotonic()
        radar = Radar.parse(context.cursor)
        queue = in_turn(tables, radar.first)
        known = dict(radar.tables)
        events: list[dg.AssetCheckEvaluation] = []
        errors: dict[str, Exception] = {}
        looked = 0
        with ThreadPoolExecutor(_READERS) as pool:
            while looked < len(queue) and time.monotonic() - started < _SECONDS:
                some = queue[looked : looked + 8 * _READERS]
                seen = [pool.submit(look, catalog, table, known.get(table.identifier)) for table in some]
                for table, future in zip(some, seen, strict=True):
                    try:
                        found = future.result()
                    except Exception as error:  # one broken table must not blind the sensor for the others
                        context.log.exception(f"{table.identifier} cannot be read; it will be looked at again")
                        errors[table.identifier] = error
                        continue
                    if found is not None:
                        known[table.identifier], judgements = found
                        events += [evaluation(table.identifier, judgement) for judgement in judgements]
                looked += len(some)
        if errors and not events:
            told = "; ".join(f"{table}: {error}" for table, error in errors.items())
            raise dg.DagsterError(f"Cannot read {len(errors)} of the tables. {told}") from next(iter(errors.values()))
        first = queue[looked % len(queue)].identifier if queue else ""
        failing = [f"{name}: {', '.join(of.failing)}" for name, of in known.items() if of.failing]
        return dg.SensorResult(
            asset_events=events,
            cursor=Radar(first, known).serialize(),
            skip_reason=f"{len(events)} checks reported. " + ("; ".join(failing) or "All is well."),
        )

    return check_radar
