"""Tells people of faults: failed runs, failed checks, sensors that fail. Once per fault, and again when it is over.

The cursor holds the faults that are open. Whatever a tick finds is compared with them: a fault that is new is told, one
that is gone is told as recovered. A failed run that Dagster is about to retry is no fault yet. An alert that no target
takes stays untold, so the next tick tries again. `python -m sensors.targets` sends a test alert.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from assets import keys
from assets.checks import CHANGELOG_HOLDS, FSCK
from assets.config import Project, TableConfig
from assets.judgements import DESCRIPTIONS
from assets.policies import Alerts
from sensors.targets.alert import Alert
from sensors.targets.registry import send

INTERVAL_SECONDS = 30
_RUNS_LOOKED_AT = 100
_NEXT_STEP = "Next step: "
_CHECKS = {
    **DESCRIPTIONS,
    FSCK: "The table's files do not fit together.",
    CHANGELOG_HOLDS: "The changelog does not lead from one state to the next.",
}
_ENDED = (DagsterRunStatus.FAILURE, DagsterRunStatus.SUCCESS)
Faults = dict[str, Alert]


def run_faults(instance: DagsterInstance, url: str) -> Faults:
    """Jobs whose last run that ended has failed, and will not be retried."""
    newest: dict[str, dg.DagsterRun] = {}
    for run in instance.get_runs(RunsFilter(statuses=_ENDED), limit=_RUNS_LOOKED_AT):
        name = _job_of(run)
        if run.tags.get("dagster/will_retry") != "true":
            newest.setdefault(name, run)
    return {
        f"run:{name}": Alert(
            f"run:{name}", "failed", f"Run of {name}", *_reason(instance, run), f"{url}/runs/{run.run_id}"
        )
        for name, run in newest.items()
        if run.status == DagsterRunStatus.FAILURE
    }


def _job_of(run: dg.DagsterRun) -> str:
    table = run.tags.get("paimon/table")
    return f"{run.job_name} ({table})" if table and table.replace(".", "_") not in run.job_name else run.job_name


def _reason(instance: DagsterInstance, run: dg.DagsterRun) -> tuple[str, str]:
    """What the run failed with, and the next step, from its first failed step."""
    for record in instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=1).records:
        event = record.event_log_entry.dagster_event
        failure = event.step_failure_data.user_failure_data if event else None
        if failure is not None and failure.description:
            found, _, fix = failure.description.partition(_NEXT_STEP)
            return f"run {run.run_id[:8]}: {found.strip()}", fix
    return f"run {run.run_id[:8]} failed", "Open the run and read its events."


def check_faults(instance: DagsterInstance, tables: Sequence[TableConfig], url: str) -> Faults:
    """Checks of the tables that failed when last looked at."""
    names = {
        AssetCheckKey(keys.asset_key(table.identifier), check): (table.identifier, check)
        for table in tables
        for check in _CHECKS
    }
    found: Faults = {}
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(names))
    for key, record in records.items():
        if record.status != AssetCheckExecutionRecordStatus.FAILED:
            continue
        table, check = names[key]
        entry = record.event.dagster_event if record.event else None
        said = entry.asset_check_evaluation_data.description if entry else None
        link = f"{url}/assets/{'/'.join(key.asset_key.path)}?view=checks&checkDetail={check}"
        fault = f"check:{table}:{check}"
        found[fault] = Alert(fault, "failed", f"Check {check} of {table}", said or _CHECKS[check], "", link)
    return found


def sensor_faults(instance: DagsterInstance, url: str) -> Faults:
    """Sensors and schedules whose last ticks all failed."""
    found: Faults = {}
    for state in instance.all_instigator_state():
        ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=2)
        if len(ticks) == 2 and all(tick.is_failure for tick in ticks):
            error = ticks[0].error
            said = error.message.strip().splitlines()[-1] if error and error.message else "it failed twice"
            fault = f"sensor:{state.name}"
            found[fault] = Alert(fault, "failed", f"Sensor {state.name}", said, "Open its ticks.", f"{url}/automation")
    return found


def changed(before: Mapping[str, str], now: Faults, url: str) -> list[Alert]:
    """What is to be told. `before`: the faults told so far, with their subjects."""
    begun = [alert for fault, alert in now.items() if fault not in before]
    over = [
        Alert(fault, "recovered", subject, "All is well again.", "", url)
        for fault, subject in before.items()
        if fault not in now
    ]
    return begun + over


def tell(alerts: Iterable[Alert], config: Alerts) -> tuple[list[Alert], list[str]]:
    """Send alerts to every target. Returns those that all targets took, and what went wrong."""
    taken, troubles = [], []
    for alert in alerts:
        failed = []
        for target in config.targets:
            try:
                send(alert, target)
            except Exception as error:  # noqa: BLE001 - a target that is down must not silence the others
                failed.append(f"{target.kind}: {error}")
        troubles += failed
        if not failed:
            taken.append(alert)
    return taken, troubles


def alert_sensor(project: Project) -> dg.SensorDefinition:
    """The sensor that tells the targets of `project`; it runs from the start where there is a target."""
    config, url = project.alerts, project.alerts.url.rstrip("/")

    @dg.sensor(
        name="alerts",
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if config.targets else dg.DefaultSensorStatus.STOPPED,
        description="Tells people of failed runs, checks and sensors, once per fault and again when it is over.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        told = parse_cursor(context.cursor)
        instance = context.instance
        now = {
            **run_faults(instance, url),
            **check_faults(instance, project.tables, url),
            **sensor_faults(instance, url),
        }
        taken, troubles = tell(changed(told, now, url), config)
        for alert in taken:
            if alert.state == "failed":
                told[alert.fault] = alert.subject
            else:
                told.pop(alert.fault, None)
        for trouble in troubles:
            context.log.error(f"An alert could not be sent, it will be tried again: {trouble}")
        said = "; ".join(alert.title for alert in taken) or "Nothing new."
        return dg.SensorResult(cursor=json.dumps(told, sort_keys=True), skip_reason=said)

    return alerts


def parse_cursor(text: str | None) -> dict[str, str]:
    """Fault -> its subject. A cursor that makes no sense counts as none."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
