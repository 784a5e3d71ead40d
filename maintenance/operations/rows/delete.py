"""DELETE FROM: delete the rows for which a condition is true.

Whole partitions are dropped by metadata alone. Without a primary key, rows are marked in deletion vectors, or their
files are rewritten without them. With a primary key, deletions are written as records if the merge engine accepts them;
otherwise files are treated as without a key.
Source: data section 10.2, Java `DeleteFromPaimonTableCommand`.
"""

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa

from maintenance.commit.overwrite import Overwrite, overwrite_or_abort
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.operation import Operation, Run
from maintenance.operations.parameters import Param
from maintenance.operations.rows.evolved import check_deletes, commit_evolved, is_evolved, positions_of, rows_with_ids
from maintenance.operations.rows.keyed_files import check_compacted, deletes_in_files, rewritten_files
from maintenance.operations.rows.matching_rows import InZone, in_kept_zone, matching_rows, shown
from maintenance.operations.rows.record_changes import DELETED, newest, write_records
from maintenance.operations.rows.row_changes import (
    COPY_ON_WRITE,
    DELETION_VECTORS,
    RECORDS,
    TRUNCATE,
    RowChangeReport,
    TargetState,
    check_newest,
    commit_changed,
    deleted_rows,
    filter_of,
    find_positions,
    own_rows,
    positions_of_frame,
    repeated,
    whole_rows,
    with_finding,
)
from maintenance.options import table as table_options
from maintenance.predicate.arrow import mask
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.read.split_read import partition_values
from maintenance.spark.sail import evaluated
from maintenance.spark.zone import spark_in_zone
from maintenance.table.table import Table, identity_of
from maintenance.types.values import arrow_of_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Delete(InZone):
    """Which rows, and what becomes of them."""

    where: Annotated[str | None, Param("Rows for which this condition is true, in Spark SQL; empty: all.")] = None


def _work(run: Run, table: Table, request: Delete, /, *, dry_run: bool) -> Any:
    if dry_run:
        return list(matching_rows(run.session(), table, request.where, (), zone=request.zone))
    return delete(run.session(), table, request.where, zone=request.zone)


OPERATION = Operation(
    "delete",
    "Delete rows of a table.",
    Delete,
    *in_kept_zone(_work),
    is_guarded=True,
    shown=shown,
    uses_spark=True,
    has_job=False,
    spellings=(),
)


def delete(
    spark: "SparkSession | None", table: Table, where: str | None = None, *, zone: str | None = None
) -> RowChangeReport:
    """Delete rows.

    Args:
        spark: its tasks do the work, and it evaluates conditions that are more than `PredicateError` allows, with
            subqueries too; None, or a session of Sail, whose values are its own = this process.
        where: a condition in Spark's SQL dialect; rows for which it is null stay. None = all rows. If it matches no
            partition, the report's finding says so.
        zone: in which Spark evaluates the condition; None = that of its session.
    Raises: PredicateError; UnsupportedError: the table is to be compacted first, see `keyed_files`; ConflictError:
        other writers kept changing the same files; CommitError.
    """
    with evaluated(spark) as evaluator, spark_in_zone(evaluator, zone):
        return _delete(evaluator, table, where)


def _delete(spark: "SparkSession | None", table: Table, where: str | None) -> RowChangeReport:
    check_newest(table)
    predicate = None if where is None else filter_of(where, table, spark=spark is not None)
    table = own_rows(spark, table, where, predicate)
    whole = where is None or (predicate is not None and columns_of(predicate) <= set(table.schema.partition_keys))
    forced = table.is_primary_key_table and table_options.DELETE_FORCE_PRODUCE_CHANGELOG.of(table.options)
    if where is None or (whole and not forced):
        report = _truncated(table, predicate)
    elif table.is_primary_key_table and not deletes_in_files(table):
        report = _by_records(spark, table, where, predicate)
    else:
        report = repeated(lambda: _attempt(spark, table, where, predicate))
    return with_finding(report, table, where, predicate)


