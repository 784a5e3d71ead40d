"""Make a Paimon append table of the files of a format table: procedure `migrate_table`.

A format table may be a table of a Hive metastore that Paimon does not know. Its Parquet or ORC files are copied under
the names of data files, each compared by its digest, read as Paimon reads it, and one commit names them all. The names
follow from the source's paths, so that a run after a crash copies what is missing, and commits nothing twice. The
source goes only after the commit, if it is to go, and not if its files have changed meanwhile. Java's `migrate_table`
moves the files before it commits them.
"""

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa

from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.publish import Changes, CommitTarget, conflict_error, publish
from maintenance.errors import ConflictError, DataError, NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.schema import Schema
from maintenance.operations.databases.copying import CopiedFile, FileCopy, are_same, copy_files, digest_of
from maintenance.options import table as table_options
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.table.format_table import FormatTable, Spec
from maintenance.table.table import Table, new_commit_user
from maintenance.write.context import WriteContext
from maintenance.write.partitions import by_partition
from maintenance.write.settings import stats_mode
from maintenance.write.statistics import FileStatistics

MIGRATED_FROM = "paimon-maintenance.migrated-from"
_FORMATS = ("parquet", "orc")
_NAMES = uuid.UUID("8d5a2a3e-6a52-4a5e-9c5b-1c9a6f0f7b41")
_NOTHING = "the target has these files already"


