"""Ingestion of a table's landing folder: every micro-batch that is not in the table yet becomes one commit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assets.project.config import Landing, TableConfig
from assets.project.step_config import IngestConfig
from maintenance.errors import DataError, OptionError
from maintenance.fs.file_io import FileIO
from maintenance.operations.ingestion.ingest import IngestReport, ingest
from maintenance.operations.ingestion.landing import LandedBatch, committed_identifier, landed_batches, still_to_commit
from maintenance.operations.plans.stored_plan import PlannedGroup, StoredPlan, check_plan, refuse
from maintenance.table.table import Table

INGEST = "ingest"


@dataclass(frozen=True, slots=True)
class LandingReport:
    """What one run of ingestion did.

    Attributes:
        repeated_batches: deliveries whose batch the table held already.
        compacted_buckets, compaction_...: what the writer compacted beside writing, unless the table is `write-only`;
            `compacted_before_commit`: because they had reached `num-sorted-run.stop-trigger`.
        compaction_warnings: what went wrong with that; the rows are committed all the same.
    """

    table: str
    landed_batches: int
    committed_batches: int
    repeated_batches: int
    row_count: int
    file_count: int
    file_bytes: int
    snapshot_ids: tuple[int, ...]
    compacted_buckets: int
    compacted_before_commit: int
    compaction_input_rows: int
    compaction_output_rows: int
    compaction_seconds: float
    compaction_warnings: tuple[str, ...]
    seconds: float
    input_bytes: int = 0


def ingest_landed(
    session: Callable[[], Any],
    table: Table,
    described: TableConfig,
    *,
    config: IngestConfig,
    progress: Callable[[str], None],
) -> LandingReport:
    """Commit the landed batches in the order of their delivery. `session` is called only if there is one."""
    landing = _landing_of(described)
    started = time.monotonic()
    landed, batches = _waiting(table.file_io, table, landing, config)
    progress(f"{len(batches)} of {len(landed)} landed micro-batches are new")
    reports = _ingest_each(session(), table, landing, batches, progress) if batches else []
    size = sum(table.file_io.size(batch.path) or 0 for batch in batches)
    return replace(_summary(table, len(landed), reports, time.monotonic() - started), input_bytes=size)


def plan_ingest(file_io: FileIO, table: Table | None, described: TableConfig, config: IngestConfig) -> StoredPlan:
    """Which landed files would be looked at now, with their rows; a repeated delivery among them changes nothing.

    Args: `table`: None if it does not exist yet. Raises: DataError: a file is no Parquet, or its name says no batch.
    """
    landing = _landing_of(described)
    _, batches = _waiting(file_io, table, landing, config)
    groups = tuple(_planned(file_io, batch) for batch in batches)
    base = table.snapshots.latest_id() if table is not None else None
    chosen = {"limit": config.limit, "committed": config.committed}
    return StoredPlan(INGEST, described.identifier, base, datetime.now(UTC).timestamp(), groups, chosen)


def apply_ingest(
    session: Callable[[], Any],
    table: Table,
    described: TableConfig,
    plan: StoredPlan,
    progress: Callable[[str], None],
) -> LandingReport:
    """Commit the files of a plan and no others.

    Raises: OutdatedPlanError: they are not what comes next any more, or other files lie under their names; files that
        landed behind them do not matter. OptionError: it is not a plan of this table's ingestion.
    """
    check_plan(plan, INGEST, table)
    chosen = IngestConfig(limit=len(plan.groups) or None, committed=plan.arguments["committed"])
    now = plan_ingest(table.file_io, table, described, chosen).groups if plan.groups else ()
    moved = [f"{old.name}: {_moved(old, new)}" for old, new in zip_longest(plan.groups, now) if old != new]
    refuse(plan, moved)
    if not plan.groups:
        return _summary(table, 0, [], 0.0)
    return ingest_landed(session, table, described, config=chosen, progress=progress)


def _moved(planned: PlannedGroup, now: PlannedGroup | None) -> str:
    if now is None:
        return "no more to be committed"
    if now.files != planned.files:
        return f"{now.name} comes in its place"
    return f"was {planned.bytes} bytes with {planned.reason}, is {now.bytes} bytes with {now.reason}"


def _planned(file_io: FileIO, batch: LandedBatch) -> PlannedGroup:
    try:
        with file_io.open_input(batch.path) as file:
            rows = pq.ParquetFile(file).metadata.num_rows
    except pa.ArrowInvalid as error:
        raise DataError(f"this is no Parquet file: {error}", batch.path, "Deliver the batch again.") from error
    name = f"batch {batch.identifier} of delivery {batch.delivery}"
    return PlannedGroup(name, (batch.path,), file_io.size(batch.path) or 0, 1, f"{rows} rows")


def _landing_of(described: TableConfig) -> Landing:
    if described.landing is None:
        raise OptionError("the table has no landing folder", described.identifier, "Give it one in tables.yaml.")
    return described.landing


def _waiting(
    file_io: FileIO, table: Table | None, landing: Landing, config: IngestConfig
) -> tuple[Sequence[LandedBatch], Sequence[LandedBatch]]:
    """All batches that landed, and those that are to be committed."""
    landed = landed_batches(file_io, landing.path)
    committed = config.committed
    if committed is None and table is not None:
        committed = committed_identifier(table, landing.commit_user)
    return landed, still_to_commit(landed, committed)[: config.limit]


def _ingest_each(
    spark: Any, table: Table, landing: Landing, batches: Sequence[LandedBatch], progress: Callable[[str], None]
) -> Sequence[IngestReport]:
    reports = []
    for place, batch in enumerate(batches, 1):
        report = ingest(
            spark,
            table,
            spark.read.parquet(batch.path),
            commit_user=landing.commit_user,
            commit_identifier=batch.identifier,
            row_kind_column=landing.row_kind_column,
            progress=progress,
        )
        outcome = "was committed before" if report.already_committed else f"{report.row_count:,} rows committed"
        progress(f"micro-batch {place}/{len(batches)}: number {batch.identifier}, {outcome}")
        if report.warning:
            progress(f"warning: {report.warning}")
        if report.compaction.buckets:
            done = report.compaction
            progress(
                f"{done.buckets} buckets compacted by the writer: {done.input_rows:,} rows to {done.output_rows:,}"
            )
        reports.append(report)
    return reports


def _summary(table: Table, landed: int, reports: Sequence[IngestReport], seconds: float) -> LandingReport:
    repeated = sum(report.already_committed for report in reports)
    return LandingReport(
        table=table.identifier,
        landed_batches=landed,
        committed_batches=len(reports) - repeated,
        repeated_batches=repeated,
        row_count=sum(report.row_count for report in reports if not report.already_committed),
        file_count=sum(report.file_count for report in reports if not report.already_committed),
        file_bytes=sum(report.file_bytes for report in reports if not report.already_committed),
        snapshot_ids=tuple(snapshot for report in reports for snapshot in report.snapshot_ids),
        compacted_buckets=sum(report.compaction.buckets for report in reports),
        compacted_before_commit=sum(report.compaction.before_commit for report in reports),
        compaction_input_rows=sum(report.compaction.input_rows for report in reports),
        compaction_output_rows=sum(report.compaction.output_rows for report in reports),
        compaction_seconds=sum(report.compaction.seconds for report in reports),
        compaction_warnings=tuple(report.compaction.warning for report in reports if report.compaction.warning),
        seconds=seconds,
    )
