"""What an examined table is turned into: events of its checks and of its first page, and nothing where nothing changed.

A page that is unlike the one last published becomes an event of the table's asset: a materialisation, if others have
committed since; else an observation. Checks are reported when they turn. Those that go on failing are reported with a
new snapshot, but not more often than every five minutes, since Dagster stores each result by itself; severe ones at
once. All of them are reported now and then, since a person may have run one meanwhile, and after a materialisation:
Dagster shows a check as not evaluated if its last result is older than that, and what the run said in place of the
page.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import dagster as dg

from maintenance.commit.identity import RUN_PROPERTY
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.monitor.judgement import Judgement
from maintenance.project.config import TableConfig
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.judgements import evaluation
from paimon_maintenance.assets.checks.judging import TableHealth
from paimon_maintenance.assets.pages.fleet import FleetPage, FleetRow
from paimon_maintenance.assets.pages.freeable import AskBeside, nothing_known
from paimon_maintenance.assets.pages.materialization import commit_materialization
from paimon_maintenance.assets.pages.metadata import table_metadata
from paimon_maintenance.assets.pages.table_page import TableView, digest_of, table_page
from paimon_maintenance.assets.pages.upcoming import Upcoming
from paimon_maintenance.sensors.cursor import snapshot_text

Event = dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation
# All checks are reported again after so long, whatever they say.
_ALL_AGAIN_SECONDS = 6 * 3600.0
# Checks of a table that fail for longer than a look are not reported again before.
_STILL_FAILING_SECONDS = 300.0
# The numbers of the page over all tables follow this slowly, unless a table's state has changed.
_FLEET_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Judged:
    """What is remembered of a table, or of the configuration, or of the page over all tables.

    Attributes:
        state: what the newest snapshot is, and what changes when the table's settings do; of the others what was said.
        at: when it was judged, seconds since 1970.
        failing: names of checks.
        reported: when all its checks were last reported, seconds since 1970.
        told: when those that fail were.
        page: of the page last published: changes when it does.
        snapshot: what the newest is that was published, empty: none.
        shown: when its page was last published, seconds since 1970.
        row: of the page over all tables, as `FleetRow.serialize` gives it.
    """

    state: str = ""
    at: float = 0.0
    failing: tuple[str, ...] = ()
    reported: float = 0.0
    page: str = ""
    snapshot: str = ""
    shown: float = 0.0
    row: tuple[Any, ...] = ()
    told: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Judged":
        """What the cursor holds. Raises: KeyError, ValueError, TypeError."""
        return cls(
            str(stored["state"]),
            float(stored["at"]),
            tuple(stored["failing"]),
            float(stored.get("reported", 0.0)),
            str(stored.get("page", "")),
            _snapshot(stored),
            float(stored.get("shown", 0.0)),
            tuple(stored.get("row", ())),
            float(stored.get("told", 0.0)),
        )


@dataclass(frozen=True, slots=True)
class Examined:
    """A table that was examined. `judged`: with what is to be remembered of it."""

    config: TableConfig
    judged: Judged
    health: TableHealth


@dataclass(slots=True)
class Publisher:
    """Turns examined tables into events, and remembers what was published.

    Attributes:
        location: the code location, for links; None: not known.
        histories: table -> rows of the history, newest first.
        materialized: table's place in Dagster -> when it was last materialised, seconds since 1970.
        by_runs: those whose last materialisation is a run's.
        again: seconds until checks and page are reported after the next materialisation; a table may get many of them.
        who_holds: the bytes of a table by holder, as metadata.
        committed: those for which a commit of somebody else was reported.
        judged: the tables that are partitions: their checks are of the databases.
        beside: what is known of orphans and the bin, of the tables asked for.
    """

    now: datetime
    location: str | None
    histories: Mapping[str, Sequence[Mapping[str, Any]]]
    materialized: dict[keys.Spot, float]
    by_runs: Set[keys.Spot]
    again: float
    who_holds: Callable[[Table], Mapping[str, Any]]
    events: list[Event] = field(default_factory=list)
    committed: list[keys.Spot] = field(default_factory=list)
    beside: AskBeside = nothing_known
    judged: dict[str, Sequence[Judgement]] = field(default_factory=dict)

    def publish(self, examined: Examined, before: Judged) -> Judged:
        """Report a table. Returns what is to be remembered of it."""
        # The page comes first: what is reported before a materialisation counts as a judgement of what was before it.
        return self._checks(examined, before, self._page(examined, before, examined.judged))

    def _checks(self, examined: Examined, before: Judged, judged: Judged) -> Judged:
        now, judgements = self.now.timestamp(), examined.health.judgements
        # Results that a run wrote would be out of date beside a commit that is reported without a run.
        spot = keys.spot_of(examined.config)
        everything = spot in self.committed and spot in self.by_runs
        everything |= self._is_covered(examined.config, before.reported) or now - before.reported >= _ALL_AGAIN_SECONDS
        fresh = examined.judged.state != before.state
        again = fresh and now - before.told >= _STILL_FAILING_SECONDS
        chosen = [j for j in judgements if everything or _has_news(j, before, again=again or (fresh and j.severe))]
        if spot.partition is None:
            self.events += [evaluation(spot, judgement) for judgement in chosen]
        else:
            self.judged[spot.partition] = judgements
        # A check that cannot be judged now stays what it was reported as.
        unjudged = set(before.failing) - {judgement.check for judgement in judgements}
        failing = tuple(sorted({*examined.judged.failing, *unjudged}))
        reported, told = (now if everything else before.reported), (now if everything or again else before.told)
        return replace(judged, failing=failing, reported=reported, told=told)

    def _is_covered(self, config: TableConfig, reported: float) -> bool:
        """Whether a materialisation hides what was reported at that time, and it is time to report it again."""
        materialized = self.materialized.get(keys.spot_of(config), 0.0)
        return reported < materialized and self.now.timestamp() - reported >= self.again

    def _page(self, examined: Examined, before: Judged, judged: Judged) -> Judged:
        row = tuple(FleetRow.of(examined.config.identifier, examined.health, examined.health.kept).serialize())
        judged = replace(judged, row=row, page=before.page, snapshot=before.snapshot, shown=before.shown)
        table, shape, config = examined.health.table, examined.health.shape, examined.config
        past = self.histories.get(config.identifier, ())
        found = (shape, examined.health.kept, examined.health.judgements)
        freed, record = examined.health.freed, examined.health.record
        view = TableView(config, self.now, *found, past, self.location, freed, record)
        if view.digest == before.page and not self._is_covered(config, before.shown):
            return judged
        judged = replace(judged, page=view.digest, shown=self.now.timestamp())
        if table is None or shape is None:
            self._observe(config, "It cannot be read.", table_page(view))
            return judged
        # What is next is planned where the page is made, which it is not at each look.
        view = replace(view, upcoming=Upcoming.of(config, examined.health, past, self.now))
        page = {**table_page(view), **self.who_holds(table), **table_metadata(table, shape)}
        snapshot = None if shape.snapshot_id is None else table.snapshots.find(shape.snapshot_id)
        published = "" if snapshot is None else str(SnapshotIdentity.of(snapshot))
        if (
            snapshot is not None
            and before.snapshot not in ("", published)
            and config.is_external
            and RUN_PROPERTY not in (snapshot.properties or {})
        ):
            self.events.append(commit_materialization(config, snapshot, page))
            self.materialized[keys.spot_of(config)] = self.now.timestamp()
            self.committed.append(keys.spot_of(config))
        else:
            self._observe(config, f"As read at snapshot {shape.snapshot_id or 0}.", page)
        return replace(judged, snapshot=published)

    def _observe(self, config: TableConfig, text: str, page: Mapping[str, Any]) -> None:
        spot = keys.spot_of(config)
        self.events.append(dg.AssetObservation(spot.asset, partition=spot.partition, description=text, metadata=page))

    def publish_fleet(self, known: Sequence[Judged], before: Judged) -> Judged:
        """Report the page over all tables, if a table's state has changed, or numbers have some while ago."""
        rows = [FleetRow.parse(judged.row) for judged in known if judged.row]
        urgent = digest_of(sorted([row.table, row.state] for row in rows))
        numbers = digest_of(sorted(row.serialize() for row in rows))
        settled = self.now.timestamp() - before.at < _FLEET_SECONDS
        if not rows or numbers == before.page or (urgent == before.state and settled):
            return before
        self.events += FleetPage(rows, self.beside).events()
        return Judged(urgent, self.now.timestamp(), page=numbers)


def _snapshot(stored: Mapping[str, Any]) -> str:
    """What a cursor says of the snapshot that was published; earlier ones its number, 0 for none."""
    said = stored.get("snapshot") or stored.get("snapshot_id")
    return snapshot_text(said) if said else ""


def _has_news(judgement: Judgement, before: Judged, *, again: bool) -> bool:
    """Whether a check has turned. `again`: or still fails."""
    failed_before = judgement.check in before.failing
    return judgement.passed == failed_before or (again and not judgement.passed)
