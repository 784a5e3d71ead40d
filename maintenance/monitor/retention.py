"""What keeps old files: consumers, tags and branches, the age of the states they hold, and their size in bytes.

The size counts data files that the oldest and the newest snapshot of the table do not need; of a consumer, those that
the newest one does not need. Of many tags the oldest are examined. A branch is meant to stay: it is listed, and does
not fail the check. Source: metadata sections 10.1, 10.2, 10.6.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.amounts import number_of, seconds_text
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import reads_again
from maintenance.monitor.judgement import Judgement
from maintenance.table.table import Table

RETENTION_BLOCKERS = "retention_blockers"
_BRANCH = "branch"
# Of a consumer that is further behind, only the state that it is at is compared with the newest one.
_CHANGES_READ = 64
# Of more tags, the bytes of the oldest are added up and the others are counted: each is a state whose files are read.
_TAGS_EXAMINED = 64


@dataclass(frozen=True, slots=True)
class Blocker:
    """What holds an old state. `bytes`: of the files that it alone keeps, as far as a look in passing can tell."""

    kind: str
    name: str
    snapshot_id: int
    age: timedelta
    bytes: int

    def is_older_than(self, limit: timedelta) -> bool:
        """Whether somebody should look at it."""
        return self.kind != _BRANCH and self.age > limit


@reads_again
def retention_blockers(table: Table, now: datetime, *, max_age: timedelta | None = None) -> Judgement:
    """Nobody holds back what should have expired.

    Args:
        now: with a time zone.
        max_age: how old a state may be that a consumer, or a tag without a retention of its own, holds; None = a week
            more than `snapshot.time-retained`.
    """
    limit = max_age or table.model.snapshot_time_retained + timedelta(days=7)
    tags = {name: tag.snapshot for name, tag in table.tags.all().items() if tag.time_retained is None}
    oldest_first = sorted(tags, key=lambda name: (tags[name].time_millis, name))
    examined = {name: tags[name] for name in oldest_first[:_TAGS_EXAMINED]}
    blockers = [*_consumers(table, now), *_tags_and_branches(table, examined, now)]
    others = [now - tags[name].committed_at for name in oldest_first[_TAGS_EXAMINED:]]
    old = sorted((b for b in blockers if b.is_older_than(limit)), key=lambda blocker: blocker.age, reverse=True)
    rows = [
        {
            "kind": blocker.kind,
            "name": blocker.name,
            "snapshot": blocker.snapshot_id,
            "age_hours": blocker.age / timedelta(hours=1),
            "bytes": blocker.bytes,
        }
        for blocker in blockers
    ]
    count = len(blockers) + len(others)
    details = {"holders": count, "held_bytes": sum(b.bytes for b in blockers), "blockers": rows}
    if others:
        details["newer tags, not examined"] = len(others)
    most = seconds_text(limit.total_seconds())
    if not old:
        summary = f"no consumer or tag holds a snapshot older than {most}"
        return Judgement(RETENTION_BLOCKERS, True, summary, details=details)
    first, age = old[0], seconds_text(old[0].age.total_seconds())
    further = len(old) - 1 + sum(age > limit for age in others)
    holding = number_of(further, "more holds a snapshot", "more hold snapshots")
    more = f"; {holding} older than {most}" if further else ""
    return Judgement(
        RETENTION_BLOCKERS,
        False,
        f"{first.kind} '{first.name}' holds snapshot {first.snapshot_id}, {age} old{more}",
        "Reset or delete the consumer, or let consumers expire by 'consumer.expiration-time'."
        if first.kind == "consumer"
        else "Delete the tag, or give tags a time to live with 'tag.default-time-retained'.",
        details,
    )


def _consumers(table: Table, now: datetime) -> list[Blocker]:
    blockers = []
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    for name, following in table.consumers.next_snapshots().items():
        # A consumer that has read everything holds nothing back.
        if latest is None or earliest is None or following > latest:
            continue
        snapshot = table.snapshots.find(max(following, earliest))
        if snapshot is not None:
            held = _held_since(table, snapshot, latest)
            blockers.append(Blocker("consumer", name, snapshot.id, now - snapshot.committed_at, held))
    return blockers


def _held_since(table: Table, snapshot: Snapshot, latest: int) -> int:
    """Bytes of the files that were live in a snapshot or a later one, and are not in the newest."""
    newest = table.snapshots.find(latest)
    live = {} if newest is None else _sizes(table, newest)
    old = _sizes(table, snapshot)
    if latest - snapshot.id <= _CHANGES_READ:
        for later in table.snapshots.find_many(range(snapshot.id + 1, latest + 1)).values():
            if later.commit_kind != CommitKind.APPEND:
                entries = table.manifests.delta_entries(later)
                old |= {e.file.file_name: e.file.file_size for e in entries if e.kind == FileKind.DELETE}
    return sum(size for name, size in old.items() if name not in live)


def _tags_and_branches(table: Table, tags: Mapping[str, Snapshot], now: datetime) -> list[Blocker]:
    branches = [name for name in Branches(table.file_io, table.paths).names() if name != table.branch]
    if not tags and not branches:
        return []
    needed: set[str] = set()
    for number in {table.snapshots.earliest_id(), table.snapshots.latest_id()}:
        snapshot = None if number is None else table.snapshots.find(number)
        needed |= set() if snapshot is None else _sizes(table, snapshot).keys()
    blockers = [_blocker("tag", name, table, snapshot, needed, now) for name, snapshot in tags.items()]
    for name in branches:
        branch = table.on_branch(name)
        newest = branch.latest_snapshot()
        if newest is not None:
            blockers.append(_blocker(_BRANCH, name, branch, newest, needed, now))
    return blockers


def _blocker(kind: str, name: str, table: Table, snapshot: Snapshot, needed: Collection[str], now: datetime) -> Blocker:
    held = sum(size for file, size in _sizes(table, snapshot).items() if file not in needed)
    return Blocker(kind, name, snapshot.id, now - snapshot.committed_at, held)


def _sizes(table: Table, snapshot: Snapshot) -> dict[str, int]:
    return {entry.file.file_name: entry.file.file_size for entry in table.manifests.live_entries(snapshot)}
