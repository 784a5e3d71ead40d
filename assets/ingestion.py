"""Ingestion of a table's landing folder: every micro-batch that is not in the table yet becomes one commit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assets.config import Landing, TableConfig
from assets.landing import LandedBatch, committed_identifier, landed_batches, still_to_commit
from assets.step_config import IngestConfig
from maintenance.errors import OptionError
from maintenance.operations.ingest import IngestReport, ingest
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class LandingReport:
    """What one run of ingestion did. `repeated_batches`: deliveries whose batch the table held already."""

    table: str
    landed_batches: int
    committed_batches: int
    repeated_batches: int
    row_count: int
    file_count: int
    file_bytes: int
    snapshot_ids: tuple[int, ...]
    seconds: float


def ingest_landed(
    session: Callable[[], Any],
    table: Table,
    described: TableConfig,
    *,
    config: IngestConfig,
    progress: Callable[[str], None],
) -> LandingReport:
    """Commit the landed batches in the order of their delivery. `session` is called only if there is one."""
    landing = described.landing
    if landing is None:
        raise OptionError("the table has no landing folder", described.identifier, "Give it one in tables.yaml.")
    started = time.monotonic()
    landed = landed_batches(table.file_io, landing.path)
    committed = config.committed if config.committed is not None else committed_identifier(table, landing.commit_user)
    batches = still_to_commit(landed, committed)[: config.limit]
    progress(f"{len(batches)} of {len(landed)} landed micro-batches are new")
    reports = _ingest_each(session(), table, landing, batches, progress) if batches else []
    return _summary(table, len(landed), reports, time.monotonic() - started)


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
        )
        outcome = "was committed before" if report.already_committed else f"{report.row_count:,} rows committed"
        progress(f"micro-batch {place}/{len(batches)}: number {batch.identifier}, {outcome}")
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
        seconds=seconds,
    )
