"""Work that an interrupted expiry left behind: the next expiry finishes it.

Retired snapshots and tags are out of sight, and snapshots below the EARLIEST hint with missing files were given up, by
Java's expiry for example; all of them may have lost files already, so they cannot be read. Each expiry, of snapshots or
of tags, finishes both kinds in all branches before it begins anything new: the files of one kind can be found only
while the manifests that it shares with the other kind exist.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.holders import counting_ids
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.snapshots import Snapshots
from maintenance.operations.expiry.removal import Removal
from maintenance.operations.expiry.survey import Leaving, Stage


def unfinished(branches: Branches, manifests: Manifests) -> list[Leaving]:
    """What is left to do in all branches, of each branch in the order of the ids."""
    pending: list[Leaving] = []
    for branch in branches.names():
        snapshots = branches.snapshots(branch)
        pending += _leaving(snapshots, manifests)
        for path, tag in branches.tags(branch).retired().items():
            pending.append(Leaving(f"tag of snapshot {tag.snapshot.id}", tag.snapshot, path))
    return pending


def leaving_snapshots(snapshots: Snapshots, these_and_next: Sequence[Snapshot]) -> list[Leaving]:
    """Each of the snapshots but the last, with the one after it."""
    path = snapshots.paths.snapshot
    return [Leaving(str(one.id), one, path(one.id), following) for one, following in pairwise(these_and_next)]


def unfinished_notes(pending: Sequence[Leaving]) -> list[str]:
    """What is finished, in words."""
    ids = [int(part.name) for part in pending if part.following is not None]
    tags = [part.name for part in pending if part.following is None]
    snapshots = [f"snapshots {min(ids)} to {max(ids)}"] if ids else []
    return [f"finished what an interrupted run had left behind: {', '.join([*snapshots, *tags])}"] if pending else []


def _leaving(snapshots: Snapshots, manifests: Manifests) -> Iterator[Leaving]:
    """The snapshots out of sight, and those in sight below the first that counts, each with the one after it."""
    retired, in_sight = snapshots.retired(), snapshots.list_ids()
    first = min(counting_ids(snapshots, manifests), default=None)
    given_up = [i for i in in_sight if first is not None and i < first]
    going = sorted({*retired, *given_up})
    if not going:
        return
    after = {_next(in_sight, number) for number in going} - {0, *given_up}
    known = snapshots.find_many([*given_up, *after]) | retired
    ids = sorted(known)
    for number in going:
        following = known.get(_next(ids, number))
        if number in retired:
            yield out_of_sight(snapshots, retired[number], following)
        elif number in known and following is not None:
            yield Leaving(str(number), known[number], snapshots.paths.snapshot(number), following)


def _next(ids: Sequence[int], number: int) -> int:
    """The first of the ids after a number, 0 if there is none. `ids`: ascending."""
    at = bisect_right(ids, number)
    return ids[at] if at < len(ids) else 0


def out_of_sight(snapshots: Snapshots, snapshot: Snapshot, following: Snapshot | None) -> Leaving:
    """A retired snapshot. `following`: the one after it, None where there is none."""
    record, back_to = _places(snapshots, snapshot.id)
    return Leaving(str(snapshot.id), snapshot, record, following, back_to=back_to)


def now_out_of_sight(snapshots: Snapshots, removal: Removal) -> Removal:
    """The removal of a snapshot that was planned while it was in sight, and is retired now."""
    record, back_to = _places(snapshots, int(removal.name))
    # Stages are in order: records come last.
    before = bisect_left(removal.deletions, Stage.RECORD, key=attrgetter("stage"))
    moved = (deletion._replace(path=record, back_to=back_to) for deletion in removal.deletions[before:])
    return replace(removal, deletions=(*removal.deletions[:before], *moved))


def _places(snapshots: Snapshots, number: int) -> tuple[str, str]:
    """Where the record of a retired snapshot is, and where it was in sight."""
    return snapshots.paths.retired_snapshot(number), snapshots.paths.snapshot(number)
