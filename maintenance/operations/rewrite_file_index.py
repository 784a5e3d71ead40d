"""Procedure `rewrite_file_index`: give existing data files the file indexes that the table declares now.

Data is not rewritten: each file is read once for the indexed columns, and its entry is replaced by one with the new
index in a COMPACT snapshot. Entries of the old container for columns that are still declared are kept; those of other
columns go. Columns are found by field id, so a renamed column keeps its index. A file whose indexes would be the same
is left alone, and when none changes nothing is committed. Unlike Java, the slot that is not used any more (embedded
bytes or side file) is cleared, since readers prefer the embedded bytes. Source: data section 9.8, Java
`RewriteFileIndexProcedure`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maintenance.commit.commit import OPERATION_PROPERTY, CommitIdentity, commit_compact
from maintenance.errors import ConflictError, PaimonError, PredicateError
from maintenance.format.data_file import DataFileMeta
from maintenance.format.file_index.builder import FileIndexBuilder
from maintenance.format.file_index.container import parse_container, serialize_container
from maintenance.format.file_index.kinds import ColumnIndex, column_indexes
from maintenance.format.manifest import ManifestEntry
from maintenance.metadata.manifests import Manifests
from maintenance.operations.compact import Progress
from maintenance.options import table as table_options
from maintenance.options.file_index import FILE_INDEX_IN_MANIFEST_THRESHOLD
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.scan.plan import index_container, live_entries
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.table import Table, new_commit_user
from maintenance.write.context import WriteContext
from maintenance.write.file_index import SUFFIX, next_index_name, store_container
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_ROWS = 1 << 17
_FILES_PER_TASK = 16
_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class RewriteFileIndexReport:
    """What a rewrite did.

    Attributes:
        written_files: data files that got another index; `skipped_files`: those that have what is declared.
        index_bytes: of the new containers.
        conflicts: data files that another writer replaced meanwhile; what replaced them was looked at anew.
    """

    table: str
    base_snapshot_id: int | None
    snapshot_ids: tuple[int, ...]
    written_files: int
    skipped_files: int
    index_bytes: int
    conflicts: int = 0
    dry_run: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexTask:
    """Data files to index. `dry_run`: build and compare, write nothing."""

    write: WriteContext
    read: ReadContext
    entries: tuple[ManifestEntry, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class IndexResult:
    """Entries before and after; those that stay as they are are left out."""

    changed: tuple[tuple[ManifestEntry, DataFileMeta], ...]
    index_bytes: int


def rewrite_file_index(
    spark: "SparkSession | None",
    table: Table,
    *,
    where: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> RewriteFileIndexReport:
    """Rewrite the file indexes of a table.

    Args: `where`: a filter over partition columns; `dry_run`: say what would change, write nothing; the others as of
        `compact`.
    Raises: PredicateError: `where` names other columns; UnsupportedError; an error of a task.
    """
    started = time.monotonic()
    say = progress or (lambda _: None)
    table_options.check_writable(table.options, table.identifier)
    predicate = table.predicate(where)
    if predicate is not None and not columns_of(predicate) <= set(table.schema.partition_keys):
        raise PredicateError(
            f"'{where}' names columns that are not partition columns",
            f"table {table.identifier}",
            f"Partition columns are: {', '.join(table.schema.partition_keys) or 'none'}.",
        )
    report = RewriteFileIndexReport(table.identifier, None, (), 0, 0, 0, dry_run=dry_run)
    for _ in range(_ATTEMPTS):
        report, lost = _attempt(spark, table, predicate, report, say)
        if not lost:
            return replace(report, seconds=time.monotonic() - started)
        say(f"{lost} data files were replaced by another writer: looking again")
    raise ConflictError(
        f"other writers kept replacing the data files, {_ATTEMPTS} times", f"table {table.identifier}", "Run again."
    )


def _attempt(
    spark: "SparkSession | None",
    table: Table,
    predicate: Predicate | None,
    so_far: RewriteFileIndexReport,
    say: Progress,
) -> tuple[RewriteFileIndexReport, int]:
    """Index what needs it on the latest snapshot. Returns the report and how many files were lost to other writers."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else live_entries(table.scan_source(), snapshot, predicate)
    say(f"{len(entries)} data files to look at")
    results = _results(spark, table, entries, dry_run=so_far.dry_run)
    changed = [pair for result in results for pair in result.changed]
    report = replace(
        so_far,
        base_snapshot_id=None if snapshot is None else snapshot.id,
        written_files=so_far.written_files + len(changed),
        skipped_files=len(entries) - len(changed),
        index_bytes=so_far.index_bytes + sum(result.index_bytes for result in results),
    )
    if so_far.dry_run or not changed:
        return report, 0
    properties = {OPERATION_PROPERTY: "rewrite_file_index"}
    identity = CommitIdentity(new_commit_user(table.options), properties=properties)
    committed = commit_compact(table.commit_target(), _messages(changed), identity)
    lost = [(old, new) for old, new in changed if (old.partition, old.bucket) in committed.lost]
    for old, new in lost:
        table.file_io.delete_quietly(_new_side_files(table, old, new))
    report = replace(report, written_files=report.written_files - len(lost), conflicts=report.conflicts + len(lost))
    if committed.snapshot_id is not None:
        say(f"snapshot {committed.snapshot_id} committed")
        report = replace(report, snapshot_ids=(*report.snapshot_ids, committed.snapshot_id))
    return report, len(lost)


