"""The periods at whose ends a policy with a cron asks for tags, as partitions of Dagster."""

from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.operations.refs.period_tags import Period
from maintenance.project.policies import TagPolicy
from maintenance.project.tag_periods import period_of

_DAYS, _MINUTES = "%Y-%m-%d", "%Y-%m-%d-%H:%M"


def periods_of(policy: TagPolicy, zone: ZoneInfo) -> dg.TimeWindowPartitionsDefinition:
    """The periods of a policy with a cron. `zone`: used where the policy names none."""
    return dg.TimeWindowPartitionsDefinition(
        start=policy.since.isoformat() if policy.is_daily else f"{policy.since.isoformat()}-00:00",
        fmt=_DAYS if policy.is_daily else _MINUTES,
        cron_schedule=policy.cron,
        timezone=policy.time_zone or str(zone),
    )


def period_in(policy: TagPolicy, zone: ZoneInfo, window: dg.TimeWindow) -> Period:
    """The period of a window of `periods_of`."""
    local = ZoneInfo(policy.time_zone) if policy.time_zone else zone
    return period_of(policy, window.start.astimezone(local), window.end)