def _truncated(table: Table, predicate: Predicate | None) -> RowChangeReport:
    """Delete whole partitions."""
    started = time.monotonic()
    report = RowChangeReport(table.identifier, "delete", TRUNCATE)
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    if predicate is not None:
        partitions = list({entry.partition for entry in entries})
        values = [partition_values(table.schema, partition) for partition in partitions]
        columns = {f.name: arrow_of_values([v[f.name] for v in values], f.type) for f in table.schema.partition_fields}
        # A condition without columns needs to know how many rows there are.
        rows = pa.table({**columns, "_": pa.nulls(len(partitions))})
        chosen = dict(zip(partitions, mask(predicate, rows).to_pylist(), strict=True))
        entries = [entry for entry in entries if chosen[entry.partition]]
    if not entries:
        return report
    specs: list[PartitionValue] | None = None
    if predicate is not None and table.schema.partition_keys:
        specs = [table.paths.partition(partition) for partition in {entry.partition for entry in entries}]
    identity = identity_of(table, "delete")
    ids = overwrite_or_abort(table.commit_target(), (), identity, Overwrite(specs, dynamic=False))
    return replace(
        report,
        snapshot_ids=ids,
        deleted_rows=sum(entry.file.row_count for entry in entries),
        touched_files=len(entries),
        seconds=time.monotonic() - started,
    )


def _by_records(spark: "SparkSession | None", table: Table, where: str, predicate: Predicate | None) -> RowChangeReport:
    started = time.monotonic()
    rows: DataFrame | pa.Table
    if spark is None:
        rows = newest(table).to_arrow(where=where)
    elif predicate is not None:
        rows = newest(table).to_spark(spark, where=where)
    else:
        rows = newest(table).to_spark(spark).where(where)
    ids, count = write_records(table, rows, "delete", DELETED)
    report = RowChangeReport(table.identifier, "delete", RECORDS, ids, deleted_rows=count)
    return replace(report, seconds=time.monotonic() - started)


def _evolved(spark: "SparkSession | None", table: Table, where: str, predicate: Predicate | None) -> RowChangeReport:
    """Mark rows in deletion vectors: their ids and places stay."""
    check_deletes(table)
    report = RowChangeReport(table.identifier, "delete", DELETION_VECTORS)
    state = TargetState.of(table, predicate, (ROW_ID,) if predicate is not None else whole_rows(table))
    rows = rows_with_ids(spark, state)
    if not isinstance(rows, pa.Table) and predicate is None:
        rows = rows.where(where)
    positions = positions_of(spark, state, rows)
    if not positions:
        return report
    ids = commit_evolved(state, (), deleted_rows(spark, state, positions), "delete")
    count = sum(map(len, positions.values()))
    return replace(report, snapshot_ids=ids, deleted_rows=count, touched_files=len(positions))


def _attempt(spark: "SparkSession | None", table: Table, where: str, predicate: Predicate | None) -> RowChangeReport:
    vectors = table.model.has_deletion_vectors
    report = RowChangeReport(table.identifier, "delete", DELETION_VECTORS if vectors else COPY_ON_WRITE)
    if is_evolved(table):
        return _evolved(spark, table, where, predicate)
    if predicate is not None:
        state = TargetState.of(table, predicate, ())
    else:
        state = TargetState.of(table, None, table.schema.fields)
    if table.is_primary_key_table:
        check_compacted(state, predicate)
    if predicate is not None:
        positions = find_positions(spark, state)
    else:
        assert spark is not None
        positions = positions_of_frame(state.frame(spark).where(where))
    if not positions:
        return report
    by_files = rewritten_files if table.is_primary_key_table and not vectors else deleted_rows
    ids = commit_changed(table, by_files(spark, state, positions), "delete")
    count = sum(map(len, positions.values()))
    return replace(report, snapshot_ids=ids, deleted_rows=count, touched_files=len(positions))
