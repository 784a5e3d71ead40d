"""Expire snapshots and delete what only they used: procedure `expire_snapshots`.

Works through the whole backlog, `snapshot.expire.limit` snapshots at a time. Of each batch the EARLIEST hint moves
first, then the snapshots are retired: they get names that no reader looks for, so that none finds a snapshot with files
missing. Then go data, changelog and index files, manifests, lists, and at last the retired snapshots. What a run that
died has left is finished first (`unfinished`). Java's own expiry leaves a snapshot in sight until the end.
Tags are looked at once more after EARLIEST has moved: if one appeared, moved or went meanwhile, the rest is planned
again, as it is when another expiry deletes what this one is reading. Where changes are kept longer than snapshots, each
snapshot's changes become a long-lived changelog before anything goes; at the end those that are due expire too.
Consumers that made no progress for `consumer.expiration-time` go first; folders that were emptied go last, where
`snapshot.clean-empty-directories` asks for it.
Source: metadata section 10.1, Java `ExpireSnapshotsImpl`.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.iceberg.follow import follow
from maintenance.errors import ConflictError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.holders import History, HolderCensus, counting_ids, holders_of, needed_by
from maintenance.metadata.snapshots import Snapshots
from maintenance.operations.bin.run import BinRun
from maintenance.operations.expiry.empty_folders import clean_empty_folders
from maintenance.operations.expiry.expire_changelogs import (
    ExpireChangelogs,
    ExpireChangelogsReport,
    counted,
)
from maintenance.operations.expiry.expire_changelogs import apply as apply_changelogs
from maintenance.operations.expiry.expire_changelogs import plan as plan_for_changelogs
from maintenance.operations.expiry.expiring_commits import record_commits
from maintenance.operations.expiry.removal import Removal, batch_text, gone_text, plan_removals, remove
from maintenance.operations.expiry.rules import ExpiryRange, Retention, RetentionChoice, moment_before, plan_range
from maintenance.operations.expiry.unfinished import leaving_snapshots, now_out_of_sight, unfinished, unfinished_notes
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, moved_victims, refuse
from maintenance.operations.planned_groups import files_group
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSharing
from maintenance.table.table import Table

_MAX_PLANS = 10
_READ_AHEAD = 64


@dataclass(frozen=True, slots=True)
class ExpireSnapshotsReport(OperationReport):
    """What an expiry did, or would do.

    Attributes:
        expired: ids, ascending.
        kept_by: why the others stay, by id or range of ids such as ``3 to 9``.
        earliest, latest: afterwards; None for a table without snapshots.
        deleted_files: paths, each of which existed; `deleted_bytes`: their size.
        remaining: snapshots that only `max_deletes` or `time_limit` kept.
        consumers: those that expired.
        changelogs: ids of the long-lived changelogs that expired.
        notes: what was finished that an earlier run left; gaps in the ids; damaged files of expired snapshots, whose
            data could not be looked for.
        spark_tasks: how many tasks of Spark shared the work; 0: this process did it in one batch.
    """

    table: str
    expired: tuple[int, ...]
    kept_by: Mapping[str, str]
    earliest: int | None
    latest: int | None
    deleted_files: tuple[str, ...] = ()
    deleted_bytes: int = 0
    remaining: int = 0
    consumers: tuple[str, ...] = ()
    changelogs: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    spark_tasks: int = 0


@dataclass(frozen=True, slots=True)
class ExpireSnapshots:
    """Which snapshots stay. What is left out comes from the table's options."""

    retain_max: Annotated[int | None, Param("Keep at most this many.", least=1)] = None
    retain_min: Annotated[int | None, Param("Keep at least this many.", least=1)] = None
    older_than: Annotated[datetime | None, Param("Only older ones; a time without a zone is local.")] = None
    max_deletes: Annotated[int | None, Param("Expire at most this many in this run.", least=1)] = None
    time_limit: Annotated[
        timedelta | None, Param("Start no more batches after this time, e.g. 1 h.", is_kept=False)
    ] = None


