"""One snapshot is published: tried on the newest one until no other writer was first, or a check finds a conflict.

Manifests are written first, the snapshot that names them last and atomically; what an attempt left behind is removed.
Source: metadata section 9.2, Java `FileStoreCommitImpl`.
"""

import time
from dataclasses import dataclass, field, replace
from itertools import groupby

from maintenance.commit.changes import Changes, Check, Plan, Prepare
from maintenance.commit.conflicts import Conflict
from maintenance.commit.iceberg.follow import follow
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.lock import LockTimeoutError
from maintenance.commit.manifest_merge import ManifestMergeOptions, merge_manifests
from maintenance.commit.publish_check import PublishCheck
from maintenance.commit.replays import last_committed, remember
from maintenance.commit.row_ids import with_row_ids
from maintenance.commit.row_ranges import torn_rows
from maintenance.commit.strict import StrictMode
from maintenance.commit.target import CommitTarget
from maintenance.commit.waits import Waits
from maintenance.errors import (
    BucketNumberError,
    CommitError,
    ConflictError,
    DataError,
    ExpiredError,
    ReplayedError,
    StorageError,
    WriteError,
    storage_fix,
)
from maintenance.format.avro.codec import codec_of
from maintenance.format.data_format import FileSettings
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.metadata.external_paths import root_of
from maintenance.metadata.manifests import ManifestWriter
from maintenance.options import table as table_options
from maintenance.options.callbacks import COMMIT_GROUP, call_back

_MAX_SEQUENCE_NUMBER = "sequence.generation.max-sequence-number"


def publish(
    target: CommitTarget,
    changes: Changes | Plan,
    identity: CommitIdentity,
    check: Check,
    prepare: Prepare = lambda changes, _latest: changes,
) -> tuple[Snapshot | None, Conflict | None, int]:
    """Try until published, in conflict, or out of retries.

    Args: `changes`: the same for every attempt, or planned again on the newest snapshot of each; `prepare`: makes of
        changes that have no conflict with a snapshot what is published next after it.
    Returns: snapshot or conflict, and the attempts made.
    Raises: CommitError: certainly nothing is published: out of retries, the catalog's lock cannot be had or was lost,
        or storage takes no more. InfrastructureError: a callback of `commit.callbacks` failed after the commit.
    """
    published = _published(target, changes, identity, check, prepare)
    if published[0] is not None:
        target.rules.published(published[0])
        call_back(COMMIT_GROUP, target.options, target.name, published[0])
    return published


def _published(
    target: CommitTarget, changes: Changes | Plan, identity: CommitIdentity, check: Check, prepare: Prepare
) -> tuple[Snapshot | None, Conflict | None, int]:
    waits, timed_out = Waits.of(target.options), None
    last_safe = table_options.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.of(target.options)
    strict = StrictMode(target.snapshots, target.manifests, last_safe, identity.user)
    evolves = table_options.DATA_EVOLUTION_ENABLED.of(target.options)
    replay = _Replay(target, identity)
    written = _Written(target, _manifest_writer(target))
    try:
        for attempt in waits.attempts():
            try:
                latest = target.snapshots.latest()
                planned = changes(latest) if callable(changes) else changes
                conflict = (
                    replay.found(planned.kind, latest)
                    or strict.found(planned.kind, planned.entries, latest)
                    or check(target, planned, latest)
                    or (torn_rows(target.manifests, planned.entries, latest) if evolves else None)
                )
                if conflict is not None:
                    written.discard()
                    return None, conflict, attempt
                target.rules.check(planned.kind, planned.entries, latest)
                planned = _numbered(target, prepare(planned, latest), latest)
                written.take(planned)
                # A lost race means others commit quickly: then only the first attempt spends time on merging manifests.
                snapshot = _snapshot(target, planned, identity, latest, written, merge=attempt == 1)
                if written.publish(snapshot, latest):
                    remember(target, snapshot)
                    forgets = planned.kept is not None
                    follow(target.name, target.file_io, target.paths, target.options, afresh=forgets)
                    return snapshot, None, attempt
            except ExpiredError:
                # The newest snapshot expired while it was read, so there is a newer one.
                written.retreat()
            except LockTimeoutError as error:
                written.retreat()
                timed_out = error
    except BaseException as error:
        written.discard_unless_published(error)
        if isinstance(error, OSError) and not written.unanswered:
            reason = f"{error.found}, {error.where}" if isinstance(error, StorageError) else str(error)
            where = f"table {target.name}"
            raise WriteError(f"the commit cannot be prepared: {reason}", where, storage_fix(error)) from error
        raise
    written.discard()
    if timed_out is not None:
        raise timed_out
    raise waits.gave_up(f"table {target.name}")


