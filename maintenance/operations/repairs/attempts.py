"""The commit of a state that no longer names what is missing: the end of both `remove_unexisting_*` procedures."""

from maintenance.commit.attempts import CommitAttempts
from maintenance.table.table import Table, identity_of


def repair_attempts(table: Table, operation: str) -> CommitAttempts:
    """The attempts at such a commit. `operation`: the procedure, as the snapshot's properties name it."""
    identity = identity_of(table, operation)
    return CommitAttempts(table.commit_target(), identity)
