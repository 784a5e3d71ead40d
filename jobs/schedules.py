"""When jobs run by the clock. Schedules are switched on in Dagster's UI; hours are counted in a zone that is said."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from maintenance.project.config import EmptyBin, Expiry, Fleet
from maintenance.project.policies import Alerts
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.runs.pauses import UNFINISHED


def schedule(name: str, job: Any, when: Expiry | Fleet | EmptyBin, text: str, warehouse: str) -> dg.ScheduleDefinition:
    """A job at the times that tables.yaml says. `text`: what it does."""
    return _at(name, job, when.cron, when.time_zone, f"{text}, in {when.time_zone}.", warehouse)


def daily_report(job: dg.JobDefinition, alerts: Alerts, warehouse: str) -> Sequence[dg.ScheduleDefinition]:
    """Send the report of a day, where tables.yaml asks for it: then it is on from the start."""
    if alerts.daily is None:
        return ()
    text = f"What was done, what failed and what is open, to the alert targets; in {alerts.time_zone}."
    on = dg.DefaultScheduleStatus.RUNNING
    return (_at(f"daily_{keys.NIGHT_REPORT}", job, alerts.daily, alerts.time_zone, text, warehouse, on),)


def hourly_work(job: dg.JobDefinition, fleet: Fleet, warehouse: str) -> dg.ScheduleDefinition:
    """Do the most valuable work within the budget, as long as some of it is left."""
    text = f"Work on all tables within the budget of a period, in its windows; in {fleet.time_zone}."
    return _at("hourly_plan_fleet", job, "5 * * * *", fleet.time_zone, text, warehouse)


def weekly_proposals(job: dg.JobDefinition, fleet: Fleet, warehouse: str) -> dg.ScheduleDefinition:
    """Say what tables would be better off with: on from the start, since tables.yaml asks for it."""
    text = f"What tables with tuning would be better off with, and steps of tuning: apply; in {fleet.time_zone}."
    on = dg.DefaultScheduleStatus.RUNNING
    return _at("weekly_proposals", job, "0 5 * * 1", fleet.time_zone, text, warehouse, on)


def _at(
    name: str,
    job: Any,
    cron: str,
    zone: str,
    text: str,
    warehouse: str,
    status: Any = dg.DefaultScheduleStatus.STOPPED,
) -> dg.ScheduleDefinition:
    """A schedule that skips a tick while its last run goes on: runs do not pile up where one takes long."""
    # Another code location may have a schedule of the same name.
    tags = {"paimon/schedule": f"{name} of {warehouse}"}

    def run_or_skip(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        unfinished = context.instance.get_runs(dg.RunsFilter(tags=tags, statuses=UNFINISHED), limit=1)
        if unfinished:
            return dg.SkipReason(f"The last run has not ended: {unfinished[0].run_id}.")
        return dg.RunRequest(tags=tags)

    return dg.ScheduleDefinition(
        name=name,
        job=job,
        cron_schedule=cron,
        execution_timezone=zone,
        description=text,
        default_status=status,
        execution_fn=run_or_skip,
    )
