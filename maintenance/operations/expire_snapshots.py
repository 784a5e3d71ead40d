"""Expire snapshots and delete what only they used: procedure `expire_snapshots`.

Works through the whole backlog, `snapshot.expire.limit` snapshots at a time. Of each batch the EARLIEST hint moves
first, so that readers no longer start at what is about to lose files; then go data, changelog and index files,
manifests, lists, and at last the snapshots' own files. Snapshots that lie below EARLIEST when a run starts were left by
one that died; they are finished first, whatever the retention says now. Tags are looked at once more after EARLIEST has
moved: one that was created meanwhile has the rest planned anew. Two expiries of one table may run at a time; the run
that finds its ground moved plans anew. Decoupled changelogs and emptied folders are not handled: their options are
refused. Source: metadata section 10.1, Java `ExpireSnapshotsImpl`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from maintenance.errors import ConflictError, CorruptFileError
from maintenance.format.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.holders import counting_ids, holders_of, needed_by, tag_census
from maintenance.metadata.snapshots import EARLIEST
from maintenance.operations.expiry_rules import ExpiryRange, Retention, plan_range
from maintenance.operations.removal import Leaving, Removal, RemovalPlan, plan_removals, remove
from maintenance.options import table as table_options
from maintenance.table.table import Table

_MAX_PLANS = 10


@dataclass(frozen=True, slots=True)
class ExpireSnapshotsReport:
    """What an expiry did, or would do.

    Attributes:
        expired: ids, ascending.
        kept_by: why the others stay, by id or range of ids such as ``3 to 9``.
        earliest, latest: afterwards; None for a table without snapshots.
        deleted_files: paths, each of which existed; `deleted_bytes`: their size.
        remaining: snapshots that only `max_deletes` kept.
        notes: gaps in the ids, and damaged files of expired snapshots, whose data could not be looked for.
    """

    table: str
    expired: tuple[int, ...]
    kept_by: Mapping[str, str]
    earliest: int | None
    latest: int | None
    deleted_files: tuple[str, ...] = ()
    deleted_bytes: int = 0
    remaining: int = 0
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    seconds: float = 0.0


def expire_snapshots(
    table: Table,
    *,
    retain_max: int | None = None,
    retain_min: int | None = None,
    older_than: datetime | None = None,
    max_deletes: int | None = None,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    now: datetime | None = None,
) -> ExpireSnapshotsReport:
    """Expire the snapshots of a table or branch.

    Args:
        retain_max, retain_min: in place of `snapshot.num-retained.max` and `.min`.
        older_than: in place of `snapshot.time-retained`: the moment up to which a snapshot must have been replaced; a
            time without a zone is local.
        max_deletes: expire at most so many; what a run that died left is finished all the same.
        dry_run: report what would go, change nothing.
        progress: told what goes on, a line at a time.
        now: None = the current time.
    Raises: CorruptFileError: a file that a remaining snapshot, tag or branch needs is missing or damaged; nothing is
        deleted then. OptionError; UnsupportedError.
    """
    table_options.check_writable(table.options, table.identifier)
    moment = datetime.now(UTC) if now is None else now
    retention = Retention.of(
        table.options,
        table.consumers.next_snapshots(),
        moment,
        retain_max=retain_max,
        retain_min=retain_min,
        older_than=older_than,
    )
    return _Expiry(table, retention, max_deletes, progress or (lambda _: None)).run(dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class _Plan:
    """`leftovers`: ids below EARLIEST; `range`: of the others; `expiring`, ascending, with their removals."""

    range: ExpiryRange
    expiring: tuple[int, ...]
    removals: RemovalPlan
    census: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    @property
    def earliest(self) -> int | None:
        return self.range.kept[0] if self.range.kept else None


@dataclass(slots=True)
class _Expiry:
    table: Table
    retention: Retention
    max_deletes: int | None
    progress: Callable[[str], None]
    done: list[Removal] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def run(self, *, dry_run: bool) -> ExpireSnapshotsReport:
        for _ in range(_MAX_PLANS):
            plan = self._plan()
            if dry_run:
                return self._report(plan, plan.removals.removals, dry_run=True)
            if self._carry_out(plan):
                return self._report(plan, self.done, dry_run=False)
        raise ConflictError(
            f"tags or branches appeared in each of {_MAX_PLANS} attempts", self.table.identifier, "Run again."
        )

    def _plan(self) -> _Plan:
        """Plan what is left, anew if another expiry deletes what is being read."""
        for _ in range(_MAX_PLANS):
            earliest = self.table.snapshots.earliest_id()
            try:
                return self._plan_once()
            except CorruptFileError:
                if self.table.snapshots.earliest_id() == earliest:
                    raise
        raise ConflictError("another expiry keeps deleting", self.table.identifier, "Run again when it is done.")

    def _plan_once(self) -> _Plan:
        snapshots = self.table.snapshots
        branches = Branches(self.table.file_io, self.table.paths)
        census = tag_census(branches)
        ids = counting_ids(snapshots)
        leftovers = [i for i in snapshots.list_ids() if ids and i < ids[0]]
        read: dict[int, Snapshot | None] = {}

        def find(snapshot_id: int) -> Snapshot | None:
            if snapshot_id not in read:
                read[snapshot_id] = snapshots.find(snapshot_id)
            return read[snapshot_id]

        def time_of(snapshot_id: int) -> int | None:
            snapshot = find(snapshot_id)
            return None if snapshot is None else snapshot.time_millis

        limit = None if self.max_deletes is None else self.max_deletes - len(self.done) - len(leftovers)
        chosen = plan_range(ids, time_of, self.retention, limit)
        leaving = self._leaving([*leftovers, *chosen.expired, *chosen.kept[:1]], find)
        expiring = tuple(int(part.name) for part in leaving)
        if not leaving:
            return _Plan(chosen, (), RemovalPlan(()), census, ())
        holders = holders_of(branches, self.table.branch, first_snapshot=chosen.kept[0])
        removals = plan_removals(leaving, needed_by(holders, self.table.manifests), self.table.manifests)
        return _Plan(chosen, expiring, removals, census, (*_gaps([*expiring, chosen.kept[0]]), *removals.notes))

    def _leaving(self, ids: Sequence[int], find: Callable[[int], Snapshot | None]) -> list[Leaving]:
        """Each of these snapshots but the last, with the one after it. One that vanished is left to whoever removed it."""
        found = [snapshot for snapshot in map(find, ids) if snapshot is not None]
        path = self.table.paths.snapshot
        return [Leaving(str(one.id), one, path(one.id), following) for one, following in pairwise(found)]

    def _carry_out(self, plan: _Plan) -> bool:
        """Delete, a batch at a time. False if a tag or branch appeared, so that the rest must be planned anew."""
        snapshots, file_io = self.table.snapshots, self.table.file_io
        if plan.earliest is None:
            return True
        if not plan.expiring and snapshots.read_hint(EARLIEST) is None:
            snapshots.write_hint(EARLIEST, plan.earliest)
        limit = max(1, table_options.SNAPSHOT_EXPIRE_LIMIT.of(self.table.options))
        stays = [*plan.expiring, plan.earliest]
        for start in range(0, len(plan.expiring), limit):
            batch = plan.removals.removals[start : start + limit]
            # What lies below the hint is never moved back above it.
            following = max(stays[start + len(batch)], snapshots.earliest_id() or 0)
            snapshots.write_hint(EARLIEST, following)
            if tag_census(Branches(file_io, self.table.paths)) != plan.census:
                return False
            self.progress(_told(batch))
            remove(file_io, batch)
            self.done.extend(batch)
        return True

    def _report(self, plan: _Plan, removals: Sequence[Removal], *, dry_run: bool) -> ExpireSnapshotsReport:
        deletions = [deletion for removal in removals for deletion in removal.deletions]
        return ExpireSnapshotsReport(
            table=self.table.identifier,
            expired=tuple(int(removal.name) for removal in removals),
            kept_by=plan.range.kept_by,
            earliest=plan.earliest,
            latest=plan.range.kept[-1] if plan.range.kept else None,
            deleted_files=tuple(deletion.path for deletion in deletions),
            deleted_bytes=sum(deletion.size for deletion in deletions),
            remaining=plan.range.remaining,
            notes=plan.notes,
            dry_run=dry_run,
            seconds=time.monotonic() - self.started,
        )


def _gaps(ids: Sequence[int]) -> list[str]:
    return [
        f"snapshots {before + 1} to {after - 1} are missing; what only they used is not found here"
        for before, after in pairwise(ids)
        if after != before + 1
    ]


def _told(batch: Sequence[Removal]) -> str:
    deletions = [deletion for removal in batch for deletion in removal.deletions]
    size = sum(deletion.size for deletion in deletions)
    return f"snapshots {batch[0].name} to {batch[-1].name}: deleting {len(deletions)} files, {size} bytes"
