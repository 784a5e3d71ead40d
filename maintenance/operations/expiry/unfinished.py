"""Work that an interrupted expiry left behind: it is part of the next one.

Snapshots below the EARLIEST hint of which something is gone were given up, and retired tags are not tags any more; both
may have lost files already, so nothing can read them. Each expiry, of snapshots or of tags, finishes both kinds in all
branches before it begins anything new: what one kind leaves is found only while the manifests that the other shares
with it are there.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.holders import counting_ids
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.snapshots import Snapshots
from maintenance.operations.expiry.removal import Leaving


def unfinished(branches: Branches, manifests: Manifests) -> list[Leaving]:
    """What is left to do in all branches, of each branch in the order of the ids."""
    found: list[Leaving] = []
    for branch in branches.names():
        snapshots = branches.snapshots(branch)
        found += leaving_snapshots(snapshots, list(_given_up(snapshots, manifests)))
        for path, tag in branches.tags(branch).retired().items():
            found.append(Leaving(f"tag of snapshot {tag.snapshot.id}", tag.snapshot, path))
    return found


def leaving_snapshots(snapshots: Snapshots, these_and_next: Sequence[Snapshot]) -> list[Leaving]:
    """Each of the snapshots but the last, with the one after it."""
    path = snapshots.paths.snapshot
    return [Leaving(str(one.id), one, path(one.id), following) for one, following in pairwise(these_and_next)]


def unfinished_notes(pending: Sequence[Leaving]) -> list[str]:
    """What is finished, in words."""
    ids = [int(part.name) for part in pending if part.following is not None]
    tags = [part.name for part in pending if part.following is None]
    left = [f"snapshots {min(ids)} to {max(ids)}"] if ids else []
    return [f"finished what an earlier run had left: {', '.join([*left, *tags])}"] if pending else []


def _given_up(snapshots: Snapshots, manifests: Manifests) -> Iterator[Snapshot]:
    """The snapshots below the first that counts, and that one."""
    first = min(counting_ids(snapshots, manifests), default=None)
    for snapshot_id in snapshots.list_ids():
        if first is not None and snapshot_id <= first:
            snapshot = snapshots.find(snapshot_id)
            if snapshot is not None:
                yield snapshot
