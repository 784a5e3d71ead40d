"""Publish the rows of some partitions again, in place of all files in their buckets, in one OVERWRITE snapshot.

If another writer has changed one of the partitions meanwhile nothing is committed, since its rows would be lost. Rows
that wait for a bucket stay, and more of them may come.
"""

from collections.abc import Sequence
from dataclasses import replace

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.commit import aborting, entries_of_messages
from maintenance.commit.conflicts import Conflict
from maintenance.commit.overwrite import raised
from maintenance.errors import UnsupportedError
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.table.table import Table, identity_of
from maintenance.write.message import CommitMessage


def check_all_visible(table: Table, entries: Sequence[ManifestEntry]) -> None:
    """Refuse files whose rows reads do not see yet. Raises: UnsupportedError."""
    hidden = table.is_primary_key_table and table.model.skips_level_0
    if any(entry.bucket < 0 or (hidden and entry.file.level == 0) for entry in entries):
        raise UnsupportedError("rows wait for a compaction", table.identifier, "Run compact first, then run again.")


def publish_replaced(
    table: Table, messages: Sequence[CommitMessage], old: Sequence[ManifestEntry], snapshot: Snapshot, operation: str
) -> int:
    """Commit on the condition that the partitions of the old files are as in the snapshot that was read.

    Returns the new snapshot's id. Raises: ConflictError: they are not; CommitError. Then nothing was published, and the
    files of the messages are deleted.
    """
    partitions = {entry.partition for entry in old}
    planned = {entry.identity for entry in old}
    deleted = tuple(replace(entry, kind=FileKind.DELETE) for entry in old)
    added = raised(
        table.commit_target(), entries_of_messages(messages, lambda message: [(FileKind.ADD, message.new_files)])
    )
    new_index = [entry for message in messages for entry in message.new_index_files]
    changes = Changes(
        CommitKind.OVERWRITE,
        (*deleted, *added),
        index=lambda entries: [*(entry for entry in entries if entry.partition not in partitions), *new_index],
    )
    before = _index_files(table, snapshot, partitions)

    changed = Conflict("another writer changed a partition that was being rewritten", frozenset())
    identity = identity_of(table, operation)
    work = CommitAttempts(table.commit_target(), identity)
    with aborting(work, messages):
        for attempt in work:
            with attempt:
                latest, selection = attempt.latest, EntrySelection(partitions.__contains__)
                live = [] if latest is None else table.manifests.live_entries(latest, selection)
                same = {entry.identity for entry in live if entry.bucket >= 0} == planned
                same = same and _index_files(table, latest, partitions) == before
                attempt.commit(changes, None if same else changed)
        return work.snapshot().id


def _index_files(table: Table, snapshot: Snapshot | None, partitions: set[bytes]) -> set[str]:
    """Index files of the partitions: with them rows are deleted, and data files stay."""
    index = [] if snapshot is None else table.manifests.read_index(snapshot)
    return {entry.file_name for entry in index if entry.partition in partitions}
