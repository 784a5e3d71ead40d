"""Copy a table's newest state, or that of a snapshot or tag, to another warehouse: procedure `clone`.

Schemas are copied as they are, so that older files can be read, but for `data-file.external-paths`: all files of the
copy are in its own folder, and none can come to lie beside those of the source. Then the data and index files that the
target has not are copied; at last one OVERWRITE snapshot of the target turns its state into the source's. Every file is
read back and compared by its digest before that. Called again it copies what is new and takes out what is gone; called
after a crash it copies what is missing. History, tags, branches, consumers and changelogs stay behind. Java's `clone`
writes all rows again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.publish import Changes, CommitTarget, conflict_error, publish
from maintenance.errors import (
    ConflictError,
    ExpiredError,
    MissingFileError,
    NotFoundError,
    OptionError,
    UnsupportedError,
)
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import parse_schema, serialize_schema
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.metastore.identifier import Identifier
from maintenance.operations.databases.copying import CopiedFile, FileCopy, copy_files, digest_of
from maintenance.operations.progress import Counted
from maintenance.operations.refs.create_tag import snapshot_to_tag
from maintenance.options import table as table_options
from maintenance.options.global_index import GLOBAL_INDEX_EXTERNAL_PATH
from maintenance.options.own import EXTERNAL_PATHS_EXCLUSIVE
from maintenance.table.table import Table, new_commit_user

CLONED_FROM, CLONED_SNAPSHOT = "paimon-maintenance.cloned-from", "paimon-maintenance.cloned-snapshot"
_ATTEMPTS = 3
_MANY = 100


@dataclass(frozen=True, slots=True)
class CloneReport:
    """What a clone did, or would do.

    Attributes:
        source_snapshot: whose state the target has; None: the source has no snapshot.
        snapshot_id: of the target, None if its state was that already, or of a dry run.
        files, bytes: of the whole state, data and index files.
        new_files, new_bytes: that the target did not name before.
        copied_files, copied_bytes: of these, what was not there from an interrupted clone.
        leaving_files: that the state of the target had and the source has not any more.
        digest: SHA-256 of the names, sizes and digests of the new files; empty if there are none.
        rows: records of the state.
    """

    table: str
    target: str
    source_snapshot: int | None
    snapshot_id: int | None
    files: int = 0
    bytes: int = 0
    new_files: int = 0
    new_bytes: int = 0
    copied_files: int = 0
    copied_bytes: int = 0
    leaving_files: int = 0
    digest: str = ""
    rows: int = 0
    dry_run: bool = False
    seconds: float = 0.0


def clone(
    table: Table,
    catalog: Catalog,
    identifier: str,
    *,
    snapshot_id: int | None = None,
    tag: str | None = None,
    parallelism: int = 8,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
) -> CloneReport:
    """Copy a table or branch into a warehouse, or bring an earlier copy up to date.

    Args:
        catalog: of the target: a filesystem catalog; for a JDBC or Hive catalog on the same warehouse run its repair.
        identifier: of the target, made if it does not exist, with its database.
        snapshot_id, tag: the state to copy; neither = the newest.
        parallelism: files at a time.
        dry_run: only say what would be copied.
        progress: called with a line now and then.
    Raises: OptionError: both a snapshot and a tag, or the target is the source; NotFoundError: no such snapshot or tag;
        ConflictError: the target has commits of others, other schemas, or is changed meanwhile; CorruptFileError: a
        file is missing or damaged, or did not arrive as it was; UnsupportedError.
    """
    if snapshot_id is not None and tag is not None:
        raise OptionError("a snapshot and a tag are named", table.identifier, "Name one of them, or neither.")
    if not isinstance(catalog, FilesystemCatalog):
        raise UnsupportedError(
            "a table can be cloned into a filesystem catalog only",
            catalog.warehouse,
            "Clone into its warehouse with 'metastore' = 'filesystem', then let the catalog know: CALL sys.repair.",
        )
    table_options.check_writable(table.options, table.identifier)
    location = catalog.location(Identifier.parse(identifier))
    if location.rstrip("/") == table.location.rstrip("/"):
        raise OptionError("the target is the source", table.identifier, "Name another table or warehouse.")
    work = _Clone(table, catalog, identifier, parallelism, progress or (lambda _: None))
    started = time.monotonic()

    def attempt() -> CloneReport:
        state = table.latest_snapshot() if tag is None else table.tags.get(tag).snapshot
        state = state if snapshot_id is None else snapshot_to_tag(table, snapshot_id)
        return work.run(state, dry_run=dry_run)

    report = again_if_expired(attempt, _ATTEMPTS)
    return replace(report, seconds=time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _State:
    """The live files and index files of a snapshot."""

    entries: Sequence[ManifestEntry] = ()
    index: Sequence[IndexManifestEntry] = ()

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot | None) -> "_State":
        if snapshot is None:
            return cls()
        return cls(table.manifests.live_entries(snapshot), table.manifests.read_index(snapshot))

    @property
    def in_folder(self) -> "_State":
        """The same with all files in the folders of their buckets."""
        entries = [replace(entry, file=replace(entry.file, external_path=None)) for entry in self.entries]
        return _State(entries, [replace(entry, external_path=None) for entry in self.index])

    @property
    def names(self) -> set[str]:
        """Of all its files."""
        data = {name for e in self.entries for name in (e.file.file_name, *e.file.extra_files)}
        return data | {entry.file_name for entry in self.index}


@dataclass(frozen=True, slots=True)
class _Clone:
    """One clone. Attributes: as of `clone`."""

    table: Table
    catalog: FilesystemCatalog
    identifier: str
    parallelism: int
    progress: Callable[[str], None]

    def run(self, snapshot: Snapshot | None, *, dry_run: bool) -> CloneReport:
        target = self._target(dry_run=dry_run)
        newest = None if target is None else target.latest_snapshot()
        self._check_own(newest)
        there = _State() if target is None else _State.of(target, newest)
        state = _State.of(self.table, snapshot)
        missing = list(self._missing(state, there.names, target))
        report = self._report(snapshot, state, missing, _changes(state.in_folder, there), dry_run=dry_run)
        if dry_run or target is None or snapshot is None:
            return report
        copied = self._copy(missing, target, snapshot)
        number = self._commit(target, snapshot, state.in_folder)
        return replace(
            report,
            snapshot_id=number,
            copied_files=sum(file.copied for file in copied),
            copied_bytes=sum(file.bytes for file in copied if file.copied),
            new_bytes=sum(file.bytes for file in copied),
            digest=digest_of(copied) if copied else "",
        )

    def _target(self, *, dry_run: bool) -> Table | None:
        """The target with all schemas of the source; None if a dry run finds none."""
        name = Identifier.parse(self.identifier)
        if not dry_run:
            self.catalog.create_database(name.database, ignore_if_exists=True)
            self._copy_schemas(f"{self.catalog.location(name)}/schema")
        try:
            target = self.catalog.get_table(self.identifier)
        except NotFoundError:
            if dry_run:
                return None
            raise
        assert isinstance(target, Table)
        return target

    def _copy_schemas(self, folder: str) -> None:
        file_io, paths = self.catalog.file_io, self.table.paths
        for number in self.table.schemas.list_ids():
            data, path = self._copied_schema(paths.schema(number)), f"{folder}/schema-{number}"
            if not file_io.publish(path, data) and file_io.read_settled(path) != data:
                raise ConflictError(
                    f"the target has another schema {number} than the source",
                    path,
                    "Clone into a table that nothing else changes, or into a new one.",
                )

    def _copied_schema(self, path: str) -> bytes:
        data = self.table.file_io.read_settled(path)
        schema = parse_schema(data, path)
        options = {key: value for key, value in schema.options.items() if key not in _EXTERNAL}
        return data if len(options) == len(schema.options) else serialize_schema(replace(schema, options=options))

    def _check_own(self, newest: Snapshot | None) -> None:
        """Raises: ConflictError: the newest snapshot of the target is not one of this clone."""
        if newest is not None and not self._is_own(newest):
            raise ConflictError(
                f"snapshot {newest.id} of the target was committed by '{newest.commit_user}', and not by this clone",
                self.identifier,
                "Clone into a table that nothing else changes, or into a new one.",
            )

    def _is_own(self, snapshot: Snapshot) -> bool:
        return (snapshot.properties or {}).get(CLONED_FROM) == self.table.identifier

    def _missing(self, state: _State, there: set[str], target: Table | None) -> Iterator[FileCopy]:
        """The files that the state of the target does not name."""
        own = self.table.paths
        root = self.catalog.location(Identifier.parse(self.identifier)) if target is None else target.location
        other = replace(own, root=root.rstrip("/"), branch="main", external=None) if target is None else target.paths
        for entry, copied in zip(state.entries, state.in_folder.entries, strict=True):
            file = entry.file
            names = (file.file_name, *file.extra_files)
            sources = own.all_files_of(entry.partition, entry.bucket, file)
            copies = other.all_files_of(entry.partition, entry.bucket, copied.file)
            for name, source, copy in zip(names, sources, copies, strict=True):
                if name not in there:
                    yield _copy_of(source, copy, other.root, file.file_size if name == file.file_name else None)
        for part, placed in zip(state.index, state.in_folder.index, strict=True):
            if part.file_name not in there:
                yield _copy_of(own.index_file(part), other.index_file(placed), other.root, part.file_size)

    def _copy(self, missing: Sequence[FileCopy], target: Table, snapshot: Snapshot) -> list[CopiedFile]:
        done = 0

        def count(_: CopiedFile) -> None:
            nonlocal done
            done += 1
            if done % _MANY == 0 or done == len(missing):
                self.progress(Counted(f"{done} of {len(missing)} files are there", done, len(missing)))

        try:
            return copy_files(self.table.file_io, target.file_io, missing, self.parallelism, count)
        except MissingFileError as error:
            held = any(tag.snapshot == snapshot for tag in self.table.tags.all().values())
            if held or self.table.snapshots.exists(snapshot.id):
                raise
            raise ExpiredError(
                f"snapshot {snapshot.id} expired while it was copied", self.table.identifier, "Copy a tag instead."
            ) from error

    def _commit(self, target: Table, snapshot: Snapshot, state: _State) -> int | None:
        """The id of the target's new snapshot; None if its state was the source's already."""

        def planned(newest: Snapshot | None) -> Changes:
            return replace(_changes(state, _State.of(target, newest)), next_row_id=snapshot.next_row_id)

        def check(_target: CommitTarget, changes: Changes, newest: Snapshot | None) -> Conflict | None:
            if newest is not None and not self._is_own(newest):
                return Conflict(f"another writer committed snapshot {newest.id} to the target", frozenset())
            same = (
                newest is not None
                and not changes.entries
                and list(_State.of(target, newest).index) == list(state.index)
            )
            return Conflict(_NOTHING, frozenset()) if same else None

        properties = {
            OPERATION_PROPERTY: "clone",
            CLONED_FROM: self.table.identifier,
            CLONED_SNAPSHOT: str(snapshot.id),
        }
        identity = CommitIdentity(new_commit_user(target.options), watermark=snapshot.watermark, properties=properties)
        made, conflict, _ = publish(target.commit_target(), planned, identity, check)
        if made is not None:
            return made.id
        if conflict is not None and conflict.reason == _NOTHING:
            return None
        raise conflict_error(target.commit_target(), conflict)

    def _report(
        self,
        snapshot: Snapshot | None,
        state: _State,
        missing: Sequence[FileCopy],
        changes: Changes,
        *,
        dry_run: bool,
    ) -> CloneReport:
        return CloneReport(
            self.table.identifier,
            self.identifier,
            None if snapshot is None else snapshot.id,
            None,
            files=len(state.names),
            bytes=sum(e.file.file_size for e in state.entries) + sum(part.file_size for part in state.index),
            new_files=len(missing),
            new_bytes=sum(file.bytes or 0 for file in missing),
            leaving_files=sum(entry.kind == FileKind.DELETE for entry in changes.entries),
            rows=sum(entry.file.row_count for entry in state.entries),
            dry_run=dry_run,
        )


_EXTERNAL = (
    table_options.DATA_FILE_EXTERNAL_PATHS.key,
    table_options.DATA_FILE_EXTERNAL_PATHS_STRATEGY.key,
    table_options.DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS.key,
    table_options.DATA_FILE_EXTERNAL_PATHS_WEIGHTS.key,
    GLOBAL_INDEX_EXTERNAL_PATH.key,
    EXTERNAL_PATHS_EXCLUSIVE.key,
)
_NOTHING = "the target has this state already"


def _copy_of(source: str, target: str, root: str, size: int | None) -> FileCopy:
    return FileCopy(target.removeprefix(f"{root}/"), source, target, size)


def _changes(state: _State, there: _State) -> Changes:
    """What turns a state of the target into that of the source."""
    old = {entry.identity: entry for entry in there.entries}
    new = {entry.identity: entry for entry in state.entries}
    leaving = (replace(entry, kind=FileKind.DELETE) for identity, entry in old.items() if identity not in new)
    coming = (entry for identity, entry in new.items() if identity not in old)
    index = list(state.index)
    return Changes(CommitKind.OVERWRITE, (*leaving, *coming), index=lambda _: index, bring_back=True)
