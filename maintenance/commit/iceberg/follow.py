"""Iceberg metadata of the newest snapshot: made of the version before, or afresh where that is of no use.

It is written after a snapshot is published. Where that was cut short, or where snapshots were rolled back, the next
commit finds no version of the snapshot before and makes the metadata afresh, with the same table id. Whoever comes
second to the same version leaves it alone. Source: Java `IcebergCommitCallback`.
"""

import logging
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from maintenance.commit.iceberg.published import Published, shows_vectors
from maintenance.errors import ExpiredError, PaimonError
from maintenance.format.iceberg.manifest import ROW_IDS_SINCE, IcebergEntry, Status, with_row_ids
from maintenance.format.iceberg.manifest_list import IcebergManifest, manifest_of, may_hold, serialize_list
from maintenance.format.iceberg.table_metadata import (
    COMMIT_IDENTITY,
    IcebergSnapshot,
    TableMetadata,
    serialize_metadata,
)
from maintenance.format.iceberg.types import FIRST_PARTITION_ID, highest_field_id, iceberg_schema, partition_spec
from maintenance.format.metadata.manifest import EntrySelection, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.iceberg import IcebergFolder, iceberg_folder
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags
from maintenance.options import iceberg as iceberg_options
from maintenance.options.model import TableModel

_LOG = logging.getLogger(__name__)
_ATTEMPTS = 3


def follow(name: str, file_io: FileIO, paths: TablePaths, options: TableModel, *, afresh: bool = False) -> None:
    """Write the Iceberg metadata of a table's newest snapshot, if the table has any and it is not there.

    Never fails: the rows are committed, and the next commit writes what is missing.

    Args: `name`: of the table; `afresh`: the snapshot's changes do not say all that it changed.
    """
    if not options.is_published_to_iceberg or paths.branch != MAIN_BRANCH:
        return
    behind: Exception | None = None
    for _ in range(_ATTEMPTS):
        try:
            _Follower.of(file_io, paths, options).run(afresh=afresh)
        except ExpiredError as error:
            behind = error
        except Exception as error:  # noqa: BLE001 - a commit that raised it would be taken for failed, and repeated
            behind = error
            break
        else:
            return
    _LOG.warning("the Iceberg metadata of %s is behind until the next commit: %s", name, behind)


