"""UPDATE: set columns of the rows for which a condition is true.

Without a primary key, rows are deleted in their files and the new versions are appended; with one, the new versions are
written as records. Source: data section 10.2, Java `UpdatePaimonTableCommand`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.commit.commit import abort
from maintenance.errors import DataError
from maintenance.format.rows.system_fields import POSITION, ROW_ID
from maintenance.format.variant.extension import as_stored
from maintenance.operations.operation import Operation, Run
from maintenance.operations.parameters import Param
from maintenance.operations.rows.assignments import Assigned, assigned, old_and_new, resolved
from maintenance.operations.rows.evolved import (
    COLUMNS,
    NewColumns,
    check_columns,
    commit_evolved,
    is_evolved,
    new_columns,
    rows_with_ids,
)
from maintenance.operations.rows.matching_rows import InZone, in_kept_zone, matching_rows, shown
from maintenance.operations.rows.record_changes import UPDATED, check_moves, check_updates, newest, write_records
from maintenance.operations.rows.row_changes import (
    COPY_ON_WRITE,
    DELETION_VECTORS,
    RECORDS,
    Positions,
    RowChangeReport,
    TargetState,
    check_newest,
    commit_changed,
    deleted_rows,
    filter_of,
    gathered,
    new_rows,
    own_rows,
    positions_of_frame,
    repeated,
    whole_rows,
    with_finding,
)
from maintenance.operations.rows.update_effects import UpdateEffects
from maintenance.predicate.tree import Predicate
from maintenance.read.positioned import FILE
from maintenance.spark.sail import evaluated
from maintenance.spark.zone import spark_in_zone
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Update(InZone):
    """Which rows, and what becomes of them."""

    assignments: Annotated[Mapping[str, object], Param("Column to new value in Spark SQL, of the row as it was.")]
    where: Annotated[str | None, Param("Rows for which this condition is true; empty: all.")] = None


def _work(run: Run, table: Table, request: Update, /, *, dry_run: bool) -> Any:
    if dry_run:
        return list(matching_rows(run.session(), table, request.where, request.assignments, zone=request.zone))
    return update(run.session(), table, request.assignments, request.where, zone=request.zone)


OPERATION = Operation(
    "update",
    "Update rows of a table.",
    Update,
    *in_kept_zone(_work),
    is_guarded=True,
    shown=shown,
    uses_spark=True,
    has_job=False,
    spellings=(),
)


def update(
    spark: "SparkSession | None",
    table: Table,
    assignments: Mapping[str, object],
    where: str | None = None,
    *,
    zone: str | None = None,
) -> RowChangeReport:
    """Update rows.

    Args:
        spark: evaluates assignments and conditions, its tasks do the work; None = this process, which knows literals
            and other columns as new values, and conditions as `PredicateError` says. So is it with a session of Sail,
            whose values are its own.
        assignments: column to new value: SQL text in Spark's dialect (``"price * 2"``, ``"'text'"``, ``"NULL"``), or a
            value of Python that is not a text. All are of the row as it was before.
        where: a condition; rows for which it is null stay as they are. None = all rows.
        zone: in which Spark evaluates assignments and conditions; None = that of its session.
    Raises: PredicateError, DataError, UnsupportedError: the table's merge engine does not take updates; ConflictError:
        other writers kept changing the same files; CommitError.
    """
    with evaluated(spark) as evaluator, spark_in_zone(evaluator, zone):
        return _update(evaluator, table, assignments, where)


def _update(
    spark: "SparkSession | None", table: Table, assignments: Mapping[str, object], where: str | None
) -> RowChangeReport:
    check_newest(table)
    values = resolved(table, assignments, in_process=spark is None)
    predicate = None if where is None else filter_of(where, table, spark=spark is not None)
    table = own_rows(spark, table, where, predicate, values)
    if table.is_primary_key_table:
        check_updates(table, "UPDATE")
        check_moves(table, values)
        report = _by_records(spark, table, values, (where, predicate))
    elif is_evolved(table):
        check_columns(table, list(values))
        report = repeated(lambda: _evolved(spark, table, values, (where, predicate)))
    else:
        report = repeated(lambda: _attempt(spark, table, values, (where, predicate)))
    return with_finding(report, table, where, predicate)


def _by_records(
    spark: "SparkSession | None",
    table: Table,
    values: Mapping[str, Assigned],
    condition: tuple[str | None, Predicate | None],
) -> RowChangeReport:
    started = time.monotonic()
    where, predicate = condition
    effects = UpdateEffects.of(table, values)
    rows: DataFrame | pa.Table
    if spark is None:
        old = as_stored(newest(table).to_arrow(where=where))
        rows = assigned(old, values, table)
        effects.check(old, rows)
    else:
        frame = newest(table).to_spark(spark, where=where if predicate is not None else None)
        frame = frame if where is None or predicate is not None else frame.where(where)
        rows = assigned(frame, values, table)
        effects.check_frame(old_and_new(frame, values, table), "old.", "new.")
    rows = effects.records(rows)
    ids, count = write_records(table, rows, "update", UPDATED)
    report = RowChangeReport(table.identifier, "update", RECORDS, ids, updated_rows=count)
    return replace(report, seconds=time.monotonic() - started)


def _evolved(
    spark: "SparkSession | None",
    table: Table,
    values: Mapping[str, Assigned],
    condition: tuple[str | None, Predicate | None],
) -> RowChangeReport:
    """Write the columns that change, beside the others of the same rows."""
    where, predicate = condition
    report = RowChangeReport(table.identifier, "update", COLUMNS)
    state = TargetState.of(table, predicate, whole_rows(table))
    rows = rows_with_ids(spark, state)
    if not isinstance(rows, pa.Table) and where is not None and predicate is None:
        rows = rows.where(where)
    names = (ROW_ID.name, *values)
    made = assigned(rows, values, table).select(list(names))
    if not isinstance(made, pa.Table):
        made = made.persist()
    try:
        count = made.num_rows if isinstance(made, pa.Table) else made.count()
        if not count:
            return report
        messages = new_columns(spark, state, NewColumns(made, tuple(values)))
    finally:
        if not isinstance(made, pa.Table):
            made.unpersist()
    ids = commit_evolved(state, messages, (), "update", tuple(values))
    return replace(report, snapshot_ids=ids, updated_rows=count, touched_files=len(messages))


def _attempt(
    spark: "SparkSession | None",
    table: Table,
    values: Mapping[str, Assigned],
    condition: tuple[str | None, Predicate | None],
) -> RowChangeReport:
    vectors = table.model.has_deletion_vectors
    report = RowChangeReport(table.identifier, "update", DELETION_VECTORS if vectors else COPY_ON_WRITE)
    where, predicate = condition
    state = TargetState.of(table, predicate, whole_rows(table))
    if spark is None:
        matching = state.rows()
        positions: Positions = gathered([matching])
        rows = assigned(matching.drop_columns([FILE.name, POSITION.name]), values, table)
        return applied(None, state, positions, rows, replace(report, updated_rows=matching.num_rows))
    frame = state.frame(spark)
    if where is not None and predicate is None:
        frame = frame.where(where)
    # What is deleted and what is written in its place must be the same rows.
    frame = frame.persist()
    try:
        positions = positions_of_frame(frame)
        count = sum(map(len, positions.values()))
        new = assigned(frame.drop(FILE.name, POSITION.name), values, table)
        return applied(spark, state, positions, new, replace(report, updated_rows=count))
    finally:
        frame.unpersist()


def applied(
    spark: "SparkSession | None",
    state: TargetState,
    positions: Positions,
    rows: "DataFrame | pa.Table",
    report: RowChangeReport,
) -> RowChangeReport:
    """Delete rows, append rows, and commit both.

    Args: `report`: says how many rows are deleted, updated and inserted. Raises: DataError: `rows` is another number.
    """
    due = report.updated_rows + report.inserted_rows
    if not positions and not due:
        return report
    table = state.table
    appended: list[CommitMessage] = new_rows(spark, table, rows) if due else []
    try:
        written = sum(file.row_count for message in appended for file in message.new_files)
        if written != due:
            raise DataError(
                f"expected {number_of(due, 'row')} to write, found {written}",
                f"table {table.identifier}",
                "Use conditions and values that are the same each time they are evaluated.",
            )
        deleted = deleted_rows(spark, state, positions)
    except BaseException:
        abort(table.commit_target(), appended)
        raise
    ids = commit_changed(table, [*deleted, *appended], report.operation)
    return replace(report, snapshot_ids=ids, touched_files=len(positions))
