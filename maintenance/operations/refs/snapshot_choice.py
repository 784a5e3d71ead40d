"""The snapshot that a user names by id, time or watermark: one that counts, or one that a tag holds."""

from collections.abc import Callable
from contextlib import suppress

from maintenance.errors import NotFoundError
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


def first_at_time(table: Table, millis: int) -> Snapshot:
    """The first snapshot committed at that time or after, also an expired one that a tag holds.

    Source: Java `CreateTagFromTimestampProcedure`. Raises: NotFoundError.
    """
    chosen = _or_tagged(table, table.history().at_or_after(millis), lambda snapshot: snapshot.time_millis, millis)
    if chosen is None:
        problem = f"no snapshot was committed at {millis} or later"
        raise NotFoundError(problem, table.identifier, "Use an earlier time, in milliseconds since 1970 UTC.")
    return chosen


def first_at_watermark(table: Table, watermark: int) -> Snapshot:
    """The first snapshot whose watermark reaches this one, also an expired one that a tag holds.

    Source: Java `CreateTagFromWatermarkProcedure`. Raises: NotFoundError.
    """
    counted: Snapshot | None = None
    with suppress(NotFoundError):
        counted = table.history().at_watermark(watermark)
    chosen = _or_tagged(table, counted, lambda snapshot: snapshot.watermark, watermark)
    if chosen is None:
        problem = f"no snapshot has a watermark of {watermark} or later"
        fix = "Use a watermark that a snapshot has reached: see the column watermark of $snapshots."
        raise NotFoundError(problem, table.identifier, fix)
    return chosen


def _or_tagged(
    table: Table, counted: Snapshot | None, mark: Callable[[Snapshot], int | None], wanted: int
) -> Snapshot | None:
    """The first tagged snapshot that reaches the mark if it is before the one that counts, else that one."""
    tagged = sorted((tag.snapshot for tag in table.tags.all().values()), key=lambda snapshot: snapshot.id)
    for snapshot in tagged:
        reached = mark(snapshot)
        if reached is not None and reached >= wanted:
            other = None if counted is None else mark(counted)
            return snapshot if other is None or reached < other else counted
    return counted
