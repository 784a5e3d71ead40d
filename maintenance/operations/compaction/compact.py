"""Dedicated compaction: procedure `compact`, for tables whose writers are write-only.

Each (partition, bucket) is planned, rewritten in a task of its own and committed with the others in one COMPACT
snapshot.
A group that another writer changed meanwhile is dropped from the commit and planned again on the new state; the others
stay. A task that fails does not undo the finished ones. Rows that wait in the postpone bucket get their real buckets
first. Source: seed 002 (dedicated compaction), Java `CompactProcedure`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.commit.identity import CommitIdentity
from maintenance.compaction.postpone import leaving
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_names import Spec
from maintenance.operations.compaction.groups import GroupRewrite
from maintenance.operations.compaction.key_indexes import refresh_key_indexes
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.plan import CompactionPlan, CompactionScope, Group, Unit
from maintenance.operations.compaction.postponed import distribute_rows, planned_rows
from maintenance.operations.compaction.report import CompactReport, Ledger
from maintenance.operations.compaction.request import RETRIES, CheckedRequest, CompactRequest, proof_of
from maintenance.operations.compaction.sort import NO_ORDER
from maintenance.operations.compaction.sort_buckets import sort_buckets, sorts_buckets
from maintenance.operations.compaction.work import CompactionWork, group_of
from maintenance.operations.progress import Progress
from maintenance.table.compactors import refuse_beside_others, warnings_of
from maintenance.table.shape import table_shape
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compact(
    spark: "SparkSession | None",
    table: Table,
    *,
    full: bool = False,
    partitions: Sequence[Spec] | None = None,
    where: str | None = None,
    buckets: Collection[int] | None = None,
    partition_idle_time: timedelta | None = None,
    order_strategy: str = NO_ORDER,
    order_by: Sequence[str] = (),
    groups_per_commit: int | None = None,
    time_limit: timedelta | None = None,
    dry_run: bool = False,
    max_retries: int = RETRIES,
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
        partitions: only these; each maps some of the partition columns to values as texts, or to None for null.
        where: only partitions that match, in Spark's SQL dialect; not together with `partitions`. If none does, the
            report's finding says so.
        buckets: only these, of a table with a fixed number of them.
        partition_idle_time: only partitions whose newest file is older.
        order_strategy, order_by: rewrite the partitions of an append table without buckets, or the keys of dynamic
            buckets, in an order of their rows: ``order``, ``zorder`` or ``hilbert``, over these columns; ``none`` = as
            they are.
        groups_per_commit: groups after which the work is committed; None = all in one snapshot. What is committed stays
            when later work fails.
        time_limit: after this long no further groups are begun, 16 at a time unless `groups_per_commit` is set; those
            that remain are skipped, and the report says so.
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
        progress: called with a line for each thing that happens.
    Raises: UnsupportedError: the table has an option that is not supported; OptionError, PredicateError: the scope does
        not fit the table, or another engine compacts it; NotFoundError: one of `partitions` does not exist; errors of
        reading the metadata. Failures of single groups are in the report.
    """
    request = CompactRequest(
        full=full,
        partitions=partitions,
        where=where,
        buckets=buckets,
        partition_idle_time=partition_idle_time,
        order_strategy=order_strategy,
        order_by=order_by,
        skip_expiring=skip_expiring,
        proof=proof,
        max_retries=max_retries,
        groups_per_commit=groups_per_commit,
        time_limit=time_limit,
        beside_other_compactors=beside_other_compactors,
    )
    if dry_run:
        return preview(table, request, only=only, progress=progress).report
    return carry_out(spark, table, request, only=only, progress=progress)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a dry run finds. `plan`: of the real buckets; `report`: also of the rows that wait for theirs."""

    plan: CompactionPlan
    report: CompactReport


def preview(
    table: Table,
    request: CompactRequest,
    *,
    only: Callable[[Unit], bool] | None = None,
    progress: Progress | None = None,
) -> DryRun:
    """Plan what a request asks for, and report it. Arguments and errors as of `compact`."""
    table, checked = _prepared(table, request, progress)
    compaction = _Compaction(CompactionWork.of(None, table, checked, progress or _silent), only)
    plan, report = compaction.dry()
    return DryRun(plan, _with_finding(table, request, report))


def carry_out(
    spark: "SparkSession | None",
    table: Table,
    request: CompactRequest,
    *,
    planned: CompactionPlan | None = None,
    only: Callable[[Unit], bool] | None = None,
    progress: Progress | None = None,
) -> CompactReport:
    """Do what a request asks for. Arguments and errors as of `compact`.

    `planned`: a plan of this request that was made a moment ago, to begin with; None = plan now.
    """
    table, checked = _prepared(table, request, progress)
    refuse_beside_others(table)
    if sorts_buckets(table, checked):
        sorted_report = sort_buckets(spark, table, checked, only, progress or _silent)
        return _with_finding(table, request, sorted_report)
    compaction = _Compaction(CompactionWork.of(spark, table, checked, progress or _silent), only)
    return _with_finding(table, request, compaction.run(planned))


def _prepared(table: Table, request: CompactRequest, progress: Progress | None) -> tuple[Table, CheckedRequest]:
    """The table as the request opens it, and what the request means for it. Says what is to be known about both."""
    checked = request.checked(table)
    opened = request.opened(table)
    for warning in warnings_of(opened):
        (progress or _silent)(warning)
    return opened, checked


def _with_finding(table: Table, request: CompactRequest, report: CompactReport) -> CompactReport:
    if report.groups or request.where is None:
        return report
    return replace(report, finding=no_match(table, request.where))


def _silent(_: str) -> None:
    """Progress that is discarded."""


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
    request = CheckedRequest(scope, proof_of(table), max_retries=max_retries)
    work = CompactionWork.of(spark, table, request, progress, identity)
    _Compaction(work).rewrite(None)
    return work.ledger


@dataclass(frozen=True, slots=True)
class _Compaction:
    """A compaction from its plan to its report. `only`: the units to carry out; None = all."""

    work: CompactionWork
    only: Callable[[Unit], bool] | None = None

    def dry(self) -> tuple[CompactionPlan, CompactReport]:
        table, ledger = self.work.table, self.work.ledger
        shape = table_shape(table)
        for waiting in planned_rows(self.work).units:
            if waiting.share == 0:
                ledger.plan_files(group_of(leaving(waiting)), waiting.files, "rows wait for real buckets")
        plan = self._noted(self.work.request.plan(table))
        for unit in plan.units:
            ledger.plan(unit)
        return plan, ledger.report(plan.snapshot, shape, shape, dry_run=True)

    def run(self, planned: CompactionPlan | None) -> CompactReport:
        before = table_shape(self.work.table)
        if self.only is None:
            distribute_rows(self.work)
        base = self.rewrite(planned)
        return self.work.ledger.report(base, before, table_shape(self.work.table), dry_run=False)

    def rewrite(self, planned: CompactionPlan | None) -> Snapshot | None:
        """Plan, rewrite and commit, again for groups that another writer changed. Returns what was first planned on."""
        request, ledger = self.work.request, self.work.ledger
        first = plan = self._noted(planned or request.plan(self.work.table))
        for attempt in range(request.max_retries + 1):
            lost = GroupRewrite(self.work, plan).run(retried=attempt > 0) if plan.units else {}
            if not lost:
                break
            if attempt == request.max_retries:
                self.work.progress(f"{len(lost)} groups were changed by another writer again and are given up")
                ledger.give_up(lost)
                break
            self.work.give_way(plan.snapshot, lost, attempt)
            ledger.plan_again(lost)
            plan = self._noted(request.plan(self.work.table, frozenset(lost)))
            self._note_done_by_others(plan, lost)
        if self.only is None:
            indexed = refresh_key_indexes(self.work.spark, self.work.table, request.scope.groups, self.work.progress)
            ledger.snapshot_ids += [] if indexed is None else [indexed]
        return first.snapshot

    def _note_done_by_others(self, plan: CompactionPlan, lost: Mapping[Group, str]) -> None:
        still_planned = {(unit.partition, unit.bucket) for unit in plan.units}
        for group in lost:
            if group not in still_planned:
                self.work.ledger.idle(group, "another writer did the work")

    def _noted(self, plan: CompactionPlan) -> CompactionPlan:
        """The plan without units that are not to be carried out; the ledger records what is skipped."""
        if self.only is not None:
            plan = replace(plan, units=tuple(filter(self.only, plan.units)))
        ledger = self.work.ledger
        for group, count in plan.idle.items():
            if not ledger.knows(group):
                ledger.idle(group, files=count)
        for group, reason in plan.skipped.items():
            ledger.skip(group, reason)
        if plan.units:
            files = [file for unit in plan.units for file in unit.input_files]
            size = sum(file.file_size for file in files)
            self.work.progress(f"{len(plan.units)} groups to compact: {len(files)} files, {size / 2**20:.1f} MiB")
        return plan
