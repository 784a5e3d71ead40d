"""What keeps snapshots from expiring: consumers and tags, the age of the states they hold, and their size in bytes.

The size counts data files that no other snapshot of the branch needs: they would be deleted with the holder. Source:
metadata sections 10.1, 10.2, 10.6.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.monitor.judgement import Judgement
from maintenance.options import table as table_options
from maintenance.table.table import Table

RETENTION_BLOCKERS = "retention_blockers"


@dataclass(frozen=True, slots=True)
class Blocker:
    """What holds an old state. `bytes`: of files that nothing else needs, 0 for a consumer: its snapshots hold them."""

    kind: str
    name: str
    snapshot_id: int
    age: timedelta
    bytes: int


@reads_again
def retention_blockers(table: Table, now: datetime, *, max_age: timedelta | None = None) -> Judgement:
    """Nobody holds back what should have expired.

    Args:
        now: with a time zone.
        max_age: how old a state may be that a consumer, or a tag without a retention of its own, holds; None = a week
            more than `snapshot.time-retained`.
    """
    limit = max_age or table_options.SNAPSHOT_TIME_RETAINED.of(table.options) + timedelta(days=7)
    blockers = [*_consumers(table, now), *_tags(table, now)]
    old = sorted((b for b in blockers if b.age > limit), key=lambda blocker: blocker.age, reverse=True)
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
    details = {"holders": len(blockers), "held_bytes": sum(b.bytes for b in blockers), "blockers": rows}
    if not old:
        summary = f"{len(blockers)} consumers and tags hold states, none of them longer than {_days(limit)}"
        return Judgement(RETENTION_BLOCKERS, True, summary, details=details)
    first = old[0]
    return Judgement(
        RETENTION_BLOCKERS,
        False,
        f"{first.kind} '{first.name}' holds snapshot {first.snapshot_id}, {_days(first.age)} old"
        + (f"; {len(old) - 1} more hold states older than {_days(limit)}" if len(old) > 1 else ""),
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
            blockers.append(Blocker("consumer", name, snapshot.id, _age(snapshot, now), 0))
    return blockers


def _tags(table: Table, now: datetime) -> list[Blocker]:
    tags = {name: tag for name, tag in table.tags.all().items() if tag.time_retained is None}
    if not tags:
        return []
    needed: set[str] = set()
    snapshots = [table.snapshots.find(i) for i in table.snapshots.list_ids()]
    for snapshot in (snapshots[0], snapshots[-1]) if snapshots else ():
        if snapshot is not None:
            needed |= {entry.file.file_name for entry in table.manifests.live_entries(snapshot)}
    blockers = []
    for name, tag in tags.items():
        files = [entry.file for entry in table.manifests.live_entries(tag.snapshot)]
        held = sum(file.file_size for file in files if file.file_name not in needed)
        blockers.append(Blocker("tag", name, tag.snapshot.id, _age(tag.snapshot, now), held))
    return blockers


def _age(snapshot: Snapshot, now: datetime) -> timedelta:
    return now - datetime.fromtimestamp(snapshot.time_millis / 1000, now.tzinfo)


def _days(age: timedelta) -> str:
    days = age / timedelta(days=1)
    return f"{days:.1f} days" if days >= 2 else f"{age / timedelta(hours=1):.1f} hours"
