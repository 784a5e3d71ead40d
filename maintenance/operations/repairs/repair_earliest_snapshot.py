"""Let the EARLIEST hint name the first snapshot behind a gap: procedure `repair_earliest_snapshot`.

Where ids are missing between snapshots, readers that go through them from the earliest one on stop at the gap. The hint
then names the snapshot behind it. Those before it stay until they expire. Source: Java
`SnapshotManager.repairEarliestSnapshot`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from maintenance.errors import NotFoundError, OptionError, WriteError
from maintenance.metadata.hints import EARLIEST
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class RepairEarliestSnapshotReport(OperationReport):
    """`previous`, `current`: the earliest snapshot before and after."""

    table: str
    previous: int
    current: int


@dataclass(frozen=True, slots=True)
class RepairEarliestSnapshot:
    """Which snapshot is the earliest one then."""

    snapshot_id: Annotated[int, Param("The first snapshot after the last gap.")]


def plan(
    _: Run, table: Table, request: RepairEarliestSnapshot
) -> Plan[RepairEarliestSnapshot, RepairEarliestSnapshotReport]:
    """Checks that the snapshot can be the earliest one."""
    snapshot_id = request.snapshot_id
    snapshots = table.snapshots
    previous, latest = snapshots.earliest_id(), snapshots.latest_id()
    if previous is None or latest is None:
        raise NotFoundError("the table has no snapshots", table.identifier, "There is nothing to repair.")
    if not previous <= snapshot_id <= latest:
        problem = f"snapshot {snapshot_id} is not between the earliest, {previous}, and the latest, {latest}"
        raise OptionError(problem, table.identifier, "Name one of these, or a snapshot between them.")
    there = set(snapshots.list_ids())
    missing = next((number for number in range(snapshot_id, latest + 1) if number not in there), None)
    if missing is not None:
        raise NotFoundError(f"snapshot {missing} does not exist", table.identifier, "Name one behind the last gap.")
    if snapshot_id != previous and snapshot_id - 1 in there:
        raise OptionError(
            f"snapshot {snapshot_id} does not follow a gap", table.identifier, "Name the first one behind the last gap."
        )
    report = RepairEarliestSnapshotReport(table.identifier, previous, snapshot_id)
    return Plan(request, report, partial(_groups, report))


def _groups(report: RepairEarliestSnapshotReport) -> Iterator[PlannedGroup]:
    if report.previous != report.current:
        reason = f"snapshot {report.current} is the earliest one then"
        yield PlannedGroup(f"snapshots {report.previous} to {report.current - 1}", (), 0, 0, reason)


def apply(
    _: Run, table: Table, planned: Plan[RepairEarliestSnapshot, RepairEarliestSnapshotReport]
) -> RepairEarliestSnapshotReport:
    """Let the hint name it."""
    snapshots, snapshot_id = table.snapshots, planned.report.current
    snapshots.write_hint(EARLIEST, snapshot_id)
    if snapshots.read_hint(EARLIEST) != snapshot_id:
        fix = "Run repair_earliest_snapshot again."
        raise WriteError("the EARLIEST hint cannot be written", snapshots.paths.snapshot_folder(), fix)
    return planned.report


def _shown(report: RepairEarliestSnapshotReport) -> Shown:
    row = {"previous_earliest_snapshot_id": report.previous, "current_earliest_snapshot_id": report.current}
    return Shown.one(row, nothing_to_do=report.previous == report.current)


OPERATION = Operation(
    "repair_earliest_snapshot",
    "Make the snapshot after a gap in the ids the earliest one.",
    RepairEarliestSnapshot,
    plan,
    apply,
    _shown,
    has_job=False,
)


repair_earliest_snapshot = OPERATION.function(
    """Make a snapshot the earliest one.

    Args:
        dry_run: only check whether that is possible.
    Raises: NotFoundError: the table has no snapshots, or one from there to the latest is missing; OptionError: it is
        before the earliest one or after the latest, or does not follow a gap; WriteError: the hint cannot be written.
    """
)
