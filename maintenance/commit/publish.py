"""One snapshot is published: tried on the newest one until nobody else was first, or a check finds a conflict.

Manifests are written first, the snapshot that names them last and atomically; what an attempt left behind is removed.
Source: metadata section 9.2, Java `FileStoreCommitImpl`.
"""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from maintenance.commit.conflicts import Conflict
from maintenance.commit.manifest_merge import ManifestMergeOptions, merge_manifests
from maintenance.commit.waits import Waits
from maintenance.errors import BucketNumberError, ConflictError
from maintenance.format.avro_codec import codec_of
from maintenance.format.data_format import FileSettings
from maintenance.format.index_manifest import IndexManifestEntry
from maintenance.format.manifest import FileKind, ManifestEntry
from maintenance.format.manifest_list import ManifestFileMeta
from maintenance.format.schema import TableSchema
from maintenance.format.snapshot import CommitKind, Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.manifests import Manifests, ManifestWriter
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.options import table as table_options

BATCH_IDENTIFIER = 2**63 - 1
# The property of a snapshot that says which of this project's operations made it; its users change with every run.
OPERATION_PROPERTY = "paimon-maintenance.operation"
# The operation whose COMPACT snapshots merge nothing.
REWRITE_FILE_INDEX = "rewrite_file_index"
# The property that says which run, for example of Dagster, committed a snapshot: from there its log can be found.
RUN_PROPERTY = "paimon-maintenance.run"


@dataclass(frozen=True, slots=True)
class CommitTarget:
    """The table that is committed to. `properties`: of every snapshot committed, on top of those of the identity."""

    name: str
    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    options: Mapping[str, str]
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.file_io, self.paths)

    @property
    def manifests(self) -> Manifests:
        return Manifests(self.file_io, self.paths)

    def latest_schema_id(self) -> int:
        ids = Schemas(self.file_io, self.paths.schema_folder()).list_ids()
        return ids[-1] if ids else self.schema.id


@dataclass(frozen=True, slots=True)
class CommitIdentity:
    """Who commits, and which of its commits it is. `identifier`: `BATCH_IDENTIFIER` for one that is never replayed."""

    user: str
    identifier: int = BATCH_IDENTIFIER
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """What a snapshot changes.

    Attributes:
        entries: of the delta; `changelog`: of the changelog manifests.
        index: makes the next index state of the one before; None = it stays.
    """

    kind: CommitKind
    entries: tuple[ManifestEntry, ...]
    changelog: tuple[ManifestEntry, ...] = ()
    index: Callable[[Sequence[IndexManifestEntry]], list[IndexManifestEntry]] | None = None

    @property
    def returning(self) -> frozenset[Hashable]:
        """Identities that may have been there before: of files that only get another index. Levels never come back."""
        left = {(e.file.file_name, e.file.level) for e in self.entries if e.kind == FileKind.DELETE}
        added = (e for e in self.entries if e.kind == FileKind.ADD)
        return frozenset(e.identity for e in added if (e.file.file_name, e.file.level) in left)


Check = Callable[[CommitTarget, Changes, Snapshot | None], Conflict | None]
Plan = Callable[[Snapshot | None], Changes]


def publish(
    target: CommitTarget, changes: Changes | Plan, identity: CommitIdentity, check: Check
) -> tuple[Snapshot | None, Conflict | None, int]:
    """Try until published, in conflict, or out of retries.

    Args: `changes`: the same for every attempt, or planned anew on the newest snapshot of each.
    Returns: snapshot or conflict, and the attempts made.
    """
    waits = Waits.of(target.options)
    fixed = None if callable(changes) else _Written.of(target, changes)
    for attempt in waits.attempts():
        latest = target.snapshots.latest()
        planned = changes(latest) if callable(changes) else changes
        conflict = check(target, planned, latest)
        if conflict is not None:
            target.file_io.delete_quietly(fixed.paths if fixed else ())
            return None, conflict, attempt
        written = fixed or _Written.of(target, planned)
        written.writer.written.clear()
        # A lost race means others commit quickly: then only the first attempt spends time on merging manifests.
        snapshot = _snapshot(target, planned, identity, latest, written, merge=attempt == 1)
        if target.snapshots.publish(snapshot):
            return snapshot, None, attempt
        target.file_io.delete_quietly(written.writer.written)
        target.file_io.delete_quietly(() if fixed else written.paths)
    target.file_io.delete_quietly(fixed.paths if fixed else ())
    raise waits.gave_up(f"table {target.name}")


@dataclass(frozen=True, slots=True)
class _Written:
    """Manifests of changes. `paths`: of these; what `writer` writes later belongs to one attempt."""

    delta: list[ManifestFileMeta]
    changelog: list[ManifestFileMeta]
    writer: ManifestWriter
    paths: tuple[str, ...]

    @classmethod
    def of(cls, target: CommitTarget, changes: Changes) -> "_Written":
        writer = _manifest_writer(target)
        delta = writer.write(changes.entries, target.schema.id)
        changelog = writer.write(changes.changelog, target.schema.id)
        return cls(delta, changelog, writer, tuple(writer.written))


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
    if merge or changes.returning:
        manifests = merge_manifests(
            manifests,
            ManifestMergeOptions.of(target.options),
            lambda m: target.manifests.read(m.file_name),
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
    if latest is not None:
        statistics = latest.statistics if latest.schema_id == schema_id else None
        snapshot = replace(
            snapshot, index_manifest=latest.index_manifest, statistics=statistics, next_row_id=latest.next_row_id
        )
    if changes.index is not None:
        before = [] if latest is None else target.manifests.read_index(latest)
        after = changes.index(before)
        if after != before:
            snapshot = replace(snapshot, index_manifest=writer.write_index(after) if after else None)
    if changelog:
        name, size = writer.write_list(changelog)
        count = sum(entry.file.row_count for entry in changes.changelog)
        snapshot = replace(
            snapshot, changelog_manifest_list=name, changelog_manifest_list_size=size, changelog_record_count=count
        )
    return snapshot


def _watermark(latest: Snapshot | None, given: int | None) -> int | None:
    known = [w for w in (latest.watermark if latest else None, given) if w is not None]
    return max(known, default=None)


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
    reason = conflict.reason if conflict else "the state of the table has moved"
    if conflict and conflict.fix:
        return BucketNumberError(reason, f"table {target.name}", conflict.fix)
    return ConflictError(reason, f"table {target.name}", "Open the table again and repeat the work.")
