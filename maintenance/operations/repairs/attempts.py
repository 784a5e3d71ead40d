"""The commit of a state that no longer names what is missing: the end of both `remove_unexisting_*` procedures."""

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.table.table import Table, new_commit_user


def repair_attempts(table: Table, operation: str) -> CommitAttempts:
    """The attempts at such a commit. `operation`: the procedure, as the snapshot's properties name it."""
    identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: operation})
    return CommitAttempts(table.commit_target(), identity)
