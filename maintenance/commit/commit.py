"""Publish changes as snapshots: optimistic, atomic, repeatable.

One commit makes at most two snapshots of the same user and identifier: APPEND for new files, then COMPACT for replaced
ones. Each is tried on the newest snapshot; if another writer publishes first, the attempt is made again on the new
state, its own leftovers removed. Changes that replace files are first checked against that state (`conflicts`). A
commit with an identifier is idempotent: what its user has committed up to that identifier is not committed again.
Source: seed 000 (two-phase commit), Java `FileStoreCommitImpl`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import (
    OTHER_BUCKETS,
    Base,
    Conflict,
    Group,
    ManifestsMet,
    bucket_mismatch,
    find_conflict,
)
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.order import OrderedFiles
from maintenance.commit.outcome import Lost, Published
from maintenance.commit.target import CommitTarget
from maintenance.commit.vectors import check_vectors, vectors_after
from maintenance.errors import CommitError, ConflictError, DataError, NotFoundError, ReplayedError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.metadata.live_groups import LiveGroup, live_groups
from maintenance.metadata.manifests import of_partitions
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataType
from maintenance.write.buckets import RESCALE, other_number
from maintenance.write.hash_index import HashFiles
from maintenance.write.message import CommitMessage
from maintenance.write.renumber import Runner, in_threads
from maintenance.write.state import WriteState


@dataclass(frozen=True, slots=True)
class CompactCommit:
    """Outcome of a compaction's commit. `lost`: groups that another writer changed meanwhile, and why."""

    snapshot_id: int | None
    lost: Mapping[Group, str]
    attempts: int


# Snapshots that leave every key where it is.
_KEEP_KEYS = (CommitKind.COMPACT, CommitKind.ANALYZE)


def _append(work: CommitAttempts, files: OrderedFiles, state: WriteState | None) -> tuple[int, ...]:
    target = files.target
    changes = _append_changes(files.written)
    if not changes.entries and not changes.changelog and not _commits_nothing(target.model, work.identity):
        return ()
    try:
        for attempt in work:
            with attempt:
                if attempt.check(changes, _check_places(target, changes, attempt.latest, state)):
                    messages = files.upon(attempt.latest)
                    attempt.publish(changes if messages is files.written else _append_changes(messages))
        snapshot = work.snapshot()
    except (CommitError, ConflictError, DataError):
        if not work.may_be_published:
            files.discard()
        raise
    files.published()
    return (snapshot.id,)


def _commits_nothing(options: TableModel, identity: CommitIdentity) -> bool:
    """Whether a commit without rows is a snapshot, too; `commit.force-create-snapshot` is of streams alone."""
    if not table_options.SNAPSHOT_IGNORE_EMPTY_COMMIT.of(options):
        return True
    return identity.identifier != BATCH_IDENTIFIER and table_options.COMMIT_FORCE_CREATE_SNAPSHOT.of(options)


def _append_changes(messages: Sequence[CommitMessage]) -> Changes:
    entries = entries_of_messages(messages, lambda m: [(FileKind.ADD, m.new_files)])
    changelog = entries_of_messages(messages, lambda m: [(FileKind.ADD, m.changelog_files)])
    new = [entry for message in messages for entry in message.new_index_files]
    return Changes(CommitKind.APPEND, entries, changelog, index=(lambda old: replaced(old, new)) if new else None)


