"""One table, as far as it can be read: how it stands, its tree, its past, who holds its bytes, and its settings.

Each part is read by itself: where one cannot be read, the page says so in its place and shows the others.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg

from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.census import Census, take_census
from maintenance.monitor.health import COMMITS_LOOKED_AT
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.named_writers import job_of
from maintenance.monitor.triggers import pressure
from maintenance.operations import restorable_partitions
from maintenance.operations.expiry.expire_partitions import partitions_due
from maintenance.operations.fleet.fleet_costs import CostsReport
from maintenance.operations.history import history_table, read_history
from maintenance.operations.report import Deed
from maintenance.operations.retention.forecast import BIN, LEVELS, OLD_SNAPSHOTS, ORPHANS, PARTITIONS, Freeable
from maintenance.operations.retention.next_expiry import next_expiry
from maintenance.operations.rows.restorable_partitions import RestorablePartition
from maintenance.operations.tuning.advise import OPERATION as ADVISE
from maintenance.operations.tuning.advise import PROPOSALS, Advice
from maintenance.options.table import PARTITION_EXPIRATION_TIME
from maintenance.project.config import TableConfig
from maintenance.project.effective import Setting, effective_settings, said_of
from maintenance.project.yaml_file import YamlFile
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from paimon_maintenance.assets.checks.expiring import retention_of, retention_text
from paimon_maintenance.assets.checks.judging import TableHealth, see
from paimon_maintenance.assets.pages.fleet import FleetRow
from paimon_maintenance.assets.pages.freeable import AskBeside, forecast_of
from paimon_maintenance.assets.pages.holders import IN_RUNS, KINDS, Holders, OrphansOf, who_holds
from paimon_maintenance.assets.pages.table_page import what_is_kept, writer_of
from paimon_maintenance.console.health import HealthView, health_view, reason
from paimon_maintenance.console.lake import Known, TableWork
from paimon_maintenance.console.pictures.bar import Part
from paimon_maintenance.console.pictures.heat import Heat
from paimon_maintenance.console.pictures.timeline import Timeline
from paimon_maintenance.console.pictures.tree import Tree
from paimon_maintenance.console.pictures.treemap import Treemap
from paimon_maintenance.console.schema_changes import Version, versions
from paimon_maintenance.console.tried import Tried, tried
from paimon_maintenance.console.upcoming import Upcoming, upcoming
from paimon_maintenance.console.words import millis

Made = TypeVar("Made")

_SNAPSHOTS = 60
_ATTEMPTS = 5
_DROPPED = 50
# Of more files the pictures would take too long to make.
_FILES = 200_000


@dataclass(frozen=True, slots=True)
class WriterLine:
    """Who commits. `job`: behind the commit user, where tables.yaml says it."""

    name: str
    job: str | None
    commits: int
    kinds: str
    last_id: int
    last_at: datetime
    compacts: bool


@dataclass(frozen=True, slots=True)
class FreeableLine:
    """What one thing frees, and the setting by which it goes."""

    part: Freeable
    rule: str


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting, and where it is said: ``tables.yaml, line 12``."""

    setting: Setting
    where: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """What `tuning` has last proposed, and when."""

    at: datetime
    advice: Sequence[Advice]


