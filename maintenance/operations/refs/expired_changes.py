"""The snapshot of a tag comes back, in a branch or by a rollback: the tag has kept its state, not its changelog."""

from dataclasses import replace

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.refs.snapshot_choice import counted_snapshot
from maintenance.table.table import Table


def without_expired_changes(table: Table, snapshot: Snapshot) -> Snapshot:
    """The same snapshot; without its changelog if that may be gone, because the table's own snapshot has expired."""
    if snapshot.changelog_manifest_list is None or counted_snapshot(table, snapshot.id) is not None:
        return snapshot
    return replace(
        snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None, changelog_record_count=None
    )
