"""Bring partitions back to what a tag or an earlier snapshot holds, and leave the rest of the table as it is.

The rows are read under the newest schema and written again, as one OVERWRITE snapshot: `INSERT OVERWRITE … PARTITION …
SELECT … FROM t VERSION AS OF …`. The old files cannot be taken back themselves: Paimon deletes them together with the
tag, whatever newer snapshots say. Rows that another writer adds to these partitions meanwhile are replaced, too.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import DataError, NotFoundError, OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_names import PartitionNames, Spec, missing
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.operations.compaction.partition_choice import over_partitions
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import partition_groups
from maintenance.operations.refs.snapshot_choice import counted_or_tagged
from maintenance.options import table as table_options
from maintenance.scan.pruning import Pruning
from maintenance.scan.split import Split
from maintenance.table.planning import plan_state
from maintenance.table.rows import read_splits, splits_to_spark
from maintenance.table.table import Table, new_commit_user
from maintenance.types.arrow import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class RestorePartitionsReport(OperationReport):
    """What was brought back, or would be.

    Attributes:
        source: the id of the snapshot whose rows these are.
        restored: the partitions.
        files, rows, bytes: of them in that snapshot, rows before merging.
        replaced_files, replaced_rows, replaced_bytes: of what they held until now.
        snapshot_id: the new snapshot; None for a dry run.
    """

    table: str
    source: int
    restored: tuple[PartitionValue, ...]
    files: int
    rows: int
    bytes: int
    replaced_files: int
    replaced_rows: int
    replaced_bytes: int
    snapshot_id: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class RestorePartitions:
    """Which partitions to bring back, and from where: a tag or a snapshot."""

    partitions: Annotated[Sequence[Spec], Param("The partitions to restore.")] = ()
    tag: Annotated[str | None, Param("Restore the state of this tag.")] = None
    snapshot_id: Annotated[int | None, Param("Restore the state of this snapshot.", others=("snapshot",))] = None
    where: Annotated[
        str | None, Param("Restore all partitions of that state for which this condition on partition columns is true.")
    ] = None


def plan(_: Run, table: Table, request: RestorePartitions) -> Plan[RestorePartitions, RestorePartitionsReport]:
    """What the partitions were in the earlier state, and what they hold now."""
    started = time.monotonic()
    table_options.check_writable(table.options, table.identifier)
    if bool(request.partitions) == (request.where is not None):
        problem = "partitions are named, and a condition is given" if request.partitions else "no partition is named"
        raise DataError(problem, f"table {table.identifier}", "Name partitions, or give one condition over them.")
    source = _state(table, request.tag, request.snapshot_id)
    live, latest = table.manifests.live_entries(source), table.latest_snapshot()
    asked = (
        _named(table, live).chosen(request.partitions)
        if request.where is None
        else _fulfilling(table, live, request.where, source)
    )
    then = _files_of(table, live, asked)
    restored = _partitions(table, then)
    _check_present(table, asked, live, source)
    now = [] if latest is None else _files_of(table, table.manifests.live_entries(latest), restored)
    sizes = (*_sizes(then), *_sizes(now))
    seconds = time.monotonic() - started
    report = RestorePartitionsReport(table.identifier, source.id, tuple(restored), *sizes, None, seconds)

    def groups() -> Iterator[PlannedGroup]:
        yield from partition_groups(table, restored, f"is replaced by its state in snapshot {source.id}", 1)
        back = f"{number_of(report.rows, 'row')} in {number_of(report.files, 'file')} come back"
        state = PlannedGroup.of_snapshot(f"state of snapshot {source.id}", source, report.files, back)
        yield replace(state, bytes=report.bytes)

    return Plan(request, report, groups, source)


def apply(run: Run, table: Table, planned: Plan[RestorePartitions, RestorePartitionsReport]) -> RestorePartitionsReport:
    """Write the rows of the earlier state in place of those that the partitions hold."""
    started, report = time.monotonic(), planned.report
    made = _write(run.session(), table, planned.work, list(report.restored))
    seconds = report.seconds + time.monotonic() - started
    return replace(report, snapshot_id=made, seconds=seconds)


_COUNTS = ("source", "snapshot_id", "files", "rows", "bytes", "replaced_files", "replaced_rows", "replaced_bytes")


def _said(report: RestorePartitionsReport) -> Iterator[str]:
    verb = "would come back" if report.dry_run else "are back"
    back = f"{number_of(report.rows, 'row')} in {number_of(report.files, 'file')}"
    now = f"{number_of(report.replaced_rows, 'row')} in {report.replaced_files:,}"
    names = ", ".join(map(str, report.restored))
    yield f"{report.table}: {names} {verb} from snapshot {report.source}: {back}, in place of {now}."


OPERATION = Operation(
    "restore_partitions",
    "Restore partitions from a tag or an earlier snapshot.",
    RestorePartitions,
    plan,
    apply,
    is_guarded=True,
    shown=lambda report: Shown.one({name: getattr(report, name) for name in _COUNTS}),
    uses_spark=True,
    said=_said,
)


def _named(table: Table, live: Sequence[ManifestEntry]) -> PartitionNames:
    """How partitions of the earlier state are named."""
    rows = dict.fromkeys(entry.partition for entry in live)
    return PartitionNames(table.paths, f"table {table.identifier}", lambda: rows)


def _fulfilling(
    table: Table, live: Sequence[ManifestEntry], where: str, source: Snapshot
) -> tuple[PartitionValue, ...]:
    """The partitions of the earlier state that fulfil a condition. Raises: NotFoundError: none does."""
    pruning = Pruning(table.schema, {}, over_partitions(table, where))
    found = [entry for entry in live if pruning.keeps_partition(entry.partition)]
    if not found:
        raise NotFoundError(
            f"no partition of snapshot {source.id} fulfils {where}",
            f"table {table.identifier}",
            f"{_it_has(_partitions(table, live))} Give another condition, or another tag or snapshot.",
        )
    return tuple(_partitions(table, found))


def _state(table: Table, tag: str | None, snapshot_id: int | None) -> Snapshot:
    if (tag is None) == (snapshot_id is None):
        raise OptionError("a restore needs exactly one earlier state", table.identifier, "Name one tag or snapshot.")
    if tag is not None:
        return table.tags.get(tag).snapshot
    snapshot = counted_or_tagged(table, snapshot_id or 0)
    if snapshot is None:
        held = ", ".join(table.tags.names()) or "none"
        raise NotFoundError(
            f"snapshot {snapshot_id} does not exist and no tag holds it",
            table.identifier,
            f"Use one of {table.snapshots.earliest_id()} to {table.snapshots.latest_id()}, or a tag: {held}.",
        )
    return snapshot


def _files_of(table: Table, live: Sequence[ManifestEntry], chosen: Sequence[PartitionValue]) -> list[ManifestEntry]:
    """Those of the files that these partitions have."""
    covers = covering(table.schema.partition_fields, chosen)
    return [entry for entry in live if covers(entry.partition)]


def _partitions(table: Table, entries: Sequence[ManifestEntry]) -> list[PartitionValue]:
    partitions = map(table.paths.partition, dict.fromkeys(entry.partition for entry in entries))
    return sorted(partitions, key=lambda partition: tuple(partition.values()))


def _check_present(
    table: Table, asked: Sequence[PartitionValue], live: Sequence[ManifestEntry], source: Snapshot
) -> None:
    absent = missing(table.paths, asked, {entry.partition for entry in live})
    if not absent:
        return
    raise NotFoundError(
        f"snapshot {source.id} has no partition {absent[0]}",
        f"table {table.identifier}",
        f"{_it_has(_partitions(table, live))} Name one of them, or another tag or snapshot.",
    )


def _it_has(partitions: Sequence[PartitionValue]) -> str:
    more = f" and {len(partitions) - _SHOWN} more" if len(partitions) > _SHOWN else ""
    return f"It has {', '.join(map(str, partitions[:_SHOWN])) or 'none'}{more}."


def _sizes(entries: Sequence[ManifestEntry]) -> tuple[int, int, int]:
    """Files, rows and bytes."""
    files = [entry.file for entry in entries]
    return len(files), sum(file.row_count for file in files), sum(file.file_size for file in files)


def _write(
    spark: "SparkSession | None", table: Table, source: Snapshot, chosen: Sequence[PartitionValue]
) -> int | None:
    """Commit the rows. Returns the id of the snapshot that has them."""
    report = ingest(
        spark,
        table,
        _rows(spark, table, source, chosen),
        commit_user=new_commit_user(table.options),
        overwrite=Overwrite(chosen, dynamic=False),
        properties={OPERATION_PROPERTY: "restore_partitions"},
    )
    return report.snapshot_ids[0] if report.snapshot_ids else None


def _rows(
    spark: "SparkSession | None", table: Table, source: Snapshot, chosen: Sequence[PartitionValue]
) -> "DataFrame | pa.Table":
    plan, read = plan_state(table, source)
    covers = covering(table.schema.partition_fields, chosen)
    splits = [split for split in plan.splits if isinstance(split, Split) and covers(split.partition)]
    if spark is not None:
        return splits_to_spark(spark, splits, read)
    schema = pa.schema([(f.name, arrow_type(f.type, f"column {f.name}")) for f in read.columns])
    return pa.concat_tables([schema.empty_table(), *read_splits(splits, read)])


restore_partitions = OPERATION.function(
    """Restore partitions to an earlier state.

    Args:
        spark: its tasks read and write; None: this process does, which must hold the rows in memory.
        partitions: columns to values as texts, or to None for null; some of the columns suffice.
        where: instead of `partitions`, a condition on partition columns; all partitions of that state that match.
        tag, snapshot_id: exactly one of them; the snapshot may have expired if a tag holds it.
    Raises: DataError: no partition is named, or a condition is given as well; a column that is not a partition column,
        or a name may mean several; OptionError: not exactly one state is named; NotFoundError: there is no such state,
        or a partition is not in it; PredicateError; CorruptFileError: a file of the state is missing; CommitError;
        UnsupportedError. Nothing has changed then.
    """,
    spark_first=True,
    by_position=("partitions",),
)
