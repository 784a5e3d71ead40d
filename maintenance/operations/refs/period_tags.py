"""Tags of periods that have ended: the table as it was then, also when the period is long over.

The state at a moment is the last snapshot committed then or before. One that has expired may still be held by a tag;
it is used only if the snapshot after it is known, too, since a later one of that period may be gone otherwise.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.refs.create_tag import TagReport, create_tag
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class Period:
    """A span of time with the name that its tag has. `end`: with a time zone; the state at that moment is tagged."""

    name: str
    end: datetime


def tag_period(table: Table, period: Period, *, time_retained: timedelta | None = None) -> TagReport | None:
    """Tag the table's state at the end of a period; a tag of that name stays as it is.

    Returns: None if the table had no snapshot yet. Raises: NotFoundError: that state has expired; as `create_tag`.
    """
    known = table.tags.find(period.name)
    if known is not None:
        return TagReport(table.identifier, period.name, known.snapshot.id, created=False)
    snapshot = state_at(table, period.end)
    if snapshot is None:
        return None
    return create_tag(table, period.name, snapshot_id=snapshot.id, time_retained=time_retained, ignore_if_exists=True)


def state_at(table: Table, moment: datetime) -> Snapshot | None:
    """The last snapshot at that moment or before; None if the table had none yet. Raises: NotFoundError: it expired."""
    millis = int(moment.timestamp() * 1000)
    found = table.history().at_or_before(millis)
    earliest = table.snapshots.earliest_id()
    if found is not None or earliest is None:
        return found
    known = {snapshot.id: snapshot for snapshot in (tag.snapshot for tag in table.tags.all().values())}
    known[earliest] = table.snapshots.get(earliest)
    before = [snapshot for snapshot in known.values() if snapshot.time_millis <= millis]
    if not before and min(known) == 1:
        return None
    newest = max(before, key=lambda snapshot: snapshot.id, default=None)
    if newest is not None and newest.id + 1 in known:
        return newest
    left = f"the earliest left is {earliest} of {_time(known[earliest])}"
    raise NotFoundError(
        f"the snapshot of {moment.isoformat()} has expired, {left}",
        table.identifier,
        f"Tag a later period, or keep snapshots for longer. There are tags: {table.history().tag_names()}.",
    )


def _time(snapshot: Snapshot) -> str:
    return datetime.fromtimestamp(snapshot.time_millis / 1000).astimezone().isoformat(timespec="seconds")
