"""Make a partition of a chain table complete: procedure `compact_chain_table`.

The partition is read as the table shows it, from the changes of the delta branch and what is complete before, and
written to the snapshot branch. Reads then need no merging, and later partitions build on this one.
Source: Java `CompactChainTableProcedure`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from maintenance.amounts import number_of
from maintenance.commit.commit import abort
from maintenance.commit.overwrite import Overwrite, overwrite_or_abort
from maintenance.errors import ConflictError, NotFoundError, OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.partition_names import PartitionNames, Spec
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param, Value, specs, spoken
from maintenance.operations.plan_store import PlannedGroup
from maintenance.options import table as table_options
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.sail import is_sail
from maintenance.spark.tasks import all_done
from maintenance.spark.write import write_frame
from maintenance.table.chain import ChainBranches, chain_of, chained_splits
from maintenance.table.planning import ReadRequest, read_of_chain
from maintenance.table.rows import splits_to_spark
from maintenance.table.table import Table, identity_of, new_commit_user
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class CompactChainTableReport(OperationReport):
    """What was made complete, or would be.

    Attributes:
        partitions: none if all that were named are complete already, or have no rows yet.
        files, bytes: that are merged, and their names; `snapshot_id`: of the snapshot branch, None if there was nothing
            to do.
    """

    table: str
    partitions: tuple[PartitionValue, ...]
    files: int
    bytes: int
    snapshot_id: int | None = None
    file_names: tuple[str, ...] = ()


def _one(value: Value) -> Spec:
    found = specs(value)
    if len(found) != 1:
        fix = "Name one partition: give a value for each partition column."
        raise OptionError(f"{len(found)} partitions are named", "compact_chain_table", fix)
    return found[0]


@dataclass(frozen=True, slots=True)
class CompactChainTable:
    """Which partition to make complete."""

    partition: Annotated[
        Spec, Param("The partition. Some of its columns suffice, and may name several partitions.", read=_one)
    ]
    overwrite: Annotated[
        bool, Param("Merge partitions again that are complete already: true or false.", read=spoken)
    ] = False


@dataclass(frozen=True, slots=True)
class _Merging:
    chain: ChainBranches[Table]
    base: Snapshot | None
    splits: Sequence[Split]


def plan(_: Run, table: Table, request: CompactChainTable) -> Plan[CompactChainTable, CompactChainTableReport]:
    """The partitions that are not complete, and their files."""
    table_options.check_writable(table.options, table.identifier)
    chain = chain_of(table)
    if chain is None:
        fix = "Name the table itself, not a branch, and see that it has both."
        raise OptionError("this is not a chain table", f"table {table.identifier}", fix)
    chosen = _chosen(chain, request.partition)
    changes, complete = _matching(chain.delta, chosen), _matching(chain.snapshot, chosen)
    base = chain.delta.latest_snapshot()
    wanted = set() if complete and not request.overwrite else changes
    splits = tuple(chained_splits(chain, wanted))
    report = CompactChainTableReport(
        table.identifier,
        tuple(sorted(map(chain.delta.paths.partition, wanted), key=lambda part: tuple(part.values()))),
        sum(split.file_count for split in splits),
        sum(split.size for split in splits),
        file_names=tuple(sorted({file.file_name for split in splits for file in split.files})),
    )
    return Plan(request, report, partial(_groups, report), _Merging(chain, base, splits))


def _groups(report: CompactChainTableReport) -> Iterator[PlannedGroup]:
    if report.files:
        names = "; ".join(map(str, report.partitions))
        reason = f"{number_of(report.files, 'file is', 'files are')} merged into the snapshot branch"
        yield PlannedGroup(names, report.file_names, report.bytes, len(report.partitions), reason)


def apply(run: Run, _: Table, planned: Plan[CompactChainTable, CompactChainTableReport]) -> CompactChainTableReport:
    """Merge them into the snapshot branch."""
    work, report = planned.work, planned.report
    assert isinstance(work, _Merging)
    if not work.splits:
        return report
    target = work.chain.snapshot
    messages = _written(run.session(), work.chain, work.splits)
    _check_unchanged(work.chain, work.base, messages)
    identity = identity_of(target, "compact_chain_table")
    (snapshot_id,) = overwrite_or_abort(
        target.commit_target(), messages, identity, Overwrite(report.partitions, dynamic=False)
    )
    return replace(report, snapshot_id=snapshot_id)


def _shown(report: CompactChainTableReport) -> Shown:
    if report.dry_run:
        return Shown.one({"files": report.files, "bytes": report.bytes}, nothing_to_do=not report.files)
    return Shown.one({"result": report.snapshot_id is not None}, nothing_to_do=report.snapshot_id is None)


OPERATION = Operation(
    "compact_chain_table",
    "Complete a partition of a chain table.",
    CompactChainTable,
    plan,
    apply,
    _shown,
    uses_spark=True,
    has_job=False,
)


def _chosen(chain: ChainBranches[Table], partition: Spec) -> PartitionValue:
    """The partition, or those, that a user names. Raises: NotFoundError: no partition column; DataError."""
    unknown = set(partition) - set(chain.delta.schema.partition_keys)
    if unknown or not partition:
        columns = ", ".join(chain.delta.schema.partition_keys)
        fix = f"Give values for the partition columns: {columns}."
        raise NotFoundError(f"{dict(partition)} is not a partition", chain.delta.identifier, fix)

    def rows() -> list[bytes]:
        return [entry.partition for branch in (chain.delta, chain.snapshot) for entry in _live(branch)]

    (chosen,) = PartitionNames(chain.delta.paths, f"table {chain.delta.identifier}", rows).chosen([partition])
    return chosen


def _live(table: Table) -> list[ManifestEntry]:
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else table.manifests.live_entries(snapshot)


def _matching(table: Table, chosen: PartitionValue) -> set[bytes]:
    """The partitions of a branch that are chosen."""
    covers = covering(table.schema.partition_fields, [chosen])
    return {entry.partition for entry in _live(table) if covers(entry.partition)}


def _written(spark: "SparkSession | None", chain: ChainBranches[Table], splits: Sequence[Split]) -> list[CommitMessage]:
    """The rows of the splits in files of the snapshot branch."""
    read = read_of_chain(chain, splits, ReadRequest())
    context, state = chain.snapshot.write_context(), WriteState(user=new_commit_user(chain.snapshot.options))
    if spark is None or is_sail(spark):
        return _written_here(read, splits, TableWrite(context, state))
    done = write_frame(splits_to_spark(spark, splits, read), FrameWrite(context, state))
    try:
        return all_done(done, chain.snapshot.identifier)
    except BaseException:
        abort(chain.snapshot.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


def _written_here(read: SplitRead, splits: Sequence[Split], writer: TableWrite) -> list[CommitMessage]:
    try:
        for split in splits:
            for rows in read.tables(split):
                writer.write(conform(rows, None, writer.context))
    except BaseException:
        writer.abort()
        raise
    return writer.finish()


def _check_unchanged(chain: ChainBranches[Table], base: Snapshot | None, messages: Sequence[CommitMessage]) -> None:
    """Changes that came while the partition was merged would be hidden behind it."""
    latest = chain.delta.latest_snapshot()
    if base is not None and latest is not None and SnapshotIdentity.of(latest) == SnapshotIdentity.of(base):
        return
    abort(chain.snapshot.commit_target(), messages)
    problem = "the delta branch was written to while a partition was merged"
    raise ConflictError(problem, f"table {chain.delta.identifier}", "Run compact_chain_table again.")


compact_chain_table = OPERATION.function(
    """Complete partitions of a chain table.

    Args:
        partition: columns to values as texts. Some of the columns suffice, and may name several partitions.
        overwrite: merge partitions again that are complete already, from the complete one before.
    Raises: OptionError: this is no chain table, or one of its branches is open; NotFoundError: no such partition
        column; ConflictError: more changes were written meanwhile: run again; CommitError.
    """,
    spark_first=True,
)
