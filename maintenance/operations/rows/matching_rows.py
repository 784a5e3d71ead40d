"""The rows that a DELETE or UPDATE would change, as a plan names them.

Where rows are changed in their files, a plan names each file with the numbers of its rows, and what others commit
elsewhere does not matter. Elsewhere it counts the rows of one snapshot, and any later one makes it outdated.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyroaring import BitMap

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.operation import Shown
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.rows.evolved import is_evolved
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
from maintenance.predicate.tree import Predicate
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL = "true"


def matching_rows(
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
        yield rows_of(table, state.entries[name], rows, "match")


def rows_of(table: Table, entry: ManifestEntry, rows: BitMap, verb: str) -> PlannedGroup:
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


def shown(report: RowChangeReport) -> Shown:
    """How many rows have changed, and in which snapshot."""
    names = ("deleted_rows", "updated_rows", "inserted_rows")
    columns = {name: pa.array([getattr(report, name)], pa.int64()) for name in names}
    ids = pa.array([report.snapshot_ids[-1] if report.snapshot_ids else None], pa.int64())
    return Shown(pa.table({**columns, "snapshot_id": ids}), not report.snapshot_ids)
