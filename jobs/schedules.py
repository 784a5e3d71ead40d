"""When jobs run by the clock. Schedules are switched on in Dagster's UI; hours are counted in a zone that is said."""

import dagster as dg

from assets.config import Expiry


def daily_expiry(job: dg.JobDefinition, expiry: Expiry) -> dg.ScheduleDefinition:
    """Expire every table once a day."""
    return dg.ScheduleDefinition(
        name="daily_expiry",
        job=job,
        cron_schedule=expiry.cron,
        execution_timezone=expiry.time_zone,
        description=f"Tag and expire all tables, in {expiry.time_zone}.",
    )
