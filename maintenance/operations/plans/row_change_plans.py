"""Stored plans of DELETE and UPDATE: which rows of which files a condition selects.

Where rows are changed in their files, a plan names each file with the numbers of its rows, and what others commit
elsewhere does not matter. Elsewhere it counts the rows of one snapshot, and any later one makes it outdated.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from maintenance.metadata.paths import partition_text_of
from maintenance.operations.plans.dry_run_plans import DryRunPlan
from maintenance.operations.plans.stored_plan import PlannedGroup
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.evolved import is_evolved
from maintenance.operations.rows.row_changes import (
    RowChangeReport,
    TargetState,
    check_target,
    count_rows,
    filter_of,
    find_positions,
)
from maintenance.operations.rows.update import update
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL = "true"


def _matching(spark: "SparkSession | None", table: Table, where: str | None) -> Iterator[PlannedGroup]:
    """The rows that a condition selects now."""
    check_target(table)
    predicate = None if where is None else filter_of(where, table, spark=spark is not None)
    if table.is_primary_key_table or is_evolved(table) or (where is not None and predicate is None):
        latest = table.snapshots.latest_id()
        count = 0 if latest is None else count_rows(spark, table, where or _ALL)
        if count:
            yield PlannedGroup(f"rows of snapshot {latest}", (), 0, 0, f"{count} rows match")
        return
    state = TargetState.of(table, predicate, ())
    for name, rows in sorted(find_positions(spark, state).items()):
        entry = state.entries[name]
        where_it_is = partition_text_of(table.paths.spec_of(entry.partition))
        numbers = hashlib.sha256(rows.to_array().tobytes()).hexdigest()[:16]
        reason = f"{len(rows)} of {entry.file.row_count} rows match, by their numbers {numbers}"
        yield PlannedGroup(f"{where_it_is} {name}".strip(), (name,), entry.file.file_size, 1, reason)


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
    return list(_matching(spark, table, where)) if dry_run else update(spark, table, assignments, where)


DELETE: DryRunPlan[RowChangeReport] = DryRunPlan("delete", _delete, lambda _, found: found)
UPDATE: DryRunPlan[RowChangeReport] = DryRunPlan("update", _update, lambda _, found: found)
