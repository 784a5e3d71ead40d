"""What a commit writes of its metadata before its snapshot is published: stage → check → publish.

Manifests are written first, the snapshot that names them last and atomically; what an attempt left behind is removed.
Source: metadata section 9.2, Java `FileStoreCommitImpl`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from maintenance.commit.changes import Changes
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.manifest_merge import ManifestMergeOptions, merge_manifests
from maintenance.commit.next_snapshot import MAX_SEQUENCE_NUMBER, Staged, TableState, next_snapshot
from maintenance.commit.outcome import InDoubt, Overtaken, Published
from maintenance.commit.publish_check import PublishCheck
from maintenance.commit.target import CommitTarget
from maintenance.errors import CommitError, DataError
from maintenance.format.avro.codec import codec_of
from maintenance.format.data_format import FileSettings
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.external_paths import root_of
from maintenance.metadata.live_groups import live_groups
from maintenance.metadata.manifests import ManifestWriter
from maintenance.options import table as table_options


@dataclass(slots=True)
class Staging:
    """What a commit has written, and what must be safe before its snapshot is published.

    Attributes:
        changes: whose manifests are `delta` and `changelog`; they serve every attempt at the same files.
        kept: how many of the files written are these; the further ones belong to one attempt.
        relies_on: paths of other new files that the snapshot names; `safe`: paths that are flushed already.
        named: a snapshot that names the files may be there, so that none of them is deleted any more.
    """

    target: CommitTarget
    writer: ManifestWriter
    changes: Changes | None = None
    delta: Sequence[ManifestFileMeta] = ()
    changelog: Sequence[ManifestFileMeta] = ()
    kept: int = 0
    relies_on: Sequence[str] = ()
    safe: set[str] = field(default_factory=set)
    named: bool = False

    @classmethod
    def of(cls, target: CommitTarget) -> "Staging":
        return cls(target, manifest_writer(target))

    # Stage

    def stage(self, latest: Snapshot | None, changes: Changes, identity: CommitIdentity, *, merge: bool) -> Snapshot:
        """Write what the snapshot names that follows the newest one. Returns that snapshot, which is not published.

        Args: `changes`: as `next_snapshot.numbered` makes them; `merge`: whether there is time to merge manifests.
        """
        self._write_manifests(changes)
        base = self.writer.write_list(self._base(latest, changes, merge=merge))
        delta = self.writer.write_list(self.delta)
        now = time.time_ns() // 1_000_000
        state = TableState(latest, self.target.latest_schema_id(), now, self.target.properties)
        highest = self._max_sequence(latest, changes)
        index = self._index(latest, changes)
        changelog = self.writer.write_list(self.changelog) if self.changelog else None
        return next_snapshot(state, changes, identity, Staged(base, delta, changelog, index, highest))

    def _write_manifests(self, changes: Changes) -> None:
        """Write the manifests of changes, unless those of the same files are there already."""
        before = self.changes
        if before is not None and (before.entries, before.changelog) == (changes.entries, changes.changelog):
            self.changes = changes
            return
        self.discard()
        entries = changes.entries
        if table_options.MANIFEST_DELETE_FILE_DROP_STATS.of(self.target.options):
            entries = tuple(map(_without_statistics, entries))
        self.delta = self.writer.write(entries, self.target.schema.id)
        self.changelog = self.writer.write(changes.changelog, self.target.schema.id)
        self.changes, self.kept = changes, len(self.writer.written)

    def _base(self, latest: Snapshot | None, changes: Changes, *, merge: bool) -> Sequence[ManifestFileMeta]:
        """The manifests of the state before; writes those that merging makes."""
        target = self.target
        manifests = [] if latest is None else target.manifests.data_manifests(latest)
        manifests = manifests if changes.kept is None else changes.kept(manifests)
        if not merge and not changes.returning and changes.merging is None:
            return manifests
        return merge_manifests(
            manifests,
            changes.merging or ManifestMergeOptions.of(target.model, target.schema.partition_keys),
            target.manifests.columns_of_one,
            self.writer,
            target.schema.id,
            returning=changes.returning,
        )

    def _index(self, latest: Snapshot | None, changes: Changes) -> str | None:
        """The index manifest of the next snapshot; written if it is another one than before."""
        name = None if latest is None else latest.index_manifest
        if changes.index is None:
            return name
        before = [] if latest is None else self.target.manifests.read_index(latest)
        after = changes.index(before)
        names_before = {entry.file_name for entry in before}
        self.relies_on = [self.target.paths.index_file(e) for e in after if e.file_name not in names_before]
        if after == before:
            return name
        return self.writer.write_index(after) if after else None

    def _max_sequence(self, latest: Snapshot | None, changes: Changes) -> int | None:
        """The largest sequence number of all times, which writers of Paimon start from; None = nothing says it.

        Source: option `write.sequence-number-init-mode`, Java `SequenceSnapshotProperties`.
        """
        if table_options.WRITE_SEQUENCE_NUMBER_INIT_MODE.of(self.target.options) != "snapshot":
            return None
        numbers = [entry.file.max_sequence_number for entry in changes.entries if entry.kind == FileKind.ADD]
        stored = None if latest is None else (latest.properties or {}).get(MAX_SEQUENCE_NUMBER)
        if stored is not None:
            numbers.append(int(stored))
        elif latest is not None:
            numbers += [group.max_sequence_number for group in live_groups(self.target.manifests, latest)]
        return max(numbers, default=None)

    # Check and publish

    def publish(self, snapshot: Snapshot, previous: Snapshot | None, attempts: int) -> Published | Overtaken | InDoubt:
        """Publish a snapshot once all that it names is safe, if it follows the previous one at that moment.

        Raises: CommitError, DataError: certainly it is not published, and no attempt would succeed; other errors from
            before storage is asked.
        """
        self._flush()
        target = self.target
        check = PublishCheck(target.file_io, target.paths, snapshot, previous, self._entries)
        published = False
        try:
            with target.lock.held() as lock, target.record.stage(check) as ready:
                may_publish = check.may_publish()
                lock.check()
                if may_publish:
                    self.named = True
                    published = self.named = ready.publish()
        except BaseException as error:
            if isinstance(error, (CommitError, DataError)) and not published:
                self.named = False
            if not self.named:
                raise
            return InDoubt(error)
        if not published:
            return Overtaken()
        target.record.committed(target.paths, self._entries)
        return Published(snapshot, attempts)

    @property
    def _entries(self) -> tuple[ManifestEntry, ...]:
        return () if self.changes is None else self.changes.entries

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

    # Take back

    def retreat(self) -> None:
        """Delete what only the last attempt needed."""
        self._delete(self.kept)

    def discard(self) -> None:
        """Delete everything."""
        self._delete(0)
        self.changes, self.kept = None, 0

    def _delete(self, first: int) -> None:
        if not self.named:
            self.target.file_io.discard(self.writer.written[first:])
            del self.writer.written[first:]


def _without_statistics(entry: ManifestEntry) -> ManifestEntry:
    """A DELETE without what pruning needs: nothing reads the file. Source: option `manifest.delete-file-drop-stats`."""
    if entry.kind == FileKind.ADD:
        return entry
    return replace(entry, file=replace(entry.file, value_stats=EMPTY_STATS, value_stats_cols=()))


def manifest_writer(target: CommitTarget) -> ManifestWriter:
    """What writes the manifests of one commit, as the table's options say."""
    compression = target.model.manifest_compression
    level = target.model.file_compression_zstd_level
    chosen = table_options.MANIFEST_FORMAT.of(target.options)
    other = None if chosen == "avro" else FileSettings(chosen, compression, level, options=target.model)
    return ManifestWriter(
        target.file_io,
        target.paths,
        [f.type for f in target.schema.partition_fields],
        codec_of(compression) if other is None else "null",
        level,
        target.model.manifest_target_file_size,
        other,
    )