@dataclass(slots=True)
class _Replay:
    """Looks at each attempt whether another process has published the same commit: one that was taken for dead, or the
    one started in its place. `seen`: up to which snapshot it has looked."""

    target: CommitTarget
    identity: CommitIdentity
    seen: int = 0

    def found(self, kind: CommitKind, latest: Snapshot | None) -> Conflict | None:
        # A writer's compaction has the number of the rows that it follows.
        if kind == CommitKind.COMPACT or self.identity.identifier == BATCH_IDENTIFIER:
            return None
        last = last_committed(self.target, self.identity.user, after=self.seen, newest=latest)
        self.seen = 0 if latest is None else latest.id
        if last is None or last < self.identity.identifier:
            return None
        reason = f"commit {self.identity.identifier} of user '{self.identity.user}' is in the table already"
        return Conflict(reason, frozenset(), replayed=True)


@dataclass(slots=True)
class _Written:
    """What a commit has written of its metadata, and what must be safe before its snapshot is published.

    Attributes:
        changes: whose manifests are `delta` and `changelog`; they serve every attempt at the same changes.
        kept: how many of the files written are these; the further ones belong to one attempt.
        relies_on: paths of other new files that the snapshot names; `safe`: paths that are flushed already.
        unanswered: storage was asked to publish, and has not answered.
    """

    target: CommitTarget
    writer: ManifestWriter
    changes: Changes | None = None
    delta: list[ManifestFileMeta] = field(default_factory=list)
    changelog: list[ManifestFileMeta] = field(default_factory=list)
    kept: int = 0
    relies_on: list[str] = field(default_factory=list)
    safe: set[str] = field(default_factory=set)
    unanswered: bool = False

    def take(self, changes: Changes) -> None:
        """Write the manifests of changes, unless they are there already."""
        if changes is self.changes:
            return
        self.discard()
        entries = changes.entries
        if table_options.MANIFEST_DELETE_FILE_DROP_STATS.of(self.target.options):
            entries = tuple(map(_without_statistics, entries))
        self.delta = self.writer.write(entries, self.target.schema.id)
        self.changelog = self.writer.write(changes.changelog, self.target.schema.id)
        self.changes, self.kept = changes, len(self.writer.written)

    def publish(self, snapshot: Snapshot, previous: Snapshot | None) -> bool:
        """Publish a snapshot once all that it names is safe. False if it lost; what only it needed is deleted then."""
        self._flush()
        check = PublishCheck(self.target.file_io, self.target.paths, snapshot, previous, self._entries)
        with self.target.lock.held() as lock, self.target.record.stage(check) as ready:
            may_publish = check.may_publish()
            lock.check()
            self.unanswered = may_publish
            published = may_publish and ready.publish()
            self.unanswered = False
        if published:
            self.target.record.committed(self.target.paths, self._entries)
        else:
            self.retreat()
        return published

    @property
    def _entries(self) -> tuple[ManifestEntry, ...]:
        return () if self.changes is None else self.changes.entries

    def retreat(self) -> None:
        """Delete what only the last attempt needed."""
        self.target.file_io.discard(self.writer.written[self.kept :])
        del self.writer.written[self.kept :]

    def _flush(self) -> None:
        paths, changes = self.target.paths, self.changes
        entries = (*changes.entries, *changes.changelog) if changes is not None else ()
        added = (entry for entry in entries if entry.kind == FileKind.ADD)
        files = [path for e in added for path in paths.all_files_of(e.partition, e.bucket, e.file)]
        new = [path for path in (*files, *self.relies_on, *self.writer.written) if path not in self.safe]
        # The folder of an external root may be new, too.
        roots = () if paths.external is None else paths.external.roots
        for root, of_root in groupby(sorted(new), lambda path: root_of(path, roots)):
            self.target.file_io.flush(of_root, paths.root if root is None else root.rpartition("/")[0])
        self.safe.update(new)

    def discard(self) -> None:
        self.target.file_io.discard(self.writer.written)
        self.writer.written.clear()

    def discard_unless_published(self, error: BaseException) -> None:
        """Delete what was written, unless the snapshot may be there and need it. `error`: what ended the commit."""
        if not self.unanswered or isinstance(error, (CommitError, DataError)):
            self.discard()


