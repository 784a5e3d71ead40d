"""Is a compaction due that nobody is going to start? A table is healthy only when nothing is due."""

from dataclasses import dataclass

import dagster as dg

from maintenance.monitor.judgement import Judgement
from maintenance.monitor.triggers import CompactionNeed
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.config import TableConfig

NOTHING_DUE = "nothing_due"
# States of a sensor that somebody switched on; one that its definition alone switches on has no state of its own.
_ON = ("RUNNING", "AUTOMATICALLY_RUNNING")


def nothing_due(
    config: TableConfig, need: CompactionNeed, *, watched: bool, reported_by: str | None = None
) -> Judgement:
    """No compaction is due, or somebody is going to start it.

    Args: `watched`: the sensor that starts compactions is on; `reported_by`: the check that reports this backlog.
    """
    details = {"due": int(need.due), "files": need.files, "sorted runs": need.max_sorted_runs}
    if not need.due:
        return Judgement(NOTHING_DUE, True, f"nothing is due: {need.reason}", details=details)
    summary = f"a compaction is due: {need.reason}"
    if reported_by is not None:
        return Judgement(NOTHING_DUE, True, f"{summary}; {reported_by} reports it", details=details)
    if config.compaction.automatic and watched:
        return Judgement(NOTHING_DUE, True, f"{summary}; the sensor {keys.LATEST_SENSOR} starts it", details=details)
    job = keys.job("compact", config.identifier)
    if config.compaction.automatic:
        why, fix = f"the sensor {keys.LATEST_SENSOR} is off", "Switch the sensor on, or launch the job {job}."
    else:
        why, fix = "'automatic' of its compaction is false", "Launch the job {job}, or set a larger 'trigger'."
    return Judgement(NOTHING_DUE, False, f"{summary}, and {why}", fix.format(job=job), details)


@dataclass(frozen=True, slots=True)
class Automation:
    """What is switched on. `compacts`: the sensor that starts compactions; `expires`: the schedule of the expiry."""

    compacts: bool = False
    expires: bool = False


def automation_of(instance: dg.DagsterInstance, location: str | None) -> Automation:
    """What is switched on. `location`: name of the code location; None = any."""
    on = set()
    for state in instance.all_instigator_state():
        origin = state.origin.repository_origin.code_location_origin
        if (location is None or origin.location_name == location) and state.status.value in _ON:
            on.add(state.name)
    return Automation(keys.LATEST_SENSOR in on, keys.EXPIRY_SCHEDULE in on)


def location_of(run: dg.DagsterRun) -> str | None:
    """The name of the code location that a run belongs to, where it is known."""
    origin = run.remote_job_origin
    return None if origin is None else origin.repository_origin.code_location_origin.location_name
