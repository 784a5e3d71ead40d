"""Stored plans of DELETE, UPDATE and MERGE INTO: which rows of which files change, and what is written.

Where rows are changed in their files, a plan names each file with the numbers of its rows, and what others commit
elsewhere does not matter. Elsewhere it counts the rows of one snapshot, and any later one makes it outdated. Of a merge
it also has a digest of the rows that are written: other rows of the source make it outdated, too.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.plans.dry_run_plans import DryRunPlan, changed_groups
from maintenance.operations.plans.stored_plan import PlannedGroup, StoredPlan, check_plan, refuse
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.evolved import is_evolved
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merged_by
from maintenance.operations.rows.row_changes import (
    Positions,
    RowChangeReport,
    TargetState,
    check_newest,
    count_rows,
    filter_of,
    find_positions,
    own_rows,
    positions_of_frame,
    whole_rows,
)
from maintenance.operations.rows.update import update
from maintenance.predicate.tree import Predicate
from maintenance.table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_ALL = "true"


def _matching(
    spark: "SparkSession | None", table: Table, where: str | None, moved: Iterable[str] = ()
) -> Iterator[PlannedGroup]:
    """The rows that a condition selects now. `moved`: columns that get new values."""
    check_newest(table)
    predicate = None if where is None else filter_of(where, table, spark=spark is not None)
    table = own_rows(spark, table, where, predicate, moved)
    if table.is_primary_key_table or is_evolved(table):
        latest = table.snapshots.latest()
        count = 0 if latest is None else count_rows(spark, table, where or _ALL)
        if latest is not None and count:
            yield PlannedGroup.of_snapshot(f"rows of snapshot {latest.id}", latest, 0, f"{count} rows match")
        return
    state, found = _found(spark, table, where, predicate)
    for name, rows in sorted(found.items()):
        yield _rows_of(table, state.entries[name], rows, "match")


def _rows_of(table: Table, entry: ManifestEntry, rows: BitMap, verb: str) -> PlannedGroup:
    """Rows of a file, by their numbers. `verb`: what they do, or what happens to them."""
    file = entry.file
    place = f"{table.paths.partition(entry.partition)} {file.file_name}".strip()
    numbers = hashlib.sha256(rows.to_array().tobytes()).hexdigest()[:16]
    reason = f"{len(rows)} of {file.row_count} rows {verb}, by their numbers {numbers}"
    return PlannedGroup(place, (file.file_name,), file.file_size, 1, reason)


def _found(
    spark: "SparkSession | None", table: Table, where: str | None, predicate: Predicate | None
) -> tuple[TargetState, Positions]:
    """The rows by their files. A condition that only Spark understands is evaluated by it."""
    if spark is None or where is None or predicate is not None:
        state = TargetState.of(table, predicate, ())
        return state, find_positions(spark, state)
    state = TargetState.of(table, None, whole_rows(table))
    return state, positions_of_frame(state.frame(spark).where(where))


def _delete(table: Table, *, where: str | None = None, spark: Any = None, dry_run: bool = False) -> Any:
    return list(_matching(spark, table, where)) if dry_run else delete(spark, table, where)


def _update(
    table: Table,
    *,
    assignments: Mapping[str, object],
    where: str | None = None,
    spark: Any = None,
    dry_run: bool = False,
) -> Any:
    return list(_matching(spark, table, where, assignments)) if dry_run else update(spark, table, assignments, where)


DELETE: DryRunPlan[RowChangeReport] = DryRunPlan("delete", _delete, lambda _, found: found, guarded=True)
UPDATE: DryRunPlan[RowChangeReport] = DryRunPlan("update", _update, lambda _, found: found, guarded=True)


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
        _rows_of(preview.table, found.entries[name], rows, "are deleted or replaced")
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
