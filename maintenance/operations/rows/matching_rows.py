"""The rows that a DELETE or UPDATE would change, as a plan names them.

Where rows are changed in their files, a plan names each file with the numbers of its rows, and what others commit
elsewhere does not matter. Elsewhere it counts the rows of one snapshot, and any later one makes it outdated.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import pyarrow as pa
from pyroaring import BitMap

from maintenance.amounts import number_of
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.operations.operation import LazyPlan, Run, Shown, Work, lazily
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.rows.evolved import is_evolved, rows_with_ids
from maintenance.operations.rows.record_changes import newest
from maintenance.operations.rows.row_changes import (
    Positions,
    RowChangeReport,
    TargetState,
    check_newest,
    filter_of,
    find_positions,
    own_rows,
    positions_of_frame,
    whole_rows,
)
from maintenance.operations.rows.row_digests import digest_of
from maintenance.predicate.tree import Predicate
from maintenance.spark.sail import evaluated, evaluator_of
from maintenance.spark.zone import spark_in_zone, zone_of
from maintenance.table.table import Table
from maintenance.types.row_hash import Digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def matching_rows(
    spark: "SparkSession | None", table: Table, where: str | None, moved: Iterable[str] = (), *, zone: str | None = None
) -> Iterator[PlannedGroup]:
    """The rows that a condition selects now. `moved`: columns that get new values; `zone`: as of `delete`."""
    with evaluated(spark) as evaluator, spark_in_zone(evaluator, zone):
        yield from _matching(evaluator, table, where, moved)


@dataclass(frozen=True, slots=True, kw_only=True)
class InZone:
    """A request to change rows."""

    zone: Annotated[
        str | None, Param("Time zone in which Spark evaluates conditions and values; empty: that of its session.")
    ] = None


Request = TypeVar("Request", bound=InZone)
Lazy = LazyPlan[Request, RowChangeReport]


def in_kept_zone(
    work: Work[Request, RowChangeReport],
) -> tuple[
    Callable[[Run, Any, Request], Lazy[Request]],
    Callable[[Run, Any, Lazy[Request]], RowChangeReport],
]:
    """`plan` and `apply` of a change of rows. Its plan keeps the zone in which Spark has judged its rows."""
    plan, apply = lazily(work, lambda _, found: found)  # type: ignore[arg-type, return-value]

    def plan_in_zone(run: Run, table: Table, request: Request) -> Lazy[Request]:
        zone = request.zone or zone_of(evaluator_of(run.session()))
        return plan(run, table, replace(request, zone=zone))

    return plan_in_zone, apply


def _matching(
    spark: "SparkSession | None", table: Table, where: str | None, moved: Iterable[str]
) -> Iterator[PlannedGroup]:
    check_newest(table)
    predicate = None if where is None else filter_of(where, table, spark=spark is not None)
    table = own_rows(spark, table, where, predicate, moved)
    if table.is_primary_key_table or is_evolved(table):
        latest = table.snapshots.latest()
        chosen = Digest() if latest is None else _rows_found(spark, table, where, predicate)
        if latest is not None and chosen.rows:
            reason = f"{number_of(chosen.rows, 'row matches', 'rows match')}, by their keys {chosen.text[:16]}"
            yield PlannedGroup.of_snapshot(f"rows of snapshot {latest.id}", latest, 0, reason)
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


def _rows_found(spark: "SparkSession | None", table: Table, where: str | None, predicate: Predicate | None) -> Digest:
    """The rows of a table that are not found by files, by their keys or ids."""
    by_spark = where if predicate is None else None
    if table.is_primary_key_table:
        names, state = list(table.schema.primary_keys), newest(table)
        passed = where if predicate is not None else None
        rows = state.to_arrow(where=passed) if spark is None else state.to_spark(spark, where=passed)
    else:
        of = TargetState.of(table, predicate, whole_rows(table))
        names, rows = [ROW_ID.name], rows_with_ids(spark, of)
    if by_spark is not None and not isinstance(rows, pa.Table):
        rows = rows.where(by_spark)
    return digest_of(rows.select(names))


def shown(report: RowChangeReport) -> Shown:
    """How many rows have changed, and in which snapshot."""
    names = ("deleted_rows", "updated_rows", "inserted_rows")
    columns = {name: pa.array([getattr(report, name)], pa.int64()) for name in names}
    ids = pa.array([report.snapshot_ids[-1] if report.snapshot_ids else None], pa.int64())
    return Shown(pa.table({**columns, "snapshot_id": ids}), not report.snapshot_ids)
