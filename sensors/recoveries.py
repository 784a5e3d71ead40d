"""What was done about a fault that is over: the run behind which it is gone, and what the check says now."""

from datetime import UTC, datetime
from typing import Any

from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import latest_results
from paimon_maintenance.sensors.routes import Reported

_CHECK, _RUN = "check:", "run:"
_BY_OTHERS = "No run of Dagster on it has succeeded since: others changed the table or a setting, or time has passed."
_NO_RUN = "No run of the job has succeeded since: the failed run was deleted, or is too long ago to be looked at."


def what_was_done(instance: DagsterInstance, fault: str, before: Reported, url: str) -> str:
    """What was done, in sentences; where no run of Dagster did it, that."""
    if fault.startswith(_CHECK):
        table, _, check = fault.removeprefix(_CHECK).rpartition(":")
        says = _says(instance, table, check)
        run = _by_run(instance, None, _tags(table), before, url)
        return f"{says or 'The check passes again.'} {run or _BY_OTHERS}"
    if fault.startswith(_RUN):
        job = fault.removeprefix(_RUN).partition(" ")[0]
        tags = {"paimon/table": before.tables[0]} if " (" in fault and before.tables else {}
        return _by_run(instance, job, tags, before, url) or _NO_RUN
    return "It ticks again, or somebody has switched it off."


def _tags(table: str) -> dict[str, str]:
    return {"paimon/table": table} if table else {"paimon/action": "fleet"}


def _says(instance: DagsterInstance, table: str, check: str) -> str:
    """What a check says now that it passes. `table`: empty: it is about all of them."""
    spots = [keys.spot(table, grouped=grouped) for grouped in (False, True)] if table else [keys.Spot(keys.FLEET)]
    results = latest_results(instance, spots, [check]).values()
    record: Any = max(results, key=lambda result: float(result.create_timestamp), default=None)
    evaluated = None if record is None else record.evaluation
    text = getattr(evaluated, "description", None)
    return f"The check says now: {text.rstrip('.')}." if text else ""


def _by_run(instance: DagsterInstance, job: str | None, tags: dict[str, str], before: Reported, url: str) -> str:
    """The newest run that has succeeded since the fault was reported; empty: there is none."""
    since = datetime.fromtimestamp(before.at, UTC)
    chosen = RunsFilter(job_name=job, tags=tags, statuses=[DagsterRunStatus.SUCCESS], updated_after=since)
    records = instance.get_run_records(chosen, limit=1)
    if not records:
        return ""
    run, ended = records[0].dagster_run, records[0].end_time
    at = f" at {datetime.fromtimestamp(ended, UTC):%Y-%m-%d %H:%M} UTC" if ended else ""
    return f"Since then a run has succeeded: {run.job_name}{at}, {url}/runs/{run.run_id}"
