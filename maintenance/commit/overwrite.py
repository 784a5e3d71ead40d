"""Replace partitions, or the whole table, by new files: one OVERWRITE snapshot.

What is replaced is read from the newest snapshot at each attempt, so rows that another writer adds to these partitions
meanwhile are replaced too, as a later overwrite would; rows elsewhere stay. Files stay on storage until their snapshots
expire. Source: metadata section 9.5, Java `FileStoreCommitImpl.overwritePartition`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.commit import abort, aborting, check_replaced, entries_of_messages
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.target import CommitTarget
from maintenance.errors import DataError, ReplayedError, UnsupportedError
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.metadata.partition_names import PartitionNames, Spec
from maintenance.metadata.partition_value import covering
from maintenance.options import table as table_options
from maintenance.scan.split import by_bucket
from maintenance.write.message import CommitMessage

Replaces = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Overwrite:
    """What an overwrite replaces.

    Attributes:
        partitions: some partition columns and their values; a partition that has them is replaced. None = the whole
            table.
        dynamic: of these only the partitions that get new rows; None = as option `dynamic-partition-overwrite` says.
            Of no meaning for a table without partitions.
    """

    partitions: Sequence[Spec] | None = None
    dynamic: bool | None = None

    def replaces(self, target: CommitTarget, messages: Sequence[CommitMessage]) -> Replaces | None:
        """Which partitions the files of these messages replace; None = there is nothing to do.

        Raises: DataError: new files are outside, or a partition names no partition column, or may mean several;
            UnsupportedError: keys may move between partitions, and not all of them are replaced.
        """
        written = {message.partition for message in messages if message.new_files}
        covered = self._covered(target, may_be_new=bool(written))
        self._check_keys(target, written)
        outside = [partition for partition in written if not covered(partition)]
        if outside:
            raise DataError(
                f"rows are of partition {dict(target.paths.partition(outside[0]))}, which is not overwritten",
                f"table {target.name}",
                "Leave these rows out, or overwrite without a partition.",
            )
        if self._is_dynamic(target) and target.schema.partition_keys:
            return written.__contains__ if written else None
        return covered

    def _covered(self, target: CommitTarget, *, may_be_new: bool) -> Replaces:
        if self.partitions is None:
            return lambda _: True
        chosen = names_of(target).chosen(self.partitions, may_be_new=may_be_new)
        return covering(target.paths.partition_fields, chosen)

    def _check_keys(self, target: CommitTarget, written: set[bytes]) -> None:
        """Keys of the new rows may be in the partitions that stay."""
        moves = target.schema.is_cross_partition and target.model.bucket == -1
        if moves and written and (self.partitions is not None or self._is_dynamic(target)):
            raise UnsupportedError(
                "single partitions of a table whose keys move from one to another cannot be overwritten",
                f"table {target.name}",
                "Overwrite the whole table, with dynamic=False, or write the rows.",
            )

    def _is_dynamic(self, target: CommitTarget) -> bool:
        return target.model.dynamic_partition_overwrite if self.dynamic is None else self.dynamic


def names_of(target: CommitTarget) -> PartitionNames:
    """How the partitions of a table are named."""

    def rows() -> list[bytes]:
        latest = target.snapshots.latest()
        return [] if latest is None else [entry.partition for entry in target.manifests.live_entries(latest)]

    return PartitionNames(target.paths, f"table {target.name}", rows)


def overwrite_or_abort(
    target: CommitTarget, messages: Sequence[CommitMessage], identity: CommitIdentity, overwrite: Overwrite
) -> tuple[int, ...]:
    """Publish new files in place of all files of some partitions. Returns the new snapshot's id, nothing for a no-op.

    Raises: DataError: see `Overwrite.replaces`; CommitError: other writers kept publishing first; ConflictError. Then
        nothing was published, and the files of the messages are deleted.
    """
    try:
        replaces = overwrite.replaces(target, messages)
    except (DataError, UnsupportedError):
        abort(target, messages)
        raise
    if replaces is None:
        return ()
    messages = _without_changelog(target, messages)
    new = [entry for message in messages for entry in message.new_index_files]
    added = raised(target, entries_of_messages(messages, lambda m: [(FileKind.ADD, m.new_files)]))
    work = CommitAttempts(target, identity)
    try:
        with aborting(work, messages):
            for attempt in work:
                with attempt:
                    changes = _changes(target, attempt.latest, (added, new), replaces)
                    attempt.commit(changes, check_replaced(target, changes, attempt.latest))
            return (work.snapshot().id,)
    except ReplayedError:
        return ()


def drop_partitions(
    target: CommitTarget, identity: CommitIdentity, chosen: Callable[[Sequence[ManifestEntry]], Collection[bytes]]
) -> int | None:
    """Publish that all files of some partitions go. Returns the new snapshot's id, None if there are none of them.

    Args: `chosen`: of the live entries the partitions to drop; asked again whenever another writer was first.
    Raises: CommitError: other writers kept publishing first.
    """
    work = CommitAttempts(target, identity)
    for attempt in work:
        with attempt:
            live = [] if attempt.latest is None else target.manifests.live_entries(attempt.latest)
            changes = _without(live, frozenset(chosen(live)))
            attempt.commit(changes, None if changes.entries else Conflict("nothing is left to drop", frozenset()))
    return work.snapshot_id()


def _without(live: Sequence[ManifestEntry], going: Collection[bytes]) -> Changes:
    """What takes partitions out of a state."""
    gone = tuple(replace(entry, kind=FileKind.DELETE) for entry in live if entry.partition in going)
    return Changes(CommitKind.OVERWRITE, gone, index=lambda old: [e for e in old if e.partition not in going])


def _without_changelog(target: CommitTarget, messages: Sequence[CommitMessage]) -> list[CommitMessage]:
    """The messages without what writers made with producer input: an OVERWRITE snapshot carries no changelog."""
    for message in messages:
        for file in message.changelog_files:
            target.file_io.delete_quietly(target.paths.all_files_of(message.partition, message.bucket, file))
    return [replace(message, changelog_files=()) for message in messages]


def _changes(
    target: CommitTarget,
    latest: Snapshot | None,
    new: tuple[Sequence[ManifestEntry], Sequence[IndexManifestEntry]],
    replaces: Replaces,
) -> Changes:
    """The changes of one attempt. `new`: files, and index files."""
    postpone = target.model.is_postponed

    def replaced(partition: bytes, bucket: int) -> bool:
        # What waits in the postpone bucket of a table that has real ones again belongs to them.
        return replaces(partition) and (bucket >= 0 or postpone)

    def left(index: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
        return [*(entry for entry in index if not replaced(entry.partition, entry.bucket)), *new[1]]

    live = [] if latest is None else target.manifests.live_entries(latest, EntrySelection(replaces))
    gone = [replace(entry, kind=FileKind.DELETE) for entry in live if replaced(entry.partition, entry.bucket)]
    return Changes(CommitKind.OVERWRITE, (*gone, *new[0]), index=left)


def raised(target: CommitTarget, added: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """New files of a bucket that share no key stand at the highest level at once. Source: Java `tryUpgrade`."""
    options = target.model
    enabled = table_options.OVERWRITE_UPGRADE.of(options) and not options.clusters_keys
    if not enabled or not target.schema.primary_keys or any(e.file.level or e.bucket < 0 for e in added):
        return list(added)
    key_of = key_reader([field.type for field in target.schema.key_fields])
    level = options.num_levels - 1
    result: list[ManifestEntry] = []
    for group in by_bucket(added).values():
        ranges = sorted((key_of(entry.file.min_key), key_of(entry.file.max_key)) for entry in group)
        overlap = any(before[1] >= after[0] for before, after in zip(ranges, ranges[1:], strict=False))
        result += group if overlap else [replace(e, file=replace(e.file, level=level)) for e in group]
    return result
