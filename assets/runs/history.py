"""The summary of a run as rows of the history table, and as events of OpenLineage; neither fails the run."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.operations.history import FAILED, HistoryEntry, bytes_of, history_unless_it_fails
from maintenance.table.shape import TableShape
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.lineage import send_events
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary

_STARTED_BY = {"dagster/sensor_name": "sensor", "dagster/schedule_name": "schedule", "dagster/backfill": "backfill"}


def keep_summary(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, identifier: str, shape: TableShape, summary: RunSummary
) -> None:
    """Write down every step of a run that has come to its end. `shape`: of the table now."""
    now, reason = datetime.now(UTC), reason_of(context.run)
    entries = [
        _entry(HistoryEntry(now, identifier, step, run_id=context.run_id), done, summary, shape, reason)
        for step, done in summary.steps.items()
    ]
    _write(context, catalog, identifier, entries)
    send_events(context, catalog, entries, shape)


def keep_failure(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, identifier: str, step: str, failure: dg.Failure
) -> None:
    """Write down a step that failed."""
    details = {"found": failure.description or "", "reason": reason_of(context.run)}
    entry = HistoryEntry(datetime.now(UTC), identifier, step, FAILED, context.run_id, details=details)
    _write(context, catalog, identifier, [entry])
    send_events(context, catalog, [entry])


def reason_of(run: dg.DagsterRun) -> str:
    """Why a run was started, in words."""
    tags = run.tags
    if "paimon/reason" in tags:
        return tags["paimon/reason"]
    for tag, kind in _STARTED_BY.items():
        if tag in tags:
            return f"{kind} {tags[tag]}"
    return "launched by hand"


def _entry(entry: HistoryEntry, done: StepSummary, summary: RunSummary, shape: TableShape, reason: str) -> HistoryEntry:
    facts: Mapping[str, Any] = done.facts
    before: Mapping[str, Any] = done.before or summary.before
    after: Mapping[str, Any] = done.after or {"files": shape.files, "bytes": shape.bytes}
    return replace(
        entry,
        seconds=facts.get("seconds"),
        snapshot_id=shape.snapshot_id,
        input_bytes=bytes_of(facts),
        files_before=before.get("files"),
        files_after=after.get("files"),
        bytes_before=before.get("bytes"),
        bytes_after=after.get("bytes"),
        details={**facts, "reason": reason},
    )


def _write(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, identifier: str, entries: list[HistoryEntry]
) -> None:
    history = catalog.history_of(identifier)
    unwritten = "" if history is None else history_unless_it_fails(catalog.open(), history, entries)
    if unwritten:
        context.log.warning(unwritten)
