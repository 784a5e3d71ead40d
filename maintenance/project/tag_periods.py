"""The periods at whose ends a policy with a cron asks for tags, and the schedule that makes these."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

from maintenance.operations.refs.period_tags import Period
from maintenance.project.policies import TagPolicy


def period_of(policy: TagPolicy, start: datetime, end: datetime) -> Period:
    """The period with its tag's name. Times are in the zone of the periods."""
    # An hour that the clock shows twice has its offset in the second name.
    time = f"{start:%H%M}" + (f"{start:%z}" if start.fold else "")
    return Period(policy.name.format(date=f"{start:%Y-%m-%d}", time=time), end)


def last_period(policy: TagPolicy, zone: ZoneInfo, now: datetime | None = None) -> Period | None:
    """The last period that has ended; None if the first one has not.

    Args: `zone`: used where the policy names none; `now`: None = the current time.
    """
    local = ZoneInfo(policy.time_zone) if policy.time_zone else zone
    # The moment itself may end a period, and what is looked for comes before.
    after = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
    end = _before(policy, after.astimezone(local))
    start = _before(policy, end)
    return None if start.date() < policy.since else period_of(policy, start, end)


def _before(policy: TagPolicy, moment: datetime) -> datetime:
    found: datetime = croniter(policy.cron, moment).get_prev(datetime)
    # croniter sets `fold` where the clock shows no hour twice.
    found = found.astimezone(UTC).astimezone(moment.tzinfo)
    is_shown_again = found.fold == 0 and found.replace(fold=1).utcoffset() != found.utcoffset()
    # A day ends once, when the clock shows its hour for the second time.
    return _before(policy, found) if policy.is_daily and is_shown_again else found


def schedule_of(cron: str, zone: str) -> str:
    """The name of the schedule, and of its job, of all tables that are tagged at these times."""
    times = re.sub(r"\W+", "_", f"{cron.replace('*', 'x')} {zone}").strip("_")
    return f"tags_{times}"
