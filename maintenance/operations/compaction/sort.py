"""Sort compaction: the files of each partition of an append table are rewritten in an order of their rows.

The files that were read are replaced by those written, and nothing else, in one COMPACT snapshot: rows that another
writer adds meanwhile stay. Paimon's own overwrites the partitions, and loses them. Source: data section 2.10, Java
Spark's `CompactProcedure`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from maintenance.amounts import number_of
from maintenance.commit.commit import abort
from maintenance.compaction.append import AppendCompaction
from maintenance.compaction.clustering import is_clustered
from maintenance.compaction.order.orders import ORDERS, SortedBy
from maintenance.compaction.order.ranges import cuts
from maintenance.compaction.proof.settings import ProofResult
from maintenance.compaction.rewriting import CompactionResult
from maintenance.compaction.sorting import (
    RangeTask,
    SampleTask,
    SortTask,
    SplitTask,
    WrittenRange,
    check_ranges,
    range_task,
    replacement,
    rewrite_sorted,
    sample,
    split_files,
    split_ranges,
    write_range,
)
from maintenance.errors import OptionError, ProofError, UnsupportedError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.manifests import Deletions
from maintenance.operations.compaction.plan import CompactionPlan, CompactionScope, scoped_entries
from maintenance.options import table as table_options
from maintenance.scan.split import by_bucket
from maintenance.scan.vectors import live_deletions
from maintenance.spark.exchange import Sender, run_exchange
from maintenance.spark.local_exchange import exchange_here
from maintenance.spark.sail import is_sail
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.table import Table
from maintenance.write.buckets import moves_keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_ORDER = "none"
# Of files that one task reads, on Spark and here; more where there would be too many tasks.
_READ_BYTES, _READ_BYTES_HERE = 32 << 20, 4 << 20
_MOST_PARTS = 1024
Rewritten = tuple[AppendCompaction, CompactionResult | TaskError]


def sorted_by(table: Table, strategy: str, columns: Sequence[str], scope: CompactionScope) -> SortedBy | None:
    """The order, None for none. Raises: OptionError: it does not fit the table; UnsupportedError: the table has one."""
    where = f"compaction of {table.identifier}, order_strategy = '{strategy}'"
    name = strategy.strip().lower()
    if name == NO_ORDER:
        if columns:
            raise OptionError("'order_by' without an order", where, f"Use one of {', '.join(ORDERS)}.")
        return None
    if is_clustered(table.schema, table.options):
        problem = f"the table has an order of its own, '{table_options.CLUSTERING_INCREMENTAL.key}' = 'true'"
        raise OptionError(problem, where, "Compact it without an order.")
    if name not in ORDERS:
        raise OptionError(f"'{strategy}' is not an order", where, f"Use {NO_ORDER}, {', '.join(ORDERS)}.")
    sortable = [column for column in table.schema.field_names if column not in table.schema.partition_keys]
    wrong = [column for column in columns if column not in sortable]
    if wrong or len(set(columns)) < max(len(columns), ORDERS[name].min_columns):
        problem = f"'{wrong[0]}' in 'order_by'" if wrong else f"'order_by' = {', '.join(columns) or 'nothing'}"
        fix = f"Name {ORDERS[name].min_columns} or more different columns of {', '.join(sortable)}."
        raise OptionError(problem, where, fix)
    nested = [column for column in columns if table.schema.field(column).type.is_nested]
    if nested:
        raise UnsupportedError(
            f"an order by column '{nested[0]}' of a nested type", where, "Name columns of other types in order_by."
        )
    if scope.idle_time is not None:
        raise OptionError("'partition_idle_time' with an order", where, "Choose partitions by name or filter.")
    context = table.write_context()
    if table.model.bucket != -1 or moves_keys(context):
        raise UnsupportedError(
            "a table with a primary key or buckets already has an order",
            where,
            "Leave order_strategy and order_by out of the call.",
        )
    if table.model.evolves:
        problem = "a table with data evolution, whose rows stay in the order of their ids"
        raise UnsupportedError(problem, where, "Leave order_strategy and order_by out of the call.")
    return SortedBy(name, tuple(columns), table.model.zorder_var_length_contribution)


def plan_sorting(table: Table, scope: CompactionScope, by: SortedBy, *, now_millis: int) -> CompactionPlan:
    """One unit for each partition, with all its files. `now_millis`: local wall clock as if UTC."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return CompactionPlan(None, (), {})
    entries, skipped = scoped_entries(table, snapshot, scope, now_millis)
    deletions: Deletions = {}
    if entries and table.model.has_deletion_vectors:
        deletions = live_deletions(table.manifests, snapshot, entries)
    return CompactionPlan(snapshot, tuple(units_of_order(entries, deletions, by)), {}, skipped, deletions)


def units_of_order(
    entries: Sequence[ManifestEntry], deletions: Deletions, by: SortedBy | None
) -> list[AppendCompaction]:
    """A unit for all files of each bucket."""
    return [
        AppendCompaction(
            *group, members[0].total_buckets, tuple(e.file for e in members), deletions.get(group, {}), by=by
        )
        for group, members in by_bucket(entries).items()
    ]