@dataclass(frozen=True)
class ExpiryPlan:
    """What would expire at first: while it does, the rest is planned again if tags or branches change."""

    request: ExpireSnapshots
    expiry: "_Expiry"
    first: "_Plan"
    now: datetime
    of = None
    warnings = ()

    @cached_property
    def report(self) -> ExpireSnapshotsReport:
        """What snapshots and long-lived changelogs would go."""
        expiry, removals = self.expiry, self.first.removals
        report = expiry.report(self.first, [int(each.name) for each in removals], [*self.first.pending, *removals])
        return expiry.with_changelogs(report, self._changelogs().report)

    def _changelogs(self) -> Plan[ExpireChangelogs, ExpireChangelogsReport]:
        return plan_for_changelogs(Run(now=self.now), self.expiry.table, ExpireChangelogs(), self.expiry.sharing)

    def groups(self) -> Iterator[PlannedGroup]:
        report = self.report
        yield from (PlannedGroup(f"snapshot {number}", (), 0, reason="expires") for number in report.expired)
        yield from (PlannedGroup(f"consumer {name}", (), 0, reason="idle") for name in report.consumers)
        yield from (PlannedGroup(f"changelog {number}", (), 0, reason="expires") for number in report.changelogs)
        yield from files_group(report.deleted_files, report.deleted_bytes)


def plan(run: Run, table: Table, request: ExpireSnapshots) -> ExpiryPlan:
    """The snapshots that are due, and the files that only they use."""
    table_options.check_keepable(table.options, table.identifier)
    following = table.consumers.next_snapshots()
    idle = _idle_consumers(table, run.moment)
    retention = Retention.of(
        table.options,
        {name: snapshot_id for name, snapshot_id in following.items() if name not in idle},
        run.moment,
        RetentionChoice(request.retain_max, request.retain_min, request.older_than),
    )
    sharing = SparkSharing(run.spark, table.location, run.progress)
    limits = (request.max_deletes, request.time_limit)
    expiry = _Expiry(table, retention, limits, run.progress, sharing, idle, run.into)
    return ExpiryPlan(request, expiry, expiry.plan(), run.moment)


def again(run: Run, table: Table, request: ExpireSnapshots, stored: StoredPlan) -> ExpiryPlan:
    """The same snapshots: they expire oldest first, so as many as the plan has are those, whatever was committed since.

    Raises: OutdatedPlanError: another set of files would go now, for example because a tag has been created since.
    """
    count = sum(group.name.startswith("snapshot ") for group in stored.groups)
    made = plan(run, table, replace(request, max_deletes=count))
    refuse(stored, moved_victims(stored, tuple(made.groups())))
    return made


def apply(run: Run, table: Table, planned: ExpiryPlan) -> ExpireSnapshotsReport:
    """Expire the planned snapshots, then the long-lived changelogs that are due."""
    expiry = planned.expiry
    report = expiry.run(planned.first)
    changelogs = ExpireChangelogsReport(table.identifier)
    if not expiry.late:
        at_that_time = replace(run, now=planned.now)
        due = plan_for_changelogs(at_that_time, table, ExpireChangelogs(), expiry.sharing)
        changelogs = apply_changelogs(at_that_time, table, due)
    if run.into is not None:
        run.into.close()
    follow(table.identifier, table.file_io, table.paths, table.options)
    clean_empty_folders(table, (*report.deleted_files, *changelogs.deleted_files))
    return expiry.with_changelogs(report, changelogs)


def _said(report: ExpireSnapshotsReport) -> Iterator[str]:
    if not report.dry_run:
        gone = f"{report.table}: {number_of(len(report.expired), 'snapshot')} expired"
        yield gone_text(gone, len(report.deleted_files), report.deleted_bytes)
        if report.earliest is not None:
            only = report.earliest == report.latest
            yield (
                f"Snapshot {report.latest} remains."
                if only
                else f"Snapshots {report.earliest} to {report.latest} remain."
            )
        yield from report.notes


