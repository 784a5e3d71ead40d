"""Work that an interrupted expiry left behind: the next expiry finishes it.

Snapshots below the EARLIEST hint with missing files were given up, and retired tags are no longer tags; both may have
lost files already, so they cannot be read. Each expiry, of snapshots or of tags, finishes both kinds in all branches
before it begins anything new: the files of one kind can be found only while the manifests that it shares with the other
kind exist.
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
    pending: list[Leaving] = []
    for branch in branches.names():
        snapshots = branches.snapshots(branch)
        pending += leaving_snapshots(snapshots, list(_given_up(snapshots, manifests)))
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


def _given_up(snapshots: Snapshots, manifests: Manifests) -> Iterator[Snapshot]:
    """The snapshots below the first that counts, and that one."""
    first = min(counting_ids(snapshots, manifests), default=None)
    for snapshot_id in snapshots.list_ids():
        if first is not None and snapshot_id <= first:
            snapshot = snapshots.find(snapshot_id)
            if snapshot is not None:
                yield snapshot
