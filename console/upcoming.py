"""What comes next for a table and when: what the sensor and the schedule will do, or that nothing will do it."""

from dataclasses import dataclass
from datetime import datetime

import dagster as dg

from maintenance.amounts import number_of
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.fleet import ABSENT, DUE, ILL, FleetRow
from paimon_maintenance.console.lake import Known

_LONG_AGO = "2020-01-01"


@dataclass(frozen=True, slots=True)
class Upcoming:
    """What comes next. `at`: when, where that is known; `is_stuck`: nothing will start it."""

    text: str
    at: datetime | None = None
    is_stuck: bool = False


def upcoming(config: TableConfig, row: FleetRow | None, known: Known, now: datetime) -> Upcoming:
    """What comes next for a table. `row`: None where it was not read yet."""
    if row is None:
        return Upcoming("will be read shortly")
    if row.state in ILL:
        return Upcoming("needs attention", is_stuck=True)
    if row.state == ABSENT:
        return Upcoming("created by its first run")
    if row.state == DUE:
        if config.compaction.automatic and known.automation.compacts:
            return Upcoming("compaction within a minute")
        return Upcoming("a compaction is due, and nothing starts it", is_stuck=True)
    partitions = row.partitions[0] if row.partitions else 0
    if row.due_snapshots or partitions:
        counts = [(row.due_snapshots, "snapshot"), (partitions, "partition")]
        what = f"expiry of {' and '.join(number_of(count, noun) for count, noun in counts if count)}"
        if known.automation.expires:
            return Upcoming(what, next_expiry(known, now))
        return Upcoming(f"{what}: the schedule {keys.EXPIRY_SCHEDULE} is off", is_stuck=True)
    return Upcoming("nothing is due")


def next_expiry(known: Known, now: datetime) -> datetime | None:
    """When the schedule of the expiry is next due."""
    expiry = known.project.expiry
    # A schedule runs when a window of its cron begins.
    windows = dg.TimeWindowPartitionsDefinition(
        start=_LONG_AGO, fmt="%Y-%m-%d", cron_schedule=expiry.cron, timezone=expiry.time_zone
    )
    following = windows.get_next_partition_window(now, respect_bounds=False)
    return None if following is None else following.start
