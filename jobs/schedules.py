"""When jobs run by the clock. Schedules are switched on in Dagster's UI; hours are counted in a zone that is said."""

from typing import Any

import dagster as dg

from assets.project.config import Expiry, Fleet


def daily_expiry(job: dg.JobDefinition, expiry: Expiry) -> dg.ScheduleDefinition:
    """Expire every table once a day."""
    return dg.ScheduleDefinition(
        name="daily_expiry",
        job=job,
        cron_schedule=expiry.cron,
        execution_timezone=expiry.time_zone,
        description=f"Expire all tables, in {expiry.time_zone}.",
    )


def fleet_schedule(job: Any, fleet: Fleet) -> dg.ScheduleDefinition:
    """Write the page over all tables."""
    return dg.ScheduleDefinition(
        name="fleet_summary",
        job=job,
        cron_schedule=fleet.cron,
        execution_timezone=fleet.time_zone,
        description=f"Health of all tables, in {fleet.time_zone}.",
    )
