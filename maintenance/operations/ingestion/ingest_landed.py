"""Ingestion of a landing folder: every micro-batch that is not in the table yet becomes one commit.

Its plan has the files that come next, with their rows.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.amounts import number_of
from maintenance.errors import DataError, OptionError
from maintenance.fs.file_io import FileIO
from maintenance.operations.ingestion.cdc.read import KIND
from maintenance.operations.ingestion.ingest import IngestReport, ingest
from maintenance.operations.ingestion.landed_messages import changes_of_batch, message_count
from maintenance.operations.ingestion.landing import PARQUET, LandedBatch, LandingFolder, waiting_batches
from maintenance.operations.operation import Operation, Plan, Run, Shown
from maintenance.operations.parameters import Param, arguments_of
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, refuse
from maintenance.operations.progress import Progress
from maintenance.table.table import Table

INGEST = "ingest"


@dataclass(frozen=True, slots=True)
class IngestLanded(LandingFolder):
    """What is committed of a folder."""

    limit: Annotated[int | None, Param("Maximum number of micro-batches; empty: all that landed.", least=1)] = None
    committed: Annotated[
        int | None,
        Param("Number of the last batch in the table. Only needed if no snapshot or commit record has it."),
    ] = None

    @property
    def scope(self) -> Mapping[str, int | None]:
        """Which of the batches."""
        return {"limit": self.limit, "committed": self.committed}

    def check(self) -> None:
        """Raises: OptionError: options are given that nothing reads."""
        if self.format == PARQUET and self.format_options:
            raise OptionError("format 'parquet' has no options", f"folder {self.path}", "Leave format_options out.")


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


def plan_ingest(file_io: FileIO, table: Table | None, identifier: str, request: IngestLanded) -> StoredPlan:
    """Which landed files would be looked at now, with their rows; a repeated delivery among them changes nothing.

    Args: `table`: None if it does not exist yet; `identifier`: its name.
    Raises: DataError: a file cannot be read, or its name is not one of a batch; NotFoundError.
    """
    base = table.snapshots.latest_identity() if table is not None else None
    _, batches = waiting_batches(file_io, table, request, **request.scope)
    groups = tuple(_groups(file_io, request, batches))
    return StoredPlan(INGEST, identifier, base, datetime.now(UTC).timestamp(), groups, arguments_of(request))


def _groups(file_io: FileIO, landing: LandingFolder, batches: Sequence[LandedBatch]) -> list[PlannedGroup]:
    return [_planned(file_io, landing, batch) for batch in batches]


def _moved(planned: PlannedGroup, now: PlannedGroup | None) -> str:
    if now is None:
        return "no longer to be committed"
    if now.files != planned.files:
        return f"{now.name} comes in its place"
    return f"was {planned.bytes} bytes with {planned.reason}, is {now.bytes} bytes with {now.reason}"


def _planned(file_io: FileIO, landing: LandingFolder, batch: LandedBatch) -> PlannedGroup:
    is_parquet = landing.format == PARQUET
    size = f"{_row_count(file_io, batch)} rows" if is_parquet else f"{message_count(file_io, batch.path)} messages"
    name = f"batch {batch.identifier} of delivery {batch.delivery}"
    return PlannedGroup(name, (batch.path,), file_io.size(batch.path) or 0, 1, size)


def _row_count(file_io: FileIO, batch: LandedBatch) -> int:
    with file_io.open_input(batch.path) as file:
        return int(_parquet(file, batch).metadata.num_rows)


def _rows(file_io: FileIO, batch: LandedBatch) -> pa.Table:
    with file_io.open_input(batch.path) as file:
        return _parquet(file, batch).read()


def _parquet(file: pa.NativeFile, batch: LandedBatch) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except pa.ArrowInvalid as error:
        raise DataError(f"this is not a Parquet file: {error}", batch.path, "Deliver the batch again.") from error


def plan(_: Run, table: Table, request: IngestLanded) -> Plan[IngestLanded, LandingReport]:
    """The batches that come next."""
    request.check()
    landed, batches = waiting_batches(table.file_io, table, request, **request.scope)
    size = sum(table.file_io.size(batch.path) or 0 for batch in batches)
    report = LandingReport.of(table, len(landed), (), 0.0)
    report = replace(report, committed_batches=len(batches), input_bytes=size)
    return Plan(request, report, partial(_groups, table.file_io, request, batches), batches)


def _again(run: Run, table: Table, request: IngestLanded, stored: StoredPlan) -> Plan[IngestLanded, LandingReport]:
    """Raises: OutdatedPlanError: the files of a plan are no longer the next ones, or other files have their names."""
    # As many as the plan has: what landed behind them is not part of it.
    made = plan(run, table, replace(request, limit=len(stored.groups)))
    pairs = zip_longest(stored.groups, made.groups())
    refuse(stored, [f"{old.name}: {_moved(old, new)}" for old, new in pairs if old != new])
    return made


def apply(run: Run, table: Table, planned: Plan[IngestLanded, LandingReport]) -> LandingReport:
    """Commit the batches in the order of their delivery."""
    started = time.monotonic()
    batches: Sequence[LandedBatch] = planned.work
    run.progress(f"{len(batches)} of {planned.report.landed_batches} landed micro-batches are new")
    counts: list[int] = []
    reports = _ingest_each(run.session, table, planned.request, batches, run.progress, counts) if batches else []
    report = LandingReport.of(table, planned.report.landed_batches, reports, time.monotonic() - started)
    return replace(report, input_bytes=planned.report.input_bytes, bad_lines=sum(counts))


def _shown(report: LandingReport) -> Shown:
    names = ("landed_batches", "committed_batches", "repeated_batches", "row_count", "file_count", "bad_lines")
    row = {name: getattr(report, name) for name in names}
    row["snapshot_id"] = report.snapshot_ids[-1] if report.snapshot_ids else None
    return Shown.one(row, nothing_to_do=not report.committed_batches)


OPERATION = Operation(
    "ingest_landed",
    "Commit the micro-batches that landed in a folder.",
    IngestLanded,
    plan,
    apply,
    again=_again,
    shown=_shown,
    kept_as=INGEST,
    uses_spark=True,
    has_job=False,
)


def ingest_landed(
    session: Callable[[], Any],
    table: Table,
    landing: LandingFolder,
    *,
    limit: int | None = None,
    committed: int | None = None,
    dry_run: bool = False,
    progress: Progress,
) -> LandingReport:
    """Commit the batches that landed in a folder, in the order of their numbers.

    Args:
        session: called for the Spark session, only if there is a batch of Parquet to commit: this process reads and
            writes change messages, and without a session Parquet, too, a file at a time in memory.
        limit: at most this many batches; None = all that landed.
        committed: number of the last batch in the table; None = the table is asked.
        dry_run: only count the batches that would be committed.
        progress: gets a line for each batch.
    Raises: DataError: a file's name is not one of a batch, or lines are no changes; NotFoundError: it is unknown what
        the table holds; as `ingest`, with the batches before committed.
    """
    asked = IngestLanded(**asdict(landing), limit=limit, committed=committed)
    return OPERATION.run(Run(session, progress), table, asked, dry_run=dry_run)


def _ingest_each(
    session: Callable[[], Any],
    table: Table,
    landing: LandingFolder,
    batches: Sequence[LandedBatch],
    progress: Progress,
    bad_lines: list[int],
) -> Sequence[IngestReport]:
    """`bad_lines`: gets the number of those of each batch."""
    reports = []
    spark = session() if landing.format == PARQUET else None
    for place, batch in enumerate(batches, 1):
        if landing.format == PARQUET:
            data = _rows(table.file_io, batch) if spark is None else spark.read.parquet(batch.path)
            kind = landing.row_kind_column
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