@dataclass(slots=True)
class TableView:
    """The page. What is None could not be read, or is not there.

    Attributes:
        row: as on the page of all tables.
        faults: what could not be read for this page, in words.
        dropped: partitions that can still come back.
        freeable: what can be freed, by what frees it.
        settings: with where each comes from.
        tried: what other retention would delete, where the form was sent.
        score: the health with its parts.
        work: what is done next within the budget; costs: of the last month.
        proposed: None where `tuning` has never looked at the table.
    """

    config: TableConfig
    now: datetime
    health: TableHealth
    row: FleetRow | None = None
    next: Upcoming | None = None
    tree: Tree | None = None
    heat: Heat | None = None
    timeline: Timeline | None = None
    snapshots: Sequence[Any] = field(default=())
    freeable: Sequence[FreeableLine] = field(default=())
    holders: Holders | None = None
    treemap: Treemap | None = None
    writers: Sequence[WriterLine] = field(default=())
    past: Sequence[Deed] = field(default=())
    versions: Sequence[Version] = field(default=())
    dropped: Sequence[RestorablePartition] = field(default=())
    settings: Sequence[SettingLine] = field(default=())
    tried: Tried | None = None
    score: HealthView | None = None
    work: TableWork | None = None
    costs: CostsReport | None = None
    proposed: Proposed | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.config.identifier

    @property
    def shape(self) -> TableShape | None:
        return self.health.shape

    @property
    def why(self) -> str:
        """Why the next step is planned, or somebody has to look."""
        return reason(self.health.judgements)

    @property
    def failed(self) -> Sequence[Judgement]:
        return [judgement for judgement in self.health.judgements if not judgement.passed]

    @property
    def passed(self) -> Sequence[Judgement]:
        return [judgement for judgement in self.health.judgements if judgement.passed]

    def attempt(self, what: str, part: Callable[[], Made]) -> Made | None:
        """Read a part of the page; None, and the reason on the page, where that is not possible."""
        try:
            return again_if_expired(part, _ATTEMPTS)
        except Exception as error:  # noqa: BLE001 - what is broken in one place must not hide the rest
            self.faults.append(f"{what} could not be read: {error}")
            return None


def table_view(
    known: Known,
    instance: dg.DagsterInstance,
    path: Path,
    identifier: str,
    now: datetime,
    query: Mapping[str, str],
    beside: AskBeside,
) -> TableView:
    """The page of a table.

    Args: `path`: of tables.yaml; `query`: of the address, with what the form asks; `beside`: what is known of orphans
        and the bin.
    """
    config = known.config(identifier)
    orphans = OrphansOf(instance)
    health = see(known.catalog, config, now, automation=known.automation, zone=known.zone, orphans=orphans.bytes_of)
    view = TableView(config, now, health)
    record = health.record
    if record is not None and record.parts:
        view.score = view.attempt("The past of the health", lambda: health_view(instance, identifier, record))
    view.settings = list(_settings(known, path, identifier))
    view.past = view.attempt("The history", lambda: _past(known, identifier)) or ()
    view.proposed = view.attempt("The proposals", lambda: _proposed(known, identifier))
    view.row = FleetRow.of(identifier, view.health, None)
    table = view.health.table
    if table is not None and view.health.shape is not None:
        _read_states(view, known, table, view.health.shape)
        view.freeable = view.attempt("What can be freed", lambda: _freeable(view, known, table, beside)) or ()
        view.writers = (
            view.attempt("The writers", lambda: _writers(take_census(table, limit=COMMITS_LOOKED_AT), config)) or ()
        )
        view.versions = view.attempt("The schemas", lambda: versions(table.schemas)) or ()
        if table.schema.partition_keys:
            dropped = view.attempt("The dropped partitions", lambda: restorable_partitions(table))
            view.dropped = () if dropped is None else dropped.partitions[:_DROPPED]
        view.holders = who_holds(orphans, known.catalog, table, IN_RUNS, view.faults.append)
        view.treemap = None if view.holders is None else _treemap(view.holders)
        view.tried = view.attempt("What other retention would delete", lambda: tried(table, config, query, now))
    view.next = upcoming(config, view.row, known, now)
    return view


def _read_states(view: TableView, known: Known, table: Table, shape: TableShape) -> None:
    """The newest state as pictures, and the snapshots."""
    kept = view.attempt(
        "The snapshots", lambda: what_is_kept(table, view.config, view.now, known.zone, most=_SNAPSHOTS)
    )
    view.row = FleetRow.of(view.name, view.health, kept)
    if shape.files <= _FILES:
        entries = view.attempt("The files", lambda: _live(table)) or []
        paths = table.paths
        view.tree = Tree.of(entries, lambda part, bucket: bucket_text(paths.partition(part), bucket))
        if table.schema.partition_keys:
            due = pressure(table, entries, view.config.compaction.triggers)
            view.heat = Heat.of(entries, due, lambda part: str(paths.partition(part)))
    else:
        view.faults.append(f"The table has {shape.files:,} files, too many to draw.")
    if kept is not None:
        view.snapshots = kept.listed
        writers = {one.snapshot.id: _committer(one.snapshot, view.config) for one in kept.listed}
        tags = {name: tag.snapshot.id for name, tag in table.tags.all().items()}
        view.timeline = Timeline.of(kept, writers, tags, table.consumers.next_snapshots())


