"""Numbered commits of snapshots that are about to expire stay on record, so that repeating them is still recognized.

Writers of this project have recorded theirs; those of other writers are recorded here. Where that fails, on a full disk
for example, snapshots of this project stay until it succeeds, since exactly-once ingestion relies on it.
"""

from collections.abc import Sequence

from maintenance.commit.identity import is_ours
from maintenance.commit.replays import limit_text
from maintenance.errors import DataError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.commit_records import newest_of
from maintenance.table.table import Table


def record_commits(table: Table, expiring: Sequence[Snapshot]) -> list[str]:
    """Record the newest numbered commit of each user. Returns notes for the report. Raises: StorageError, OSError."""
    notes: list[str] = []
    by_id = {snapshot.id: snapshot for snapshot in expiring}
    for record in newest_of(expiring):
        try:
            dropped = table.commit_records.add(record, flushed=True)
        except (OSError, DataError) as error:
            if is_ours(by_id[record.snapshot_id]):
                raise
            notes.append(f"commit {record.identifier} of user {record.user!r} cannot be recorded: {error}")
        else:
            notes += [] if dropped is None else [limit_text()]
    return notes
