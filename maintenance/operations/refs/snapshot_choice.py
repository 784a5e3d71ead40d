"""The snapshot that a user names by its id: one that counts, or one that a tag holds."""

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.table.table import Table


def counted_snapshot(table: Table, snapshot_id: int) -> Snapshot | None:
    """The snapshot if it counts: below the earliest, an expiry that died has deleted parts of it."""
    earliest = table.snapshots.earliest_id()
    return table.snapshots.find(snapshot_id) if earliest is not None and snapshot_id >= earliest else None


def counted_or_tagged(table: Table, snapshot_id: int) -> Snapshot | None:
    """The same, or an expired one that a tag holds."""
    counted = counted_snapshot(table, snapshot_id)
    if counted is not None:
        return counted
    held = (tag.snapshot for tag in table.tags.all().values())
    return next((snapshot for snapshot in held if snapshot.id == snapshot_id), None)
