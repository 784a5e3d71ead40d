"""MERGE INTO: update, delete and insert rows by a source, in one commit.

The rows of both sides are joined, and the first matching clause decides what happens to a row. The result is applied as
in UPDATE and DELETE: without a primary key by deletion vectors or rewritten files, and new files; with one as records.
Source: data section 10.2, Java `MergeIntoPaimonTable`.
"""

import time
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import DataError, UnsupportedError
from maintenance.format.variant.extension import as_stored
from maintenance.operations.rows import merge_frames, merge_rows
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.evolved import COLUMNS, check_columns, is_evolved, rows_with_ids
from maintenance.operations.rows.merge_clauses import Clause, checked
from maintenance.operations.rows.record_changes import check_deletes, check_updates, newest
from maintenance.operations.rows.row_changes import (
    COPY_ON_WRITE,
    DELETION_VECTORS,
    RECORDS,
    RowChangeReport,
    TargetState,
    check_newest,
    repeated,
    whole_rows,
)
from maintenance.operations.rows.stand_ins import own_partitions
from maintenance.operations.rows.update_effects import UpdateEffects
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.spark.release import arrow_of
from maintenance.spark.sail import evaluated, is_sail
from maintenance.table.rows import read_splits, splits_to_spark
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def merge_into(
    spark: "SparkSession | None",
    table: Table,
    source: "DataFrame | pa.Table",
    on: str,
    clauses: Sequence[Clause],
    *,
    dry_run: bool = False,
) -> RowChangeReport:
    """Merge rows.

    Args:
        spark: joins, evaluates and writes; None = this process, for an Arrow table as source, a condition of equal
            columns, clauses without conditions, and values that are columns or literals. So is it with a session of
            Sail, whose values are its own.
        source: the rows; its columns are ``s.<name>`` in conditions and values, those of the table ``t.<name>``.
        on: which rows match, SQL text.
        dry_run: only count the rows that would change.
    Raises: DataError: several rows of the source change one row of the table; PredicateError; UnsupportedError: the
        table's merge engine does not take such changes; ConflictError: other writers kept changing the same files.
    """
    return merged_by(ChangePreview(table) if dry_run else ChangeWriter(), spark, table, source, on, clauses)


def merged_by(
    writer: ChangeWriter,
    spark: "SparkSession | None",
    table: Table,
    source: "DataFrame | pa.Table",
    on: str,
    clauses: Sequence[Clause],
) -> RowChangeReport:
    """As `merge_into`, with a writer that gets what changes."""
    if is_sail(spark) and not isinstance(source, pa.Table):
        source = arrow_of(source)
    with evaluated(spark) as evaluator:
        return _merged(writer, evaluator, table, source, on, clauses)


def _merged(
    writer: ChangeWriter,
    spark: "SparkSession | None",
    table: Table,
    source: "DataFrame | pa.Table",
    on: str,
    clauses: Sequence[Clause],
) -> RowChangeReport:
    check_newest(table)
    names = source.column_names if isinstance(source, pa.Table) else source.columns
    checked_clauses = checked(table, on, clauses, names)
    if spark is None and not isinstance(source, pa.Table):
        fix = "Give merge_into the Spark session of the DataFrame, too."
        raise DataError("a DataFrame without its session", f"table {table.identifier}", fix)
    if spark is not None and isinstance(source, pa.Table):
        source = spark.createDataFrame(source)
    sources = source
    table = own_partitions(
        table, lambda splits, read: _concerns(spark, table, (splits, read), sources, on, checked_clauses)
    )
    merge = _Merge(writer, spark, table, source, on, checked_clauses)
    if table.is_primary_key_table:
        check_updates(table, "MERGE INTO")
        if any(clause.action == "delete" for clause in checked_clauses):
            check_deletes(table)
        return merge.by_records()
    return repeated(merge.by_row_id if is_evolved(table) else merge.in_files)


