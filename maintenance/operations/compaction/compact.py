"""Dedicated compaction: procedure `compact`, for tables whose writers are write-only.

Each (partition, bucket) is planned, rewritten in a task of its own and committed with the others in one COMPACT
snapshot.
A group that another writer changed meanwhile is dropped from the commit and planned again on the new state; the others
stay. A task that fails does not undo the finished ones. Rows that wait in the postpone bucket get their real buckets
first. Source: seed 002 (dedicated compaction), Java `CompactProcedure`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.bucket.postpone import POSTPONE_BUCKET
from maintenance.commit.commit import abort, commit_compact
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.compaction.append import AppendCompaction, AppendCompactionTask, proved_append
from maintenance.compaction.order.orders import SortedBy
from maintenance.compaction.plan import BucketCompaction
from maintenance.compaction.postpone import Distributed, PostponeTask, check_shares, distribute, leaving
from maintenance.compaction.proof.settings import ProofSettings, together
from maintenance.compaction.rewrite import CompactionResult, CompactionTask, rewrite_bucket
from maintenance.compaction.sorting import SortTask
from maintenance.errors import (
    CommitError,
    ConflictError,
    ErrorClass,
    ExpiredError,
    PaimonError,
    ProofError,
    UnexpectedError,
)
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import again_if_expired, is_held
from maintenance.operations.compaction.giving_way import rival, seconds_to_wait
from maintenance.operations.compaction.interrupted import cleared_if_interrupted, new_stamp
from maintenance.operations.compaction.partition_choice import check_partitions, no_match
from maintenance.operations.compaction.plan import (
    CompactionPlan,
    CompactionScope,
    Group,
    Unit,
    plan_compaction,
    scope_of,
)
from maintenance.operations.compaction.postponed import PostponedPlan, plan_postponed
from maintenance.operations.compaction.report import (
    COMMITTED,
    CONFLICT_RETRIED,
    CompactReport,
    Ledger,
)
from maintenance.operations.compaction.sort import NO_ORDER, plan_sorting, sort_units, sorted_by
from maintenance.operations.compaction.vectors import ChangedVectors, VectorsTask
from maintenance.options import own as own_options
from maintenance.options import table as table_options
from maintenance.read.data_file import ReadContext
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.compactors import refuse_beside_others, warnings_of
from maintenance.table.shape import table_shape
from maintenance.table.table import Table, new_commit_user
from maintenance.write.context import WriteContext, wall_clock_millis
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]


def compact(
    spark: "SparkSession | None",
    table: Table,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, str]] | None = None,
    where: str | None = None,
    partition_idle_time: timedelta | None = None,
    order_strategy: str = NO_ORDER,
    order_by: Sequence[str] = (),
    groups_per_commit: int | None = None,
    dry_run: bool = False,
    max_retries: int = 5,
    skip_expiring: bool = True,
    proof: str | None = None,
    beside_other_compactors: bool | None = None,
    only: Callable[[Unit], bool] | None = None,
    progress: Progress | None = None,
) -> CompactReport:
    """Compact a table.

    Args:
        spark: session whose tasks do the work; None = threads of this process.
        full: everything into the highest level, instead of what the universal rules pick.
        partitions: only these; each maps partition columns to value texts, as directories show them.
        where: only partitions that match, in Spark's SQL dialect; not together with `partitions`. If none does, the
            report's finding says so.
        partition_idle_time: only partitions whose newest file is older.
        order_strategy, order_by: rewrite the partitions of an append table in an order of their rows: ``order``,
            ``zorder`` or ``hilbert``, over these columns; ``none`` = as they are.
        groups_per_commit: groups after which the work is committed; None = all in one snapshot. What is committed stays
            when later work fails.
        dry_run: plan and report, change nothing.
        max_retries: how often a group is planned again after another writer won.
        skip_expiring: leave partitions alone that expire before the next check (`partition.expiration-check-interval`)
            unless option `compaction.skip-expired-partitions` is ``false``.
        proof: how each rewrite is proved before it is committed, see `ProofMode`; None = as the table's option
            `paimon-maintenance.compaction.proof` says.
        beside_other_compactors: compact a table with deletion vectors although another engine has compacted it, see
            `compactors.refusal`; None = as the table's option `paimon-maintenance.compaction.beside-other-compactors`
            says.
        only: the units of the plan to carry out; rows that wait for real buckets are left alone then. None = all.
        progress: told what goes on, a line at a time.
    Raises: UnsupportedError: the table has an option that is not supported; OptionError, PredicateError: the scope does
        not fit the table, or another engine compacts it; NotFoundError: one of `partitions` does not exist; errors of
        reading the metadata. What goes wrong in single groups stands in the report.
    """
    scope, by = checked_scope(
        table,
        full=full,
        partitions=partitions,
        where=where,
        partition_idle_time=partition_idle_time,
        order_strategy=order_strategy,
        order_by=order_by,
        skip_expiring=skip_expiring,
        proof=proof,
    )
    if beside_other_compactors is not None:
        table = table.copy({own_options.BESIDE_OTHER_COMPACTORS.key: str(beside_other_compactors).lower()})
    told = progress or (lambda _: None)
    for warning in warnings_of(table):
        told(warning)
    if not dry_run:
        refuse_beside_others(table)
    run = _Compaction(spark, table, scope, told, by=by, only=only, proof=proof)
    report = run.dry() if dry_run else run.run(max_retries, groups_per_commit)
    return report if report.groups or where is None else replace(report, finding=no_match(table, where))


def checked_scope(
    table: Table,
    *,
    full: bool = False,
    partitions: Sequence[Mapping[str, str]] | None = None,
    where: str | None = None,
    partition_idle_time: timedelta | None = None,
    order_strategy: str = NO_ORDER,
    order_by: Sequence[str] = (),
    skip_expiring: bool = True,
    proof: str | None = None,
) -> tuple[CompactionScope, SortedBy | None]:
    """What a compaction looks at, and the order it brings rows into. Arguments and errors as of `compact`."""
    table_options.check_writable(table.options, table.identifier)
    if proof is not None:
        ProofSettings.of(proof)
    scope = scope_of(
        table,
        full=full,
        partitions=partitions,
        where=where,
        idle_time=partition_idle_time,
        keeps_expiring=not skip_expiring,
    )
    by = sorted_by(table, order_strategy, order_by, scope)
    if partitions is not None:
        check_partitions(table, partitions)
    return scope, by


def compact_groups(
    spark: "SparkSession | None",
    table: Table,
    scope: CompactionScope,
    identity: CommitIdentity,
    *,
    max_retries: int,
    progress: Progress,
) -> Ledger:
    """Compact what a writer has written, as a part of its commit; rows in the postpone bucket stay there.

    Args: `scope`: the groups; `identity`: whose COMPACT snapshot it is.
    Returns: what became of the groups. Raises: as `compact`.
    """
    refuse_beside_others(table, inline=True)
    run = _Compaction(spark, table, scope, progress, identity=identity)
    run.work(max_retries, None)
    return run.ledger


class _Compaction:
    def __init__(
        self,
        spark: "SparkSession | None",
        table: Table,
        scope: CompactionScope,
        progress: Progress,
        *,
        by: SortedBy | None = None,
        only: Callable[[Unit], bool] | None = None,
        proof: str | None = None,
        identity: CommitIdentity | None = None,
    ) -> None:
        self._by = by
        self._spark = spark
        self._only = only
        self._table = table
        self._scope = scope
        self._progress = progress
        default = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: "compact"})
        self.identity = identity or default
        self.ledger = Ledger(table)
        self.proof = ProofSettings.of(proof or own_options.COMPACTION_PROOF.of(table.options))
        self._indexes: dict[int, Sequence[IndexManifestEntry]] = {}

    def dry(self) -> CompactReport:
        shape = table_shape(self._table)
        for waiting in self._plan_postponed().units:
            if waiting.share == 0:
                self.ledger.plan_files(_group(leaving(waiting)), waiting.files, "rows wait for real buckets")
        plan = self._plan(self._scope)
        for unit in plan.units:
            self.ledger.plan(unit)
        return self.ledger.report(plan.snapshot, shape, shape, dry_run=True)

    def run(self, max_retries: int, groups_per_commit: int | None) -> CompactReport:
        before = table_shape(self._table)
        if self._only is None:
            self._distribute(max_retries)
        base = self.work(max_retries, groups_per_commit)
        return self.ledger.report(base, before, table_shape(self._table), dry_run=False)

    def work(self, max_retries: int, groups_per_commit: int | None) -> Snapshot | None:
        """Plan, rewrite and commit, again for groups that another writer changed. Returns what was first planned on."""
        first = plan = self._plan(self._scope)
        for attempt in range(max_retries + 1):
            if not plan.units:
                break
            lost: dict[Group, str] = {}
            for batch in _batches(plan, groups_per_commit):
                lost |= self._attempt(batch, retried=attempt > 0)
            if not lost:
                break
            if attempt == max_retries:
                self._progress(f"{len(lost)} groups were changed by another writer again: they are given up")
                self.ledger.give_up(lost)
                break
            self._give_way(plan.snapshot, lost, attempt)
            self.ledger.plan_again(lost)
            plan = self._plan(replace(self._scope, groups=frozenset(lost)))
            for group in lost:
                if group not in {(unit.partition, unit.bucket) for unit in plan.units}:
                    self.ledger.idle(group, "another writer did the work")
        return first.snapshot

    def _give_way(self, planned_on: Snapshot | None, lost: Mapping[Group, str], attempt: int) -> None:
        """Wait before groups are planned again, longer each time, and longest beside writers of another engine."""
        other = rival(self._table, planned_on, lost)
        seconds = seconds_to_wait(attempt, beside_others=other is not None)
        who = "another writer" if other is None else f"'{other}', a writer of another engine"
        self._progress(f"{len(lost)} groups were changed by {who}: they are planned again in {seconds:.1f} s")
        time.sleep(seconds)

    def _plan(self, scope: CompactionScope) -> CompactionPlan:
        planned = plan_compaction if self._by is None else plan_sorting
        plan = again_if_expired(lambda: planned(self._table, scope, now_millis=wall_clock_millis()))
        if self._only is not None:
            plan = replace(plan, units=tuple(filter(self._only, plan.units)))
        for group, files in plan.idle.items():
            if not self.ledger.knows(group):
                self.ledger.idle(group, files=files)
        for group, reason in plan.skipped.items():
            self.ledger.skip(group, reason)
        if plan.units:
            files, size = _totals(plan.units)
            self._progress(f"{len(plan.units)} groups to compact: {files} files, {size / 2**20:.1f} MiB")
        return plan

    def _attempt(self, plan: CompactionPlan, *, retried: bool) -> Mapping[Group, str]:
        """Rewrite and commit the units of a plan. Returns the groups that another writer changed meanwhile."""
        try:
            # Before the work: another writer may expire the snapshot meanwhile.
            index = self._index(plan.snapshot)
        except ExpiredError as gone:
            return {(unit.partition, unit.bucket): str(gone) for unit in plan.units}
        finished: list[tuple[Unit, CompactionResult]] = []
        expired: dict[Group, str] = {}
        for unit, outcome in self._rewritten(plan):
            if not isinstance(outcome, TaskError):
                finished.append((unit, outcome))
                continue
            error = outcome.told(f"table {self._table.identifier}")
            if self._has_expired(plan.snapshot, error):
                expired[unit.partition, unit.bucket] = str(error)
            else:
                self.ledger.fail_unit(unit, error)
        return {**expired, **self._finish(plan, index, finished, retried=retried)}

    def _has_expired(self, snapshot: Snapshot | None, error: PaimonError) -> bool:
        """Whether a file is missing as another writer replaced it, and the snapshot with it expired."""
        if error.error_class != ErrorClass.DAMAGE or snapshot is None:
            return False
        return not is_held(self._table.file_io, self._table.paths, snapshot.id)

    def _finish(
        self,
        plan: CompactionPlan,
        index: Sequence[IndexManifestEntry] | None,
        finished: Sequence[tuple[Unit, CompactionResult]],
        *,
        retried: bool,
    ) -> Mapping[Group, str]:
        """Commit what was rewritten. Returns the groups that another writer changed meanwhile."""
        if index is None:
            results = [result for _, result in finished]
            return self._commit(results, [result.message for result in results], retried=retried)
        changed = self._changed_vectors(plan, index, finished)
        for unit, result in finished:
            if _group(result.message) in changed.refused:
                self.ledger.fail_unit(unit, changed.refused[_group(result.message)])
        results = [result for _, result in finished if _group(result.message) not in changed.refused]
        return self._commit(results, changed.messages, retried=retried)

    def _index(self, snapshot: Snapshot | None) -> Sequence[IndexManifestEntry] | None:
        """The index state that a plan was made on, None where vectors play no role. Batches of a plan share it."""
        if snapshot is None or not table_options.DELETION_VECTORS_ENABLED.of(self._table.options):
            return None
        if snapshot.id not in self._indexes:
            self._indexes[snapshot.id] = self._table.manifests.read_index(snapshot)
        return self._indexes[snapshot.id]

    def _changed_vectors(
        self,
        plan: CompactionPlan,
        index: Sequence[IndexManifestEntry],
        finished: Sequence[tuple[Unit, CompactionResult]],
    ) -> ChangedVectors:
        base = None if plan.snapshot is None else plan.snapshot.id
        rows = {file.file_name: file.row_count for unit, _ in finished for file in _known_files(unit)}
        results = [result for _, result in finished]
        try:
            return VectorsTask(self._table, index, rows, self.proof, base).change(results)
        except BaseException:
            abort(self._table.commit_target(), [result.message for result in results])
            raise

    def _commit(
        self, finished: Sequence[CompactionResult], messages: Sequence[CommitMessage], *, retried: bool
    ) -> Mapping[Group, str]:
        """Commit messages, those of `finished` among them. Returns the groups that another writer changed meanwhile."""
        if not messages:
            return {}
        try:
            committed = commit_compact(self._table.commit_target(), messages, self.identity)
        except CommitError as error:
            # Certain not to be published: what was written is of no use, the groups are planned again.
            abort(self._table.commit_target(), messages)
            return {_group(message): str(error) for message in messages}
        if committed.snapshot_id is not None:
            self.ledger.snapshot_ids.append(committed.snapshot_id)
            self._progress(f"snapshot {committed.snapshot_id} committed")
        if committed.snapshot_id is None and not committed.lost:
            found = "work was planned, and there was nothing to commit after it"
            unexpected = UnexpectedError(found, f"table {self._table.identifier}", "Report this.")
            self.ledger.fail(map(_group, messages), unexpected)
            return {}
        for result in finished:
            if _group(result.message) not in committed.lost:
                self.ledger.finish(result, CONFLICT_RETRIED if retried else COMMITTED)
        return committed.lost

    # Rows that wait in the postpone bucket

    def _plan_postponed(self) -> PostponedPlan:
        return again_if_expired(lambda: plan_postponed(self._table, self._scope, now_millis=wall_clock_millis()))

    def _distribute(self, max_retries: int) -> None:
        """Give the rows that wait their buckets. What another writer changed is planned again, as far as it is left."""
        lost: Mapping[Group, str] = {}
        for attempt in range(max_retries + 1):
            plan = self._plan_postponed()
            self.ledger.plan_again((unit.partition, POSTPONE_BUCKET) for unit in plan.units)
            for group in lost:
                if group[0] not in {unit.partition for unit in plan.units}:
                    self.ledger.idle(group, "another writer did the work")
            if not plan.units:
                return
            lost = self._distributed(plan, retried=attempt > 0)
            if not lost:
                return
            if attempt < max_retries:
                self._give_way(plan.snapshot, lost, attempt)
        self.ledger.give_up(lost)

    def _distributed(self, plan: PostponedPlan, *, retried: bool) -> Mapping[Group, str]:
        """Returns the postpone buckets whose partitions another writer changed meanwhile."""
        write = self._table.write_context()
        read = self._read_context([file for unit in plan.units for file in unit.input_files], write)
        base = None if plan.snapshot is None else plan.snapshot.id
        tasks = [PostponeTask(write, read, unit, self.proof, base) for unit in plan.units]
        self._progress(f"rows of {len(tasks)} partitions wait for their buckets")
        done = run_tasks(self._spark, distribute, tasks)
        results: list[CompactionResult] = []
        kept: list[CommitMessage] = []
        expired: dict[Group, str] = {}
        for partition in dict.fromkeys(unit.partition for unit in plan.units):
            parts = [
                (task, out) for task, out in zip(tasks, done, strict=True) if task.compaction.partition == partition
            ]
            written = self._whole(parts, plan.snapshot)
            if written is None:
                expired[partition, POSTPONE_BUCKET] = "what it read was replaced and expired meanwhile"
            elif written:
                rows = sum(file.row_count for file in parts[0][0].compaction.files)
                proof = together([part.proof for part in written])
                results.append(CompactionResult(leaving(parts[0][0].compaction), rows, rows, proof=proof))
                kept += [message for part in written for message in part.messages]
        lost = self._commit(results, [*(result.message for result in results), *kept], retried=retried)
        return {**expired, **{group: reason for group, reason in lost.items() if group[1] == POSTPONE_BUCKET}}

    def _whole(
        self, parts: "Sequence[tuple[PostponeTask, Distributed | TaskError]]", snapshot: Snapshot | None
    ) -> list[Distributed] | None:
        """What the units of one partition wrote; nothing if one failed, and nothing of it stays then.

        None if what they read has expired. Args: `snapshot`: that they were planned on.
        """
        written = [out for _, out in parts if not isinstance(out, TaskError)]
        errors: list[PaimonError] = [out.told(self._table.identifier) for _, out in parts if isinstance(out, TaskError)]
        if not errors:
            try:
                check_shares([task for task, _ in parts], written)
                return written
            except ProofError as error:
                errors.append(error)
        else:
            abort(self._table.commit_target(), [message for part in written for message in part.messages])
            if all(self._has_expired(snapshot, error) for error in errors):
                return None
        unit = parts[0][0].compaction
        self.ledger.fail_files(_group(leaving(unit)), unit.files, errors)
        return []

    def _rewritten(self, plan: CompactionPlan) -> "list[tuple[Unit, CompactionResult | TaskError]]":
        stamp = new_stamp()
        tasks = self._tasks(plan, stamp)
        places = {(unit.partition, unit.bucket) for unit in plan.units}
        with cleared_if_interrupted(self._table, places, stamp, tasks_end=self._spark is None):
            return self._outcomes(plan, tasks)

    def _outcomes(
        self, plan: CompactionPlan, tasks: "Sequence[CompactionTask | AppendCompactionTask]"
    ) -> "list[tuple[Unit, CompactionResult | TaskError]]":
        if self._by is not None:
            sorting = [
                SortTask(
                    task.write, task.read, task.compaction, self._by, proof=task.proof, snapshot_id=task.snapshot_id
                )
                for task in tasks
                if isinstance(task, AppendCompactionTask)
            ]
            return [*sort_units(self._spark, self._table, sorting, self._progress)]
        done = run_tasks(
            self._spark,
            run_unit,
            tasks,
            sizes=[sum(file.file_size for file in unit.input_files) for unit in plan.units],
            on_done=lambda n: self._progress(f"{n} groups rewritten"),
        )
        return list(zip(plan.units, done, strict=True))

    def _tasks(self, plan: CompactionPlan, stamp: str) -> "list[CompactionTask | AppendCompactionTask]":
        write = replace(self._table.write_context(), stamp=stamp)
        read = self._read_context([file for unit in plan.units for file in unit.input_files], write)
        base = None if plan.snapshot is None else plan.snapshot.id
        return [
            AppendCompactionTask(write, read, unit, proof=self.proof, snapshot_id=base)
            if isinstance(unit, AppendCompaction)
            else CompactionTask(write, read, unit, proof=self.proof, snapshot_id=base)
            for unit in plan.units
        ]

    def _read_context(self, files: Sequence[DataFileMeta], write: WriteContext) -> ReadContext:
        ids = {file.schema_id for file in files} | {self._table.schema.id}
        if max(ids) > self._table.schema.id:
            raise ConflictError(
                f"there are files of schema {max(ids)}, and the table was opened with schema {self._table.schema.id}",
                f"table {self._table.identifier}",
                "Open the table again: rewriting them would bring them back to the old columns.",
            )
        schemas = {i: self._table.schema if i == self._table.schema.id else self._table.schemas.get(i) for i in ids}
        return ReadContext(self._table.file_io, schemas, write.row_fields, self._table.schema.partition_keys)


def run_unit(task: CompactionTask | AppendCompactionTask) -> CompactionResult:
    """Do one unit of work. Runs in a task."""
    if isinstance(task, CompactionTask):
        return rewrite_bucket(task)
    message, proof = proved_append(task)
    rows = sum(f.row_count for f in message.compact_before)
    return CompactionResult(message, rows, rows, proof=proof)


def _known_files(unit: Unit) -> Sequence[DataFileMeta]:
    """Files whose vectors a unit may change."""
    return (*unit.input_files, *unit.older) if isinstance(unit, BucketCompaction) else unit.input_files


def _group(message: CommitMessage) -> Group:
    return message.partition, message.bucket


def _batches(plan: CompactionPlan, groups: int | None) -> Iterator[CompactionPlan]:
    """The plan in parts of so many groups; the units of a group stay together."""
    by_group: dict[Group, list[Unit]] = {}
    for unit in plan.units:
        by_group.setdefault((unit.partition, unit.bucket), []).append(unit)
    size = max(1, groups or len(by_group))
    for start in range(0, len(by_group), size):
        chosen = list(by_group.values())[start : start + size]
        yield replace(plan, units=tuple(unit for units in chosen for unit in units))


def _totals(units: Sequence[Unit]) -> tuple[int, int]:
    files = [file for unit in units for file in unit.input_files]
    return len(files), sum(file.file_size for file in files)
