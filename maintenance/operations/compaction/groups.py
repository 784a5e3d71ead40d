"""The groups of a plan: rewritten in tasks, proved, and committed in one COMPACT snapshot or several."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maintenance.commit.commit import abort
from maintenance.compaction.append import AppendCompaction, AppendCompactionTask, proved_append
from maintenance.compaction.key_ranges import KeySampling, cut, joined, most_tasks, samplings, tasks_of
from maintenance.compaction.plan import BucketCompaction
from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.compaction.rewrite import rewrite_bucket
from maintenance.compaction.rewriting import CompactionResult, CompactionTask
from maintenance.compaction.sorting import SortTask
from maintenance.errors import ExpiredError, PaimonError, ProofError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.dead_vectors import without_dead
from maintenance.metadata.paths import bucket_text
from maintenance.operations.compaction.interrupted import (
    AFTER_TASKS,
    WHILE_TASKS_END,
    cleared_if_interrupted,
    new_stamp,
)
from maintenance.operations.compaction.plan import CompactionPlan, Group, Unit
from maintenance.operations.compaction.sort import sort_units
from maintenance.operations.compaction.vectors import ChangedVectors, VectorsTask
from maintenance.operations.compaction.work import CompactionWork, group_of
from maintenance.operations.progress import Counted
from maintenance.spark.application import is_connect
from maintenance.spark.tasks import TaskError, run_tasks, slots

TIME_IS_UP = "the time is up: a later run compacts it"
"""Why a group was skipped."""


@dataclass(frozen=True, slots=True)
class GroupRewrite:
    """The rewrite of the groups of one plan."""

    work: CompactionWork
    plan: CompactionPlan

    def run(self, *, retried: bool) -> dict[Group, str]:
        """Rewrite and commit. Returns the groups that another writer changed meanwhile, and what it did."""
        try:
            # Before the work: another writer may expire the snapshot meanwhile.
            index = self._index(self.plan.snapshot)
        except ExpiredError as gone:
            return {(unit.partition, unit.bucket): str(gone) for unit in self.plan.units}
        lost: dict[Group, str] = {}
        for batch in _batches(self.plan, self.work.request.groups_per_commit):
            if self.work.request.is_late:
                for group in dict.fromkeys((unit.partition, unit.bucket) for unit in batch):
                    self.work.summary.skip(group, TIME_IS_UP)
                continue
            lost |= self._attempt(batch, index, retried=retried)
        return lost

    def _index(self, snapshot: Snapshot | None) -> Sequence[IndexManifestEntry] | None:
        """The index state that the plan was made on, None where vectors play no role."""
        table = self.work.table
        if snapshot is None or not table.model.has_deletion_vectors:
            return None
        groups = {(unit.partition, unit.bucket) for unit in self.plan.units}
        return without_dead(table.manifests.read_index(snapshot), self.plan.deletions, groups)

    def _attempt(
        self, batch: Sequence[Unit], index: Sequence[IndexManifestEntry] | None, *, retried: bool
    ) -> dict[Group, str]:
        """Rewrite and commit some units. Returns the groups that another writer changed meanwhile."""
        finished: list[tuple[Unit, CompactionResult]] = []
        expired: dict[Group, str] = {}
        for unit, outcome in self._rewritten(batch):
            if not isinstance(outcome, TaskError):
                finished.append((unit, outcome))
                continue
            error = outcome.error_at(f"table {self.work.table.identifier}")
            if self.work.has_expired(self.plan.snapshot, error):
                expired[unit.partition, unit.bucket] = str(error)
            else:
                self.work.summary.fail_unit(unit, error)
        return {**expired, **self._finish(index, finished, retried=retried)}

    def _finish(
        self,
        index: Sequence[IndexManifestEntry] | None,
        finished: Sequence[tuple[Unit, CompactionResult]],
        *,
        retried: bool,
    ) -> Mapping[Group, str]:
        """Commit what was rewritten. Returns the groups that another writer changed meanwhile."""
        results = [result for _, result in finished]
        if index is None:
            return self.work.commit(results, [result.message for result in results], retried=retried)
        try:
            changed = self._changed_vectors(index, finished)
        except PaimonError as error:
            if not self.work.has_expired(self.plan.snapshot, error):
                raise
            return {(unit.partition, unit.bucket): str(error) for unit, _ in finished}
        for unit, result in finished:
            if group_of(result.message) in changed.refused:
                self.work.summary.fail_unit(unit, changed.refused[group_of(result.message)])
        kept = [result for result in results if group_of(result.message) not in changed.refused]
        return self.work.commit(kept, changed.messages, retried=retried)

    def _changed_vectors(
        self, index: Sequence[IndexManifestEntry], finished: Sequence[tuple[Unit, CompactionResult]]
    ) -> ChangedVectors:
        rows = {file.file_name: file.row_count for unit, _ in finished for file in _known_files(unit)}
        results = [result for _, result in finished]
        table, proof = self.work.table, self.work.request.proof
        try:
            return VectorsTask(table, index, rows, proof, self.plan.snapshot_id).change(results)
        except BaseException:
            abort(table.commit_target(), [result.message for result in results])
            raise

    def _rewritten(self, units: Sequence[Unit]) -> list[tuple[Unit, CompactionResult | TaskError]]:
        stamp = new_stamp()
        tasks = self._tasks(units, stamp)
        places = {(unit.partition, unit.bucket) for unit in units}
        spark = self.work.spark
        quiet_looks = 0 if spark is None else WHILE_TASKS_END if is_connect(spark) else AFTER_TASKS
        with cleared_if_interrupted(self.work.table, places, stamp, quiet_looks=quiet_looks):
            return self._outcomes(units, tasks)

    def _outcomes(
        self, units: Sequence[Unit], tasks: Sequence[CompactionTask | AppendCompactionTask]
    ) -> list[tuple[Unit, CompactionResult | TaskError]]:
        work = self.work
        sorting = [
            SortTask(task.write, task.read, task.compaction, task.proof, task.snapshot_id, by=task.compaction.by)
            for task in tasks
            if isinstance(task, AppendCompactionTask) and task.compaction.by is not None
        ]
        if sorting:  # then all of them are
            return [*sort_units(work.spark, work.table, sorting, work.progress)]
        parts = self._parts(tasks)
        shares = [share for of_unit in parts for share in of_unit]
        what = "groups" if len(shares) == len(tasks) else "tasks"
        done = iter(
            run_tasks(
                work.spark,
                run_unit,
                shares,
                sizes=[sum(file.file_size for file in share.compaction.input_files) for share in shares],
                on_done=lambda n: work.progress(Counted(f"{n} of {len(shares)} {what} rewritten", n, len(shares))),
            )
        )
        return [
            (unit, self._of_unit(task, [next(done) for _ in of_unit]))
            for unit, task, of_unit in zip(units, tasks, parts, strict=True)
        ]

    def _parts(
        self, tasks: Sequence[CompactionTask | AppendCompactionTask]
    ) -> list[Sequence[CompactionTask | AppendCompactionTask]]:
        """The tasks that do the work of each: several for a bucket that is larger than the others."""
        spark = self.work.spark
        buckets = [task for task in tasks if isinstance(task, CompactionTask)]
        plans = [task.compaction for task in buckets]
        # A server is asked for its slots only where they matter.
        counts = tasks_of(plans, slots(spark)) if any(most_tasks(plan) > 1 for plan in plans) else [1] * len(plans)
        cut_up = [(task, count) for task, count in zip(buckets, counts, strict=True) if count > 1]
        if not cut_up:
            return [[task] for task in tasks]
        asked = [samplings(task, count) for task, count in cut_up]
        looked = run_tasks(spark, KeySampling.keys, [sampling for of_task in asked for sampling in of_task])
        found = iter(looked)
        parts: dict[Group, Sequence[CompactionTask]] = {}
        for (task, count), of_task in zip(cut_up, asked, strict=True):
            samples = [next(found) for _ in of_task]
            # What cannot be read is told by the task that merges it.
            known = [sample for sample in samples if not isinstance(sample, TaskError)]
            made = cut(task, known, count) if len(known) == len(samples) else [task]
            group = task.compaction.partition, task.compaction.bucket
            parts[group] = made
            if len(made) > 1:
                text = bucket_text(str(task.write.paths.partition(group[0])), group[1])
                self.work.progress(f"{text} is cut by its keys into {len(made)} tasks, which run side by side")
        return [parts.get((task.compaction.partition, task.compaction.bucket), [task]) for task in tasks]

    def _of_unit(
        self,
        task: CompactionTask | AppendCompactionTask,
        outcomes: Sequence[CompactionResult | TaskError],
    ) -> CompactionResult | TaskError:
        """What became of a unit; if one of its tasks failed, what the others have written is deleted."""
        if len(outcomes) == 1 or not isinstance(task, CompactionTask):
            return outcomes[0]
        results = [outcome for outcome in outcomes if not isinstance(outcome, TaskError)]
        failed = next((outcome for outcome in outcomes if isinstance(outcome, TaskError)), None)
        if failed is not None:
            abort(self.work.table.commit_target(), [result.message for result in results])
            return failed
        try:
            return joined(task, results)
        except ProofError as error:
            return TaskError(error)

    def _tasks(self, units: Sequence[Unit], stamp: str) -> list[CompactionTask | AppendCompactionTask]:
        write = replace(self.work.table.write_context(), stamp=stamp).with_row_ids()
        read = self.work.read_context([file for unit in units for file in _known_files(unit)], write)
        base, proof = self.plan.snapshot_id, self.work.request.proof
        expiry = RecordExpiry.of(write.schema, write.model, time.time())
        return [
            AppendCompactionTask(write, read, unit, proof=proof, snapshot_id=base)
            if isinstance(unit, AppendCompaction)
            else CompactionTask(write, read, unit, proof=proof, snapshot_id=base, expiry=expiry)
            for unit in units
        ]


def run_unit(task: CompactionTask | AppendCompactionTask) -> CompactionResult:
    """Do one unit of work. Runs in a task."""
    if isinstance(task, CompactionTask):
        return rewrite_bucket(task)
    message, proof = proved_append(task)
    rows = sum(f.row_count for f in message.compact_before)
    return CompactionResult(message, rows, rows, proof=proof)


def _known_files(unit: Unit) -> Sequence[DataFileMeta]:
    """Files that a unit reads, and whose vectors it may change."""
    return (*unit.input_files, *unit.older) if isinstance(unit, BucketCompaction) else unit.input_files


def _batches(plan: CompactionPlan, groups: int | None) -> Iterator[list[Unit]]:
    """The units of a plan in parts of this many groups; the units of a group stay together."""
    by_group: dict[Group, list[Unit]] = {}
    for unit in plan.units:
        by_group.setdefault((unit.partition, unit.bucket), []).append(unit)
    size = max(1, groups or len(by_group))
    chosen = list(by_group.values())
    for start in range(0, len(chosen), size):
        yield [unit for units in chosen[start : start + size] for unit in units]