def _freeable(view: TableView, known: Known, table: Table, beside: AskBeside) -> list[FreeableLine]:
    """As the page of all tables says it; here it is added up however many snapshots there are."""
    choice = retention_of(view.config, view.now, known.zone)
    freed, partitions, shape = view.health.freed, view.health.partitions, view.health.shape
    if freed is None:
        freed, partitions = next_expiry(table, view.now, choice).bytes, partitions_due(table, view.now)
    mergeable = None if shape is None else shape.mergeable_bytes
    found = forecast_of(freed, partitions, mergeable, beside([view.name])[view.name])
    life = PARTITION_EXPIRATION_TIME.key
    lasting = f"{life} = {table.options[life]} (option of the table)" if life in table.options else f"no '{life}'"
    rules = {
        OLD_SNAPSHOTS: retention_text(view.config, table.options),
        PARTITIONS: lasting,
        ORPHANS: said_of(view.config, "orphans") or "no policy 'orphans': nothing removes them by itself",
        BIN: said_of(view.config, "bin") or "no policy 'bin'",
        LEVELS: said_of(view.config, "compaction") or "the table's options",
    }
    return [FreeableLine(part, rules[part.source]) for part in found.parts]


def _committer(snapshot: Snapshot, config: TableConfig) -> str:
    """As among the writers: an operation of this project is one, whatever commit user it had."""
    operation = (snapshot.properties or {}).get(OPERATION_PROPERTY)
    return f"operation {operation}" if operation else writer_of(snapshot, config.writers)


def _live(table: Table) -> Sequence[ManifestEntry]:
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else table.manifests.live_entries(snapshot)


def _past(known: Known, identifier: str) -> list[Deed]:
    history = known.project.history
    if history is None or identifier.partition(".")[0] == history:
        return []
    return [Deed.of(row) for row in read_history(known.catalog.open(), history_table(history), identifier)]


def _proposed(known: Known, identifier: str) -> Proposed | None:
    history = known.project.history
    if history is None or identifier.partition(".")[0] == history:
        return None
    rows = read_history(known.catalog.open(), history_table(history), identifier, ADVISE.name, most=1)
    found = [json.loads(row["details"] or "{}").get(PROPOSALS, ()) for row in rows]
    return Proposed(rows[0]["finished_at"], [Advice(**each) for each in found[0]]) if found else None


def _writers(census: Census, config: TableConfig) -> list[WriterLine]:
    lines = []
    for writer in census.writers.values():
        kinds = [commit.kind.value.lower() for commit in writer.commits]
        counted = ", ".join(f"{kinds.count(kind):,} {kind}" for kind in dict.fromkeys(kinds))
        last = writer.commits[-1]
        lines.append(
            WriterLine(
                writer.name,
                job_of(writer.name, config.writers),
                len(writer.commits),
                counted,
                last.snapshot_id,
                millis(last.time_millis),
                writer.compacts_inline,
            )
        )
    return sorted(lines, key=lambda line: -line.last_id)


def _treemap(found: Holders) -> Treemap | None:
    parts = [Part(KINDS[kind.kind], kind.bytes, kind.kind) for kind in found.holdings.kinds]
    parts.append(Part("bin", 0 if found.bin is None else found.bin.bytes, "bin"))
    parts.append(Part("orphans", 0 if found.orphans is None else found.orphans.bytes, "orphan"))
    return Treemap.of(parts)


def _settings(known: Known, path: Path, identifier: str) -> Iterator[SettingLine]:
    found = effective_settings(known.project, identifier, defaults=True)
    file = YamlFile.read(path)
    for setting in sorted(found, key=lambda one: (not one.place, one.name)):
        where = file.where(setting.place).removeprefix(f"{path.parent}/") if setting.place else setting.source
        yield SettingLine(setting, where)
