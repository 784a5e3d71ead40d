"""Ingestion of a landing folder: every micro-batch that is not in the table yet becomes one commit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from maintenance.amounts import number_of
from maintenance.operations.ingestion.cdc.read import KIND
from maintenance.operations.ingestion.ingest import IngestReport, ingest
from maintenance.operations.ingestion.landed_messages import changes_of_batch
from maintenance.operations.ingestion.landing import PARQUET, LandedBatch, LandingFolder, waiting_batches
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class LandingReport:
    """What one run of ingestion did.

    Attributes:
        repeated_batches: deliveries whose batch the table held already.
        compacted_buckets, compaction_...: what the writer compacted while writing, unless the table is `write-only`;
            `compacted_before_commit`: because they had reached `num-sorted-run.stop-trigger`.
        compaction_warnings: what went wrong with that; the rows are committed all the same.
        bad_lines: of change messages that were set aside.
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
    bad_lines: int = 0

    @classmethod
    def of(cls, table: Table, landed: int, reports: Sequence[IngestReport], seconds: float) -> Self:
        """The reports of all batches as one. `landed`: batches in the folder; `seconds`: of the whole run."""
        repeated = sum(report.already_committed for report in reports)
        return cls(
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


def ingest_landed(
    session: Callable[[], Any],
    table: Table,
    landing: LandingFolder,
    *,
    limit: int | None = None,
    committed: int | None = None,
    progress: Callable[[str], None],
) -> LandingReport:
    """Commit the landed batches in the order of their delivery.

    Args:
        session: called for the Spark session, only if there is a batch of Parquet to commit: this process reads and
            writes change messages.
        limit: at most this many batches; None = all that landed.
        committed: number of the last batch in the table; None = the table is asked.
        progress: gets a line for each batch.
    Raises: DataError: a file's name is not one of a batch, or lines are no changes; NotFoundError: it is unknown what
        the table holds; as `ingest`, with the batches before committed.
    """
    started = time.monotonic()
    landed, batches = waiting_batches(table.file_io, table, landing, limit=limit, committed=committed)
    progress(f"{len(batches)} of {len(landed)} landed micro-batches are new")
    counts: list[int] = []
    reports = _ingest_each(session, table, landing, batches, progress, counts) if batches else []
    size = sum(table.file_io.size(batch.path) or 0 for batch in batches)
    report = LandingReport.of(table, len(landed), reports, time.monotonic() - started)
    return replace(report, input_bytes=size, bad_lines=sum(counts))


def _ingest_each(
    session: Callable[[], Any],
    table: Table,
    landing: LandingFolder,
    batches: Sequence[LandedBatch],
    progress: Callable[[str], None],
    bad_lines: list[int],
) -> Sequence[IngestReport]:
    """`bad_lines`: gets the number of those of each batch."""
    reports = []
    spark = session() if landing.format == PARQUET else None
    for place, batch in enumerate(batches, 1):
        if spark is not None:
            data, kind = spark.read.parquet(batch.path), landing.row_kind_column
        else:
            changes = changes_of_batch(table.file_io, table.schema.fields, landing, batch, progress)
            data, kind = changes.rows, KIND
            bad_lines.append(len(changes.bad))
        report = ingest(
            spark,
            table,
            data,
            commit_user=landing.commit_user,
            commit_identifier=batch.identifier,
            row_kind_column=kind,
            progress=progress,
        )
        outcome = (
            "was committed before" if report.already_committed else f"{number_of(report.row_count, 'row')} committed"
        )
        progress(f"micro-batch {place}/{len(batches)}: number {batch.identifier}, {outcome}")
        if report.warning:
            progress(f"warning: {report.warning}")
        if report.compaction.buckets:
            done = report.compaction
            progress(
                f"{number_of(done.buckets, 'bucket')} compacted by the writer: "
                f"{number_of(done.input_rows, 'row')} to {done.output_rows:,}"
            )
        reports.append(report)
    return reports