@dataclass(slots=True)
class _Follower:
    """One attempt. `written`: files of its own; `uuid`: in their names."""

    snapshots: Snapshots
    manifests: Manifests
    published: Published
    folder: IcebergFolder
    options: TableModel
    tags: Mapping[str, int]
    written: list[str] = field(default_factory=list)
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @classmethod
    def of(cls, file_io: FileIO, paths: TablePaths, options: TableModel) -> "_Follower":
        schemas = Schemas(file_io, paths.schema_folder())
        newest = schemas.get(schemas.list_ids()[-1])
        return cls(
            Snapshots(file_io, paths),
            Manifests(file_io, paths),
            Published(paths, schemas, newest, options),
            IcebergFolder(file_io, iceberg_folder(paths.root, options)),
            options,
            {name: tag.snapshot.id for name, tag in Tags(file_io, paths).all().items()},
        )

    @property
    def file_io(self) -> FileIO:
        return self.folder.file_io

    @property
    def version(self) -> int:
        return self.options.iceberg_format_version

    def run(self, *, afresh: bool) -> None:
        latest = self.snapshots.latest()
        if latest is None:
            return
        versions = self.folder.versions()
        own = self.folder.find(latest.id) if latest.id in versions else None
        if own is not None and not afresh and _is_of(own, latest):
            self._freshen(own, latest)
        else:
            base = self._base(latest) if not afresh and latest.id - 1 in versions else None
            newest = own or base or next((m for v in reversed(versions) if (m := self.folder.find(v))), None)
            try:
                made = self._extended(base, latest) if base is not None else self._afresh(newest, latest)
                if not self._publish(made, latest, replacing=latest.id in versions):
                    self.file_io.discard(self.written)
                    return
            except BaseException:
                self.file_io.discard(self.written)
                raise
            self._tidy(made, [m for v in versions if (m := self.folder.find(v)) and v != latest.id] + [own or made])
        # What a rollback has left above would be taken for newer.
        self.file_io.discard(self.folder.path(v) for v in self.folder.versions() if v > latest.id)

    def _base(self, latest: Snapshot) -> TableMetadata | None:
        """The version before, if it can be continued."""
        base, previous = self.folder.find(latest.id - 1), self.snapshots.find(latest.id - 1)
        if base is None or base.format_version != self.version or not _is_of(base, previous):
            return None
        if base.location != self.manifests.paths.root:
            # The table was renamed: all paths in the files are those of its old folder.
            return None
        if self.version >= ROW_IDS_SINCE and base.next_row_id is None:
            return None
        known = {form["schema-id"]: form for form in base.schemas}
        return base if all(known[s["schema-id"]] == s for s in self._schemas() if s["schema-id"] in known) else None

    def _schemas(self) -> list[dict[str, object]]:
        ids = [i for i in self.published.schemas.list_ids() if i <= self.published.schema.id]
        return [iceberg_schema(self.published.schema_of(i), self.version) for i in ids]

    def _freshen(self, own: TableMetadata, latest: Snapshot) -> None:
        """Metadata that is there already: tags and expired snapshots may have changed since."""
        kept = self._kept(own.snapshots, latest)
        refs = self._refs(kept)
        if list(kept) != list(own.snapshots) or refs != own.refs:
            made = replace(own, snapshots=kept, refs=refs)
            self.file_io.overwrite(self.folder.path(latest.id), serialize_metadata(made))
            self._tidy(made, [own])
        if self.folder.hint() != latest.id:
            self.folder.write_hint(latest.id)

    # Manifests

    def _afresh(self, before: TableMetadata | None, latest: Snapshot) -> TableMetadata:
        """Metadata of the newest snapshot alone. `before`: any version there was, whose ids are not given again."""
        selection = EntrySelection(level=self.published.is_shown)
        live = self.manifests.live_entries(latest, selection)
        added, _ = self.published.changed(live)
        manifests = [*self._write(self._entries(added, latest)), *self._vectors(latest)]
        floor = 0 if before is None else before.next_row_id or 0
        parent = latest.id - 1 if latest.id > 1 else None
        totals = (len(added), _rows(added), _bytes(added))
        snapshot, following = self._snapshot(latest, manifests, "append", parent, floor, (added, {}), totals)
        schemas = self._schemas()
        spec = partition_spec(self.published.schema)
        return TableMetadata(
            self.version,
            str(uuid.uuid4()) if before is None else before.table_uuid,
            self.manifests.paths.root,
            _now(),
            max([*map(highest_field_id, schemas), 0 if before is None else before.last_column_id]),
            schemas,
            self.published.schema.id,
            [spec],
            FIRST_PARTITION_ID - 1 + len(spec["fields"]),
            [snapshot],
            latest.id,
            following,
            self._refs([snapshot]),
        )

    def _extended(self, base: TableMetadata, latest: Snapshot) -> TableMetadata:
        """The metadata of the snapshot before, and what the newest one has changed."""
        added, removed = self.published.changed(self.manifests.delta_entries(latest))
        before = self.folder.read_list(base.current.manifest_list)
        kept = [manifest for manifest in before if manifest.is_data]
        operation = "append"
        if removed or any(entry.file.level for entry in added.values()):
            kept, rewritten = self._without(kept, added, removed, latest)
            if rewritten:
                operation = "replace" if latest.commit_kind == CommitKind.COMPACT else "overwrite"
        data = self._compacted([*kept, *self._write(self._entries(added, latest))], latest.id)
        previous = self.snapshots.find(latest.id - 1)
        if previous is not None and previous.index_manifest == latest.index_manifest:
            vectors = [manifest for manifest in before if not manifest.is_data]
        else:
            vectors = self._vectors(latest)
        old = base.current.summary
        totals = tuple(
            int(old.get(key, fallback)) + plus - minus
            for key, fallback, plus, minus in (
                ("total-data-files", sum(m.live_files for m in before if m.is_data), len(added), len(removed)),
                ("total-records", sum(m.live_rows for m in before if m.is_data), _rows(added), _rows(removed)),
                ("total-files-size", 0, _bytes(added), _bytes(removed)),
            )
        )
        snapshot, following = self._snapshot(
            latest, [*data, *vectors], operation, latest.id - 1, base.next_row_id or 0, (added, removed), totals
        )
        known = {form["schema-id"] for form in base.schemas}
        schemas = [*base.schemas, *(form for form in self._schemas() if form["schema-id"] not in known)]
        snapshots = self._kept([*base.snapshots, snapshot], latest)
        return replace(
            base,
            last_updated_millis=_now(),
            last_column_id=max([base.last_column_id, *map(highest_field_id, schemas)]),
            schemas=schemas,
            current_schema_id=self.published.schema.id,
            snapshots=snapshots,
            current_snapshot_id=latest.id,
            next_row_id=following,
            refs=self._refs(snapshots),
        )

    def _without(
        self,
        manifests: Sequence[IcebergManifest],
        added: dict[str, ManifestEntry],
        removed: dict[str, ManifestEntry],
        latest: Snapshot,
    ) -> tuple[list[IcebergManifest], bool]:
        """Manifests without the files removed, and whether any was written again.

        Files that the manifests have already leave `added`, those that none has leave `removed`.
        """
        touched = {self.published.partition(entry.partition) for entry in (*added.values(), *removed.values())}
        types = [part.type for part in self.published.schema.partition_fields]
        kept: list[IcebergManifest] = []
        partitions: set[str] = set()
        for manifest in manifests:
            if not may_hold(manifest, touched, types):
                kept.append(manifest)
                continue
            entries = self.folder.read_manifest(manifest)
            live = {entry.file.path for entry in entries if entry.is_live}
            for path in live & added.keys():
                del added[path]
            leaving = live & removed.keys()
            partitions |= leaving
            if not leaving:
                kept.append(manifest)
                continue
            numbered = with_row_ids(entries, manifest.first_row_id)
            rewritten = [_carried(e, e.file.path in leaving, latest.id) for e in numbered if e.is_live]
            kept += self._write(rewritten, latest.id)
        for path in removed.keys() - partitions:
            del removed[path]
        return kept, bool(partitions)

    def _compacted(self, manifests: Sequence[IcebergManifest], snapshot_id: int) -> list[IcebergManifest]:
        """Manifests, the small ones joined once there are many."""
        target = self.options.manifest_target_file_size
        small = [manifest for manifest in manifests if manifest.length < target * 2 // 3]
        few = iceberg_options.COMPACTION_MIN_FILE_NUM.of(self.options)
        many = iceberg_options.COMPACTION_MAX_FILE_NUM.of(self.options)
        if len(small) < max(few, 2) or (len(small) < many and sum(m.length for m in small) < target):
            return list(manifests)
        joined: list[IcebergEntry] = []
        for manifest in small:
            for entry in with_row_ids(self.folder.read_manifest(manifest), manifest.first_row_id):
                if entry.snapshot_id == snapshot_id:
                    joined.append(entry)
                elif entry.is_live:
                    joined.append(replace(entry, status=Status.EXISTING))
            if self.folder.place(manifest.path) in self.written:
                self.file_io.discard([self.folder.place(manifest.path)])
                self.written.remove(self.folder.place(manifest.path))
        return [*(m for m in manifests if m not in small), *self._write(joined, snapshot_id)]

    def _entries(self, files: Mapping[str, ManifestEntry], latest: Snapshot) -> list[IcebergEntry]:
        return [self.published.data_entry(path, entry, latest.id) for path, entry in files.items()]

    def _vectors(self, latest: Snapshot) -> list[IcebergManifest]:
        if not shows_vectors(self.options):
            return []
        return self._write(list(self.published.vector_entries(self.manifests.read_index(latest), latest.id)), latest.id)

    def _write(self, entries: Sequence[IcebergEntry], snapshot_id: int | None = None) -> list[IcebergManifest]:
        """Write entries as manifests, each at most twice as large as a manifest should be; none for no entries."""
        if not entries:
            return []
        snapshot_id = entries[0].snapshot_id if snapshot_id is None else snapshot_id
        layout = self.published.layout
        data = layout.serialize(entries, entries[0].file.content)
        if len(data) > 2 * self.options.manifest_target_file_size and len(entries) > 1:
            half = len(entries) // 2
            return [*self._write(entries[:half], snapshot_id), *self._write(entries[half:], snapshot_id)]
        path = f"{self.folder.folder}/{self.uuid}-m{len(self.written) + 1}.avro"
        self._store(path, data)
        return [manifest_of(path, len(data), entries, snapshot_id, layout.partition_fields)]

    def _store(self, path: str, data: bytes) -> None:
        self.written.append(path)
        self.file_io.write_bytes(path, data)

    # Snapshots

    def _snapshot(
        self,
        latest: Snapshot,
        manifests: Sequence[IcebergManifest],
        operation: str,
        parent: int | None,
        first_row_id: int,
        changes: tuple[Mapping[str, ManifestEntry], Mapping[str, ManifestEntry]],
        totals: Sequence[int],
    ) -> tuple[IcebergSnapshot, int | None]:
        """The snapshot, whose list is written, and the row id that is free then."""
        numbered, following = list(manifests), first_row_id
        rows = self.version >= ROW_IDS_SINCE
        for i, manifest in enumerate(numbered if rows else ()):
            if manifest.is_data and manifest.first_row_id is None:
                numbered[i] = replace(manifest, first_row_id=following)
                following += manifest.live_rows
        path = f"{self.folder.folder}/snap-1-{self.uuid}.avro"
        legacy = iceberg_options.MANIFEST_LEGACY_VERSION.of(self.options)
        layout = self.published.layout
        self._store(path, serialize_list(numbered, version=self.version, legacy=legacy, codec=layout.codec))
        added, removed = changes
        vectors = [manifest for manifest in manifests if not manifest.is_data]
        figures = {
            "added-data-files": len(added),
            "added-records": _rows(added),
            "added-files-size": _bytes(added),
            "deleted-data-files": len(removed),
            "deleted-records": _rows(removed),
            "removed-files-size": _bytes(removed),
            "changed-partition-count": len({e.partition for e in (*added.values(), *removed.values())}),
            "total-data-files": totals[0],
            "total-records": totals[1],
            "total-files-size": totals[2],
            "total-delete-files": sum(manifest.live_files for manifest in vectors),
            "total-position-deletes": sum(manifest.live_rows for manifest in vectors),
            "total-equality-deletes": 0,
        }
        summary = {
            "operation": operation,
            **{key: str(max(0, figure)) for key, figure in figures.items()},
            **{key: text for key, text in (latest.properties or {}).items() if key != "operation"},
            COMMIT_IDENTITY: _identity(latest),
        }
        own = (first_row_id, following - first_row_id) if rows else (None, None)
        snapshot = IcebergSnapshot(latest.id, parent, latest.time_millis, summary, path, latest.schema_id, *own)
        return snapshot, following if rows else None

    def _kept(self, snapshots: Sequence[IcebergSnapshot], latest: Snapshot) -> list[IcebergSnapshot]:
        """The snapshots that stay: as long as Paimon's do by their options, and those of tags."""
        fewest = self.options.snapshot_num_retained_min
        most = self.options.snapshot_num_retained_max
        since = _now() - self.options.snapshot_time_retained.total_seconds() * 1000
        earliest = self.snapshots.earliest_id() or latest.id
        tagged = set(self.tags.values())

        def stays(snapshot: IcebergSnapshot) -> bool:
            if snapshot.id == latest.id or snapshot.id in tagged:
                return True
            if snapshot.id < earliest or snapshot.id <= latest.id - most:
                return False
            return snapshot.id > latest.id - fewest or snapshot.timestamp_millis >= since

        return [snapshot for snapshot in snapshots if stays(snapshot)]

    def _refs(self, snapshots: Iterable[IcebergSnapshot]) -> dict[str, int]:
        ids = {snapshot.id for snapshot in snapshots}
        return {name: snapshot_id for name, snapshot_id in self.tags.items() if snapshot_id in ids}

    def _publish(self, made: TableMetadata, latest: Snapshot, *, replacing: bool) -> bool:
        """Make a version visible. False if another writer was first."""
        data, path = serialize_metadata(made), self.folder.path(latest.id)
        self.file_io.flush(self.written, self.folder.folder)
        if replacing:
            self.file_io.overwrite(path, data)
        elif not self.file_io.publish(path, data):
            return False
        if self.snapshots.latest_id() == latest.id:
            self.folder.write_hint(latest.id)
        return True

    def _tidy(self, made: TableMetadata, others: Sequence[TableMetadata]) -> None:
        """Delete old versions, and what only snapshots that `others` had need."""
        if iceberg_options.DELETE_AFTER_COMMIT.of(self.options):
            first = made.current_snapshot_id - iceberg_options.PREVIOUS_VERSIONS_MAX.of(self.options)
            self.file_io.discard(self.folder.path(v) for v in self.folder.versions() if v < first)
        lists = {snapshot.manifest_list for snapshot in made.snapshots}
        old = {s.manifest_list: s.id for other in others for s in other.snapshots if s.manifest_list not in lists}
        for path, snapshot_id in old.items():
            # A manifest is in the lists of snapshots without a gap, so those on both sides tell.
            older = [s for s in made.snapshots if s.id < snapshot_id][-1:]
            newer = [s for s in made.snapshots if s.id >= snapshot_id][:1]
            try:
                used = {m.path for s in (*older, *newer) for m in self.folder.read_list(s.manifest_list)}
                gone = [m.path for m in self.folder.read_list(path) if m.path not in used]
            except (PaimonError, FileNotFoundError):
                continue
            self.file_io.discard([*map(self.folder.place, gone), self.folder.place(path)])


def _carried(entry: IcebergEntry, removed: bool, snapshot_id: int) -> IcebergEntry:
    """A live entry as a manifest that is written again has it."""
    if removed:
        return replace(entry, status=Status.DELETED, snapshot_id=snapshot_id)
    return replace(entry, status=Status.EXISTING)


def _is_of(metadata: TableMetadata, snapshot: Snapshot | None) -> bool:
    """Whether metadata was made of that snapshot; older writers do not say of which."""
    said = metadata.current.summary.get(COMMIT_IDENTITY)
    return snapshot is None or said is None or said == _identity(snapshot)


def _identity(snapshot: Snapshot) -> str:
    return snapshot.uuid or f"{snapshot.commit_user}:{snapshot.commit_identifier}:{snapshot.time_millis}"


def _rows(files: Mapping[str, ManifestEntry]) -> int:
    return sum(entry.file.row_count for entry in files.values())


def _bytes(files: Mapping[str, ManifestEntry]) -> int:
    return sum(entry.file.file_size for entry in files.values())


def _now() -> int:
    return time.time_ns() // 1_000_000