def _shown(report: ExpireSnapshotsReport) -> Shown:
    changed = report.expired or report.changelogs or report.consumers or report.deleted_files
    return replace(counted("deleted_snapshots_count", len(report.expired)), nothing_to_do=not changed)


OPERATION = Operation(
    "expire_snapshots",
    "Expire snapshots, and delete what only they need.",
    ExpireSnapshots,
    plan,
    apply,
    shown=_shown,
    said=_said,
    again=again,
    takes_bin=True,
    takes_options=True,
    uses_spark=True,
    has_job=False,
)


def _idle_consumers(table: Table, now: datetime) -> list[str]:
    after = table.model.consumer_expiration_time
    return [] if after is None else table.consumers.idle_since(moment_before(now, after))


@dataclass(frozen=True, slots=True)
class _Plan:
    """`pending`: what an earlier run left; `removals`: one for each expired snapshot of `range` that is still there;
    `becoming`: those of them whose changes stay, by id."""

    range: ExpiryRange
    pending: tuple[Removal, ...]
    removals: tuple[Removal, ...]
    census: HolderCensus
    notes: tuple[str, ...]
    becoming: Mapping[str, Snapshot] = field(default_factory=dict)

    @property
    def earliest(self) -> int | None:
        return self.range.kept[0] if self.range.kept else None


class _OldestFirst:
    """Snapshots that are asked for from the oldest on: more and more are read at once. `ids`: of all, ascending."""

    def __init__(self, snapshots: Snapshots, ids: Sequence[int]) -> None:
        self._snapshots, self._ids = snapshots, ids
        self._found: dict[int, Snapshot | None] = {}
        self._count = 1

    def find(self, snapshot_id: int) -> Snapshot | None:
        """One of them; None if it vanished."""
        if snapshot_id not in self._found:
            at = bisect_left(self._ids, snapshot_id)
            asked = [number for number in self._ids[at : at + self._count] if number not in self._found]
            self._found |= dict.fromkeys(asked)
            self._found |= self._snapshots.find_many(asked)
            self._count = min(2 * self._count, _READ_AHEAD)
        return self._found[snapshot_id]


