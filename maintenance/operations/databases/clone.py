"""Copy a table's newest state, or that of a snapshot or tag, into another catalog: procedure `clone`.

Schemas are copied as they are, so that older files can be read, but for `data-file.external-paths`: all files of the
copy are in its own folder, and none can come to lie beside those of the source. Then the data and index files that the
target has not are copied; at last one OVERWRITE snapshot of the target turns its state into the source's. Every file is
read back and compared by its digest before that. Called again it copies what is new and takes out what is gone; called
after a crash it copies what is missing. The target may be in any catalog and on any store. History, tags, branches,
consumers and changelogs stay behind. Java's `clone` writes all rows again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.outcome import Lost
from maintenance.errors import ConflictError, ExpiredError, MissingFileError, OptionError
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.located import LocatedCatalog
from maintenance.operations.databases.clone_state import CloneState, PartitionFilter
from maintenance.operations.databases.clone_target import existing_target, has_own_schemas, made_target, schema_there
from maintenance.operations.databases.copying import CopiedFile, FileCopy, copy_files, digest_of
from maintenance.operations.operation import OperationReport, silent
from maintenance.operations.parameters import keywords_of
from maintenance.operations.progress import Counted, Progress
from maintenance.operations.refs.create_tag import snapshot_to_tag
from maintenance.options import table as table_options
from maintenance.table.table import Table, new_commit_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLONED_FROM, CLONED_SNAPSHOT = "paimon-maintenance.cloned-from", "paimon-maintenance.cloned-snapshot"
_ATTEMPTS = 3
_MANY = 100
_NOTHING = "the target has this state already"


@dataclass(frozen=True, slots=True)
class CloneReport(OperationReport):
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
        is_new: the target did not exist.
        new_paths, leaving_names: of a dry run, the paths in the target of the new files, and the names of those that
            leave; sorted.
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
    seconds: float = 0.0
    is_new: bool = False
    new_paths: tuple[str, ...] = ()
    leaving_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copied:
    """Which state of a table is copied, and how.

    Attributes:
        snapshot_id, tag: the state to copy; neither = the newest.
        where: a condition on partition columns; only partitions that match are copied or updated.
        meta_only: create the table, but copy no rows.
        clone_if_exists: False: leave a table alone that exists already.
        replace_others: True: a table that is there may have its own schemas, of the same columns, and commits of
            others: the partitions that are copied are replaced, the others stay. Of a table without partitions all is.
        parallelism: how many files this process copies at a time.
    """

    snapshot_id: int | None = None
    tag: str | None = None
    where: str | None = None
    meta_only: bool = False
    clone_if_exists: bool = True
    replace_others: bool = False
    parallelism: int = 8


@keywords_of(Copied, "copied")
def clone(
    table: Table,
    catalog: Catalog,
    identifier: str,
    copied: Copied,
    *,
    spark: "SparkSession | None" = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> CloneReport:
    """Copy a table or branch into a catalog, or bring an earlier copy up to date.

    Args:
        catalog: the catalog of the target, of any kind and on any store.
        identifier: the target. It is created if it does not exist, with its database.
        spark: its tasks copy if there is much to copy; None: this process does.
    Raises: OptionError: both a snapshot and a tag, or the target is the source; NotFoundError: no such snapshot or tag;
        PredicateError: `where` names other columns; ConflictError: the target has commits of others, other schemas, or
        is changed meanwhile; CorruptFileError: a file is missing or damaged, or did not arrive as it was;
        UnsupportedError: a REST server would have to know several schemas.
    """
    if copied.snapshot_id is not None and copied.tag is not None:
        raise OptionError("a snapshot and a tag are named", table.identifier, "Name one of them, or neither.")
    table_options.check_keepable(table.options, table.identifier)
    chosen = PartitionFilter(table, copied.where)
    if existing_target(table, catalog, identifier) is not None and not copied.clone_if_exists:
        return CloneReport(table.identifier, identifier, None, None, dry_run=dry_run)
    say = progress or silent
    work = _Clone(table, catalog, identifier, chosen, copied.parallelism, spark, say, copied.replace_others)
    started = time.monotonic()

    def attempt() -> CloneReport:
        state = table.latest_snapshot() if copied.tag is None else table.tags.get(copied.tag).snapshot
        state = state if copied.snapshot_id is None else snapshot_to_tag(table, copied.snapshot_id)
        return work.run(None if copied.meta_only else state, dry_run=dry_run)

    report = again_if_expired(attempt, _ATTEMPTS)
    return replace(report, dry_run=dry_run, seconds=time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _Clone:
    """One clone. Attributes: as of `clone`; `chosen`: the partitions; `replaces`: what others have in the target."""

    table: Table
    catalog: Catalog
    identifier: str
    chosen: PartitionFilter
    parallelism: int
    spark: "SparkSession | None"
    progress: Callable[[str], None]
    replaces: bool = False

    def run(self, snapshot: Snapshot | None, *, dry_run: bool) -> CloneReport:
        """Bring the target to the state of a snapshot."""
        if not self.replaces or not self.table.schema.partition_keys:
            return self._run(snapshot, dry_run=dry_run)
        coming = {entry.partition for entry in CloneState.of(self.table, snapshot, self.chosen).entries}
        return replace(self, chosen=self.chosen.among(coming))._run(snapshot, dry_run=dry_run)

    def _run(self, snapshot: Snapshot | None, *, dry_run: bool) -> CloneReport:
        there = existing_target(self.table, self.catalog, self.identifier)
        is_others = self.replaces and there is not None and has_own_schemas(self.table, self.catalog, there)
        target = there if dry_run or is_others else made_target(self.table, self.catalog, self.identifier)
        newest = None if target is None else target.latest_snapshot()
        self._check_own(newest)
        old = CloneState() if target is None else CloneState.of(target, newest, self.chosen)
        state = CloneState.of(self.table, snapshot, self.chosen)
        if target is not None:
            used = {entry.file.schema_id for entry in state.entries}
            number = schema_there(self.table, self.catalog, target, used, own=is_others)
            state = state.with_schema(number, self.table.schema.field_names, target.schema.field_names)
        missing = list(self._missing(state, old.names, target))
        changes = state.in_folder.changes_of(old, self.chosen)
        report = self._report(snapshot, state, missing, changes)
        if dry_run:
            gone = sorted(entry.file.file_name for entry in changes.entries if entry.kind == FileKind.DELETE)
            paths = tuple(sorted(file.name for file in missing))
            return replace(report, is_new=target is None, new_paths=paths, leaving_names=tuple(gone))
        if target is None or snapshot is None:
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

    def _check_own(self, newest: Snapshot | None) -> None:
        """Raises: ConflictError: the newest snapshot of the target is not one of this clone."""
        if newest is not None and not self._is_own(newest):
            raise ConflictError(
                f"snapshot {newest.id} of the target was committed by '{newest.commit_user}', and not by this clone",
                self.identifier,
                "Clone into a table that nothing else changes, or into a new one.",
            )

    def _is_own(self, snapshot: Snapshot) -> bool:
        return self.replaces or (snapshot.properties or {}).get(CLONED_FROM) == self.table.identifier

    def _missing(self, state: CloneState, there: set[str], target: Table | None) -> Iterator[FileCopy]:
        """The files that the state of the target does not name."""
        own = self.table.paths
        future = replace(own, root=self._future_root(), branch="main", external=None)
        other = future if target is None else target.paths
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

    def _future_root(self) -> str:
        """Where a table that is not there yet would lie; a server has not said so."""
        if not isinstance(self.catalog, LocatedCatalog):
            return self.identifier
        name = Identifier.parse(self.identifier)
        if name.database not in self.catalog.list_databases():
            return f"{self.catalog.database_folder(name.database)}/{name.table}"
        return self.catalog.location(name).rstrip("/")

    def _copy(self, missing: Sequence[FileCopy], target: Table, snapshot: Snapshot) -> list[CopiedFile]:
        done = 0

        def count(files: int) -> None:
            nonlocal done
            done += files
            if done % _MANY == 0 or done == len(missing):
                self.progress(Counted(f"{done} of {len(missing)} files are there", done, len(missing)))

        try:
            return copy_files(self.table.file_io, target.file_io, missing, self.parallelism, count, spark=self.spark)
        except MissingFileError as error:
            held = any(tag.snapshot == snapshot for tag in self.table.tags.all().values())
            if held or self.table.snapshots.exists(snapshot.id):
                raise
            raise ExpiredError(
                f"snapshot {snapshot.id} expired while it was copied",
                self.table.identifier,
                "Create a tag of the snapshot, and clone with tag => that name.",
            ) from error

    def _commit(self, target: Table, snapshot: Snapshot, state: CloneState) -> int | None:
        """The id of the target's new snapshot; None if its state was the source's already."""
        properties = {
            OPERATION_PROPERTY: "clone",
            CLONED_FROM: self.table.identifier,
            CLONED_SNAPSHOT: str(snapshot.id),
        }
        identity = CommitIdentity(new_commit_user(target.options), watermark=snapshot.watermark, properties=properties)
        work = CommitAttempts(target.commit_target(), identity)
        for attempt in work:
            with attempt:
                there = CloneState.of(target, attempt.latest, self.chosen)
                changes = replace(state.changes_of(there, self.chosen), next_row_id=snapshot.next_row_id)
                attempt.commit(changes, self._conflict(changes, there, state, attempt.latest))
        if isinstance(work.outcome, Lost) and work.outcome.conflict.reason == _NOTHING:
            return None
        return work.snapshot().id

    def _conflict(
        self, changes: Changes, there: CloneState, state: CloneState, newest: Snapshot | None
    ) -> Conflict | None:
        """Why the target is not changed. `there`: what it has in the snapshot `newest`."""
        if newest is not None and not self._is_own(newest):
            return Conflict(f"another writer committed snapshot {newest.id} to the target", frozenset())
        same = newest is not None and not changes.entries and list(there.index) == list(state.index)
        return Conflict(_NOTHING, frozenset()) if same else None

    def _report(
        self, snapshot: Snapshot | None, state: CloneState, missing: Sequence[FileCopy], changes: Changes
    ) -> CloneReport:
        return CloneReport(
            self.table.identifier,
            self.identifier,
            None if snapshot is None else snapshot.id,
            None,
            files=len(state.names),
            bytes=state.bytes,
            new_files=len(missing),
            new_bytes=sum(file.bytes or 0 for file in missing),
            leaving_files=sum(entry.kind == FileKind.DELETE for entry in changes.entries),
            rows=sum(entry.file.row_count for entry in state.entries),
        )


def _copy_of(source: str, target: str, root: str, size: int | None) -> FileCopy:
    return FileCopy(target.removeprefix(f"{root}/"), source, target, size)
