"""MERGE INTO: update, delete and insert rows by a source, in one commit.

The rows of both sides are joined, and the first matching clause decides what happens to a row. The result is applied as
in UPDATE and DELETE: without a primary key by deletion vectors or rewritten files, and new files; with one as records.
Source: data section 10.2, Java `MergeIntoPaimonTable`.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import DataError, UnsupportedError
from maintenance.format.variant.extension import as_stored
from maintenance.operations.rows import merge_frames, merge_rows
from maintenance.operations.rows.evolved import COLUMNS, apply_changes, check_columns, is_evolved, rows_with_ids
from maintenance.operations.rows.merge_clauses import Clause, checked
from maintenance.operations.rows.record_changes import check_deletes, check_updates, newest, write_records
from maintenance.operations.rows.row_changes import (
    COPY_ON_WRITE,
    DELETION_VECTORS,
    RECORDS,
    RowChangeReport,
    TargetState,
    check_target,
    repeated,
    whole_rows,
)
from maintenance.operations.rows.update import applied
from maintenance.options import table as table_options
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def merge_into(
    spark: "SparkSession | None",
    table: Table,
    source: "DataFrame | pa.Table",
    on: str,
    clauses: Sequence[Clause],
) -> RowChangeReport:
    """Merge rows.

    Args:
        spark: joins, evaluates and writes; None = this process, for an Arrow table as source, a condition of equal
            columns, clauses without conditions, and values that are columns or literals.
        source: the rows; its columns are ``s.<name>`` in conditions and values, those of the table ``t.<name>``.
        on: which rows match, SQL text.
    Raises: DataError: several rows of the source change one row of the table; PredicateError; UnsupportedError: the
        table's merge engine does not take such changes; ConflictError: other writers kept changing the same files.
    """
    check_target(table)
    names = source.column_names if isinstance(source, pa.Table) else source.columns
    checked_clauses = checked(table, on, clauses, names)
    if spark is None and not isinstance(source, pa.Table):
        raise DataError("a DataFrame without its session", f"table {table.identifier}", "Give the session too.")
    if spark is not None and isinstance(source, pa.Table):
        source = spark.createDataFrame(source)
    if table.is_primary_key_table:
        check_updates(table, "MERGE INTO")
        if any(clause.action == "delete" for clause in checked_clauses):
            check_deletes(table)
        return _by_records(spark, table, source, on, checked_clauses)
    if is_evolved(table):
        return repeated(lambda: _evolved(spark, table, source, on, checked_clauses))
    return repeated(lambda: _attempt(spark, table, source, on, checked_clauses))


def _by_records(
    spark: "SparkSession | None", table: Table, source: "DataFrame | pa.Table", on: str, clauses: Sequence[Clause]
) -> RowChangeReport:
    started = time.monotonic()
    report = RowChangeReport(table.identifier, "merge", RECORDS)
    if spark is None:
        assert isinstance(source, pa.Table)
        merged = merge_rows.merge(table, as_stored(newest(table).to_arrow()), as_stored(source), on, clauses)
        ids, _ = write_records(table, merged.records(), "merge")
        report = replace(report.counted(merged.counts), snapshot_ids=ids)
    else:
        assert not isinstance(source, pa.Table)
        with merge_frames.merge(table, newest(table).to_spark(spark), source, on, clauses) as frames:
            ids, _ = write_records(table, frames.records(), "merge")
            report = replace(report.counted(frames.counts), snapshot_ids=ids)
    return replace(report, seconds=time.monotonic() - started)


def _evolved(
    spark: "SparkSession | None", table: Table, source: "DataFrame | pa.Table", on: str, clauses: Sequence[Clause]
) -> RowChangeReport:
    """Write the columns that some clause updates, for the rows that match; append the rows that are inserted."""
    if any(clause.action == "delete" for clause in clauses):
        raise UnsupportedError(
            "a MERGE INTO of a table with data evolution does not delete rows",
            f"table {table.identifier}",
            "Delete them with DELETE.",
        )
    updated = {name for clause in clauses if clause.action == "update" for name in clause.values or {}}
    names = tuple(name for name in table.schema.field_names if name in updated)
    check_columns(table, names)
    report = RowChangeReport(table.identifier, "merge", COLUMNS)
    state = TargetState.of(table, None, whole_rows(table))
    target = rows_with_ids(spark, state)
    if isinstance(target, pa.Table):
        assert isinstance(source, pa.Table)
        merged = merge_rows.merge(table, target, as_stored(source), on, clauses)
        return apply_changes(None, state, merged.written(), names, report.counted(merged.counts))
    with merge_frames.merge(table, target, source, on, clauses) as frames:
        return apply_changes(spark, state, frames.written(), names, report.counted(frames.counts))


def _attempt(
    spark: "SparkSession | None", table: Table, source: "DataFrame | pa.Table", on: str, clauses: Sequence[Clause]
) -> RowChangeReport:
    vectors = table_options.DELETION_VECTORS_ENABLED.of(table.options)
    report = RowChangeReport(table.identifier, "merge", DELETION_VECTORS if vectors else COPY_ON_WRITE)
    state = TargetState.of(table, None, whole_rows(table))
    if spark is None:
        assert isinstance(source, pa.Table)
        merged = merge_rows.merge(table, state.rows(), source, on, clauses)
        return applied(None, state, merged.positions(), merged.written(), report.counted(merged.counts))
    assert not isinstance(source, pa.Table)
    with merge_frames.merge(table, state.frame(spark), source, on, clauses) as frames:
        return applied(spark, state, frames.positions(), frames.written(), report.counted(frames.counts))