@dataclass(slots=True)
class _Expiry:
    """One expiry. `limits`: the most snapshots, and the most time; `late`: how many were left as the time was up."""

    table: Table
    retention: Retention
    limits: tuple[int | None, timedelta | None]
    progress: Callable[[str], None]
    sharing: SparkSharing
    idle: Sequence[str] = ()
    into: BinRun | None = None
    late: int = 0
    notes: list[str] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)
    done: list[Removal] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def run(self, first: _Plan) -> ExpireSnapshotsReport:
        """Expire what is due. `first`: what was planned for it."""
        plan = first
        for _ in range(_MAX_PLANS):
            if self._carry_out(plan):
                return self.report(plan, self.expired, self.done)
            plan = self.plan()
        fix = "Run expire_snapshots again when fewer jobs change tags and branches."
        raise ConflictError(f"tags or branches changed in each of {_MAX_PLANS} attempts", self.table.identifier, fix)

    def with_changelogs(
        self, report: ExpireSnapshotsReport, changelogs: ExpireChangelogsReport
    ) -> ExpireSnapshotsReport:
        """The report with the long-lived changelogs that expired behind the snapshots."""
        return replace(
            report,
            spark_tasks=self.sharing.tasks,
            deleted_files=(*report.deleted_files, *changelogs.deleted_files),
            deleted_bytes=report.deleted_bytes + changelogs.deleted_bytes,
            changelogs=changelogs.expired,
            notes=(*report.notes, *changelogs.notes),
        )

    def plan(self) -> _Plan:
        """Plan the rest; plan again if another expiry or a removal of tags deletes what is being read."""
        return again_if_expired(self._plan_once, _MAX_PLANS)

    def _plan_once(self) -> _Plan:
        snapshots, manifests = self.table.snapshots, self.table.manifests
        branches = Branches(self.table.file_io, self.table.paths)
        census = self._census()
        ids = counting_ids(snapshots, manifests)
        oldest = _OldestFirst(snapshots, ids)

        def time_of(snapshot_id: int) -> int | None:
            snapshot = oldest.find(snapshot_id)
            return None if snapshot is None else snapshot.time_millis

        # Those that a plan gave up before it was abandoned count again, if nothing of them is gone.
        gone = [snapshot_id for snapshot_id in self.expired if snapshot_id not in ids]
        most, _ = self.limits
        limit = None if most is None else most - len(gone)
        chosen = plan_range(ids, time_of, self.retention, limit)
        read = map(oldest.find, (*chosen.expired, *chosen.kept[:1]))
        these_and_next = [snapshot for snapshot in read if snapshot is not None]
        pending = unfinished(branches, manifests)
        leaving = [*pending, *leaving_snapshots(snapshots, these_and_next)]
        if not leaving:
            return _Plan(chosen, (), (), census, tuple(self._below(chosen.kept)))
        first = chosen.kept[0] if chosen.kept else None
        keeps = self.table.model.keeps_changelogs
        becoming = [s for s in these_and_next if keeps and s.id in chosen.expired]
        holders = holders_of(
            History.beside(census, branches, manifests), self.table.branch, first_snapshot=first, to_changelogs=becoming
        )
        plan = plan_removals(leaving, needed_by(holders, manifests, self.sharing), manifests, self.sharing)
        at = len(pending)
        gaps = _gaps([s.id for s in these_and_next])
        notes = (*unfinished_notes(pending), *gaps, *self._below(chosen.kept), *plan.notes)
        by_id = {str(snapshot.id): snapshot for snapshot in becoming}
        return _Plan(chosen, plan.removals[:at], plan.removals[at:], census, notes, by_id)

    def _below(self, kept: Sequence[int]) -> list[str]:
        """A note about snapshots that stay although the EARLIEST hint gives them up."""
        hint = self.table.snapshots.read_hint(EARLIEST)
        below = [snapshot_id for snapshot_id in kept if hint is not None and snapshot_id < hint]
        if not below:
            return []
        path = f"{self.table.paths.snapshot_folder()}/{EARLIEST}"
        problem = f"snapshots {below[0]} to {below[-1]} are below the EARLIEST hint {hint}, and all their files exist"
        return [f"{problem}: they are kept. If the hint is wrong, delete {path}: readers start there"]

    def _carry_out(self, plan: _Plan) -> bool:
        """Delete, a batch at a time. False if tags or branches changed, so that the rest must be planned again."""
        snapshots = self.table.snapshots
        self.table.consumers.remove(self.idle)
        self._record_commits(plan.pending)
        if plan.pending and not self._remove(plan, plan.pending):
            return False
        if plan.earliest is not None and not plan.removals and snapshots.read_hint(EARLIEST) is None:
            snapshots.write_hint(EARLIEST, plan.earliest)
        ids = [int(removal.name) for removal in plan.removals]
        limit = max(1, table_options.SNAPSHOT_EXPIRE_LIMIT.of(self.table.options))
        for start in range(0, len(ids), limit):
            if self._is_time_up():
                self._leave(len(ids) - start, start)
                return True
            batch = plan.removals[start : start + limit]
            for removal in batch:
                if removal.name in plan.becoming:
                    self.table.changelogs.keep(plan.becoming[removal.name])
            self._record_commits(batch)
            following = [*ids, *plan.range.kept][start + len(batch)]
            snapshots.write_hint(EARLIEST, max(following, snapshots.earliest_id() or 0))
            self.expired += [i for i in ids[start : start + limit] if i not in self.expired]
            snapshots.prevent(ids[start : start + limit])
            snapshots.retire(ids[start : start + limit])
            if not self._remove(plan, [now_out_of_sight(snapshots, removal) for removal in batch]):
                return False
        if ids and plan.earliest is not None:
            self.table.commit_records.tidy(plan.earliest)
        return True

    def _is_time_up(self) -> bool:
        _, time_limit = self.limits
        return time_limit is not None and time.monotonic() - self.started > time_limit.total_seconds()

    def _leave(self, remaining: int, done: int) -> None:
        """Stop here, and say what remains."""
        self.late = remaining
        each = (time.monotonic() - self.started) / done if done else None
        pace = "" if each is None else f", about {each * remaining:.0f} s of work"
        self.notes.append(f"the time is up: {number_of(remaining, 'snapshot')} remain{pace}")
        self.progress(self.notes[-1])

    def _record_commits(self, batch: Sequence[Removal]) -> None:
        """Before snapshots go: what is known of repeated commits must not go with them."""
        snapshots = self.table.snapshots.find_many([int(r.name) for r in batch if r.name.isdecimal()])
        notes = record_commits(self.table, list(snapshots.values()))
        self.notes += [note for note in notes if note not in self.notes]

    def _remove(self, plan: _Plan, batch: Sequence[Removal]) -> bool:
        if self._census(plan.census) != plan.census:
            return False
        self.progress(batch_text(batch))
        remove(self.table.file_io, batch, self.into, self.sharing)
        self.done += batch
        return True

    def _census(self, before: HolderCensus | None = None) -> HolderCensus:
        """Who holds what, apart from the snapshots of this branch, whose earliest moves as they expire."""
        branches = Branches(self.table.file_io, self.table.paths)
        return HolderCensus.of(branches, before).without_earliest(self.table.branch)

    def report(self, plan: _Plan, expired: Sequence[int], done: Sequence[Removal]) -> ExpireSnapshotsReport:
        """What has expired, or would. `done`: what goes with it."""
        deletions = [deletion for removal in done for deletion in removal.deletions]
        return ExpireSnapshotsReport(
            table=self.table.identifier,
            expired=tuple(expired),
            kept_by=plan.range.kept_by,
            earliest=self.table.snapshots.earliest_id() if self.late else plan.earliest,
            latest=plan.range.kept[-1] if plan.range.kept else None,
            deleted_files=tuple(deletion.back_to or deletion.path for deletion in deletions),
            deleted_bytes=sum(deletion.size for deletion in deletions),
            remaining=plan.range.remaining + self.late,
            consumers=tuple(self.idle),
            notes=(*plan.notes, *self.notes),
            seconds=time.monotonic() - self.started,
        )


def _gaps(ids: Sequence[int]) -> list[str]:
    return [
        f"snapshots {before + 1} to {after - 1} are missing; files that only they used are not deleted"
        for before, after in pairwise(ids)
        if after != before + 1
    ]


expire_snapshots = OPERATION.function(
    """Expire the snapshots of a table or branch.

    Args:
        retain_max, retain_min: in place of `snapshot.num-retained.max` and `.min`.
        older_than: in place of `snapshot.time-retained`: the moment up to which a snapshot must have been replaced; a
            time without a zone is local.
        max_deletes: expire at most this many. Work left by a run that died is finished in any case.
        time_limit: after this long no further batch (`snapshot.expire.limit`) is begun, and changelogs stay; the report
            says how many snapshots remain, and how long they may take.
        spark: a session whose tasks read, look for and delete files where there are many; or what gives one, and is
            asked only then; None = this process does all.
    Raises: CorruptFileError: a file that a remaining snapshot, tag or branch needs is missing or damaged; nothing is
        deleted then. OptionError; UnsupportedError.
    """,
    takes=("progress", "now"),
)