def _concerns(
    spark: "SparkSession | None",
    table: Table,
    branch: tuple[Sequence[Split], SplitRead],
    source: "DataFrame | pa.Table",
    on: str,
    clauses: Sequence[Clause],
) -> bool:
    """Whether a merge would change rows of a branch."""
    if any(clause.when == "not_matched_by_source" for clause in clauses):
        return True
    if isinstance(source, pa.Table):
        rows = [as_stored(part) for part in read_splits(*branch)]
        return bool(rows) and merge_rows.any_match(table, pa.concat_tables(rows), as_stored(source), on)
    assert spark is not None
    return merge_frames.any_match(splits_to_spark(spark, *branch), source, on)


@dataclass(frozen=True, slots=True)
class _Merge:
    """One merge. Attributes: as of `merge_into`; `writer`: gets what changes."""

    writer: ChangeWriter
    spark: "SparkSession | None"
    table: Table
    source: "DataFrame | pa.Table"
    on: str
    clauses: Sequence[Clause]

    def by_records(self) -> RowChangeReport:
        started = time.monotonic()
        table, report = self.table, RowChangeReport(self.table.identifier, "merge", RECORDS)
        effects = UpdateEffects.of_merge(table, self._updated())
        if self.spark is None:
            assert isinstance(self.source, pa.Table)
            rows = as_stored(newest(table).to_arrow())
            merged = merge_rows.merge(table, rows, as_stored(self.source), self.on, self.clauses)
            for old, new in merged.updates():
                effects.check(old, new)
            changes, counts = effects.records(merged.records()), merged.counts
            report = self.writer.as_records(table, changes, report.counted(counts))
        else:
            with self._frames(newest(table).to_spark(self.spark), effects.columns) as frames:
                effects.check_frame(frames.updates(), f"{merge_frames.BEFORE}.", "")
                changes, counts = effects.records(frames.records()), frames.counts
                report = self.writer.as_records(table, changes, report.counted(counts))
        return replace(report, seconds=time.monotonic() - started)

    def by_row_id(self) -> RowChangeReport:
        """Write the columns that some clause updates, for the rows that match; append the rows that are inserted."""
        table = self.table
        if any(clause.action == "delete" for clause in self.clauses):
            raise UnsupportedError(
                "a MERGE INTO of a table with data evolution does not delete rows",
                f"table {table.identifier}",
                "Delete them with DELETE.",
            )
        names = self._updated()
        check_columns(table, names)
        report = RowChangeReport(table.identifier, "merge", COLUMNS)
        state = TargetState.of(table, None, whole_rows(table))
        target = rows_with_ids(self.spark, state)
        if isinstance(target, pa.Table):
            assert isinstance(self.source, pa.Table)
            merged = merge_rows.merge(table, target, as_stored(self.source), self.on, self.clauses)
            return self.writer.in_columns(None, state, merged.written(), names, report.counted(merged.counts))
        with self._frames(target) as frames:
            return self.writer.in_columns(self.spark, state, frames.written(), names, report.counted(frames.counts))

    def in_files(self) -> RowChangeReport:
        vectors = self.table.model.has_deletion_vectors
        report = RowChangeReport(self.table.identifier, "merge", DELETION_VECTORS if vectors else COPY_ON_WRITE)
        state = TargetState.of(self.table, None, whole_rows(self.table))
        if self.spark is None:
            assert isinstance(self.source, pa.Table)
            merged = merge_rows.merge(self.table, state.rows(), self.source, self.on, self.clauses)
            counted = report.counted(merged.counts)
            return self.writer.in_files(None, state, merged.positions(), merged.written(), counted)
        with self._frames(state.frame(self.spark)) as frames:
            counted = report.counted(frames.counts)
            return self.writer.in_files(self.spark, state, frames.positions(), frames.written(), counted)

    def _updated(self) -> tuple[str, ...]:
        """The columns that some clause gives new values."""
        updated = {name for clause in self.clauses if clause.action == "update" for name in clause.values or {}}
        return tuple(name for name in self.table.schema.field_names if name in updated)

    def _frames(
        self, target: "DataFrame", before: Collection[str] = ()
    ) -> AbstractContextManager[merge_frames.MergedFrame]:
        assert not isinstance(self.source, pa.Table)
        return merge_frames.merge(self.table, target, self.source, self.on, self.clauses, before)