def sort_units(
    spark: "SparkSession | None", table: Table, tasks: Sequence[SortTask], progress: Callable[[str], None]
) -> list[Rewritten]:
    """What became of each unit: its ranges' results, or one error; then nothing of what was written of it stays."""
    looked_at = _cut(spark, table, tasks)
    plans = [plan for plan in looked_at if isinstance(plan, _Cut)]
    unread: list[Rewritten] = [plan for plan in looked_at if not isinstance(plan, _Cut)]
    ranges = sum(plan.ranges for plan in plans)
    if ranges > len(plans):
        progress(f"{number_of(len(plans), 'partition is', 'partitions are')} cut into {number_of(ranges, 'range')}")
    # A partition by itself is divided here, too: so its files are read side by side.
    alone = spark is None and len(plans) == 1
    cut = [plan for plan in plans if plan.ranges > 1 or alone]
    whole = [plan for plan in plans if plan.ranges == 1 and not alone]
    done = run_tasks(spark, rewrite_sorted, [plan.task for plan in whole])
    written: dict[int, list[WrittenRange | TaskError]] = {}
    for plan, outcome in zip(whole, done, strict=True):
        written[id(plan)] = [outcome]
    # Here one partition after the other, so that no more than one is on its way.
    for together in [cut] if spark is not None and cut else [[plan] for plan in cut]:
        exchanged = iter(_exchanged(spark, together))
        for plan in together:
            written[id(plan)] = list(islice(exchanged, plan.ranges))
    progress(f"{ranges} ranges rewritten")
    return [
        *unread,
        *(outcome_of_unit for plan in plans for outcome_of_unit in _outcomes(table, plan.task, written[id(plan)])),
    ]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A partition, and where it is cut."""

    task: SortTask
    bounds: tuple[bytes, ...] = ()

    @property
    def ranges(self) -> int:
        return len(self.bounds) + 1


def _outcomes(table: Table, task: SortTask, done: Sequence[WrittenRange | TaskError]) -> list[Rewritten]:
    """What became of one unit. `done`: all of its ranges."""
    unit = task.compaction
    errors = [outcome for outcome in done if isinstance(outcome, TaskError)]
    written = [outcome for outcome in done if not isinstance(outcome, TaskError)]
    if errors:
        abort(table.commit_target(), [replacement(task, outcome.files) for outcome in written])
        return [(unit, errors[0])]
    try:
        check_ranges(task, written)
    except ProofError as error:
        return [(unit, TaskError(error))]
    return [(unit, _result(task, outcome, first=place == 0)) for place, outcome in enumerate(written)]


def _result(task: SortTask, written: WrittenRange, *, first: bool) -> CompactionResult:
    message = replacement(task, written.files, first=first)
    rows = [sum(file.row_count for file in files) for files in (message.compact_before, message.compact_after)]
    return CompactionResult(message, rows[0], rows[1], proof=written.proof or ProofResult())


def _exchanged(spark: "SparkSession | None", plans: Sequence[_Cut]) -> list[WrittenRange | TaskError]:
    """What became of the ranges, whose rows tasks send that read each file once."""
    senders: list[Sender[SplitTask]] = []
    receivers: list[RangeTask] = []
    for plan in plans:
        first = len(receivers)
        receivers += [range_task(plan.task)] * plan.ranges
        numbers = range(first, len(receivers))
        parts = split_files(plan.task, _part_bytes(spark, plan.task))
        senders += [Sender(SplitTask(part, plan.bounds, first), numbers) for part in parts]
    # Sail keeps no order of rows between tasks.
    if spark is None or is_sail(spark):
        return exchange_here(split_ranges, senders, write_range, receivers)
    return run_exchange(spark, split_ranges, senders, write_range, receivers)


def _part_bytes(spark: "SparkSession | None", task: SortTask) -> int:
    """Of files that one task reads."""
    return max(_READ_BYTES_HERE if spark is None else _READ_BYTES, task.size // _MOST_PARTS)


def _cut(
    spark: "SparkSession | None", table: Table, tasks: Sequence[SortTask]
) -> "list[_Cut | tuple[AppendCompaction, TaskError]]":
    """Where to cut partitions larger than a file. One that cannot be sampled comes with its error."""
    target = table.model.target_file_size(has_primary_key=False)
    numbers = [-(-task.size // target) for task in tasks]
    samples = [
        SampleTask.of(task, _part_bytes(spark, task)) if number > 1 else []
        for task, number in zip(tasks, numbers, strict=True)
    ]
    sample_tasks = [part for parts in samples for part in parts]
    keys = iter(run_tasks(spark, sample, sample_tasks) if sample_tasks else ())
    out: list[_Cut | tuple[AppendCompaction, TaskError]] = []
    for task, number, parts in zip(tasks, numbers, samples, strict=True):
        results = list(islice(keys, len(parts)))
        errors = [keys for keys in results if isinstance(keys, TaskError)]
        sampled = [keys for keys in results if not isinstance(keys, TaskError)]
        if errors:
            out.append((task.compaction, errors[0]))
        else:
            out.append(_Cut(task, tuple(cuts(np.concatenate(sampled), number)) if sampled else ()))
    return out
