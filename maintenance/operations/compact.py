"""Dedicated compaction: procedure `compact`, for tables whose writers are write-only.

Each (partition, bucket) is planned, rewritten in a task of its own and committed with the others in one COMPACT
snapshot.
A group that another writer changed meanwhile is dropped from the commit and planned anew on the new state; the others
stay. A task that fails does not undo the finished ones. Source: seed 002 (dedicated compaction), Java
`CompactProcedure`.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maintenance.commit.commit import OPERATION_PROPERTY, CommitIdentity, abort, commit_compact
from maintenance.compaction.append import AppendCompaction, AppendCompactionTask, rewrite_append
from maintenance.compaction.plan import BucketCompaction
from maintenance.compaction.rewrite import CompactionResult, CompactionTask, rewrite_bucket
from maintenance.errors import CommitError, ConflictError
from maintenance.format.data_file import DataFileMeta
from maintenance.metadata.paths import partition_text_of
from maintenance.operations.compact_plan import CompactionPlan, CompactionScope, Group, Unit, plan_compaction
from maintenance.options import table as table_options
from maintenance.read.data_file import ReadContext
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.shape import TableShape, table_shape
from maintenance.table.table import Table, new_commit_user
from maintenance.types.row_kind import KIND_TEXTS
from maintenance.write.context import wall_clock_millis
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]

PLANNED = "planned"
COMMITTED = "committed"
NOTHING_TO_DO = "nothing_to_do"
CONFLICT_RETRIED = "conflict_retried"
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class GroupResult:
    """What became of one (partition, bucket).

    Attributes:
        outcome: ``planned`` (dry run), ``committed``, ``conflict_retried`` (committed after another writer won once or
            more), ``nothing_to_do`` or ``failed``.
        input_files, input_bytes: chosen for compaction; output of those written or kept. Sizes in bytes.
        message: why it was chosen, or what went wrong.
    """

    partition: str
    bucket: int
    outcome: str
    input_files: int = 0
    output_files: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    input_rows: int = 0
    output_rows: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What a compaction did.

    Attributes:
        snapshot_ids: the COMPACT snapshots it made.
        changelog_rows: rows of changelog produced, by kind text.
        compacted_through: the newest snapshot whose changes were all looked at; None before the first commit, after a
            dry run, and when a group failed.
    """

    table: str
    base_snapshot_id: int | None
    snapshot_ids: tuple[int, ...]
    groups: tuple[GroupResult, ...]
    before: TableShape
    after: TableShape
    changelog_rows: Mapping[str, int] = field(default_factory=dict)
    compacted_through: int | None = None
    dry_run: bool = False
    seconds: float = 0.0

    def count(self, outcome: str) -> int:
        """Groups with that outcome."""
        return sum(group.outcome == outcome for group in self.groups)

    @property
    def failed(self) -> tuple[GroupResult, ...]:
        return tuple(group for group in self.groups if group.outcome == FAILED)


def compact(
    spark: "SparkSession | None",
    table: Table,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, str]] | None = None,
    dry_run: bool = False,
    max_retries: int = 5,
    progress: Progress | None = None,
) -> CompactReport:
    """Compact a table.

    Args:
        spark: session whose tasks do the work; None = threads of this process.
        full: everything into the highest level, instead of what the universal rules pick.
        partitions: only these; each maps partition columns to value texts, as directories show them.
        dry_run: plan and report, change nothing.
        max_retries: how often a group is planned anew after another writer won.
        progress: told what goes on, a line at a time.
    Raises: UnsupportedError: the table has an option that is not supported; errors of reading the metadata. What goes
        wrong in single groups stands in the report.
    """
    table_options.check_writable(table.options, table.identifier)
    run = _Compaction(spark, table, CompactionScope(full, partitions), progress or (lambda _: None))
    return run.dry() if dry_run else run.run(max_retries)


