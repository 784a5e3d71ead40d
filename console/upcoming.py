"""What comes next for a table and when: what the sensor and the schedule will do, or that nobody will do it."""

from dataclasses import dataclass
from datetime import datetime

from dagster._utils.schedules import get_next_cron_tick

from paimon_maintenance.assets.pages.fleet import ABSENT, DUE, ILL, FleetRow
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.console.lake import Known

EXPIRY = "daily_expiry"


@dataclass(frozen=True, slots=True)
class Upcoming:
    """What comes next. `at`: when, where that is known; `is_stuck`: nothing will start it."""

    text: str
    at: datetime | None = None
    is_stuck: bool = False


def upcoming(config: TableConfig, row: FleetRow | None, known: Known, now: datetime) -> Upcoming:
    """What comes next for a table. `row`: None where it was not read yet."""
    if row is None:
        return Upcoming("it is read next")
    if row.state in ILL:
        return Upcoming("it needs attention", is_stuck=True)
    if row.state == ABSENT:
        return Upcoming("its first run creates it")
    if row.state == DUE:
        if config.compaction.automatic and known.watched:
            return Upcoming("compaction within a minute")
        return Upcoming("a compaction is due, and nothing starts it", is_stuck=True)
    if row.due_snapshots:
        what = f"expiry of {row.due_snapshots:,} {'snapshot' if row.due_snapshots == 1 else 'snapshots'}"
        if EXPIRY in known.on:
            return Upcoming(what, next_expiry(known, now))
        return Upcoming(f"{what}: the schedule {EXPIRY} is off", is_stuck=True)
    return Upcoming("nothing is due")


def next_expiry(known: Known, now: datetime) -> datetime:
    """When the schedule of the expiry is next due."""
    expiry = known.project.expiry
    return get_next_cron_tick(expiry.cron, now, expiry.time_zone)
