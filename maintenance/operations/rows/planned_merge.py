"""Plans of MERGE INTO: which rows of which files change, and a digest of the rows that are written.

Other rows of the source make a plan outdated, as other rows of the table do.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from maintenance.operations.plan_store import PlannedGroup, StoredPlan, changed_groups, check_plan, refuse
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.matching_rows import rows_of
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merged_by
from maintenance.operations.rows.row_changes import (
    RowChangeReport,
)
from maintenance.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

MERGE_INTO = "merge_into"


class PlannedWriter(ChangeWriter):
    """Writes the changes of a statement if they are those of a plan."""

    def __init__(self, table: Table, plan: StoredPlan) -> None:
        self._base = table.snapshots.latest_identity()
        self._plan, self._preview = plan, ChangePreview(table)

    def in_files(self, *changes: Any) -> RowChangeReport:
        self._check(self._preview.in_files(*changes))
        return super().in_files(*changes)

    def in_columns(self, *changes: Any) -> RowChangeReport:
        self._check(self._preview.in_columns(*changes))
        return super().in_columns(*changes)

    def as_records(self, table: Table, rows: "DataFrame | pa.Table", report: RowChangeReport) -> RowChangeReport:
        self._check(self._preview.as_records(table, rows, report))
        # Records replace whatever the table has by then.
        return super().as_records(table.following(self._base), rows, report)

    def _check(self, _: RowChangeReport) -> None:
        """Raises: OutdatedPlanError: something else would change."""
        refuse(self._plan, changed_groups(self._plan, groups_of(self._preview)))


def groups_of(preview: ChangePreview) -> tuple[PlannedGroup, ...]:
    """What was found, as the groups of a plan: rows that go or are replaced by their files, and the rows to write."""
    found = preview.found
    if found is None:
        return ()
    counted = {"updated": found.report.updated_rows, "deleted": found.report.deleted_rows}
    counted["inserted"] = found.report.inserted_rows
    changed = ", ".join(f"{count} {verb}" for verb, count in counted.items() if count)
    groups = [
        rows_of(preview.table, found.entries[name], rows, "are deleted or replaced")
        for name, rows in sorted(found.positions.items())
    ]
    if found.written.rows:
        place = "new rows" if found.snapshot_id is None else f"rows of snapshot {found.snapshot_id}"
        groups.append(PlannedGroup(place, (), 0, 1, f"{changed}; what is written has the digest {found.written.text}"))
    return tuple(groups)


def plan_merge_into(
    spark: "SparkSession | None", table: Table, source: "DataFrame | pa.Table", on: str, clauses: Sequence[Clause]
) -> StoredPlan:
    """Which rows `merge_into` would change now. Arguments and errors as there. The source's rows are not stored."""
    preview, base = ChangePreview(table), table.snapshots.latest_identity()
    merged_by(preview, spark, table, source, on, clauses)
    chosen = {"on": on, "clauses": [asdict(clause) for clause in clauses]}
    now = datetime.now(UTC).timestamp()
    return StoredPlan(MERGE_INTO, table.identifier, base, now, groups_of(preview), chosen)


def apply_merge_into(
    spark: "SparkSession | None", table: Table, plan: StoredPlan, source: "DataFrame | pa.Table"
) -> RowChangeReport:
    """Merge the rows of the source as planned.

    Raises: OutdatedPlanError: other rows would change now, or get other values, for the table or the source has
        changed; OptionError: not such a plan; as `merge_into`.
    """
    check_plan(plan, MERGE_INTO, table)
    clauses = [Clause(**clause) for clause in plan.arguments["clauses"]]
    return merged_by(PlannedWriter(table, plan), spark, table, source, plan.arguments["on"], clauses)
