"""Give partitions another number of buckets: procedure `rescale`.

The rows of each partition are read and written into new buckets, in place of the old files, in one OVERWRITE snapshot.
If another writer changes one of the partitions meanwhile nothing is committed, since its rows would be lost. Writers
keep to the table's `bucket` option: change it first, and rescale the partitions that are still to be written. Rows
that wait for a bucket go on waiting, and get one of the new buckets.
Source: Java `RescaleAction`, Spark's `RescaleProcedure`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.commit.commit import abort
from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.manifest import EntrySelection, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.operations.compaction.partition_choice import over_partitions
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.planned_groups import partition_groups
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.operations.replaced_partitions import check_all_visible, publish_replaced
from maintenance.options import table as table_options
from maintenance.predicate.tree import Predicate
from maintenance.scan.pruning import Pruning
from maintenance.scan.split import Split
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.sail import is_sail
from maintenance.spark.tasks import all_done
from maintenance.spark.write import write_frame
from maintenance.table.partitions import named_partitions
from maintenance.table.rows import read_splits, splits_to_spark
from maintenance.table.table import Table, new_commit_user
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class RescaleReport(OperationReport):
    """What was rescaled, or would be.

    Attributes:
        buckets: the new number; `partitions`: those that had another one.
        files, bytes: that are rewritten; `snapshot_id`: None if there was nothing to do.
    """

    table: str
    buckets: int
    partitions: tuple[PartitionValue, ...]
    files: int
    bytes: int
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True)
class Rescale:
    """The number of buckets, and whose."""

    bucket_num: Annotated[int | None, Param("The new number of buckets; empty: that of the table.")] = None
    partitions: Annotated[Sequence[Spec] | None, Param("Only these; empty: all.", others=("partition",))] = None
    where: Annotated[str | None, Param("Only partitions that match this condition.")] = None
    # Of Flink's subtasks: here as many tasks work as there is to do.
    scan_parallelism: Annotated[int | None, Param("For Flink's readers; it has no effect here.", is_kept=False)] = None
    sink_parallelism: Annotated[int | None, Param("For Flink's writers; it has no effect here.", is_kept=False)] = None


@dataclass(frozen=True, slots=True)
class _Rescaling:
    snapshot: Snapshot
    old: list[ManifestEntry]


def plan(_: Run, table: Table, request: Rescale) -> Plan[Rescale, RescaleReport]:
    """The partitions with another number of buckets, and their files."""
    table_options.check_writable(table.options, table.identifier)
    number = table.model.bucket if request.bucket_num is None else request.bucket_num
    if number < 1 or (table.model.bucket == -1):
        fix = "Use a table with 'bucket' of 1 or more, or with postponed buckets and a bucket_num."
        raise OptionError(f"{number} is not a fixed number of buckets", table.identifier, fix)
    snapshot = table.latest_snapshot()
    if snapshot is None:
        raise NotFoundError("the table has no snapshot", table.identifier, "Write rows to the table first.")
    if request.partitions is not None and request.where is not None:
        raise OptionError(
            "'partitions' and 'where' are both set", table.identifier, "Leave 'partitions' or 'where' out of the call."
        )
    old = _old_files(table, snapshot, number, request.partitions, over_partitions(table, request.where))
    rescaled = tuple(map(table.paths.partition, sorted({entry.partition for entry in old})))
    size = sum(entry.file.file_size for entry in old)
    report = RescaleReport(table.identifier, number, rescaled, len(old), size)
    groups = partial(partition_groups, table, rescaled, f"gets {number_of(number, 'bucket')}", number)
    return Plan(request, report, groups, _Rescaling(snapshot, old))


def apply(run: Run, table: Table, planned: Plan[Rescale, RescaleReport]) -> RescaleReport:
    """Write the rows of the partitions into their new buckets."""
    work, report = planned.work, planned.report
    assert isinstance(work, _Rescaling)
    if not work.old:
        return report
    chosen = {entry.partition for entry in work.old}
    messages = _written(run.session(), table, work.snapshot, report.buckets, chosen)
    snapshot_id = publish_replaced(table, messages, work.old, work.snapshot, "rescale")
    tag_after_commit(table, wrote_rows=True)
    return replace(report, snapshot_id=snapshot_id)


def _shown(report: RescaleReport) -> Shown:
    if not report.dry_run:
        return Shown(nothing_to_do=report.snapshot_id is None)
    row = {"buckets": report.buckets, "files": report.files, "bytes": report.bytes}
    return Shown.one(row, nothing_to_do=not report.files)


OPERATION = Operation(
    "rescale",
    "Change the number of buckets of partitions.",
    Rescale,
    plan,
    apply,
    _shown,
    uses_spark=True,
    has_job=False,
)


def _old_files(
    table: Table,
    snapshot: Snapshot,
    number: int,
    partitions: Sequence[Spec] | None,
    predicate: Predicate | None,
) -> list[ManifestEntry]:
    """The files of the partitions to rewrite; rows that wait for a bucket go on waiting.

    Raises: UnsupportedError: some rows in buckets cannot be read yet.
    """
    unknown = {name for spec in partitions or () for name in spec} - set(table.schema.partition_keys)
    if unknown:
        columns = ", ".join(table.schema.partition_keys) or "none"
        raise NotFoundError(
            f"there is no partition column {min(unknown)}", table.identifier, f"Use the partition columns: {columns}."
        )
    pruning = None if predicate is None else Pruning(table.schema, {}, predicate)
    chosen = None if partitions is None else named_partitions(table, partitions)
    covers = None if chosen is None else covering(table.schema.partition_fields, chosen)

    def wanted(partition: bytes) -> bool:
        return (pruning is None or pruning.keeps_partition(partition)) and (covers is None or covers(partition))

    live = table.manifests.live_entries(snapshot, EntrySelection(wanted))
    placed = [entry for entry in live if entry.bucket >= 0]
    other = {entry.partition for entry in placed if entry.total_buckets != number}
    old = [entry for entry in placed if entry.partition in other]
    check_all_visible(table, old)
    return old


def _written(
    spark: "SparkSession | None", table: Table, snapshot: Snapshot, number: int, partitions: set[bytes]
) -> list[CommitMessage]:
    """The rows of the partitions in new buckets. An overwrite carries no changelog, so none is written."""
    of_buckets = {table_options.POSTPONE_MERGE_ON_READ.key: "false"} if table.model.is_postponed else {}
    seen = table.copy({table_options.SCAN_SNAPSHOT_ID.key: str(snapshot.id), **of_buckets})
    plan, read = seen.plan()
    splits = [split for split in plan.splits if isinstance(split, Split) and split.partition in partitions]
    options = {
        **table.schema.options,
        table_options.BUCKET.key: str(number),
        table_options.CHANGELOG_PRODUCER.key: "none",
    }
    scaled = replace(table, schema=replace(table.schema, options=options))
    context, state = scaled.write_context(), WriteState(user=new_commit_user(table.options))
    if spark is None or is_sail(spark):
        tables = read_splits(splits, read)
        return write_rows(context, state, conform(pa.concat_tables(tables), None, context)) if tables else []
    done = write_frame(splits_to_spark(spark, splits, read), FrameWrite(context, state))
    try:
        return all_done(done, table.identifier)
    except BaseException:
        abort(table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


rescale = OPERATION.function(
    """Change the number of buckets of partitions, by rewriting them.

    Args:
        bucket_num: None = the table's `bucket`.
        partitions: columns to values as texts; some of the columns suffice. None = all.
        where: a condition on partition columns; not together with `partitions`.
    Raises: OptionError: not a fixed number of buckets, or both `partitions` and `where`; PredicateError; NotFoundError:
        the table has no snapshot; UnsupportedError: rows in buckets wait for a compaction; ConflictError: another
        writer changed a partition meanwhile: run again.
    """,
    spark_first=True,
    without=("scan_parallelism", "sink_parallelism"),
)
