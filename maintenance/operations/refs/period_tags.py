"""Tags of past periods: the table as it was at the end of the period, even if that was long ago.

The state at a moment is the last snapshot committed by then. If it has expired, a tag may still hold it; it is used
only if the snapshot after it is known, too, since otherwise a later snapshot of the period may have expired.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.refs.create_tag import TagReport, create_tag
from maintenance.spark.sharing import SparkSource
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time with the name that its tag has. `end`: with a time zone; the state at that moment is tagged."""

    name: str
    end: datetime


def tag_period(
    table: Table, period: Period, *, time_retained: timedelta | None = None, spark: SparkSource = None
) -> TagReport | None:
    """Tag the table's state at the end of a period; a tag of that name stays as it is. Arguments: as of `create_tag`.

    Returns: None if the table had no snapshot yet. Raises: NotFoundError: that state has expired; as `create_tag`.
    """
    existing = table.tags.find(period.name)
    if existing is not None:
        return TagReport(table.identifier, period.name, existing.snapshot.id, created=False)
    snapshot = state_at(table, period.end)
    if snapshot is None:
        return None
    return create_tag(
        table,
        period.name,
        snapshot_id=snapshot.id,
        time_retained=time_retained,
        ignore_if_exists=True,
        spark=spark,
    )


def state_at(table: Table, moment: datetime) -> Snapshot | None:
    """The last snapshot at that moment or before; None if the table had none yet. Raises: NotFoundError: it expired."""
    millis = int(moment.timestamp() * 1000)
    counted = table.history().at_or_before(millis)
    earliest = table.snapshots.earliest_id()
    if counted is not None or earliest is None:
        return counted
    by_id = {snapshot.id: snapshot for snapshot in (tag.snapshot for tag in table.tags.all().values())}
    by_id[earliest] = table.snapshots.get(earliest)
    before = [snapshot for snapshot in by_id.values() if snapshot.time_millis <= millis]
    if not before and min(by_id) == 1:
        return None
    newest = max(before, key=lambda snapshot: snapshot.id, default=None)
    if newest is not None and newest.id + 1 in by_id:
        return newest
    remaining = f"the earliest remaining one is {earliest} of {_time(by_id[earliest])}"
    raise NotFoundError(
        f"the snapshot of {moment.isoformat()} has expired, {remaining}",
        table.identifier,
        f"Tag a later period, or keep snapshots for longer. There are tags: {table.history().tag_names()}.",
    )


def _time(snapshot: Snapshot) -> str:
    return snapshot.committed_at.astimezone().isoformat(timespec="seconds")
