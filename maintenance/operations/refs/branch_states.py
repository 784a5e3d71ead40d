"""What tells a branch from another one of its name, or from itself before others changed it."""

import hashlib
from collections.abc import Mapping

from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.operations.operation import Groups
from maintenance.operations.plan_store import StoredPlan, moved_victims, refuse
from maintenance.table.table import Table


def branch_state(branch: Table) -> str:
    """Another text once a branch has other snapshots or tags, or others of the same names."""
    snapshots = branch.snapshots.find_many(branch.snapshots.list_ids()).values()
    tagged = sorted(branch.tags.all().items())
    parts = [*(("", snapshot) for snapshot in snapshots), *((name, tag.snapshot) for name, tag in tagged)]
    text = "\n".join(f"{name} {SnapshotIdentity.of(snapshot)}" for name, snapshot in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def refuse_if_moved(stored: StoredPlan, groups: Groups, states: Mapping[str, str]) -> None:
    """Raises: OutdatedPlanError: something else would go now, or a branch has changed."""
    before = stored.arguments.get("states", {})
    changed = [f"branch {name} has changed" for name in states if before.get(name) != states[name]]
    refuse(stored, [*moved_victims(stored, tuple(groups)), *changed])