def _new_side_files(table: Table, old: ManifestEntry, new: DataFileMeta) -> list[str]:
    """Index files that exist because of this rewrite alone."""
    before = set(table.paths.all_files_of(old.partition, old.bucket, old.file))
    return [path for path in table.paths.all_files_of(old.partition, old.bucket, new) if path not in before]


def _results(
    spark: "SparkSession | None", table: Table, entries: Sequence[ManifestEntry], *, dry_run: bool
) -> list[IndexResult]:
    write = table.write_context()
    declared = column_indexes(table.options, table.schema.fields)
    ids = {entry.file.schema_id for entry in entries} | {table.schema.id}
    schemas = {i: table.schema if i == table.schema.id else table.schemas.get(i) for i in ids}
    read = ReadContext(table.file_io, schemas, tuple(dict.fromkeys(index.field for index in declared)))
    tasks = [
        IndexTask(write, read, tuple(entries[start : start + _FILES_PER_TASK]), dry_run)
        for start in range(0, len(entries), _FILES_PER_TASK)
    ]
    results = []
    for outcome in run_tasks(spark, index_files, tasks):
        if isinstance(outcome, TaskError):
            raise (
                outcome.error
                if isinstance(outcome.error, PaimonError)
                else PaimonError(
                    f"a task failed: {outcome.error}", f"table {table.identifier}", "See the log of the task."
                )
            )
        results.append(outcome)
    return results


def _messages(changed: Sequence[tuple[ManifestEntry, DataFileMeta]]) -> list[CommitMessage]:
    groups: dict[tuple[bytes, int, int], list[tuple[DataFileMeta, DataFileMeta]]] = {}
    for entry, file in changed:
        groups.setdefault((entry.partition, entry.bucket, entry.total_buckets), []).append((entry.file, file))
    return [
        CommitMessage(
            *group, compact_before=tuple(old for old, _ in pairs), compact_after=tuple(new for _, new in pairs)
        )
        for group, pairs in groups.items()
    ]


def index_files(task: IndexTask) -> IndexResult:
    """Index the files of a task. Runs in a task."""
    changed = []
    size = 0
    for entry in task.entries:
        old = index_container_of(task.write, entry)
        container = _container(task, entry, old)
        if container == old and not _both_slots(entry.file):
            continue
        size += len(container or b"")
        file = entry.file if task.dry_run else _stored(task.write, entry, container)
        changed.append((entry, file))
    return IndexResult(tuple(changed), size)


def index_container_of(context: WriteContext, entry: ManifestEntry) -> bytes | None:
    """The container that a file has now."""
    return index_container(Manifests(context.file_io, context.paths), entry.partition, entry.bucket, entry.file)


def _both_slots(file: DataFileMeta) -> bool:
    """Embedded bytes and a side file at once, as Java leaves them."""
    return file.embedded_index is not None and any(name.endswith(SUFFIX) for name in file.extra_files)


def _container(task: IndexTask, entry: ManifestEntry, old: bytes | None) -> bytes | None:
    """The container a file should have, None for no index at all. Names are those of the file's own schema."""
    written = task.read.schemas[entry.file.schema_id]
    own = {field.id: field for field in written.fields}
    declared = [
        index for index in column_indexes(task.write.options, task.write.schema.fields)
        if index.field.id in own and own[index.field.id].type.as_nullable() == index.field.type.as_nullable()
    ]  # fmt: skip
    names = {index.field.name: own[index.field.id].name for index in declared}
    kept = _kept(old, entry.file.file_name, set(names.values()))
    built = _built(task, entry, declared)
    bodies = {name: dict(indexes) for name, indexes in kept.items()}
    for column, indexes in built.items():
        bodies.setdefault(names[column], {}).update(indexes)
    return serialize_container(bodies) if bodies else None


def _kept(container: bytes | None, where: str, columns: set[str]) -> Mapping[str, Mapping[str, bytes | None]]:
    """Indexes of the present container whose column is still declared."""
    found = {} if container is None else parse_container(container, where)
    return {name: indexes for name, indexes in found.items() if name in columns}


def _built(
    task: IndexTask, entry: ManifestEntry, declared: Sequence[ColumnIndex]
) -> Mapping[str, Mapping[str, bytes | None]]:
    if not declared:
        return {}
    builder = FileIndexBuilder(declared)
    path = task.write.paths.data_file(entry.partition, entry.bucket, entry.file)
    context = replace(task.read, fields=tuple(dict.fromkeys(index.field for index in declared)))
    for rows in DataFileReader(context, path, entry.file, {}).batches(_BATCH_ROWS):
        builder.add(rows)
    return builder.bodies()


def _stored(context: WriteContext, entry: ManifestEntry, container: bytes | None) -> DataFileMeta:
    """The file's new description; writes the side file if the container is large."""
    file = entry.file
    others = tuple(name for name in file.extra_files if not name.endswith(SUFFIX))
    if container is None:
        return replace(file, embedded_index=None, extra_files=others)
    folder = context.paths.data_file(entry.partition, entry.bucket, file).rsplit("/", 1)[0]
    threshold = FILE_INDEX_IN_MANIFEST_THRESHOLD.of(context.options)
    path = f"{folder}/{next_index_name(file)}"
    embedded, extra = store_container(container, path, context.file_io, threshold)
    return replace(file, embedded_index=embedded, extra_files=(*others, *extra))
