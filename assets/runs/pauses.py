"""How long to leave a table alone after failures, so that what can only fail again is not tried all the time."""

import dagster as dg

UNFINISHED = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
)
"""The states of a run that will do, or does, its work."""
_FIRST_PAUSE = 30.0
_LONGEST_PAUSE = 3600.0
_RUNS_LOOKED_AT = 10


def pause(times: int, longest: float = _LONGEST_PAUSE) -> float:
    """Seconds to wait after this many failures in a row, at least one."""
    return float(min(longest, _FIRST_PAUSE * 2 ** min(times - 1, 20)))


def pausing(
    instance: dg.DagsterInstance, table: str, now: float, action: str = "compact", longest: float = _LONGEST_PAUSE
) -> bool:
    """Whether the last runs of an action on a table failed so lately that another would only fail, too."""
    end, failures = last_failures(instance, table, action)
    return failures > 0 and now < end + pause(failures, longest)


def last_failures(instance: dg.DagsterInstance, table: str, action: str) -> tuple[float, int]:
    """When the last run of an action on a table ended, seconds since 1970, and how many up to that one have failed."""
    recent = dg.RunsFilter(tags={"paimon/table": table, "paimon/action": action})
    records = instance.get_run_records(recent, limit=_RUNS_LOOKED_AT)
    failures = 0
    for record in records:
        if record.dagster_run.status != dg.DagsterRunStatus.FAILURE:
            break
        failures += 1
    return (records[0].end_time or 0.0) if records else 0.0, failures
