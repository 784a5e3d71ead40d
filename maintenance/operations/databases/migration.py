"""One migration of a format table: what is to be copied, the copies and their commit, then the end of the source.

Called again after a crash it copies what is missing, commits nothing twice, and lets the source go where it stopped.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from maintenance.amounts import number_of
from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.outcome import Lost
from maintenance.errors import ConflictError, NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.schema import Schema
from maintenance.operations.bin.run import BinRun
from maintenance.operations.databases.copying import digest_of
from maintenance.operations.databases.migrated_files import FileMigration, SourceFile, listed, migrated_name
from maintenance.operations.databases.migrated_origin import MIGRATE_TABLE, Origin
from maintenance.operations.databases.taking_over import (
    MIGRATED_FROM,
    MIGRATED_LOCATION,
    is_migrated,
    take_over,
    waiting_name,
)
from maintenance.operations.operation import OperationReport
from maintenance.operations.progress import Counted, Progress
from maintenance.options import table as table_options
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table, new_commit_user
from maintenance.threads import map_in_threads

_FORMATS = ("parquet", "orc")
_NOTHING = "the target has these files already"


@dataclass(frozen=True, slots=True)
class MigrateReport(OperationReport):
    """What a migration did, or would do.

    Attributes:
        target: the name that the new table has in the end.
        snapshot_id: of the target; None of a dry run, or if the files were committed already.
        files, bytes, rows: that the target has of the source; rows are not counted by a dry run.
        copied_files, copied_bytes: that were not there from an interrupted run; of a dry run, that are not there.
        digest: SHA-256 of the names, sizes and digests of the files that were committed now; empty if there are none.
        origin_deleted: whether the source is gone.
        bin_run: the run of the bin that has its files.
    """

    source: str
    target: str
    snapshot_id: int | None = None
    files: int = 0
    bytes: int = 0
    rows: int = 0
    copied_files: int = 0
    copied_bytes: int = 0
    digest: str = ""
    origin_deleted: bool = False
    bin_run: str | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What becomes of a source, and how.

    Attributes:
        options: options of the new table.
        delete_origin: drop the source once its files are committed.
        parallelism: how many files to work on at a time; a part of each is in memory.
    """

    options: Mapping[str, str] | None = None
    delete_origin: bool = False
    parallelism: int = 8


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration. Attributes: as of `migrate_table`; `takes_name`: of its source."""

    source: FormatTable
    catalog: Catalog
    identifier: str
    taken: Taken
    takes_name: bool = False
    into: BinRun | None = None
    progress: Progress = lambda _: None

    @classmethod
    def of(
        cls,
        source: FormatTable,
        catalog: Catalog,
        identifier: str | None,
        taken: Taken,
        into: BinRun | None = None,
        progress: Progress | None = None,
    ) -> "Migration":
        """Raises: as of `migrate_table`, what can be known before anything is looked at."""
        if source.format not in _FORMATS:
            raise UnsupportedError(
                f"files in format '{source.format}' cannot be data files",
                f"table {source.name}",
                "Write the rows instead.",
            )
        if identifier == source.name or (identifier is None and not taken.delete_origin):
            raise OptionError(
                "the target is the source, which stays",
                source.name,
                "Name another table, or let the source go: no target, and delete_origin.",
            )
        Origin(source, catalog).check_bin(into)
        name, say = identifier or waiting_name(source.name), progress or (lambda _: None)
        return cls(source, catalog, name, taken, identifier is None, into, say)

    def planned(self) -> MigrateReport:
        """What would be done. Raises: ConflictError: the target is not one for these files."""
        files, missing = self.looked()
        return MigrateReport(
            self.source.name,
            self.source.name if self.takes_name else self.identifier,
            files=len(files),
            bytes=sum(file.bytes for file in files),
            copied_files=len(missing),
            copied_bytes=sum(file.bytes for file in missing),
        )

    def looked(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The files of the source, and those of them that the target has not; nothing is changed."""
        files, wanted = listed(self.source), self._wanted()
        try:
            target = self._checked(self.catalog.get_table(self.identifier), wanted)
        except NotFoundError:
            return files, files
        live = self._live(target, files)
        return files, [file for file in files if self._name(file) not in live]

    def run(self) -> MigrateReport:
        files, target = listed(self.source), self._target()
        live, taking = self._live(target, files), FileMigration(self.source, target)
        missing = [file for file in files if self._name(file) not in live]
        self.progress(f"{len(missing)} of {number_of(len(files), 'file')} to copy")
        with ThreadPoolExecutor(max(1, self.taken.parallelism)) as pool:
            taken = []
            for number, one in enumerate(pool.map(taking.take, missing), 1):
                taken.append(one)
                self.progress(Counted(f"{number} of {len(missing)} files are there", number, len(missing)))
        done = [one for one in taken if one is not None]
        copied = [copy for _, copy in done]
        committed = self._commit(target, [entry for entry, _ in done])
        report = MigrateReport(
            self.source.name,
            self.identifier,
            committed,
            files=len(files),
            bytes=sum(file.bytes for file in files),
            rows=sum(e.file.row_count for e, _ in done) + sum(e.file.row_count for e in live.values()),
            copied_files=sum(file.copied for file in copied),
            copied_bytes=sum(file.bytes for file in copied if file.copied),
            digest=digest_of(copied) if copied else "",
        )
        return self._without_origin(report, files, target) if self.taken.delete_origin else report

    def _without_origin(self, report: MigrateReport, files: Sequence[SourceFile], target: Table) -> MigrateReport:
        self._check_unchanged(files, target)
        run = Origin(self.source, self.catalog).drop(files, self.into)
        report = replace(report, origin_deleted=True, bin_run=run)
        if not self.takes_name:
            return report
        take_over(self.catalog, self.source.name)
        return replace(report, target=self.source.name)

    def _name(self, file: SourceFile) -> str:
        return migrated_name(self.source.location, file.path, file.bytes, self.source.format)

    def _wanted(self) -> Schema:
        """The target's definition. Raises: OptionError: options contradict the files."""
        schema = self.source.schema
        asked = self.taken.options or {}
        options = {**asked, "bucket": "-1", "file.format": self.source.format}
        contradicted = sorted(key for key, value in options.items() if asked.get(key, value) != value)
        if contradicted:
            raise OptionError(
                f"'{contradicted[0]}' = '{asked[contradicted[0]]}' does not fit files that are there already",
                f"table {self.identifier}",
                f"Leave it out: it is '{options[contradicted[0]]}'.",
            )
        return Schema(schema.fields, (), schema.partition_keys, options, schema.comment)

    def _target(self) -> Table:
        wanted = self._wanted()
        self.catalog.create_database(Identifier.parse(self.identifier).database, ignore_if_exists=True)
        try:
            found = self.catalog.get_table(self.identifier)
        except NotFoundError:
            self.catalog.create_table(self.identifier, wanted, ignore_if_exists=True)
            found = self.catalog.get_table(self.identifier)
        target = self._checked(found, wanted)
        table_options.check_writable(target.options, target.identifier)
        return target

    def _checked(self, found: object, wanted: Schema) -> Table:
        if not isinstance(found, Table) or _shape(found.schema) != _shape(wanted.table_schema(self.identifier, 0)):
            raise ConflictError(
                "there is another table of that name", f"table {self.identifier}", "Name a new table as the target."
            )
        return found

    def _live(self, target: Table, files: Sequence[SourceFile]) -> dict[str, ManifestEntry]:
        """The files that the target has, by name.

        Raises: ConflictError: others have committed to it; or a file that was migrated is gone from the source, and
            not in the bin: another has replaced it, so the target would have its rows twice.
        """
        newest = target.latest_snapshot()
        if newest is None:
            return {}
        if not is_migrated(newest, self.source.name):
            raise ConflictError(
                f"snapshot {newest.id} of the target was committed by '{newest.commit_user}', not by this migration",
                f"table {self.identifier}",
                "Migrate into a new table.",
            )
        live = {entry.file.file_name: entry for entry in target.manifests.live_entries(newest)}
        gone = live.keys() - {self._name(file) for file in files}
        if gone:
            _, binned = Origin(self.source, self.catalog).in_bin()
            place, suffix = self.source.location, self.source.format
            gone -= {migrated_name(place, path, size, suffix) for path, size in binned.items()}
        if gone:
            raise ConflictError(
                f"{len(gone)} files that were migrated are not in the source any more",
                f"table {self.source.name}",
                f"Drop {self.identifier} and migrate again, if the source is what counts.",
            )
        return live

    def _check_unchanged(self, files: Sequence[SourceFile], target: Table) -> None:
        """Whether the source still is what the target has, byte for byte: it is about to go."""
        changed = listed(self.source) != files
        if not changed:
            newest, compare = target.latest_snapshot(), FileMigration(self.source, target)
            live = () if newest is None else target.manifests.live_entries(newest)
            paths = {e.file.file_name: target.paths.data_file(e.partition, e.bucket, e.file) for e in live}
            there = map_in_threads(lambda file: compare.is_there(file, paths), files, self.taken.parallelism)
            changed = not all(there)
        if changed:
            raise ConflictError(
                "the files of the source changed since they were migrated, so it stays",
                f"table {self.source.name}",
                f"Stop those who write to it, drop {self.identifier}, and migrate again.",
            )

    def _commit(self, target: Table, entries: Sequence[ManifestEntry]) -> int | None:
        """The id of the snapshot; None if the target has all. A source without rows is committed, too: as migrated."""
        properties = {
            OPERATION_PROPERTY: MIGRATE_TABLE,
            MIGRATED_FROM: self.source.name,
            MIGRATED_LOCATION: self.source.location.rstrip("/"),
        }
        identity = CommitIdentity(new_commit_user(target.options), properties=properties)
        work = CommitAttempts(target.commit_target(), identity)
        for attempt in work:
            with attempt:
                newest = attempt.latest
                live = () if newest is None else target.manifests.live_entries(newest)
                there = {entry.identity for entry in live}
                changes = Changes(CommitKind.APPEND, tuple(e for e in entries if e.identity not in there))
                attempt.commit(changes, self._conflict(changes, newest))
        if isinstance(work.outcome, Lost) and work.outcome.conflict.reason == _NOTHING:
            return None
        return work.snapshot().id

    def _conflict(self, changes: Changes, newest: Snapshot | None) -> Conflict | None:
        """Why the target is not changed. `newest`: its snapshot."""
        if newest is not None and not is_migrated(newest, self.source.name):
            return Conflict(f"another writer committed snapshot {newest.id} to the target", frozenset())
        return None if changes.entries or newest is None else Conflict(_NOTHING, frozenset())


def _shape(schema: TableSchema) -> tuple[object, ...]:
    """What tells whether files of one table fit another."""
    columns = tuple((field.name, field.type) for field in schema.fields)
    return columns, tuple(schema.partition_keys), tuple(schema.primary_keys), schema.options.get("bucket")
