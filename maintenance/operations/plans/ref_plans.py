"""Stored plans of what changes branches: the deletion and renaming of one, and a fast-forward to or merge of one.

A branch that has other snapshots or tags than the plan says, or others of the same names, makes the plan outdated.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime

from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.operations.plans.dry_run_plans import DryRunPlan
from maintenance.operations.plans.stored_plan import PlannedGroup, StoredPlan, check_plan, moved_victims, refuse
from maintenance.operations.refs.delete_branch import DeleteBranchReport, delete_branch
from maintenance.operations.refs.fast_forward import FastForwardReport, fast_forward
from maintenance.operations.refs.merge_branch import MergeBranchReport, merge_branch
from maintenance.operations.refs.rename_branch import RenameBranchReport, rename_branch
from maintenance.table.table import Table

DELETE_BRANCH, FAST_FORWARD = "delete_branch", "fast_forward"


def plan_delete_branch(table: Table, branch: str) -> StoredPlan:
    """What `delete_branch` would delete now, and how much nothing would need then. Errors as there."""
    report = delete_branch(table, branch, dry_run=True)
    snapshots = [PlannedGroup(f"snapshot {number} of {branch}", (), 0, 0, "goes") for number in report.snapshots]
    tags = [PlannedGroup(f"tag {name} of {branch}", (), 0, 0, "goes") for name in report.tags]
    reason = f"{report.orphan_files} data files become orphans: nothing else needs them"
    left = [PlannedGroup("files", (), report.orphan_bytes or 0, 0, reason)] if report.orphan_files else []
    return _plan(DELETE_BRANCH, table, branch, (*snapshots, *tags, *left))


def apply_delete_branch(table: Table, plan: StoredPlan) -> DeleteBranchReport:
    """Delete the plan's branch. Raises: OutdatedPlanError: it, or what else needs its files, has changed."""
    check_plan(plan, DELETE_BRANCH, table)
    branch = plan.arguments["branch"]
    _refuse_if_moved(plan, plan_delete_branch(table, branch))
    return delete_branch(table, branch)


def plan_fast_forward(table: Table, branch: str) -> StoredPlan:
    """Which snapshots and tags of main a `fast_forward` would take away and bring now. Errors as there."""
    report = fast_forward(table, branch, dry_run=True)
    main, other = f"of {MAIN_BRANCH}", f"of {branch}"
    groups = [
        *(PlannedGroup(f"snapshot {number} {main}", (), 0, 0, "goes") for number in report.leaving),
        *(PlannedGroup(f"tag {name} {main}", (), 0, 0, "goes") for name in report.leaving_tags),
        *(PlannedGroup(f"snapshot {number} {other}", (), 0, 0, "comes") for number in report.coming),
        *(PlannedGroup(f"tag {name} {other}", (), 0, 0, "comes") for name in report.coming_tags),
    ]
    return _plan(FAST_FORWARD, table, branch, tuple(groups))


def apply_fast_forward(table: Table, plan: StoredPlan) -> FastForwardReport:
    """Take the plan's branch for main. Raises: OutdatedPlanError: it, or main, has changed."""
    check_plan(plan, FAST_FORWARD, table)
    branch = plan.arguments["branch"]
    _refuse_if_moved(plan, plan_fast_forward(table, branch))
    return fast_forward(table, branch)


def _plan(operation: str, table: Table, branch: str, groups: tuple[PlannedGroup, ...]) -> StoredPlan:
    states = {MAIN_BRANCH: _states(table.on_branch(MAIN_BRANCH)), branch: _states(table.on_branch(branch))}
    # What main commits does not matter to a branch that is deleted.
    kept = states if operation == FAST_FORWARD else {branch: states[branch]}
    base = table.snapshots.latest_identity()
    now = datetime.now(UTC).timestamp()
    return StoredPlan(operation, table.identifier, base, now, groups, {"branch": branch, "states": kept})


def _states(branch: Table) -> str:
    """What is another text once a branch has other snapshots or tags, or others of the same names."""
    snapshots = branch.snapshots.find_many(branch.snapshots.list_ids()).values()
    tagged = sorted(branch.tags.all().items())
    parts = [*(("", snapshot) for snapshot in snapshots), *((name, tag.snapshot) for name, tag in tagged)]
    text = "\n".join(f"{name} {SnapshotIdentity.of(snapshot)}" for name, snapshot in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _refuse_if_moved(plan: StoredPlan, now: StoredPlan) -> None:
    moved = moved_victims(plan, now.groups)
    before, after = plan.arguments["states"], now.arguments["states"]
    moved += [f"branch {name} has changed" for name in after if before.get(name) != after[name]]
    refuse(plan, moved)


def _renamed(table: Table, report: RenameBranchReport) -> Iterator[PlannedGroup]:
    branch = table.on_branch(report.from_branch)
    ids = branch.snapshots.list_ids()
    held = f"snapshots {ids[0]} to {ids[-1]}" if ids else "no snapshot"
    reason = f"is named {report.to_branch} then; it has {held}, its state is {_states(branch)}"
    yield PlannedGroup(f"branch {report.from_branch}", (), 0, 0, reason)


def _merged(_: Table, report: MergeBranchReport) -> Iterator[PlannedGroup]:
    if report.files:
        reason = f"{report.rows} rows are added to branch {report.target}"
        yield PlannedGroup(f"files of {report.source}", report.file_names, report.bytes, report.files, reason)


RENAME_BRANCH: DryRunPlan[RenameBranchReport] = DryRunPlan("rename_branch", rename_branch, _renamed)
MERGE_BRANCH: DryRunPlan[MergeBranchReport] = DryRunPlan("merge_branch", merge_branch, _merged)
