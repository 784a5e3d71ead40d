"""Sort compaction of tables with dynamic buckets: all keys of a partition get new buckets in an order of their rows.

Each partition is one task. All are committed in one OVERWRITE snapshot, as in Paimon, which carries no changelog; a
partition that another writer changes meanwhile is a conflict. The order holds until new keys come, which go to the
buckets that have room. Source: Java `SortCompactAction`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from maintenance.amounts import number_of
from maintenance.commit.commit import abort
from maintenance.compaction.sorted_buckets import SortedBucketsTask, rewrite_in_buckets
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.compaction.plan import CompactionScope, Group, Unit, scoped_entries
from maintenance.operations.compaction.report import COMMITTED, FAILED, SKIPPED, CompactReport, GroupResult
from maintenance.operations.compaction.request import CheckedRequest
from maintenance.operations.compaction.sort import units_of_order
from maintenance.operations.progress import Progress
from maintenance.operations.replaced_partitions import check_all_visible, publish_replaced
from maintenance.options import table as table_options
from maintenance.scan.split import Split
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.compactors import warnings_of
from maintenance.table.planning import plan_state
from maintenance.table.shape import table_shape
from maintenance.table.table import Table, new_commit_user
from maintenance.write.buckets import has_dynamic_buckets
from maintenance.write.context import wall_clock_millis
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATION = "sort_compact"


def sorts_buckets(table: Table, request: CheckedRequest) -> bool:
    """Whether the request is to bring keys of dynamic buckets into an order."""
    return request.order is not None and has_dynamic_buckets(table.write_context())


def sort_buckets(
    spark: "SparkSession | None",
    table: Table,
    request: CheckedRequest,
    only: Callable[[Unit], bool] | None,
    progress: Progress,
) -> CompactReport:
    """Sort the partitions of the request. `only`: units that stand for the buckets to sort; their partitions are whole.

    Raises: ConflictError: another writer changed a partition meanwhile: run again; UnsupportedError: rows wait for a
        compaction; errors of the first task that failed: nothing is committed then.
    """
    started = time.monotonic()
    before, snapshot = table_shape(table), table.latest_snapshot()
    entries, skipped = [], {}  # type: list[ManifestEntry], dict[Group, str]
    if snapshot is not None:
        entries, skipped = _chosen(table, request.scope, only)
    groups = [_left(table, group, reason) for group, reason in skipped.items()]
    ids: tuple[int, ...] = ()
    if snapshot is not None and entries:
        check_all_visible(table, entries)
        tasks = _tasks(table, request, {entry.partition for entry in entries})
        progress(f"{number_of(len(tasks), 'partition')} to sort: {number_of(len(entries), 'file')}")
        messages = _written(spark, table, tasks)
        ids = (publish_replaced(table, messages, entries, snapshot, OPERATION),)
        groups += _results(table, entries, messages)
    done = not any(group.outcome in (FAILED, SKIPPED) for group in groups)
    return CompactReport(
        table.identifier,
        None if snapshot is None else snapshot.id,
        ids,
        tuple(sorted(groups, key=lambda group: (group.partition, group.bucket))),
        before,
        table_shape(table),
        compacted_through=snapshot.id if snapshot is not None and done else None,
        seconds=time.monotonic() - started,
        warnings=warnings_of(table),
    )


def _chosen(
    table: Table, scope: CompactionScope, only: Callable[[Unit], bool] | None
) -> tuple[list[ManifestEntry], dict[Group, str]]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    entries, skipped = scoped_entries(table, snapshot, scope, wall_clock_millis())
    if only is None:
        return entries, skipped
    chosen = {unit.partition for unit in units_of_order(entries, {}, None) if only(unit)}
    return [entry for entry in entries if entry.partition in chosen], skipped


def _tasks(table: Table, request: CheckedRequest, partitions: set[bytes]) -> list[SortedBucketsTask]:
    assert request.order is not None
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    plan, read = plan_state(table, snapshot)
    by_partition: dict[bytes, list[Split]] = {}
    for split in plan.splits:
        if isinstance(split, Split) and split.partition in partitions:
            by_partition.setdefault(split.partition, []).append(split)
    # An overwrite carries no changelog.
    options = {**table.options, table_options.CHANGELOG_PRODUCER.key: "none"}
    context = replace(table, dynamic_options=options).write_context()
    user = new_commit_user(table.options)
    return [
        SortedBucketsTask(read, tuple(splits), context, request.order, user)
        for _, splits in sorted(by_partition.items())
    ]


def _written(spark: "SparkSession | None", table: Table, tasks: Sequence[SortedBucketsTask]) -> list[CommitMessage]:
    done = run_tasks(spark, rewrite_in_buckets, tasks)
    messages = [message for outcome in done if not isinstance(outcome, TaskError) for message in outcome]
    failed = [outcome for outcome in done if isinstance(outcome, TaskError)]
    if failed:
        abort(table.commit_target(), messages)
        raise failed[0].error_at(f"table {table.identifier}")
    return messages


def _left(table: Table, group: Group, reason: str) -> GroupResult:
    return GroupResult(str(table.paths.partition(group[0])), group[1], SKIPPED, message=reason)


def _results(table: Table, entries: Sequence[ManifestEntry], messages: Sequence[CommitMessage]) -> list[GroupResult]:
    """What became of each bucket that there was or is."""
    groups = {(entry.partition, entry.bucket) for entry in entries} | {(m.partition, m.bucket) for m in messages}
    results = []
    for partition, bucket in sorted(groups):
        old = [entry.file for entry in entries if (entry.partition, entry.bucket) == (partition, bucket)]
        new = [file for m in messages if (m.partition, m.bucket) == (partition, bucket) for file in m.new_files]
        results.append(
            GroupResult(
                str(table.paths.partition(partition)),
                bucket,
                COMMITTED,
                input_files=len(old),
                output_files=len(new),
                input_bytes=sum(file.file_size for file in old),
                output_bytes=sum(file.file_size for file in new),
                input_rows=sum(file.row_count for file in old),
                output_rows=sum(file.row_count for file in new),
                units={COMMITTED: 1},
            )
        )
    return results
