"""Sort compaction: the files of each partition of an append table are rewritten in an order of their rows.

The files that were read are replaced by those written, and nothing else, in one COMPACT snapshot: rows that another
writer adds meanwhile stay. Paimon's own overwrites the partitions, and loses them. Source: data section 2.10, Java
Spark's `CompactProcedure`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from maintenance.commit.commit import abort
from maintenance.compaction.append import AppendCompaction
from maintenance.compaction.order.orders import ORDERS
from maintenance.compaction.proof.settings import ProofResult
from maintenance.compaction.rewrite import CompactionResult
from maintenance.compaction.sorting import (
    SortedBy,
    SortTask,
    SplitTask,
    WrittenRange,
    check_ranges,
    cuts,
    range_task,
    replacement,
    rewrite_sorted,
    sample,
    split_files,
    split_ranges,
    write_range,
)
from maintenance.errors import OptionError, ProofError, UnsupportedError
from maintenance.operations.compact_plan import CompactionPlan, CompactionScope, scoped_entries
from maintenance.options import table as table_options
from maintenance.scan.split import Deletions, by_bucket
from maintenance.spark.exchange import Sender, run_exchange
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_ORDER = "none"
# Files that one task reads.
_SENT_BYTES = 128 << 20
Rewritten = tuple[AppendCompaction, CompactionResult | TaskError]


def sorted_by(table: Table, strategy: str, columns: Sequence[str], scope: CompactionScope) -> SortedBy | None:
    """The order, None for none. Raises: OptionError: it does not fit the table; UnsupportedError: the table has one."""
    where = f"compaction of {table.identifier}, order_strategy = '{strategy}'"
    name = strategy.strip().lower()
    if name == NO_ORDER:
        if columns:
            raise OptionError("'order_by' without an order", where, f"Use one of {', '.join(ORDERS)}.")
        return None
    if name not in ORDERS:
        raise OptionError(f"'{strategy}' is no order", where, f"Use {NO_ORDER}, {', '.join(ORDERS)}.")
    known = [column for column in table.schema.field_names if column not in table.schema.partition_keys]
    wrong = [column for column in columns if column not in known]
    if wrong or len(set(columns)) < max(len(columns), ORDERS[name].min_columns):
        found = f"'{wrong[0]}' in 'order_by'" if wrong else f"'order_by' = {', '.join(columns) or 'nothing'}"
        fix = f"Name {ORDERS[name].min_columns} or more different ones of {', '.join(known)}."
        raise OptionError(found, where, fix)
    nested = [column for column in columns if table.schema.field(column).type.is_nested]
    if nested:
        raise UnsupportedError(f"an order by column '{nested[0]}' of a nested type", where, "Use another column.")
    if scope.idle_time is not None:
        raise OptionError("'partition_idle_time' with an order", where, "Choose partitions by name or filter.")
    if table.is_primary_key_table or table_options.BUCKET.of(table.options) != -1:
        raise UnsupportedError("a table with a primary key or buckets has an order of its own", where, "Leave it out.")
    return SortedBy(name, tuple(columns), table_options.ZORDER_VAR_LENGTH_CONTRIBUTION.of(table.options))


def plan_sorting(table: Table, scope: CompactionScope, *, now_millis: int) -> CompactionPlan:
    """One unit for each partition, with all its files. `now_millis`: local wall clock as if UTC."""
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return CompactionPlan(None, (), {})
    entries, skipped = scoped_entries(table, snapshot, scope, now_millis)
    deletions: Deletions = {}
    if entries and table_options.DELETION_VECTORS_ENABLED.of(table.options):
        deletions = table.manifests.deletion_vectors(snapshot)
    units = []
    for group, members in by_bucket(entries).items():
        files = tuple(entry.file for entry in members)
        units.append(AppendCompaction(*group, members[0].total_buckets, files, deletions.get(group, {})))
    return CompactionPlan(snapshot, tuple(units), {}, skipped)


def sort_units(
    spark: "SparkSession | None", table: Table, tasks: Sequence[SortTask], progress: Callable[[str], None]
) -> list[Rewritten]:
    """What became of each unit: its ranges' results, or one error; then nothing of what was written of it stays.

    Args: `tasks`: one for each unit, without bounds.
    """
    ranges = _cut(spark, table, tasks)
    if len(ranges) > len(tasks):
        progress(f"{len(tasks)} partitions are cut into {len(ranges)} ranges")
    if spark is None or len(ranges) == len(tasks):
        done = run_tasks(spark, rewrite_sorted, ranges, on_done=lambda n: progress(f"{n} ranges rewritten"))
    else:
        done = _exchanged(spark, ranges)
        progress(f"{len(done)} ranges rewritten")
    out: list[Rewritten] = []
    for task in tasks:
        unit = task.compaction
        mine = [found for each, found in zip(ranges, done, strict=True) if each.compaction is unit]
        errors = [found for found in mine if isinstance(found, TaskError)]
        written = [found for found in mine if not isinstance(found, TaskError)]
        if errors:
            abort(table.commit_target(), [replacement(task, found.files) for found in written])
            out.append((unit, errors[0]))
            continue
        try:
            check_ranges(task, written)
        except ProofError as error:
            out.append((unit, TaskError(error)))
            continue
        parts = [each for each in ranges if each.compaction is unit]
        out += [(unit, _result(each, found)) for each, found in zip(parts, written, strict=True)]
    return out


def _result(task: SortTask, found: WrittenRange) -> CompactionResult:
    message = replacement(task, found.files)
    rows = [sum(file.row_count for file in files) for files in (message.compact_before, message.compact_after)]
    return CompactionResult(message, rows[0], rows[1], proof=found.proof or ProofResult())


def _exchanged(spark: "SparkSession", ranges: Sequence[SortTask]) -> list[WrittenRange | TaskError]:
    """What became of ranges, whose rows tasks send that read each file once."""
    senders: list[Sender[SplitTask]] = []
    first = 0
    for _, found in groupby(ranges, key=lambda task: id(task.compaction)):
        group = list(found)
        bounds = tuple(task.low for task in group if task.low is not None)
        whole = replace(group[0], low=None, high=None)
        numbers = range(first, first + len(group))
        senders += [Sender(SplitTask(part, bounds, first), numbers) for part in split_files(whole, _SENT_BYTES)]
        first += len(group)
    return run_exchange(spark, split_ranges, senders, write_range, [range_task(task) for task in ranges])


def _cut(spark: "SparkSession | None", table: Table, tasks: Sequence[SortTask]) -> list[SortTask]:
    """The tasks, those of large partitions cut into ranges."""
    target = table_options.target_file_size(table.options, has_primary_key=False)
    numbers = [-(-sum(file.file_size for file in task.compaction.files) // target) for task in tasks]
    large = [task for task, number in zip(tasks, numbers, strict=True) if number > 1]
    sampled = run_tasks(spark, sample, large) if large else []
    samples = {id(task): keys for task, keys in zip(large, sampled, strict=True)}
    out: list[SortTask] = []
    for task, number in zip(tasks, numbers, strict=True):
        keys = samples.get(id(task))
        if isinstance(keys, TaskError):
            raise keys.error
        bounds: list[bytes | None] = [None, *(cuts(keys, number) if keys is not None else ()), None]
        for place, (low, high) in enumerate(zip(bounds, bounds[1:], strict=False)):
            out.append(replace(task, low=low, high=high, first=place == 0))
    return out
