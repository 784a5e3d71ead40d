"""Why snapshots are still there, and what the old states cost. Reads metadata alone and changes nothing.

A snapshot stays because the rules of the expiry keep it; a tag keeps its state beyond that. A data file that only old
states need was deleted by a snapshot that is still there, or is named by a tag whose snapshot has expired. Snapshots
that append delete no files, so only the changes of the others are read.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.each_read import each_read
from maintenance.metadata.expired import reads_again
from maintenance.operations.expiry.rules import ExpiryRange, Retention, RetentionChoice, plan_range
from maintenance.table.table import Table

CURRENT = "the current state"
DUE = "nothing; the next expiry deletes it"
# Of more snapshots, only the newest and the oldest ones are listed.
LISTED = 20
# Beyond these numbers the files of old states are not added up, and not every snapshot is read: it would take too long
# for a look in passing.
_SNAPSHOTS_READ = 256
_TAGS_READ = 20
_BY_OPTIONS = RetentionChoice()


@dataclass(frozen=True, slots=True)
class KeptSnapshot:
    """A snapshot and what keeps it, in words."""

    snapshot: Snapshot
    kept_by: str


@dataclass(frozen=True, slots=True)
class HeldFiles:
    """Data files that the current state does not need. `bytes`: their size."""

    files: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class KeptSnapshots:
    """The snapshots of a table.

    Attributes:
        listed: newest first; of many, the newest and the oldest ones.
        count: how many there are. due: how many of them the next expiry deletes; of many, if their times ascend.
        tags, consumers: how many there are.
        by_snapshots: what only older snapshots need; None: there are too many to add it up.
        by_tags: what only tags need whose snapshots have expired; None as before.
        tagged: those tags, with their snapshots.
    """

    listed: tuple[KeptSnapshot, ...]
    count: int
    due: int
    tags: int
    consumers: int
    by_snapshots: HeldFiles | None
    by_tags: HeldFiles | None
    tagged: tuple[tuple[str, Tag], ...]


@reads_again
def kept_snapshots(
    table: Table,
    now: datetime,
    given: RetentionChoice = _BY_OPTIONS,
    *,
    most: int = LISTED,
    tags: Mapping[str, Tag] | None = None,
) -> KeptSnapshots:
    """The snapshots of a table or branch, and why they are still there.

    Args: `now`: with a time zone; `given`: what is set in place of the table's options; `most`: that are listed;
        `tags`: all of the table, None = they are read.
    Raises: OptionError; CorruptFileError.
    """
    ids, following = table.snapshots.list_ids(), table.consumers.next_snapshots()
    tags = table.tags.all() if tags is None else tags
    retention = Retention.of(table.options, following, now, given)
    chosen = plan_range(ids, _times(table, ids, retention.older_than), retention)
    there = set(ids)
    tagged = tuple((name, tag) for name, tag in tags.items() if tag.snapshot.id not in there)
    by_snapshots, by_tags = _held(table, ids, [tag.snapshot for _, tag in tagged])
    names: dict[int, list[str]] = {}
    for name, tag in tags.items():
        names.setdefault(tag.snapshot.id, []).append(name)
    listed = [table.snapshots.find(number) for number in _some(ids, most)]
    return KeptSnapshots(
        tuple(KeptSnapshot(s, _keeper(s.id, ids[-1], chosen, names)) for s in listed if s is not None),
        len(ids),
        len(chosen.expired),
        len(tags),
        len(following),
        by_snapshots,
        by_tags,
        tagged,
    )


def _times(table: Table, ids: Sequence[int], older_than: int) -> Callable[[int], int | None]:
    """Gives the time of a snapshot. Of many, the first young one is searched for, and those before it count as old:
    so it is where times ascend, as they do but for clocks that differ."""

    def time_of(snapshot_id: int) -> int | None:
        snapshot = table.snapshots.find(snapshot_id)
        return None if snapshot is None else snapshot.time_millis

    if len(ids) <= _SNAPSHOTS_READ:
        return time_of
    young = bisect_left(ids, True, key=lambda snapshot_id: (time_of(snapshot_id) or 0) >= older_than)
    first = ids[young] if young < len(ids) else ids[-1] + 1
    return lambda snapshot_id: time_of(snapshot_id) if snapshot_id >= first else older_than - 1


def _some(ids: Sequence[int], most: int) -> list[int]:
    """The ids to list, newest first."""
    newest_first = list(reversed(ids))
    half = most // 2
    return newest_first if len(ids) <= most else [*newest_first[:half], *newest_first[-half:]]


def _keeper(snapshot_id: int, latest: int, chosen: ExpiryRange, tags: Mapping[int, Sequence[str]]) -> str:
    rule = CURRENT if snapshot_id == latest else chosen.reasons.get(snapshot_id, DUE)
    held = tags.get(snapshot_id, ())
    return f"{rule}; tag {', '.join(held)}" if held else rule


def _held(table: Table, ids: Sequence[int], tagged: Sequence[Snapshot]) -> tuple[HeldFiles | None, HeldFiles | None]:
    """What older snapshots hold, and what tags of expired ones hold besides."""
    if len(ids) > _SNAPSHOTS_READ:
        return None, None
    found = each_read(table.snapshots.find, ids, table.location)
    snapshots = [snapshot for snapshot in found if snapshot is not None]
    changes = each_read(lambda snapshot: _deleted(table, snapshot), snapshots[1:], table.location)
    deleted = {name: size for part in changes for name, size in part.items()}
    live = _sizes(table.manifests.live_entries(snapshots[-1])) if snapshots else {}
    old = {name: size for name, size in deleted.items() if name not in live}
    if len(tagged) > _TAGS_READ:
        return _sum(old), None
    states = each_read(lambda snapshot: _sizes(table.manifests.live_entries(snapshot)), tagged, table.location)
    by_tags = {name: size for part in states for name, size in part.items()}
    return _sum(old), _sum({name: size for name, size in by_tags.items() if name not in live and name not in old})


def _deleted(table: Table, snapshot: Snapshot) -> dict[str, int]:
    """The data files that a snapshot has taken out of the state before it, with their sizes."""
    if snapshot.commit_kind == CommitKind.APPEND:
        return {}
    return _sizes(entry for entry in table.manifests.delta_entries(snapshot) if entry.kind == FileKind.DELETE)


def _sizes(entries: Iterable[ManifestEntry]) -> dict[str, int]:
    return {entry.file.file_name: entry.file.file_size for entry in entries}


def _sum(files: Mapping[str, int]) -> HeldFiles:
    return HeldFiles(len(files), sum(files.values()))
