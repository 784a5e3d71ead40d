"""Refresh a materialized table: make its rows again from its query, all of them or those that may have changed.

The new rows and the record of what they were made from are one snapshot. A refresh that fails leaves the table as it
was, and the next one does all that this one had to. Of two refreshes at the same time one is committed.
Source: seed 000 section 3.6.5, Flink's `MaterializedTableManager`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from maintenance.commit.overwrite import Overwrite
from maintenance.errors import ConflictError, PaimonError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.partition_names import Spec
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.operation import OperationReport, as_of_dry_run
from maintenance.options import table as table_options
from maintenance.spark.sail import evaluator_of
from maintenance.spark.zone import spark_in_zone
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.materialized.partitions import reading_condition, restricted
from maintenance.sql.materialized.plan import RefreshKind, RefreshPlan, RefreshRequest, Source, plan_refresh
from maintenance.sql.materialized.record import REFRESH
from maintenance.sql.query.relations import Relation, predicate_of
from maintenance.sql.query.resolve import Resolved
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from maintenance.sql.session_state import SessionState

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RefreshReport(OperationReport):
    """What a refresh did.

    Attributes:
        kind: ``nothing``, ``rows`` (added), ``partitions`` or ``whole`` (replaced).
        reason: for this kind.
        partitions: those replaced.
        rows: in the files written.
        snapshot_ids: made by it, of the rows and of compactions.
        sources: source -> the snapshot that was read.
    """

    table: str
    kind: str
    reason: str
    partitions: tuple[str, ...]
    rows: int
    files: int
    file_bytes: int
    snapshot_ids: tuple[int, ...]
    sources: Mapping[str, int | None]
    seconds: float


def refresh_materialized_table(
    session: "SessionState",
    identifier: str,
    *,
    partition: Spec | None = None,
    full: bool = False,
    zone: str = "UTC",
    dry_run: bool = False,
    progress: Progress = lambda _: None,
) -> RefreshReport:
    """Make the rows of a materialized table again as far as its sources have changed since the last refresh.

    A suspended table is refreshed, too: who asks for it wants it.

    Args:
        session: its Spark, if it has one, runs the query and writes; else this process does.
        identifier: ``database.table`` in the session's current catalog, or with a catalog in front.
        partition: refresh this partition, even if nothing has changed: partition columns to values.
        full: refresh the whole table.
        zone: the time zone of partitions that are named after the time.
        dry_run: only say what would be done.
    Raises: NotFoundError; OptionError: it is not a materialized table; SqlError: the query fails; DataError: no such
        partition, or the rows do not fit; CommitError, ConflictError, UnsupportedError.
    """
    path = tuple(identifier.split("."))
    table = session.table(path)
    query = DefiningQuery.of(session, table, session.table_name(path).catalog)
    plan = plan_refresh(query, table, RefreshRequest(partition, full, zone))
    return as_of_dry_run(report_of(plan)) if dry_run else carry_out(plan, lambda: session.spark, progress)


def report_of(plan: RefreshPlan) -> RefreshReport:
    """The report of a plan by which nothing was done."""
    name = plan.table.identifier
    return RefreshReport(name, plan.kind.value, plan.why, plan.partitions, 0, 0, 0, (), plan.snapshots, 0.0)


def carry_out(
    plan: RefreshPlan, spark: "Callable[[], SparkSession | None]", progress: Progress = lambda _: None
) -> RefreshReport:
    """Do what a plan says. `spark`: asked for only if there is something to do. Errors as of the refresh."""
    started = time.monotonic()
    if plan.kind == RefreshKind.NOTHING:
        return report_of(plan)
    table_options.check_writable(plan.table.options, plan.table.identifier)
    # Its rows are written: their values are those of the dialect, which Sail's are not.
    plan.query.session.spark = evaluator_of(spark())
    progress(f"{plan.table.identifier}: {plan.kind}, since {plan.why}")
    inner = plan.query.session
    with spark_in_zone(inner.spark, inner.zone):
        done = ingest(
            inner.spark,
            plan.table,
            rows_of(plan),
            commit_user=REFRESH,
            commit_identifier=plan.number,
            overwrite=_overwrite(plan),
            properties=plan.record.properties() if plan.record else None,
            progress=progress,
        )
    lost = not done.snapshot_ids and (done.row_count or plan.kind != RefreshKind.ROWS)
    if done.already_committed or lost:
        raise ConflictError(
            "another refresh of the table was committed at the same time",
            f"table {plan.table.identifier}",
            "Refresh it again if that one was not of all that you want.",
        )
    return replace(
        report_of(plan),
        rows=done.row_count,
        files=done.file_count,
        file_bytes=done.file_bytes,
        snapshot_ids=done.snapshot_ids,
        seconds=time.monotonic() - started,
    )


def _overwrite(plan: RefreshPlan) -> Overwrite | None:
    if plan.kind == RefreshKind.ROWS:
        return None
    return Overwrite(plan.choices if plan.kind == RefreshKind.PARTITIONS else None, dynamic=False)


def rows_of(plan: RefreshPlan) -> Any:
    """The rows that a plan writes: a DataFrame if the session has Spark, else an Arrow table."""
    fields = plan.table.schema.fields
    tree: exp.Expr = plan.query.tree
    if plan.kind == RefreshKind.PARTITIONS:
        tree = restricted(tree, [field.name for field in fields], plan.choices)
    prepared = plan.query.prepared(tree)
    for name, relation in prepared.relations.items():
        source = next((source for source in plan.sources.values() if name in source.relations), None)
        if source is not None:
            prepared.relations[name] = _at(relation, source, plan)
    spark = plan.query.session.spark
    # Both engines take long to import, and only one is needed.
    if spark is None:
        from maintenance.sql.duckdb.embedded import run_embedded

        return run_embedded(prepared, fields)
    return _frame(spark, prepared, plan.table)


def _frame(spark: "SparkSession", resolved: Resolved, table: Table) -> Any:
    from maintenance.spark.variants import has_variants
    from maintenance.sql.query.on_spark import cast_frame, frame_of, run_on_spark

    frame = cast_frame(frame_of(spark, resolved), table.schema.fields)
    return run_on_spark(spark, resolved, table.schema.fields) if has_variants(frame) else frame


def _at(relation: Relation, source: Source, plan: RefreshPlan) -> Relation:
    """A relation that reads the state of the plan. Raises: ConflictError: its schema is another one by now."""
    table = relation.opened()
    assert isinstance(table, Table)
    if table.schema.id != source.table.schema.id:
        problem = f"the schema of {table.identifier} was changed while the refresh began"
        raise ConflictError(problem, f"table {plan.table.identifier}", "Run the refresh again.")
    if source.snapshot is not None and table.snapshots.has_left(SnapshotIdentity.of(source.snapshot)):
        problem = f"{table.identifier} was rolled back behind snapshot {source.snapshot.id} while the refresh began"
        raise ConflictError(problem, f"table {plan.table.identifier}", "Run the refresh again.")
    options = _options(source, plan)
    where = [*relation.where]
    condition = reading_condition(plan.choices, source.projections)
    if condition is not None and _is_understood(relation, condition):
        where.append(condition)
    return replace(relation, options=options, where=where, _opened=None, _fields=None)


def _options(source: Source, plan: RefreshPlan) -> dict[str, str]:
    now = source.snapshot
    if plan.kind == RefreshKind.ROWS:
        since = source.since.snapshot.id if source.since and source.since.snapshot else None
        if now is None or since is None:
            return {}
        return {"incremental-between": f"{since},{now.id}", "incremental-between-scan-mode": "delta"}
    # A snapshot is read under its own schema: under the newest one only where that is the same.
    return {} if now is None or now.schema_id != source.table.schema.id else {"scan.snapshot-id": str(now.id)}


def _is_understood(relation: Relation, condition: str) -> bool:
    try:
        predicate_of(relation.opened(), condition)
    except PaimonError:
        return False
    return True