@dataclass(frozen=True, slots=True)
class MigrateReport:
    """What a migration did, or would do.

    Attributes:
        snapshot_id: of the target; None of a dry run, or if the files were committed already.
        files, bytes, rows: that the target has of the source; rows are not counted by a dry run.
        copied_files, copied_bytes: that were not there from an interrupted run.
        digest: SHA-256 of the names, sizes and digests of the files that were committed now; empty if there are none.
        origin_deleted: whether the source is gone.
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
    dry_run: bool = False
    seconds: float = 0.0


def migrate_table(
    source: FormatTable,
    catalog: Catalog,
    identifier: str,
    *,
    options: Mapping[str, str] | None = None,
    delete_origin: bool = False,
    parallelism: int = 8,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
) -> MigrateReport:
    """Make an append table of the files of a format table.

    Args:
        catalog: of both tables.
        identifier: of the target, made if it does not exist.
        options: of the new table.
        delete_origin: drop the source once its files are committed.
        parallelism: files at a time.
        dry_run: only say what would be copied.
        progress: called with a line now and then.
    Raises: UnsupportedError: the source has another format; OptionError: the target is the source, or the options are
        not those of an append table without buckets; ConflictError: the target is another table or has commits of
        others, or the source changed meanwhile, which then stays; DataError: Paimon would read a file otherwise;
        CorruptFileError: a file is damaged, or did not arrive as it was.
    """
    if source.format not in _FORMATS:
        raise UnsupportedError(
            f"files in format '{source.format}' cannot be data files", f"table {source.name}", "Write the rows instead."
        )
    if identifier == source.name:
        raise OptionError("the target is the source", source.name, "Name another table.")
    started = time.monotonic()
    work = _Migration(source, catalog, identifier, dict(options or {}), parallelism, progress or (lambda _: None))
    report = work.planned() if dry_run else work.run(delete_origin=delete_origin)
    return replace(report, seconds=time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _SourceFile:
    """A file to migrate. `path`: below the source; `bytes`: that it has."""

    path: str
    spec: Spec
    bytes: int

    def name(self, source: FormatTable) -> str:
        """The name in the target, always the same for the same file."""
        key = uuid.uuid5(_NAMES, f"{source.location.rstrip('/')}/{self.path} {self.bytes}")
        return f"data-{key}-0.{source.format}"


@dataclass(frozen=True, slots=True)
class _Migration:
    source: FormatTable
    catalog: Catalog
    identifier: str
    options: Mapping[str, str]
    parallelism: int
    progress: Callable[[str], None]

    def planned(self) -> MigrateReport:
        files = self._listed()
        report = MigrateReport(self.source.name, self.identifier, files=len(files), dry_run=True)
        return replace(report, bytes=sum(file.bytes for file in files))

    def run(self, *, delete_origin: bool) -> MigrateReport:
        files, target = self._listed(), self._target()
        newest = target.latest_snapshot()
        self._check_own(newest)
        live = {} if newest is None else {e.file.file_name: e for e in target.manifests.live_entries(newest)}
        self._check_still_there(live, files)
        missing = [file for file in files if file.name(self.source) not in live]
        self.progress(f"{len(missing)} of {len(files)} files to copy")
        with ThreadPoolExecutor(max(1, self.parallelism)) as pool:
            done = [one for one in pool.map(lambda file: self._taken(target, file), missing) if one is not None]
        entries, copied = [entry for entry, _ in done], [copy for _, copy in done]
        number = self._commit(target, entries)
        report = MigrateReport(
            self.source.name,
            self.identifier,
            number,
            files=len(files),
            bytes=sum(file.bytes for file in files),
            rows=sum(e.file.row_count for e in entries) + sum(e.file.row_count for e in live.values()),
            copied_files=sum(file.copied for file in copied),
            copied_bytes=sum(file.bytes for file in copied if file.copied),
            digest=digest_of(copied) if copied else "",
        )
        if not delete_origin:
            return report
        self._check_unchanged(files, target)
        self.catalog.drop_table(self.source.name)
        return replace(report, origin_deleted=True)

    def _listed(self) -> list[_SourceFile]:
        sizes = {status.path: status.size for status in self.source.file_io.list_tree(self.source.location)}
        return [_SourceFile(path, spec, sizes[path]) for path, spec in self.source.data_files() if path in sizes]

    def _target(self) -> Table:
        schema = self.source.schema
        options = {**self.options, "bucket": "-1", "file.format": self.source.format}
        contradicted = sorted(key for key, value in options.items() if self.options.get(key, value) != value)
        if contradicted:
            raise OptionError(
                f"'{contradicted[0]}' = '{self.options[contradicted[0]]}' does not fit files that are there already",
                f"table {self.identifier}",
                f"Leave it out: it is '{options[contradicted[0]]}'.",
            )
        wanted = Schema(schema.fields, (), schema.partition_keys, options, schema.comment)
        self.catalog.create_database(Identifier.parse(self.identifier).database, ignore_if_exists=True)
        try:
            target = self.catalog.get_table(self.identifier)
        except NotFoundError:
            self.catalog.create_table(self.identifier, wanted, ignore_if_exists=True)
            target = self.catalog.get_table(self.identifier)
        if not isinstance(target, Table) or _shape(target.schema) != _shape(wanted.table_schema(self.identifier, 0)):
            raise ConflictError(
                "there is another table of that name", f"table {self.identifier}", "Name a new table as the target."
            )
        table_options.check_writable(target.options, target.identifier)
        return target

    def _check_own(self, newest: Snapshot | None) -> None:
        if newest is not None and not self._is_own(newest):
            raise ConflictError(
                f"snapshot {newest.id} of the target was committed by '{newest.commit_user}', not by this migration",
                f"table {self.identifier}",
                "Migrate into a new table.",
            )

    def _check_still_there(self, live: Mapping[str, ManifestEntry], files: Sequence[_SourceFile]) -> None:
        """A file that was migrated and is gone was replaced by another: the target would have its rows twice."""
        gone = len(live.keys() - {file.name(self.source) for file in files})
        if gone:
            raise ConflictError(
                f"{gone} files that were migrated are not in the source any more",
                f"table {self.source.name}",
                f"Drop {self.identifier} and migrate again, if the source is what counts.",
            )

    def _check_unchanged(self, files: Sequence[_SourceFile], target: Table) -> None:
        """Whether the source still is what the target has, byte for byte: it is about to go."""
        changed = self._listed() != files
        if not changed:
            newest = target.latest_snapshot()
            live = () if newest is None else target.manifests.live_entries(newest)
            paths = {e.file.file_name: target.paths.data_file(e.partition, e.bucket, e.file) for e in live}
            with ThreadPoolExecutor(max(1, self.parallelism)) as pool:
                changed = not all(pool.map(lambda file: self._is_at(file, paths, target), files))
        if changed:
            raise ConflictError(
                "the files of the source changed since they were migrated, so it stays",
                f"table {self.source.name}",
                f"Stop those who write to it, drop {self.identifier}, and migrate again.",
            )

    def _is_at(self, file: _SourceFile, paths: Mapping[str, str], target: Table) -> bool:
        path, source = paths.get(file.name(self.source)), self.source
        if path is None:
            return not source.rows_of(file.path, file.spec).num_rows
        copy = FileCopy(file.path, f"{source.location}/{file.path}", path, file.bytes)
        return are_same(source.file_io, target.file_io, copy)

    def _is_own(self, snapshot: Snapshot) -> bool:
        return (snapshot.properties or {}).get(MIGRATED_FROM) == self.source.name

    def _taken(self, target: Table, file: _SourceFile) -> tuple[ManifestEntry, CopiedFile] | None:
        """A file in its new place, and what the manifest will say of it; None of a file without rows.

        Raises: DataError: read as a data file, it has another number of rows or of nulls.
        """
        source, expected = self.source, self.source.rows_of(file.path, file.spec)
        if not expected.num_rows:
            return None
        context = target.write_context()
        partition = self._partition(context, file.spec)
        meta = DataFileMeta(
            file_name=file.name(source),
            file_size=file.bytes,
            row_count=expected.num_rows,
            min_key=EMPTY_ROW,
            max_key=EMPTY_ROW,
            key_stats=EMPTY_STATS,
            value_stats=EMPTY_STATS,
            min_sequence_number=0,
            max_sequence_number=expected.num_rows - 1,
            schema_id=context.schema.id,
            level=0,
            creation_time=context.clock(),
            delete_row_count=0,
            file_source=FileSource.APPEND,
        )
        path = target.paths.data_file(partition, 0, meta)
        copy = FileCopy(file.path, f"{source.location}/{file.path}", path, file.bytes)
        (copied,) = copy_files(source.file_io, target.file_io, [copy], 1, lambda _: None)
        schema = context.schema
        read = ReadContext(target.file_io, {schema.id: schema}, schema.fields, schema.partition_keys, keyed=False)
        rows = DataFileReader(read, path, meta, partition_values(schema, partition)).read()
        if _counts(rows) != _counts(expected):
            raise DataError(
                f"the file has {_counts(expected)[0]} rows, and nulls by column {_counts(expected)[1:]}; "
                f"read as a data file of Paimon it has {_counts(rows)[0]} and {_counts(rows)[1:]}",
                copy.source,
                "Nothing was committed. Write the rows instead: CREATE TABLE … AS SELECT.",
            )
        mode = stats_mode(schema, context.options, 0, changelog=False)
        statistics = FileStatistics(context, mode, nested=source.format != "parquet")
        statistics.add(rows)
        _, value_stats, columns = statistics.finish()
        meta = replace(meta, value_stats=value_stats, value_stats_cols=columns)
        return ManifestEntry(FileKind.ADD, partition, 0, -1, meta), copied

    def _partition(self, context: WriteContext, spec: Spec) -> bytes:
        if not spec:
            return EMPTY_ROW
        ((partition, _),) = by_partition(self.source.partition_of(spec), context)
        return partition

    def _commit(self, target: Table, entries: Sequence[ManifestEntry]) -> int | None:
        def planned(newest: Snapshot | None) -> Changes:
            live = () if newest is None else target.manifests.live_entries(newest)
            there = {entry.identity for entry in live}
            return Changes(CommitKind.APPEND, tuple(e for e in entries if e.identity not in there))

        def check(_target: CommitTarget, changes: Changes, newest: Snapshot | None) -> Conflict | None:
            if newest is not None and not self._is_own(newest):
                return Conflict(f"another writer committed snapshot {newest.id} to the target", frozenset())
            return None if changes.entries else Conflict(_NOTHING, frozenset())

        properties = {OPERATION_PROPERTY: "migrate_table", MIGRATED_FROM: self.source.name}
        identity = CommitIdentity(new_commit_user(target.options), properties=properties)
        made, conflict, _ = publish(target.commit_target(), planned, identity, check)
        if made is not None:
            return made.id
        if conflict is not None and conflict.reason == _NOTHING:
            return None
        raise conflict_error(target.commit_target(), conflict)


def _shape(schema: TableSchema) -> tuple[object, ...]:
    """What tells whether files of one table fit another."""
    columns = tuple((field.name, field.type) for field in schema.fields)
    return columns, tuple(schema.partition_keys), tuple(schema.primary_keys), schema.options.get("bucket")


def _counts(rows: pa.Table) -> tuple[int, ...]:
    """Rows, and nulls of each column."""
    return rows.num_rows, *(column.null_count for column in rows.columns)
