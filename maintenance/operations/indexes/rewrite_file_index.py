"""Procedure `rewrite_file_index`: give existing data files the file indexes that the table's options declare.

Data files are not rewritten: columns are read where an index is missing, and a COMPACT snapshot replaces the file's
entry by one with the new indexes. Files are committed in batches, so a stopped run has done part of the work and the
next one does the rest. Columns are found by field id, so a renamed column keeps its index. If no index changes, nothing
is committed. Unlike Java 2.0, an index that is no longer declared is dropped even if its column has another one, and
the place that is no longer used (embedded bytes or separate file) is cleared, since readers prefer the embedded bytes.
At the end known values are looked up, see `probe_file_index`.
Source: data section 9.8, Java `RewriteFileIndexProcedure`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypeVar

import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import OPERATION_PROPERTY, REWRITE_FILE_INDEX, CommitIdentity
from maintenance.errors import ConflictError, CorruptFileError, OutdatedPlanError, UnsupportedError
from maintenance.format.file_index.kinds import column_indexes
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.metadata.paths import bucket_text
from maintenance.operations.compaction.partition_choice import check_partitions, no_match, over_partitions
from maintenance.operations.indexes.index_files import IndexResult, IndexTask, index_files, stale_entries
from maintenance.operations.indexes.probe_file_index import IndexProbe, probe_file_index
from maintenance.operations.operation import Operation, OperationReport, Run, Shown, Spelling
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, moved_groups, refuse
from maintenance.operations.planned_groups import group_of_files
from maintenance.operations.progress import Progress
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.options import table as table_options
from maintenance.predicate.tree import Predicate
from maintenance.read.data_file import ReadContext
from maintenance.scan.plan import live_entries
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table, new_commit_user
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES_PER_TASK = 16
_ATTEMPTS = 6
_INDEX_OPTIONS = "file-index."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RewriteFileIndexReport(OperationReport):
    """What a rewrite did.

    Attributes:
        written_files: data files whose indexes changed; `skipped_files`: those that have what is declared.
        written_partitions: serialized partitions of the former.
        index_bytes: of the new containers; `built_indexes`, `dropped_indexes`: in those files.
        read_files: data files that were read; `input_bytes`: of those whose indexes changed.
        conflicts: data files that another writer replaced meanwhile; what replaced them was looked at again.
        probe: whether known values are found through the indexes, and what that leaves out; None in a dry run.
        probe_values, probe_skipped_share: the probe's numbers, share of files that indexes alone leave out.
        finding: that `where` matches no partition; None if it does.
    """

    table: str
    base_snapshot_id: int | None
    snapshot_ids: tuple[int, ...]
    written_files: int
    skipped_files: int
    index_bytes: int
    built_indexes: int = 0
    dropped_indexes: int = 0
    read_files: int = 0
    conflicts: int = 0
    seconds: float = 0.0
    probe: IndexProbe | None = None
    probe_values: int = 0
    probe_skipped_share: float = 0.0
    input_bytes: int = 0
    finding: str | None = None
    written_partitions: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class _Scope:
    """Which files to look at, and how. `predicate`: over partition columns; `only`: names of data files, None = all."""

    predicate: Predicate | None
    partitions: Sequence[PartitionValue] | None
    rebuild: bool
    files_per_commit: int = 1024
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class RewriteFileIndex:
    """Whose indexes to build. `declared`: the indexes that were declared when a plan was made."""

    partitions: Annotated[Sequence[Spec] | None, Param("Only these partitions; empty: all.")] = None
    where: Annotated[str | None, Param("Only partitions that match this condition, e.g. month = 7.")] = None
    rebuild: Annotated[bool, Param("Also rebuild indexes that are up to date.")] = False
    files_per_commit: Annotated[int, Param("Commit after this number of data files.", least=1, is_kept=False)] = 1024
    declared: Mapping[str, str] | None = None


@dataclass(frozen=True)
class IndexPlan:
    """The data files to look at. `only`: names of these, None = all in the scope; `stored`: the plan that is kept."""

    asked: RewriteFileIndex
    run: Run
    table: Table
    scope: _Scope
    only: frozenset[str] | None = None
    stored: StoredPlan | None = None
    warnings = ()

    @property
    def request(self) -> RewriteFileIndex:
        return replace(self.asked, declared=declared_indexes(self.table))

    @cached_property
    def stale(self) -> tuple[Snapshot | None, list[ManifestEntry]]:
        """The latest snapshot and the files that would change, found without reading data."""
        snapshot, entries = _entries(self.table, self.scope)
        tasks = _tasks(self.table, entries, rebuild=self.scope.rebuild, dry_run=True)
        outcomes = run_tasks(self.run.session(), stale_entries, tasks)
        return snapshot, [entry for outcome in outcomes for entry in _done(self.table, outcome)]

    @property
    def of(self) -> Snapshot | None:
        return self.stale[0]

    @property
    def report(self) -> RewriteFileIndexReport:
        return _carried_out(self.run, self, dry_run=True)

    def groups(self) -> Iterator[PlannedGroup]:
        groups: dict[str, list[ManifestEntry]] = {}
        for entry in self.stale[1]:
            place = bucket_text(self.table.paths.partition(entry.partition), entry.bucket)
            groups.setdefault(place, []).append(entry)
        reason = "rebuilt" if self.scope.rebuild else "indexes are not as declared"
        for name, members in sorted(groups.items()):
            yield group_of_files(name, members, reason, len(members))


def declared_indexes(table: Table) -> dict[str, str]:
    """The options that declare indexes."""
    return {key: text for key, text in sorted(table.options.items()) if key.startswith(_INDEX_OPTIONS)}


def plan(run: Run, table: Table, request: RewriteFileIndex, only: frozenset[str] | None = None) -> IndexPlan:
    """The data files whose indexes are not as declared. `only`: names of those to look at; None = all."""
    _check_whole_files(table)
    chosen = _existing(table, request.partitions)
    scope = _Scope(over_partitions(table, request.where), chosen, request.rebuild, max(1, request.files_per_commit))
    return IndexPlan(request, run, table, scope, only)


def _again(run: Run, table: Table, request: RewriteFileIndex, stored: StoredPlan) -> IndexPlan:
    """Raises: OutdatedPlanError: files or the declared indexes are others now."""
    other = dict(request.declared or {}) != declared_indexes(table)
    made = plan(run, table, request)
    refuse(stored, ["other indexes are declared now"] if other else moved_groups(stored, tuple(made.groups())))
    return replace(made, only=frozenset(name for group in stored.groups for name in group.files), stored=stored)


def apply(run: Run, _: Table, planned: IndexPlan) -> RewriteFileIndexReport:
    """Build the indexes.

    Raises: OutdatedPlanError: another writer replaced files of a kept plan meanwhile; the others have their indexes.
    """
    report = _carried_out(run, planned, dry_run=False)
    if planned.stored is not None and report.conflicts:
        raise OutdatedPlanError(
            f"another writer replaced {report.conflicts} of the plan's files during indexing",
            f"plan {planned.stored.id} of {planned.stored.table}",
            "The others have their indexes. Launch a dry run for a new plan.",
        )
    return report


def _carried_out(run: Run, planned: IndexPlan, *, dry_run: bool) -> RewriteFileIndexReport:
    started = time.monotonic()
    table, where, scope = planned.table, planned.asked.where, replace(planned.scope, only=planned.only)
    report = RewriteFileIndexReport(table.identifier, None, (), 0, 0, 0, dry_run=dry_run)
    spark = run.session()
    for _ in range(_ATTEMPTS):
        report, lost = _attempt(spark, table, scope, report, run.progress)
        if not lost:
            report = report if dry_run else _probed(table, report)
            if where is not None and not report.written_files + report.skipped_files:
                report = replace(report, finding=no_match(table, where))
            return replace(report, seconds=time.monotonic() - started)
        run.progress(f"{number_of(lost, 'data file was', 'data files were')} replaced by another writer: looking again")
    raise ConflictError(
        f"other writers kept replacing the data files, {_ATTEMPTS} times",
        f"table {table.identifier}",
        "Run rewrite_file_index again when fewer writers compact the table.",
    )


def _shown(report: RewriteFileIndexReport) -> Shown:
    """Each file that is written has one container of indexes."""
    counts = {"written_partitions": len(report.written_partitions), "written_indexes": report.written_files}
    rows = {name: pa.array([count], pa.int32()) for name, count in counts.items()}
    return Shown(pa.table(rows), not report.written_files)


OPERATION = Operation(
    "rewrite_file_index",
    "Build file indexes that are declared and missing.",
    RewriteFileIndex,
    plan,
    apply,
    _shown,
    _again,
    kept_as="file_index",
    uses_spark=True,
    has_job=False,
    spellings=(
        Spelling(
            "rewrite_file_index",
            "Build file indexes that are declared and missing.",
            ("partitions", "where", "dry_run", "rebuild", "files_per_commit"),
        ),
    ),
)


def _check_whole_files(table: Table) -> None:
    """Raises: UnsupportedError: files may have some of the columns of their rows alone."""
    table_options.check_writable(table.options, table.identifier)
    if table.model.evolves:
        raise UnsupportedError(
            "file indexes of a table with data evolution cannot be written again",
            f"table {table.identifier}",
            "Compact the table: the new files have the indexes that are declared.",
        )


def _entries(table: Table, scope: _Scope) -> tuple[Snapshot | None, list[ManifestEntry]]:
    """The latest snapshot and its data files in the scope."""
    snapshot = table.latest_snapshot()
    # Files of level 0 too, which reads of some tables leave out: a compaction may raise them as they are.
    source = table.scan_source()
    entries = [] if snapshot is None else live_entries(source, snapshot, scope.predicate, all_levels=True)
    if scope.partitions is not None:
        covers = covering(table.schema.partition_fields, scope.partitions)
        entries = [entry for entry in entries if covers(entry.partition)]
    return snapshot, [entry for entry in entries if scope.only is None or entry.file.file_name in scope.only]


def _existing(table: Table, partitions: Sequence[Spec] | None) -> tuple[PartitionValue, ...] | None:
    """The partitions that are named, None = all. Raises: NotFoundError: one is not there; DataError."""
    if partitions is None:
        return None
    chosen = named_partitions(table, partitions)
    check_partitions(table, chosen)
    return chosen


def _probed(table: Table, report: RewriteFileIndexReport) -> RewriteFileIndexReport:
    probe = probe_file_index(table)
    if probe.missed:
        raise CorruptFileError(
            f"file indexes hide rows: {'; '.join(probe.missed)}",
            f"table {table.identifier}",
            "Set file-index.read.enabled = false, and rewrite them with rebuild.",
        )
    return replace(report, probe=probe, probe_values=probe.values, probe_skipped_share=probe.skipped_share)


def _attempt(
    spark: "SparkSession | None",
    table: Table,
    scope: _Scope,
    so_far: RewriteFileIndexReport,
    say: Progress,
) -> tuple[RewriteFileIndexReport, int]:
    """Index what needs it on the latest snapshot. Returns the report and how many files were lost to other writers."""
    snapshot, entries = _entries(table, scope)
    say(f"{number_of(len(entries), 'data file')} to look at")
    report = replace(so_far, base_snapshot_id=None if snapshot is None else snapshot.id)
    lost = 0
    for start in range(0, len(entries), scope.files_per_commit):
        part = entries[start : start + scope.files_per_commit]
        results = _results(spark, table, _tasks(table, part, rebuild=scope.rebuild, dry_run=so_far.dry_run))
        report, lost_here = _committed(table, results, report, say)
        lost += lost_here
    done = report.written_files
    return replace(report, skipped_files=max(0, len(entries) - lost - done)), lost


def _committed(
    table: Table, results: Sequence[IndexResult], so_far: RewriteFileIndexReport, say: Progress
) -> tuple[RewriteFileIndexReport, int]:
    """Commit the results. Returns the report and how many files were lost to other writers."""
    changed = [pair for result in results for pair in result.changed]
    report = replace(
        so_far,
        written_files=so_far.written_files + len(changed),
        index_bytes=so_far.index_bytes + sum(result.index_bytes for result in results),
        built_indexes=so_far.built_indexes + sum(result.built for result in results),
        dropped_indexes=so_far.dropped_indexes + sum(result.dropped for result in results),
        read_files=so_far.read_files + sum(result.read_files for result in results),
        input_bytes=so_far.input_bytes + sum(old.file.file_size for old, _ in changed),
    )
    if so_far.dry_run or not changed:
        return replace(report, written_partitions=_partitions(report, changed)), 0
    properties = {OPERATION_PROPERTY: REWRITE_FILE_INDEX}
    identity = CommitIdentity(new_commit_user(table.options), properties=properties)
    committed = commit_compact(table.commit_target(), _messages(changed), identity)
    lost = [(old, new) for old, new in changed if (old.partition, old.bucket) in committed.lost]
    for old, new in lost:
        table.file_io.delete_quietly(_new_side_files(table, old, new))
    kept = [(old, new) for old, new in changed if (old.partition, old.bucket) not in committed.lost]
    report = replace(
        report,
        written_files=report.written_files - len(lost),
        conflicts=report.conflicts + len(lost),
        written_partitions=_partitions(report, kept),
    )
    if committed.snapshot_id is not None:
        say(f"snapshot {committed.snapshot_id} committed")
        tag_after_commit(table, wrote_rows=False)
        report = replace(report, snapshot_ids=(*report.snapshot_ids, committed.snapshot_id))
    return report, len(lost)


def _partitions(
    so_far: RewriteFileIndexReport, changed: Sequence[tuple[ManifestEntry, DataFileMeta]]
) -> frozenset[bytes]:
    return so_far.written_partitions | {old.partition for old, _ in changed}


def _new_side_files(table: Table, old: ManifestEntry, new: DataFileMeta) -> list[str]:
    """Index files that exist because of this rewrite alone."""
    before = set(table.paths.all_files_of(old.partition, old.bucket, old.file))
    return [path for path in table.paths.all_files_of(old.partition, old.bucket, new) if path not in before]


def _tasks(table: Table, entries: Sequence[ManifestEntry], *, rebuild: bool, dry_run: bool) -> list[IndexTask]:
    column_indexes(table.options, table.schema.fields)  # what is declared wrongly is not left to the tasks
    write = table.write_context()
    ids = {entry.file.schema_id for entry in entries} | {table.schema.id}
    schemas = {i: table.schema if i == table.schema.id else table.schemas.get(i) for i in ids}
    read = ReadContext(table.file_io, schemas, ())
    return [
        IndexTask(write, read, tuple(entries[start : start + _FILES_PER_TASK]), rebuild, dry_run)
        for start in range(0, len(entries), _FILES_PER_TASK)
    ]


def _results(spark: "SparkSession | None", table: Table, tasks: Sequence[IndexTask]) -> list[IndexResult]:
    return [_done(table, outcome) for outcome in run_tasks(spark, index_files, tasks)]


def _done(table: Table, outcome: T | TaskError) -> T:
    """What a task returned. Raises its error."""
    if isinstance(outcome, TaskError):
        outcome.raise_at(f"table {table.identifier}")
    return outcome


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


rewrite_file_index = OPERATION.function(
    """Rewrite the file indexes of a table.

    Args:
        only: names of the data files to look at; None = all.
    Raises: PredicateError: `where` names other columns; NotFoundError: no such partition; DataError: a name may mean
        several; CorruptFileError: the probe misses a value; UnsupportedError; an error of a task.
    """,
    takes=("progress",),
    spark_first=True,
    without=("declared",),
)