def _snapshot(
    target: CommitTarget,
    changes: Changes,
    identity: CommitIdentity,
    latest: Snapshot | None,
    written: _Written,
    *,
    merge: bool,
) -> Snapshot:
    """The next snapshot; writes its manifest lists, and the manifests that merging makes."""
    delta, changelog, writer = written.delta, written.changelog, written.writer
    manifests = [] if latest is None else target.manifests.data_manifests(latest)
    manifests = manifests if changes.kept is None else changes.kept(manifests)
    if merge or changes.returning or changes.merging is not None:
        manifests = merge_manifests(
            manifests,
            changes.merging or ManifestMergeOptions.of(target.options, target.schema.partition_keys),
            target.manifests.read_manifest,
            writer,
            target.schema.id,
            returning=changes.returning,
        )
    base_name, base_size = writer.write_list(manifests)
    delta_name, delta_size = writer.write_list(delta)
    rows = sum(e.file.row_count * (1 if e.kind == FileKind.ADD else -1) for e in changes.entries)
    schema_id = target.latest_schema_id()
    snapshot = Snapshot(
        id=1 if latest is None else latest.id + 1,
        schema_id=schema_id,
        base_manifest_list=base_name,
        base_manifest_list_size=base_size,
        delta_manifest_list=delta_name,
        delta_manifest_list_size=delta_size,
        commit_user=identity.user,
        commit_identifier=identity.identifier,
        commit_kind=changes.kind,
        time_millis=time.time_ns() // 1_000_000,
        total_record_count=(latest.total_record_count or 0 if latest else 0) + rows,
        delta_record_count=rows,
        watermark=_watermark(latest, identity.watermark),
        properties={**target.properties, **identity.properties} or None,
    )
    if changes.next_row_id is not None:
        snapshot = replace(snapshot, next_row_id=changes.next_row_id)
    if changes.total is not None:
        snapshot = replace(snapshot, total_record_count=changes.total)
    if latest is not None:
        statistics = latest.statistics if latest.schema_id == schema_id else None
        next_row_id = latest.next_row_id if changes.next_row_id is None else changes.next_row_id
        snapshot = replace(
            snapshot, index_manifest=latest.index_manifest, statistics=statistics, next_row_id=next_row_id
        )
    if table_options.WRITE_SEQUENCE_NUMBER_INIT_MODE.of(target.options) == "snapshot":
        snapshot = replace(snapshot, properties=_with_max_sequence(target, snapshot, latest, changes))
    if changes.statistics is not None:
        snapshot = replace(snapshot, statistics=changes.statistics)
    if changes.index is not None:
        before = [] if latest is None else target.manifests.read_index(latest)
        after = changes.index(before)
        names_before = {entry.file_name for entry in before}
        written.relies_on = [target.paths.index_file(entry) for entry in after if entry.file_name not in names_before]
        if after != before:
            snapshot = replace(snapshot, index_manifest=writer.write_index(after) if after else None)
    if changelog:
        name, size = writer.write_list(changelog)
        count = sum(entry.file.row_count for entry in changes.changelog)
        snapshot = replace(
            snapshot, changelog_manifest_list=name, changelog_manifest_list_size=size, changelog_record_count=count
        )
    return snapshot


