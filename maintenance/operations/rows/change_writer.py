"""What becomes of the changes that a MERGE INTO or another statement has found: they are written, or only looked at."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.rows.evolved import apply_changes
from maintenance.operations.rows.record_changes import write_records
from maintenance.operations.rows.row_changes import Positions, RowChangeReport, TargetState
from maintenance.operations.rows.row_digests import digest_of
from maintenance.operations.rows.update import applied
from maintenance.table.table import Table
from maintenance.types.row_hash import Digest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ChangeWriter:
    """Writes changes and commits them."""

    def in_files(
        self,
        spark: "SparkSession | None",
        state: TargetState,
        positions: Positions,
        rows: "DataFrame | pa.Table",
        report: RowChangeReport,
    ) -> RowChangeReport:
        """Delete and append rows: `applied`."""
        return applied(spark, state, positions, rows, report)

    def in_columns(
        self,
        spark: "SparkSession | None",
        state: TargetState,
        rows: "DataFrame | pa.Table",
        names: tuple[str, ...],
        report: RowChangeReport,
        positions: Positions | None = None,
    ) -> RowChangeReport:
        """Write columns of rows, append and delete rows: `apply_changes`."""
        return apply_changes(spark, state, rows, names, report, positions)

    def as_records(self, table: Table, rows: "DataFrame | pa.Table", report: RowChangeReport) -> RowChangeReport:
        """Write records of a table with a primary key: `write_records`."""
        ids, _ = write_records(table, rows, report.operation)
        return replace(report, snapshot_ids=ids)


@dataclass(frozen=True, slots=True)
class FoundChanges:
    """Changes that were looked at.

    Attributes:
        snapshot_id: of the rows that were looked at, if that counts: elsewhere only the files do.
        positions: the rows that are deleted, or replaced by new ones, by file; empty where rows are not found by files.
        entries: of these files.
        written: the new rows and new versions of rows; with a primary key all changes.
    """

    report: RowChangeReport
    snapshot_id: int | None
    positions: Positions
    entries: Mapping[str, ManifestEntry]
    written: Digest


class ChangePreview(ChangeWriter):
    """Writes nothing, and keeps what would be written in `found`."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.found: FoundChanges | None = None
        # Before any row is read: if there is a later one by then, the plan is outdated, not wrong.
        self._latest = table.snapshots.latest_id()

    def in_files(
        self,
        spark: "SparkSession | None",
        state: TargetState,
        positions: Positions,
        rows: "DataFrame | pa.Table",
        report: RowChangeReport,
    ) -> RowChangeReport:
        entries = {name: state.entries[name] for name in positions}
        self.found = FoundChanges(report, None, positions, entries, digest_of(rows))
        return replace(report, touched_files=len(positions))

    def in_columns(
        self,
        spark: "SparkSession | None",
        state: TargetState,
        rows: "DataFrame | pa.Table",
        names: tuple[str, ...],
        report: RowChangeReport,
        positions: Positions | None = None,
    ) -> RowChangeReport:
        gone = positions or {}
        entries = {name: state.entries[name] for name in gone}
        self.found = FoundChanges(report, None, gone, entries, digest_of(rows))
        return report

    def as_records(self, table: Table, rows: "DataFrame | pa.Table", report: RowChangeReport) -> RowChangeReport:
        self.found = FoundChanges(report, self._latest, {}, {}, digest_of(rows))
        return report
