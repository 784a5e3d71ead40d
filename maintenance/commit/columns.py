"""Commits of tables with data evolution: new columns of rows that are there, and global indexes on columns."""

from collections.abc import Collection, Sequence

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.commit import aborting, entries_of_messages
from maintenance.commit.conflicts import Conflict
from maintenance.commit.global_indexes import check_added, indexes_of
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.row_ranges import torn_rows
from maintenance.commit.target import CommitTarget
from maintenance.commit.vectors import IndexChange, check_vectors, vectors_after
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.options.global_index import DROP_PARTITION_INDEX, THROW_ERROR
from maintenance.write.message import CommitMessage


def commit_columns(
    target: CommitTarget,
    columns: Sequence[CommitMessage],
    others: Sequence[CommitMessage],
    identity: CommitIdentity,
    seen: Snapshot | None,
    updated: Collection[int] = (),
) -> int:
    """Publish new columns of rows of a table with data evolution, and appended and deleted rows. Returns the snapshot's
    id. When it is certain that nothing was published, the files of the messages are deleted.

    Global indexes on the columns go with them, where `global-index.column-update-action` says so.

    Args: `columns`: files with the row ids of others; `others`: new files, deletion vectors; `seen`: the snapshot that
        the values were computed on, None = there was none; `updated`: ids of the columns.
    Raises: ConflictError: another writer changed or compacted the same rows, or indexed the columns, or `seen` was
        rolled back: plan again. CommitError.
    """
    messages = [*columns, *others]
    entries = entries_of_messages(messages, lambda m: [(FileKind.ADD, m.new_files)])
    written = entries_of_messages(columns, lambda m: [(FileKind.ADD, m.new_files)])
    vectors = any(message.vectors is not None for message in messages)
    kind = CommitKind.OVERWRITE if vectors else CommitKind.APPEND
    partitions = {message.partition for message in columns}
    action = target.model.global_index_column_update_action
    after = vectors_after(messages) if vectors else None
    if action == DROP_PARTITION_INDEX:
        after = _without_indexes(after, partitions, updated)
    changes = Changes(kind, entries, index=after)
    work = CommitAttempts(target, identity)
    with aborting(work, messages):
        for attempt in work:
            with attempt:
                latest = attempt.latest
                attempt.commit(
                    changes,
                    (_check_indexed(target, latest, partitions, updated) if action == THROW_ERROR else None)
                    or _rolled_back(target, seen, messages)
                    or torn_rows(target.manifests, written, latest, seen=0 if seen is None else seen.id)
                    or check_vectors(target.manifests, messages, latest),
                )
        return work.snapshot().id


def _rolled_back(target: CommitTarget, seen: Snapshot | None, messages: Sequence[CommitMessage]) -> Conflict | None:
    """A rollback behind `seen`: its row ids, and its number, are those of other rows by now."""
    if seen is None or not target.snapshots.has_left(SnapshotIdentity.of(seen)):
        return None
    groups = frozenset((message.partition, message.bucket) for message in messages)
    return Conflict(f"snapshot {seen.id} was rolled back meanwhile", groups)


def _check_indexed(
    target: CommitTarget, latest: Snapshot | None, partitions: Collection[bytes], updated: Collection[int]
) -> Conflict | None:
    """Global indexes that the columns have by now. `updated`: ids of the columns."""
    indexed = [] if latest is None else indexes_of(target.manifests.read_index(latest), partitions, updated)
    if not indexed:
        return None
    groups = frozenset((entry.partition, entry.bucket) for entry in indexed)
    return Conflict("the columns got a global index meanwhile", groups)


def _without_indexes(after: IndexChange | None, partitions: Collection[bytes], updated: Collection[int]) -> IndexChange:
    """The next index state without global indexes on columns that get new values. `after`: makes it otherwise."""

    def left(old: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
        going = {entry.file_name for entry in indexes_of(old, partitions, updated)}
        return [entry for entry in (old if after is None else after(old)) if entry.file_name not in going]

    return left


def commit_global_indexes(
    target: CommitTarget,
    added: Sequence[IndexManifestEntry],
    removed: Collection[str],
    identity: CommitIdentity,
    seen: Snapshot,
) -> int:
    """Publish index files, and leave others out of the next state. Returns the snapshot's id.

    Args: `removed`: names of index files; `seen`: the snapshot whose rows were indexed.
    Raises: ConflictError: the rows, their values or their indexes changed meanwhile, or `seen` was rolled back: plan
        again, the new files are deleted; CommitError.
    """

    def after(old: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
        return [*(entry for entry in old if entry.file_name not in removed), *added]

    partitions = dict.fromkeys(entry.partition for entry in added)
    messages = [
        CommitMessage(partition, 0, -1, new_index_files=tuple(e for e in added if e.partition == partition))
        for partition in partitions
    ]
    changes, work = Changes(CommitKind.APPEND, (), index=after), CommitAttempts(target, identity)
    with aborting(work, messages):
        for attempt in work:
            with attempt:
                attempt.commit(
                    changes,
                    _rolled_back(target, seen, messages)
                    or check_added(target.manifests, target.load_schemas, added, attempt.latest, seen.id),
                )
        return work.snapshot().id
