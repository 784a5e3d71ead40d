"""Stored plans of the bin: what comes back from it, and what is destroyed in it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from maintenance.fs.file_io import FileIO
from maintenance.operations.bin.empty_bin import WINDOW, EmptyBinReport, empty_bin
from maintenance.operations.bin.restore import RestoreReport, restore
from maintenance.operations.bin.run import began
from maintenance.operations.plans.dry_run_plans import DryRunPlan
from maintenance.operations.plans.stored_plan import (
    MANY,
    PlannedGroup,
    StoredPlan,
    check_plan,
    moved_victims,
    refuse,
)
from maintenance.operations.progress import Progress
from maintenance.table.table import Table

EMPTY_BIN = "empty_bin"


def plan_empty_bin(
    file_io: FileIO, warehouse: str, *, window: timedelta = WINDOW, max_bytes: int | None = None
) -> StoredPlan:
    """Which runs of the bin `empty_bin` would destroy now, with their bytes. Arguments and errors as there."""
    now = datetime.now(UTC)
    report = empty_bin(file_io, warehouse, window=window, max_bytes=max_bytes, dry_run=True, now=now)
    chosen = {"seconds": window.total_seconds(), "max_bytes": max_bytes}
    return StoredPlan(EMPTY_BIN, MANY, None, now.timestamp(), _runs(report), chosen)


def apply_empty_bin(
    file_io: FileIO, warehouse: str, plan: StoredPlan, progress: Progress | None = None
) -> EmptyBinReport:
    """Destroy the plan's runs and no others.

    Raises: OutdatedPlanError: others would go now, or one has other files; OptionError: not such a plan.
    """
    check_plan(plan, EMPTY_BIN, None)
    window, limit = timedelta(seconds=plan.arguments["seconds"]), plan.arguments["max_bytes"]
    moment = datetime.fromtimestamp(plan.made_at, UTC)
    now = _runs(empty_bin(file_io, warehouse, window=window, max_bytes=limit, dry_run=True, now=moment))
    there = {group.name: group for group in now}
    moved = moved_victims(plan, now)
    moved += [
        f"{old.name}: was {old.bytes} bytes, is {there[old.name].bytes} bytes"
        for old in plan.groups
        if old.name in there and there[old.name].bytes != old.bytes
    ]
    refuse(plan, moved)
    return empty_bin(file_io, warehouse, window=window, max_bytes=limit, progress=progress, now=moment)


def _runs(report: EmptyBinReport) -> tuple[PlannedGroup, ...]:
    return tuple(
        PlannedGroup(f"run {run}", (run,), size, 0, f"began {began(run):%FT%TZ}")
        for run, size in zip(report.runs, report.run_bytes, strict=True)
    )


def _restored(_: Table, report: RestoreReport) -> Iterator[PlannedGroup]:
    yield from (PlannedGroup(f"snapshot {name}", (), 0, 1, "comes back") for name in report.snapshots)
    yield from (PlannedGroup(f"tag {name}", (), 0, 1, "comes back") for name in report.tags)
    yield from (PlannedGroup(f"changelog {name}", (), 0, 1, "comes back") for name in report.changelogs)
    if report.files:
        reason = f"come back from run {report.run} of {report.operation}"
        yield PlannedGroup("files", tuple(sorted(report.files)), report.bytes, len(report.files), reason)


RESTORE: DryRunPlan[RestoreReport] = DryRunPlan("restore", restore, _restored)
