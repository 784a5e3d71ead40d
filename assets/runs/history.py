"""The account of a run as rows of the history table; writing them never fails the run."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.operations.history import FAILED, HistoryEntry, write_history
from maintenance.table.shape import TableShape
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.account import BEFORE, steps_of

_STARTED_BY = {"dagster/sensor_name": "sensor", "dagster/schedule_name": "schedule", "dagster/backfill": "backfill"}


def keep_account(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    identifier: str,
    shape: TableShape,
    account: Mapping[str, Any],
) -> None:
    """Write down every step of a run that has come to its end. `shape`: of the table now."""
    now = datetime.now(UTC)
    first: Mapping[str, Any] = account.get(BEFORE, {})
    entries = [
        _entry(now, identifier, context.run_id, step, numbers, first, shape, reason_of(context.run))
        for step, numbers in steps_of(account).items()
    ]
    _write(context, catalog, identifier, entries)


def keep_failure(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, identifier: str, step: str, failure: dg.Failure
) -> None:
    """Write down a step that failed."""
    details = {"found": failure.description or "", "reason": reason_of(context.run)}
    entry = HistoryEntry(datetime.now(UTC), identifier, step, FAILED, context.run_id, details=details)
    _write(context, catalog, identifier, [entry])


def reason_of(run: dg.DagsterRun) -> str:
    """Why a run was started, in words."""
    tags = run.tags
    if "paimon/reason" in tags:
        return tags["paimon/reason"]
    for tag, kind in _STARTED_BY.items():
        if tag in tags:
            return f"{kind} {tags[tag]}"
    return "launched by hand"


def _entry(
    now: datetime,
    identifier: str,
    run_id: str,
    step: str,
    numbers: Mapping[str, Any],
    first: Mapping[str, Any],
    shape: TableShape,
    reason: str,
) -> HistoryEntry:
    before: Mapping[str, Any] = numbers.get("before") or first
    after: Mapping[str, Any] = numbers.get("after") or {"files": shape.files, "bytes": shape.bytes}
    return HistoryEntry(
        finished_at=now,
        table_name=identifier,
        operation=step,
        run_id=run_id,
        seconds=numbers.get("seconds"),
        snapshot_id=shape.snapshot_id,
        input_bytes=numbers.get("input_bytes", numbers.get("deleted_bytes", numbers.get("bytes"))),
        files_before=before.get("files"),
        files_after=after.get("files"),
        bytes_before=before.get("bytes"),
        bytes_after=after.get("bytes"),
        details={
            **{name: value for name, value in numbers.items() if name not in ("before", "after")},
            "reason": reason,
        },
    )


def _write(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, identifier: str, entries: list[HistoryEntry]
) -> None:
    history = catalog.history_of(identifier)
    if history is None:
        return
    try:
        write_history(catalog.open(), history, entries)
    except Exception as error:  # noqa: BLE001 - the work is done, whether or not it could be written down
        context.log.warning(f"The history table {history} could not be written: {error}")
