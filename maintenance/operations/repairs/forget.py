"""Commit a state that no longer names what is missing: the end of both `remove_unexisting_*` procedures."""

from collections.abc import Callable, Sequence

from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.publish import publish
from maintenance.commit.target import CommitTarget
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.table.table import Table, new_commit_user

Planned = Callable[[Snapshot | None], Changes]


def forget(
    table: Table, operation: str, planned: Planned, missing: Sequence[object], nothing: str, *, dry_run: bool
) -> int | None:
    """Commit the changes planned on the newest snapshot. Returns the new snapshot's id, None if there is none.

    Args:
        operation: the procedure, as the snapshot's properties name it.
        planned: called with the newest snapshot before each attempt; fills `missing`.
        missing: what is missing; `nothing`: says that nothing is. Then there is no commit.
        dry_run: plan once, and change nothing.
    Raises: CommitError: other writers kept publishing first.
    """
    if dry_run:
        planned(table.latest_snapshot())
        return None

    def check(_target: CommitTarget, _changes: Changes, _latest: Snapshot | None) -> Conflict | None:
        return None if missing else Conflict(nothing, frozenset())

    identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: operation})
    snapshot, _, _ = publish(table.commit_target(), planned, identity, check)
    return None if snapshot is None else snapshot.id
