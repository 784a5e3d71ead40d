"""An ingestion from a landing folder as an operation, and its plan: the files that come next, with their rows."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.errors import DataError
from maintenance.fs.file_io import FileIO
from maintenance.operations.ingestion.ingest_landed import LandingReport
from maintenance.operations.ingestion.ingest_landed import ingest_landed as ingest_landed  # noqa: PLC0414 - users have it from here
from maintenance.operations.ingestion.landed_messages import message_count
from maintenance.operations.ingestion.landing import PARQUET, LandedBatch, LandingFolder, waiting_batches
from maintenance.operations.operation import Operation, Plan, Run
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, check_plan, refuse
from maintenance.table.table import Table

INGEST = "ingest"


@dataclass(frozen=True, slots=True)
class IngestLanded:
    """What is committed of a folder."""

    landing: LandingFolder
    limit: Annotated[int | None, Param("Maximum number of micro-batches; empty: all that landed.", least=1)] = None
    committed: Annotated[
        int | None,
        Param("Number of the last batch in the table. Needed when no snapshot or commit record says it."),
    ] = None


def plan_ingest(
    file_io: FileIO,
    table: Table | None,
    identifier: str,
    landing: LandingFolder,
    *,
    limit: int | None = None,
    committed: int | None = None,
) -> StoredPlan:
    """Which landed files would be looked at now, with their rows; a repeated delivery among them changes nothing.

    Args: `table`: None if it does not exist yet; `identifier`: its name; `limit`, `committed`: as of `ingest_landed`.
    Raises: DataError: a file cannot be read, or its name is not one of a batch; NotFoundError.
    """
    base = table.snapshots.latest_identity() if table is not None else None
    _, batches = waiting_batches(file_io, table, landing, limit=limit, committed=committed)
    groups = tuple(_planned(file_io, landing, batch) for batch in batches)
    chosen = {"limit": limit, "committed": committed}
    return StoredPlan(INGEST, identifier, base, datetime.now(UTC).timestamp(), groups, chosen)


def apply_ingest(
    session: Callable[[], Any],
    table: Table,
    landing: LandingFolder,
    plan: StoredPlan,
    progress: Callable[[str], None],
) -> LandingReport:
    """Commit the files of a plan and no others. `session`, `progress`: as of `ingest_landed`.

    Raises: OutdatedPlanError: they are no longer the next ones, or other files have their names; files that
        landed after them do not matter. OptionError: it is not a plan of this table's ingestion.
    """
    check_plan(plan, INGEST, table)
    if not plan.groups:
        return LandingReport.of(table, 0, (), 0.0)
    # As many as the plan has: what landed behind them is not part of it.
    scope: dict[str, Any] = {"limit": len(plan.groups), "committed": plan.arguments["committed"]}
    now = plan_ingest(table.file_io, table, table.identifier, landing, **scope).groups
    refuse(plan, [f"{old.name}: {_moved(old, new)}" for old, new in zip_longest(plan.groups, now) if old != new])
    return ingest_landed(session, table, landing, **scope, progress=progress)


def _moved(planned: PlannedGroup, now: PlannedGroup | None) -> str:
    if now is None:
        return "no longer to be committed"
    if now.files != planned.files:
        return f"{now.name} comes in its place"
    return f"was {planned.bytes} bytes with {planned.reason}, is {now.bytes} bytes with {now.reason}"


def _planned(file_io: FileIO, landing: LandingFolder, batch: LandedBatch) -> PlannedGroup:
    is_parquet = landing.format == PARQUET
    size = f"{_rows(file_io, batch)} rows" if is_parquet else f"{message_count(file_io, batch.path)} messages"
    name = f"batch {batch.identifier} of delivery {batch.delivery}"
    return PlannedGroup(name, (batch.path,), file_io.size(batch.path) or 0, 1, size)


def _rows(file_io: FileIO, batch: LandedBatch) -> int:
    try:
        with file_io.open_input(batch.path) as file:
            return int(pq.ParquetFile(file).metadata.num_rows)
    except pa.ArrowInvalid as error:
        raise DataError(f"this is not a Parquet file: {error}", batch.path, "Deliver the batch again.") from error


def plan(_: Run, table: Table, request: IngestLanded) -> Plan[IngestLanded, None]:
    """The files that come next, looked for when somebody asks."""

    def groups() -> tuple[PlannedGroup, ...]:
        scope = {"limit": request.limit, "committed": request.committed}
        return plan_ingest(table.file_io, table, table.identifier, request.landing, **scope).groups

    return Plan(request, None, groups)


def apply(run: Run, table: Table, planned: Plan[IngestLanded, None]) -> LandingReport:
    """Commit what there is."""
    asked = planned.request
    scope = {"limit": asked.limit, "committed": asked.committed}
    return ingest_landed(run.session, table, asked.landing, **scope, progress=run.progress)


OPERATION = Operation(
    "ingest_landed",
    "Commit the micro-batches that landed in a folder.",
    IngestLanded,
    plan,
    apply,
    kept_as=INGEST,
    uses_spark=True,
    has_job=False,
    spellings=(),
)
