"""One compaction, from its plan to its report: what `compact` does, and what a writer does with what it has written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maintenance.amounts import number_of, size_text
from maintenance.commit.identity import CommitIdentity
from maintenance.compaction.postpone import leaving
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.compaction.groups import GroupRewrite
from maintenance.operations.compaction.key_indexes import refresh_key_indexes
from maintenance.operations.compaction.plan import CompactionPlan, CompactionScope, Group, Unit
from maintenance.operations.compaction.postponed import distribute_rows, planned_rows
from maintenance.operations.compaction.report import CompactionSummary, CompactReport
from maintenance.operations.compaction.request import CheckedRequest, proof_of
from maintenance.operations.compaction.work import CompactionWork, group_of
from maintenance.operations.progress import Progress
from maintenance.table.compactors import refuse_if_others_compact
from maintenance.table.shape import table_shape
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact_groups(
    spark: "SparkSession | None",
    table: Table,
    scope: CompactionScope,
    identity: CommitIdentity,
    *,
    max_retries: int,
    progress: Progress,
) -> CompactionSummary:
    """Compact what a writer has written, as a part of its commit; rows in the postpone bucket stay there.

    Args: `scope`: the groups; `identity`: whose COMPACT snapshot it is.
    Returns: what became of the groups. Raises: as `compact`.
    """
    refuse_if_others_compact(table, inline=True)
    request = CheckedRequest(scope, proof_of(table), max_retries=max_retries)
    work = CompactionWork.of(spark, table, request, progress, identity)
    Compaction(work).rewrite(None)
    return work.summary


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction from its plan to its report. `only`: the units to carry out; None = all."""

    work: CompactionWork
    only: Callable[[Unit], bool] | None = None

    def dry(self) -> tuple[CompactionPlan, CompactReport]:
        table, summary = self.work.table, self.work.summary
        shape = table_shape(table)
        for waiting in planned_rows(self.work).units:
            if waiting.share == 0:
                summary.plan_files(group_of(leaving(waiting)), waiting.files, "rows wait for real buckets")
        plan = self._noted(self.work.request.plan(table))
        for unit in plan.units:
            summary.plan(unit)
        return plan, summary.report(plan.snapshot, shape, shape, is_done=False)

    def run(self, planned: CompactionPlan | None) -> CompactReport:
        before = table_shape(self.work.table)
        if self.only is None:
            distribute_rows(self.work)
        base = self.rewrite(planned)
        return self.work.summary.report(base, before, table_shape(self.work.table))

    def rewrite(self, planned: CompactionPlan | None) -> Snapshot | None:
        """Plan, rewrite and commit, again for groups that another writer changed. Returns what was first planned on."""
        request, summary = self.work.request, self.work.summary
        first = plan = self._noted(planned or request.plan(self.work.table))
        for attempt in range(request.max_retries + 1):
            lost = GroupRewrite(self.work, plan).run(retried=attempt > 0) if plan.units else {}
            if not lost:
                break
            if attempt == request.max_retries:
                self.work.progress(
                    f"{number_of(len(lost), 'group was', 'groups were')} changed by another writer again: given up"
                )
                summary.give_up(lost)
                break
            self.work.back_off(plan.snapshot, lost, attempt)
            summary.plan_again(lost)
            plan = self._noted(request.plan(self.work.table, frozenset(lost)))
            self._note_done_by_others(plan, lost)
        if self.only is None:
            indexed = refresh_key_indexes(self.work.spark, self.work.table, request.scope.groups, self.work.progress)
            summary.snapshot_ids += [] if indexed is None else [indexed]
        return first.snapshot

    def _note_done_by_others(self, plan: CompactionPlan, lost: Mapping[Group, str]) -> None:
        still_planned = {(unit.partition, unit.bucket) for unit in plan.units}
        for group in lost:
            if group not in still_planned:
                self.work.summary.idle(group, "another writer did the work")

    def _noted(self, plan: CompactionPlan) -> CompactionPlan:
        """The plan without units that are not to be carried out; the summary records what is skipped."""
        if self.only is not None:
            plan = replace(plan, units=tuple(filter(self.only, plan.units)))
        summary = self.work.summary
        for group, count in plan.idle.items():
            if not summary.knows(group):
                summary.idle(group, files=count)
        for group, reason in plan.skipped.items():
            summary.skip(group, reason)
        if plan.units:
            files = sum(len(unit.input_files) for unit in plan.units)
            size = sum(file.file_size for unit in plan.units for file in unit.input_files)
            self.work.progress(
                f"{number_of(len(plan.units), 'group')} to compact: {number_of(files, 'file')}, {size_text(size)}"
            )
        return plan
