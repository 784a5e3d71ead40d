"""Repeated commits: which of a user's numbered commits are in the table already.

The user's newest snapshot says which number came last; once it has expired, the commit records do
(`metadata.commit_records`). A user that neither knows has committed nothing yet, unless it is one of those that were
dropped because more users committed than are remembered: whoever commits under a number is warned then.
"""

import logging
from datetime import UTC, datetime

from maintenance.commit.identity import CommitIdentity
from maintenance.commit.target import CommitTarget
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.cache import RecentlyUsed
from maintenance.metadata.commit_records import MAX_USERS, CommitRecord, CommitRecords

_LOG = logging.getLogger(__name__)
# Of users without a numbered commit: the snapshot up to which their table was searched, so that who goes on to commit
# does not read each snapshot again.
_STRANGERS = RecentlyUsed(1000)


def already_committed(target: CommitTarget, identity: CommitIdentity) -> bool:
    """Whether this user has committed this identifier or a later one. Source: Java `filterCommitted`."""
    if identity.identifier == BATCH_IDENTIFIER:
        return False
    last = last_committed(target, identity.user)
    if last is None:
        warning = unknown_user(target, identity)
        if warning:
            _LOG.warning("table %s: %s", target.name, warning)
        return False
    return identity.identifier <= last


def last_committed(target: CommitTarget, user: str, *, after: int = 0, newest: Snapshot | None = None) -> int | None:
    """The identifier of the user's newest numbered commit; None if nothing tells of one.

    Args: `after`: only snapshots above this id count; `newest`: the snapshot to begin at, None = the latest.
    """
    first: Snapshot | None = None
    place = f"{target.snapshots.paths.snapshot_folder()}\0{user}"
    seen: SnapshotIdentity | None = _STRANGERS.get(place, None)
    for snapshot in target.snapshots.newest_first(newest):
        first = first or snapshot
        if snapshot.id <= after:
            return None
        if snapshot.commit_user == user and snapshot.is_numbered:
            return snapshot.commit_identifier
        if seen is not None and snapshot.id == seen.id and SnapshotIdentity.of(snapshot) == seen:
            break
    if first is not None and not after:
        _STRANGERS.put(place, None, SnapshotIdentity.of(first))
    record = None if after else _records(target).last(user)
    return None if record is None else record.identifier


def unknown_user(target: CommitTarget, identity: CommitIdentity) -> str:
    """Why an unknown user may have committed before; empty if it is certain."""
    dropped = None if identity.identifier == BATCH_IDENTIFIER else _records(target).dropped()
    if dropped is None or last_committed(target, identity.user) is not None:
        return ""
    until = datetime.fromtimestamp(dropped.time_millis / 1000, UTC)
    return (
        f"nothing is known of commit user '{identity.user}', and the records of {dropped.users} users are gone, since "
        f"only the {MAX_USERS} that committed last are remembered; a commit of this user from before "
        f"{until:%Y-%m-%d %H:%M} UTC would be written again"
    )


def remember(target: CommitTarget, snapshot: Snapshot) -> None:
    """Record a numbered commit that was just published. Never fails: the commit is done.

    A COMPACT snapshot of a writer comes with one of its rows, which is recorded.
    """
    if not snapshot.is_numbered or snapshot.commit_kind == CommitKind.COMPACT:
        return
    try:
        dropped = _records(target).add(CommitRecord.of(snapshot))
    except Exception as error:  # noqa: BLE001 - stores have errors of their own, and none of them undoes the commit
        _LOG.warning(
            "table %s: commit %d of user '%s' is in snapshot %d, but no record of it can be written. If another engine "
            "expires that snapshot before this user's next commit, a repetition would be written again: %s",
            target.name, snapshot.commit_identifier, snapshot.commit_user, snapshot.id, error,
        )  # fmt: skip
        return
    if dropped is not None:
        _LOG.warning("table %s: %s", target.name, limit_text())


def limit_text() -> str:
    """What it means that the limit is met."""
    return (
        f"more than {MAX_USERS} users have numbered their commits, and only those that committed last are remembered; "
        "give each pipeline one commit user that stays"
    )


def _records(target: CommitTarget) -> CommitRecords:
    return CommitRecords(target.file_io, target.paths)
