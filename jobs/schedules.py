"""When jobs run by the clock. Schedules are switched on in Dagster's UI; hours are counted in a zone that is said."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.config import EmptyBin, Expiry, Fleet
from paimon_maintenance.assets.project.policies import Alerts


def daily_expiry(job: dg.JobDefinition, expiry: Expiry) -> dg.ScheduleDefinition:
    """Expire every table once a day."""
    return _schedule(keys.EXPIRY_SCHEDULE, job, expiry, f"Expire all tables, in {expiry.time_zone}.")


def fleet_schedule(job: Any, fleet: Fleet) -> dg.ScheduleDefinition:
    """Write the page over all tables."""
    return _schedule("fleet_summary", job, fleet, f"Health of all tables, in {fleet.time_zone}.")


def daily_empty_bin(job: dg.JobDefinition, bin_: EmptyBin) -> dg.ScheduleDefinition:
    """Destroy what is past the window of the bin. No schedule that fills the bin does that."""
    return _schedule("daily_empty_bin", job, bin_, f"Destroy what is past the bin's window, in {bin_.time_zone}.")


def daily_report(job: dg.JobDefinition, alerts: Alerts) -> Sequence[dg.ScheduleDefinition]:
    """Send the report of a day, where tables.yaml asks for it: then it is on from the start."""
    if alerts.daily is None:
        return ()
    text = f"What was done, what failed and what is open, to the alert targets; in {alerts.time_zone}."
    on = dg.DefaultScheduleStatus.RUNNING
    zone = alerts.time_zone
    return (
        dg.ScheduleDefinition(
            name=f"daily_{keys.NIGHT_REPORT}",
            job=job,
            cron_schedule=alerts.daily,
            execution_timezone=zone,
            description=text,
            default_status=on,
        ),
    )


def _schedule(name: str, job: Any, when: Expiry | Fleet | EmptyBin, description: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=name, job=job, cron_schedule=when.cron, execution_timezone=when.time_zone, description=description
    )