def append_or_abort(
    target: CommitTarget,
    messages: Sequence[CommitMessage],
    identity: CommitIdentity,
    *,
    state: WriteState | None = None,
    run: Runner = in_threads,
) -> tuple[tuple[int, ...], Sequence[CommitMessage]]:
    """Publish new files as one APPEND snapshot. If it is certain that nothing was published, the files are deleted.

    Files whose numbers another writer has used meanwhile are replaced by others, see `OrderedFiles`.

    Args: `state`: on which the rows were written, None = it is not known; `run`: what writes files again that need
        other numbers.
    Returns: the new snapshot ids, and the messages as they were published; both empty if another process published the
        same commit meanwhile, or there is nothing to commit.
    Raises: CommitError: other writers kept publishing first; ConflictError: a partition has another number of buckets
        than these files, or another writer gave keys of it their places meanwhile.
    """
    files, work = OrderedFiles.of(target, messages, state, run), CommitAttempts(target, identity)
    try:
        with aborting(work, messages):
            return _append(work, files, state), files.messages
    except ReplayedError:
        return (), ()


def replaced(old: Sequence[IndexManifestEntry], new: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
    """An index state in which new HASH files stand in place of their buckets' old ones."""
    taken = {(entry.partition, entry.bucket, entry.index_type) for entry in new}
    return [*(e for e in old if (e.partition, e.bucket, e.index_type) not in taken), *new]


def commit_compact(target: CommitTarget, messages: Sequence[CommitMessage], identity: CommitIdentity) -> CompactCommit:
    """Publish replaced files as one COMPACT snapshot, without the groups that another writer changed meanwhile.

    The files of lost groups are deleted: nothing names them.
    """
    lost: dict[Group, str] = {}
    attempts, snapshot_id = 0, None
    met = manifests_met(target, _compact_changes(messages))
    while True:
        remaining = [m for m in messages if (m.partition, m.bucket) not in lost and not m.is_empty]
        if not remaining:
            break
        outcome = _compact(target, remaining, identity, met)
        attempts += outcome.attempts
        if isinstance(outcome, Published):
            snapshot_id = outcome.snapshot.id
            break
        lost |= dict.fromkeys(_tied(remaining, outcome.conflict.groups), outcome.conflict.reason)
    abort(target, [m for m in messages if (m.partition, m.bucket) in lost])
    return CompactCommit(snapshot_id, lost, attempts)


def _compact(
    target: CommitTarget, messages: Sequence[CommitMessage], identity: CommitIdentity, met: ManifestsMet
) -> Published | Lost:
    work, changes = CommitAttempts(target, identity), _compact_changes(messages)
    for attempt in work:
        with attempt:
            attempt.commit(changes, _check_work(target, messages, changes, attempt.latest, met))
    return work.outcome


def _tied(messages: Sequence[CommitMessage], lost: frozenset[Group]) -> frozenset[Group]:
    """Lost groups, with those that must not be committed without them: rows leave the postpone bucket for others."""
    leaving = {message.partition for message in messages if message.bucket == table_options.POSTPONE_BUCKET}
    torn = leaving & {partition for partition, _ in lost}
    return lost | {(m.partition, m.bucket) for m in messages if m.partition in torn}


def _compact_changes(messages: Sequence[CommitMessage]) -> Changes:
    entries = entries_of_messages(
        messages, lambda m: [(FileKind.DELETE, m.compact_before), (FileKind.ADD, m.compact_after)]
    )
    changelog = entries_of_messages(messages, lambda m: [(FileKind.ADD, m.compact_changelog)])
    return Changes(CommitKind.COMPACT, entries, changelog, vectors_after(messages))


def _check_work(
    target: CommitTarget,
    messages: Sequence[CommitMessage],
    changes: Changes,
    latest: Snapshot | None,
    met: ManifestsMet,
) -> Conflict | None:
    """What conflicts with changes that replace files, and vectors of files. `messages`: that they are made of."""
    return (
        check_replaced(target, changes, latest, met)
        or check_vectors(target.manifests, messages, latest)
        or _check_moved(target, messages, latest)
    )


def _check_moved(target: CommitTarget, messages: Sequence[CommitMessage], latest: Snapshot | None) -> Conflict | None:
    """Rows that leave the postpone bucket are older than all that was written straight into their bucket since."""
    highest = {(message.partition, message.bucket): message.highest for message in messages}
    partitions = {partition for (partition, _), number in highest.items() if number is not None}
    if not partitions or latest is None:
        return None
    moved = set()
    for group in _live_groups(target, latest, partitions):
        limit = highest.get((group.partition, group.bucket))
        if limit is not None and group.max_sequence_number > limit:
            moved.add((group.partition, group.bucket))
    if not moved:
        return None
    return Conflict("another writer has written straight into the bucket in the meantime", frozenset(moved))


def _live_groups(target: CommitTarget, latest: Snapshot, partitions: Collection[bytes]) -> list[LiveGroup]:
    types = [field.type for field in target.schema.partition_fields]
    return live_groups(target.manifests, latest, *of_partitions(partitions, types))


def commit_rows(target: CommitTarget, messages: Sequence[CommitMessage], identity: CommitIdentity) -> int:
    """Publish deleted and new rows of a table without a primary key as one OVERWRITE snapshot. Returns its id.

    Rows are deleted by deletion vectors, or by files in place of others. When it is certain that nothing was published,
    the files of the messages are deleted. Source: metadata section 9.3, Java `FileStoreCommitImpl`.

    Raises: ConflictError: another writer deleted rows of the same files, or replaced them: plan again. CommitError.
    """
    entries = entries_of_messages(
        messages,
        lambda m: [(FileKind.DELETE, m.compact_before), (FileKind.ADD, (*m.compact_after, *m.new_files))],
    )
    changes = Changes(CommitKind.OVERWRITE, entries, index=vectors_after(messages))
    work, met = CommitAttempts(target, identity), manifests_met(target, changes)
    with aborting(work, messages):
        for attempt in work:
            with attempt:
                conflict = _check_bucket_number(target, changes, attempt.latest)
                attempt.commit(changes, conflict or _check_work(target, messages, changes, attempt.latest, met))
        return work.snapshot().id


@contextmanager
def aborting(work: CommitAttempts, messages: Sequence[CommitMessage]) -> Iterator[None]:
    """Delete the files of messages when it is certain that nothing was published."""
    try:
        yield
    except (CommitError, ConflictError, DataError):
        # What follows a commit may fail so, too; after any other error the snapshot may be there and need its files.
        if not work.may_be_published:
            abort(work.target, messages)
        raise


def abort(target: CommitTarget, messages: Sequence[CommitMessage]) -> None:
    """Delete the files that exist because of these messages alone. Only for messages that are not committed."""
    for message in messages:
        for file in message.written():
            target.file_io.discard(target.paths.all_files_of(message.partition, message.bucket, file))
        target.file_io.discard(map(target.paths.index_file, message.index_files))


def entries_of_messages(
    messages: Sequence[CommitMessage],
    parts: Callable[[CommitMessage], list[tuple[FileKind, tuple[DataFileMeta, ...]]]],
) -> tuple[ManifestEntry, ...]:
    """Manifest entries of some of the messages' files. `parts`: which, and whether they are added or deleted."""
    return tuple(
        ManifestEntry(kind, message.partition, message.bucket, message.total_buckets, file)
        for message in messages
        for kind, files in parts(message)
        for file in files
    )


def manifests_met(target: CommitTarget, changes: Changes) -> ManifestsMet:
    """For all attempts of these changes, or of some of them."""
    types = [field.type for field in target.schema.partition_fields]
    return ManifestsMet(target.manifests, changes.entries, types, bool(_ordered_keys(target)))


def _ordered_keys(target: CommitTarget) -> list[DataType]:
    """The types of keys by which the files of a level are in order."""
    return [] if target.model.clusters_keys else [field.type for field in target.schema.key_fields]


def check_replaced(
    target: CommitTarget, changes: Changes, latest: Snapshot | None, met: ManifestsMet | None = None
) -> Conflict | None:
    """What conflicts with changes that replace files, on the newest state. `met`: of all attempts, None = of this."""
    key_types = _ordered_keys(target)

    def found(base: Base) -> Conflict | None:
        key_of = key_reader(key_types) if key_types else None
        check_buckets = changes.kind != CommitKind.OVERWRITE
        return find_conflict(base, changes.entries, key_of=key_of, check_buckets=check_buckets)

    if latest is None:
        return found(Base())
    met = manifests_met(target, changes) if met is None else met
    conflict = found(met.base(latest))
    if conflict is None or conflict.reason != OTHER_BUCKETS:
        return conflict
    # The number may be that of files that are deleted.
    return found(Base.of(met.manifests, latest, changes.entries, met.partition_types, by_key=met.by_key))


def _check_places(
    target: CommitTarget, changes: Changes, latest: Snapshot | None, state: WriteState | None
) -> Conflict | None:
    """What conflicts with the buckets and partitions that new rows were given. `state`: on which, None = not known."""
    conflict = _check_bucket_number(target, changes, latest)
    if conflict is None and state is not None and state.hash_files is not None:
        conflict = _check_hash_files(target, changes, latest, state.hash_files)
    if conflict is None and state is not None and state.key_index is not None:
        conflict = _check_keys_stayed(target, changes, latest, state.key_index.snapshot)
    return conflict


def _check_bucket_number(target: CommitTarget, changes: Changes, latest: Snapshot | None) -> Conflict | None:
    """New files must have as many buckets as their partition: else a key would be in two of them.

    Option `bucket` changes with the schema only, so a table that still has its first one needs no look, unless it has
    postponed buckets: there the first writer of a partition chooses.
    Source: Java `ConflictDetection`.
    """
    if latest is None or (target.latest_schema_id() == 0 and not target.model.is_postponed):
        return None
    partitions = {entry.partition for entry in changes.entries if entry.total_buckets > 0}
    if not partitions:
        return None
    base = _live_groups(target, latest, partitions)
    there = {(group.partition, group.total_buckets) for group in base}
    wrong = bucket_mismatch(there | {(e.partition, e.total_buckets) for e in changes.entries}, changes.entries)
    if not wrong:
        return None
    first = min(wrong)[0]
    new = {entry.total_buckets for entry in changes.entries if entry.partition == first}
    old = {total for partition, total in there if partition == first} - new
    reason = other_number(target.paths, first, _numbers(old), _numbers(new))
    return Conflict(reason, frozenset(wrong), RESCALE)


def _numbers(totals: Collection[int]) -> str:
    return " and ".join(map(str, sorted(total for total in totals if total > 0)))


def _check_hash_files(
    target: CommitTarget, changes: Changes, latest: Snapshot | None, hash_files: HashFiles
) -> Conflict | None:
    """Buckets were given by the index files of each partition as they were: others would give them otherwise."""
    written = {entry.partition for entry in changes.entries}
    now = {} if latest is None else target.manifests.hash_files(latest)
    before, after = ({k: e.file_name for k, e in files.items() if k[0] in written} for files in (hash_files, now))
    if before == after:
        return None
    moved = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return Conflict("another writer assigned buckets to keys of the same partition meanwhile", frozenset(moved))


def _check_keys_stayed(
    target: CommitTarget, changes: Changes, latest: Snapshot | None, before: Snapshot | None
) -> Conflict | None:
    """Records were given their partitions by the keys of one snapshot: since then only compactions may have come."""
    first = 1 if before is None else before.id
    last = 0 if latest is None else latest.id
    try:
        since = [target.snapshots.get(snapshot_id) for snapshot_id in range(first, last + 1)]
    except NotFoundError:
        since = []
    untouched = before is None or (bool(since) and since[0] == before)
    later = since if before is None else since[1:]
    if untouched and len(since) == last - first + 1 and all(s.commit_kind in _KEEP_KEYS for s in later):
        return None
    groups = frozenset((entry.partition, entry.bucket) for entry in changes.entries)
    return Conflict("another writer added or removed keys meanwhile", groups)
