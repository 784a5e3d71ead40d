"""The periods at whose ends a policy with a cron asks for tags, and the schedule that makes these."""

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.operations.refs.period_tags import Period
from paimon_maintenance.assets.project.policies import TagPolicy

_DAYS, _MINUTES = "%Y-%m-%d", "%Y-%m-%d-%H:%M"


def periods_of(policy: TagPolicy, zone: ZoneInfo) -> dg.TimeWindowPartitionsDefinition:
    """The periods of a policy with a cron. `zone`: used where the policy names none."""
    return dg.TimeWindowPartitionsDefinition(
        start=policy.since.isoformat() if policy.is_daily else f"{policy.since.isoformat()}-00:00",
        fmt=_DAYS if policy.is_daily else _MINUTES,
        cron_schedule=policy.cron,
        timezone=policy.time_zone or str(zone),
    )


def period_of(policy: TagPolicy, start: datetime, end: datetime) -> Period:
    """The period with its tag's name. Times are in the zone of the periods."""
    # An hour that the clock shows twice has its offset in the second name.
    time = f"{start:%H%M}" + (f"{start:%z}" if start.fold else "")
    return Period(policy.name.format(date=f"{start:%Y-%m-%d}", time=time), end)


def last_period(policy: TagPolicy, zone: ZoneInfo) -> Period | None:
    """The last period that has ended; None if the first one has not."""
    window = periods_of(policy, zone).get_last_partition_window()
    return None if window is None else period_in(policy, zone, window)


def period_in(policy: TagPolicy, zone: ZoneInfo, window: dg.TimeWindow) -> Period:
    """The period of a window of `periods_of`."""
    local = ZoneInfo(policy.time_zone) if policy.time_zone else zone
    return period_of(policy, window.start.astimezone(local), window.end)


def schedule_of(cron: str, zone: str) -> str:
    """The name of the schedule, and of its job, of all tables that are tagged at these times."""
    times = re.sub(r"\W+", "_", f"{cron.replace('*', 'x')} {zone}").strip("_")
    return f"tags_{times}"
