"""Commit a state that no longer names what is missing: the end of both `remove_unexisting_*` procedures."""

from collections.abc import Callable

from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.publish import Changes, CommitTarget, publish
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.table.table import Table, new_commit_user

Planned = Callable[[Snapshot | None], Changes]


def forget(table: Table, operation: str, planned: Planned, nothing: Callable[[], str | None]) -> int | None:
    """Commit the changes planned on the newest snapshot. Returns the new snapshot's id, None if nothing is missing.

    Args:
        operation: the procedure, as the snapshot's properties name it.
        planned: called with the newest snapshot before each attempt.
        nothing: called after it: says that nothing is missing, or None.
    Raises: CommitError: other writers kept publishing first.
    """

    def check(_target: CommitTarget, _changes: Changes, _latest: Snapshot | None) -> Conflict | None:
        reason = nothing()
        return None if reason is None else Conflict(reason, frozenset())

    identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: operation})
    snapshot, _, _ = publish(table.commit_target(), planned, identity, check)
    return None if snapshot is None else snapshot.id