def _ordered_by_snapshot(changes: Changes, snapshot_id: int) -> Changes:
    """The changes with new files whose records are all as new as the snapshot. Source: `sequence.snapshot-ordering`.

    What compactions write has the numbers of its records in it, and files that come back keep theirs.
    """
    if changes.kind == CommitKind.COMPACT or changes.bring_back:
        return changes
    stamped = (
        replace(entry, file=replace(entry.file, min_sequence_number=snapshot_id, max_sequence_number=snapshot_id))
        if entry.kind == FileKind.ADD and entry.file.file_source == FileSource.APPEND
        else entry
        for entry in changes.entries
    )
    return replace(changes, entries=tuple(stamped))


def _numbered(target: CommitTarget, changes: Changes, latest: Snapshot | None) -> Changes:
    """The changes with what only the next snapshot's place says: sequence numbers or row ids, if the table has such."""
    snapshot_id = 1 if latest is None else latest.id + 1
    if table_options.SEQUENCE_SNAPSHOT_ORDERING.of(target.options):
        return _ordered_by_snapshot(changes, snapshot_id)
    if not table_options.ROW_TRACKING_ENABLED.of(target.options):
        return changes
    before = 0 if latest is None else latest.next_row_id or 0
    first = max(before, changes.next_row_id or 0)
    entries, following = with_row_ids(changes.entries, snapshot_id, first)
    return replace(changes, entries=tuple(entries), next_row_id=following)


def _without_statistics(entry: ManifestEntry) -> ManifestEntry:
    """A DELETE without what pruning needs: nothing reads the file. Source: option `manifest.delete-file-drop-stats`."""
    if entry.kind == FileKind.ADD:
        return entry
    return replace(entry, file=replace(entry.file, value_stats=EMPTY_STATS, value_stats_cols=()))


def _with_max_sequence(
    target: CommitTarget, snapshot: Snapshot, latest: Snapshot | None, changes: Changes
) -> dict[str, str] | None:
    """The properties, with the largest sequence number of all times, which writers of Paimon start from.

    Source: option `write.sequence-number-init-mode`, Java `SequenceSnapshotProperties`.
    """
    numbers = [entry.file.max_sequence_number for entry in changes.entries if entry.kind == FileKind.ADD]
    stored = None if latest is None else (latest.properties or {}).get(_MAX_SEQUENCE_NUMBER)
    if stored is not None:
        numbers.append(int(stored))
    elif latest is not None:
        numbers += [entry.file.max_sequence_number for entry in target.manifests.live_entries(latest)]
    properties = dict(snapshot.properties or {})
    if numbers:
        properties[_MAX_SEQUENCE_NUMBER] = str(max(numbers))
    return properties or None


def _watermark(latest: Snapshot | None, own: int | None) -> int | None:
    watermarks = [w for w in (latest.watermark if latest else None, own) if w is not None]
    return max(watermarks, default=None)


def _manifest_writer(target: CommitTarget) -> ManifestWriter:
    compression = table_options.MANIFEST_COMPRESSION.of(target.options)
    level = table_options.FILE_COMPRESSION_ZSTD_LEVEL.of(target.options)
    chosen = table_options.MANIFEST_FORMAT.of(target.options)
    other = None if chosen == "avro" else FileSettings(chosen, compression, level, options=target.options)
    return ManifestWriter(
        target.file_io,
        target.paths,
        [f.type for f in target.schema.partition_fields],
        codec_of(compression) if other is None else "null",
        level,
        table_options.MANIFEST_TARGET_FILE_SIZE.of(target.options),
        other,
    )


def conflict_error(target: CommitTarget, conflict: Conflict | None) -> ConflictError:
    reason = conflict.reason if conflict else "the state of the table has changed"
    if conflict and conflict.replayed:
        return ReplayedError(reason, f"table {target.name}", "Nothing to do: the table has these rows, once.")
    if conflict and conflict.fix:
        return BucketNumberError(reason, f"table {target.name}", conflict.fix)
    return ConflictError(reason, f"table {target.name}", "Open the table again and repeat the work.")