class _Compaction:
    def __init__(self, spark: "SparkSession | None", table: Table, scope: CompactionScope, progress: Progress) -> None:
        self._spark = spark
        self._table = table
        self._scope = scope
        self._progress = progress
        self._started = time.monotonic()
        self._identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: "compact"})
        self._results: dict[Group, GroupResult] = {}
        self._snapshot_ids: list[int] = []
        self._changelog = [0] * len(KIND_TEXTS)

    def dry(self) -> CompactReport:
        shape = table_shape(self._table)
        plan = self._plan(self._scope)
        for unit in plan.units:
            self._note(unit, PLANNED)
        return self._report(plan, shape, shape, dry_run=True)

    def run(self, max_retries: int) -> CompactReport:
        before = table_shape(self._table)
        first = plan = self._plan(self._scope)
        for attempt in range(max_retries + 1):
            if not plan.units:
                break
            lost = self._attempt(plan, retried=attempt > 0)
            if not lost:
                break
            self._progress(f"{len(lost)} groups were changed by another writer: they are planned anew")
            if attempt == max_retries:
                self._give_up(lost)
                break
            time.sleep(min(5.0, 0.1 * 2**attempt) * (1 + random.random()))
            plan = self._plan(replace(self._scope, groups=frozenset(lost)))
            for group in lost:
                if group not in {(unit.partition, unit.bucket) for unit in plan.units}:
                    self._results[group] = self._result(group, NOTHING_TO_DO, message="another writer did the work")
        return self._report(first, before, table_shape(self._table), dry_run=False)

    def _plan(self, scope: CompactionScope) -> CompactionPlan:
        plan = plan_compaction(self._table, scope, now_millis=wall_clock_millis())
        for group, files in plan.idle.items():
            self._results.setdefault(group, self._result(group, NOTHING_TO_DO, input_files=files))
        if plan.units:
            files, size = _totals(plan.units)
            self._progress(f"{len(plan.units)} groups to compact: {files} files, {size / 2**20:.1f} MiB")
        return plan

    def _attempt(self, plan: CompactionPlan, *, retried: bool) -> Mapping[Group, str]:
        """Rewrite and commit the units of a plan. Returns the groups that another writer changed meanwhile."""
        tasks = self._tasks(plan.units)
        done = run_tasks(self._spark, run_unit, tasks, on_done=lambda n: self._progress(f"{n} groups rewritten"))
        finished: list[CompactionResult] = []
        for unit, outcome in zip(plan.units, done, strict=True):
            if isinstance(outcome, TaskError):
                self._note(unit, FAILED, message=str(outcome.error))
            else:
                finished.append(outcome)
        if not finished:
            return {}
        messages = [result.message for result in finished]
        try:
            committed = commit_compact(self._table.commit_target(), messages, self._identity)
        except CommitError as error:
            # Certain not to be published: what was written is of no use, the groups are planned anew.
            abort(self._table.commit_target(), messages)
            return {(message.partition, message.bucket): str(error) for message in messages}
        if committed.snapshot_id is not None:
            self._snapshot_ids.append(committed.snapshot_id)
            self._progress(f"snapshot {committed.snapshot_id} committed")
        for result in finished:
            group = (result.message.partition, result.message.bucket)
            if group not in committed.lost:
                self._finish(result, CONFLICT_RETRIED if retried else COMMITTED)
        return committed.lost

    def _tasks(self, units: Sequence[Unit]) -> "list[CompactionTask | AppendCompactionTask]":
        write = self._table.write_context()
        ids = {file.schema_id for unit in units for file in _files(unit)} | {self._table.schema.id}
        if max(ids) > self._table.schema.id:
            raise ConflictError(
                f"there are files of schema {max(ids)}, and the table was opened with schema {self._table.schema.id}",
                f"table {self._table.identifier}",
                "Open the table again: rewriting them would bring them back to the old columns.",
            )
        schemas = {i: self._table.schema if i == self._table.schema.id else self._table.schemas.get(i) for i in ids}
        read = ReadContext(self._table.file_io, schemas, write.row_fields, self._table.schema.partition_keys)
        return [
            AppendCompactionTask(write, read, unit)
            if isinstance(unit, AppendCompaction)
            else CompactionTask(write, read, unit)
            for unit in units
        ]

    def _finish(self, result: CompactionResult, outcome: str) -> None:
        message = result.message
        group = (message.partition, message.bucket)
        previous = self._results.get(group)
        entry = self._result(
            group,
            outcome,
            input_files=len(message.compact_before),
            output_files=len(message.compact_after),
            input_bytes=sum(f.file_size for f in message.compact_before),
            output_bytes=sum(f.file_size for f in message.compact_after),
            input_rows=sum(f.row_count for f in message.compact_before),
            output_rows=sum(f.row_count for f in message.compact_after),
        )
        self._results[group] = _sum(previous, entry) if previous and previous.outcome == outcome else entry
        self._changelog = [a + b for a, b in zip(self._changelog, result.changelog_rows, strict=True)]

    def _note(self, unit: Unit, outcome: str, message: str = "") -> None:
        files = _files(unit)
        reason = unit.reason if isinstance(unit, BucketCompaction) else "small files"
        group = (unit.partition, unit.bucket)
        entry = self._result(
            group,
            outcome,
            input_files=len(files),
            input_bytes=sum(f.file_size for f in files),
            input_rows=sum(f.row_count for f in files),
            message=message or reason,
        )
        previous = self._results.get(group)
        self._results[group] = _sum(previous, entry) if previous and previous.outcome == outcome else entry

    def _give_up(self, lost: Mapping[Group, str]) -> None:
        for group, reason in lost.items():
            self._results[group] = self._result(group, FAILED, message=f"{reason}; other writers kept winning")

    def _result(self, group: Group, outcome: str, *, message: str = "", **numbers: int) -> GroupResult:
        partition = partition_text_of(self._table.paths.spec_of(group[0]))
        return GroupResult(partition, group[1], outcome, message=message, **numbers)

    def _report(self, plan: CompactionPlan, before: TableShape, after: TableShape, *, dry_run: bool) -> CompactReport:
        base = None if plan.snapshot is None else plan.snapshot.id
        complete = not dry_run and all(group.outcome != FAILED for group in self._results.values())
        return CompactReport(
            table=self._table.identifier,
            base_snapshot_id=base,
            snapshot_ids=tuple(self._snapshot_ids),
            groups=tuple(sorted(self._results.values(), key=lambda group: (group.partition, group.bucket))),
            before=before,
            after=after,
            changelog_rows=dict(zip(KIND_TEXTS, self._changelog, strict=True)),
            compacted_through=base if complete else None,
            dry_run=dry_run,
            seconds=time.monotonic() - self._started,
        )


def run_unit(task: CompactionTask | AppendCompactionTask) -> CompactionResult:
    """Do one unit of work. Runs in a task."""
    if isinstance(task, CompactionTask):
        return rewrite_bucket(task)
    message: CommitMessage = rewrite_append(task)
    rows = sum(f.row_count for f in message.compact_before)
    return CompactionResult(message, rows, rows)


def _files(unit: Unit) -> tuple[DataFileMeta, ...]:
    return unit.files if isinstance(unit, AppendCompaction) else unit.input_files


def _totals(units: Sequence[Unit]) -> tuple[int, int]:
    files = [file for unit in units for file in _files(unit)]
    return len(files), sum(file.file_size for file in files)


def _sum(first: GroupResult, second: GroupResult) -> GroupResult:
    """Two units of one group together."""
    return replace(
        second,
        input_files=first.input_files + second.input_files,
        output_files=first.output_files + second.output_files,
        input_bytes=first.input_bytes + second.input_bytes,
        output_bytes=first.output_bytes + second.output_bytes,
        input_rows=first.input_rows + second.input_rows,
        output_rows=first.output_rows + second.output_rows,
    )
