"""Dedicated compaction: procedure `compact`, for tables whose writers are write-only.

Each (partition, bucket) is planned, rewritten in a task of its own and committed with the others in one COMPACT
snapshot.
A group that another writer changed meanwhile is dropped from the commit and planned again on the new state; the others
stay. A task that fails does not undo the finished ones. Rows that wait in the postpone bucket get their real buckets
first. Source: seed 002 (dedicated compaction), Java `CompactProcedure`.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from maintenance.errors import worst_of
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.paths import bucket_text
from maintenance.operations.compaction.compaction import Compaction
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.plan import CompactionPlan, Unit, reason_of
from maintenance.operations.compaction.report import CompactReport, GroupResult, said
from maintenance.operations.compaction.request import ChangelogRequest, CheckedRequest, CompactRequest
from maintenance.operations.compaction.sort_buckets import sort_buckets, sorts_buckets
from maintenance.operations.compaction.work import CompactionWork
from maintenance.operations.operation import Operation, Run, Shown, silent
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, moved_groups, refuse
from maintenance.operations.progress import Progress
from maintenance.table.compactors import refuse_if_others_compact, warnings_of
from maintenance.table.table import Table


@dataclass(frozen=True)
class CompactPlan:
    """What a compaction would rewrite. It is looked for when somebody asks: the work itself may look at another time.

    Attributes:
        table: as the request opens it. checked: what the request means for it.
        progress: of the run that plans.
        only: the units to carry out; None = all.
        found: what was found a moment ago, to begin the work with; None = look for it then.
    """

    request: CompactRequest | ChangelogRequest
    table: Table
    checked: CheckedRequest
    progress: Progress
    only: Callable[[Unit], bool] | None = None
    found: CompactionPlan | None = None

    @cached_property
    def looked(self) -> tuple[CompactionPlan, CompactReport]:
        """What would be rewritten of real buckets; and the report, which also tells of rows that wait for theirs."""
        return Compaction(CompactionWork.of(None, self.table, self.checked, self.progress), self.only).dry()

    @property
    def report(self) -> CompactReport:
        return _with_finding(self.table, self.request, self.looked[1])

    def groups(self) -> Iterator[PlannedGroup]:
        """A group for each (partition, bucket)."""
        groups: dict[str, list[Unit]] = {}
        for unit in self.looked[0].units:
            groups.setdefault(_name(self.table, unit), []).append(unit)
        target = self.table.model.target_file_size(has_primary_key=self.table.is_primary_key_table)
        for name, units in sorted(groups.items()):
            sizes, names = [0] * len(units), []
            for number, unit in enumerate(units):
                for file in unit.input_files:
                    sizes[number] += file.file_size
                    names.append(file.file_name)
            expected = sum(max(1, math.ceil(size / target)) for size in sizes)
            yield PlannedGroup(name, tuple(sorted(names)), sum(sizes), expected, reason_of(units[0]))

    @property
    def of(self) -> Snapshot | None:
        return self.looked[0].snapshot

    @property
    def warnings(self) -> tuple[str, ...]:
        return warnings_of(self.table)


def _name(table: Table, unit: Unit) -> str:
    return bucket_text(table.paths.partition(unit.partition), unit.bucket)


def plan(run: Run, table: Table, request: CompactRequest, only: Callable[[Unit], bool] | None = None) -> CompactPlan:
    """What a request asks for. `only`: as of `compact`."""
    checked = request.checked(table)
    opened = request.opened(table)
    for warning in warnings_of(opened):
        run.progress(warning)
    return CompactPlan(request, opened, checked, run.progress, only)


def _again(run: Run, table: Table, request: CompactRequest, stored: StoredPlan) -> CompactPlan:
    return exactly_as(plan(run, table, request), stored)


def exactly_as(made: CompactPlan, stored: StoredPlan) -> CompactPlan:
    """What a kept plan names and nothing else; a group that another writer changes meanwhile has failed.

    Raises: OutdatedPlanError: files of the plan are not to be compacted together any more.
    """
    made, table = replace(made, progress=silent), made.table
    refuse(stored, moved_groups(stored, tuple(made.groups())))
    exactly = {group.name: frozenset(group.files) for group in stored.groups}

    def named(unit: Unit) -> bool:
        return {file.file_name for file in unit.input_files} <= exactly.get(_name(table, unit), frozenset())

    once = replace(made.checked, max_retries=0)
    return replace(made, checked=once, only=named, found=made.looked[0])


def apply(run: Run, _: Table, planned: CompactPlan) -> CompactReport:
    """Do what a request asks for."""
    table, checked, only = planned.table, planned.checked, planned.only
    refuse_if_others_compact(table)
    spark = run.session()
    if sorts_buckets(table, checked):
        return _with_finding(table, planned.request, sort_buckets(spark, table, checked, only, run.progress))
    compaction = Compaction(CompactionWork.of(spark, table, checked, run.progress), only)
    return _with_finding(table, planned.request, compaction.run(planned.found))


def shown(report: CompactReport) -> Shown:
    """What a dry run would compact. Raises: the worst error of the groups that failed."""
    check_groups(report)
    due = due_groups(report)
    if not report.dry_run:
        return Shown(nothing_to_do=not report.snapshot_ids)
    columns = ("partition", "bucket", "input_files", "input_bytes", "message")
    return Shown(pa.table({name: [getattr(group, name) for group in due] for name in columns}), not due)


def due_groups(report: CompactReport) -> list[GroupResult]:
    """The groups in which there is something to do, or was."""
    return [group for group in report.groups if group.outcome not in ("nothing_to_do", "skipped")]


def check_groups(report: CompactReport) -> None:
    """Raises: the worst error of the groups that failed."""
    errors = [group.error for group in report.failed if group.error is not None]
    if errors:
        raise worst_of(errors)


OPERATION = Operation(
    "compact",
    "Compact a table.",
    CompactRequest,
    plan,
    apply,
    shown,
    _again,
    said=said,
    takes_options=True,
    uses_spark=True,
    has_job=False,
)


def _with_finding(table: Table, request: CompactRequest | ChangelogRequest, report: CompactReport) -> CompactReport:
    if report.groups or request.where is None:
        return report
    return replace(report, finding=no_match(table, request.where))


compact = OPERATION.function(
    """Compact a table.

    Args:
        spark: session whose tasks do the work; None = threads of this process.
        full: merge everything into the highest level, instead of what universal compaction picks.
        partitions: only these; each maps some of the partition columns to values as texts, or to None for null.
        where: only partitions that match, in Spark's SQL dialect; not together with `partitions`. If none does, the
            report's finding says so.
        order_strategy, order_by: rewrite the partitions of an append table without buckets, or the keys of dynamic
            buckets, in an order of their rows: ``order``, ``zorder`` or ``hilbert``, over these columns; ``none`` = as
            they are.
        groups_per_commit: groups after which the work is committed; None = all in one snapshot. What is committed stays
            when later work fails.
        time_limit: after this long no further groups are begun, 16 at a time unless `groups_per_commit` is set; those
            that remain are skipped, and the report says so.
        skip_expiring: leave partitions alone that expire before the next check (`partition.expiration-check-interval`)
            unless option `compaction.skip-expired-partitions` is ``false``.
        proof: how each rewrite is proved before it is committed, see `ProofMode`; None = as the table's option
            `paimon-maintenance.compaction.proof` says.
        beside_other_compactors: compact a table with deletion vectors although another engine has compacted it, see
            `compactors.refusal`; None = as the table's option `paimon-maintenance.compaction.beside-other-compactors`
            says.
        only: the units of the plan to carry out; postponed rows are left alone then. None = all.
    Raises: UnsupportedError: the table has an option that is not supported; OptionError, PredicateError: the scope does
        not fit the table, or another engine compacts it; NotFoundError: one of `partitions` does not exist; errors of
        reading the metadata. Failures of single groups are in the report.
    """,
    takes=("progress",),
    spark_first=True,
)
