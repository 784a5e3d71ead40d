"""Tells people of faults: failed runs, failed checks, sensors that fail. Once per fault, and again when it is over.

The cursor holds the faults that are open, and for each which targets know of it. Whatever a tick finds is compared with
them: a new fault is reported, one that is gone is reported as recovered. A failed run that Dagster is about to retry is
no fault yet. What a target does not take it is sent again at the next tick, and no other target hears of it twice.
`python -m paimon_maintenance.sensors.targets` sends a test alert.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance, DagsterRunStatus, RunsFilter

from maintenance.amounts import number_of
from maintenance.monitor.backlog import CHANGELOG_LAG, LEVEL0_BACKLOG, SMALL_FILES
from maintenance.monitor.chain import SNAPSHOT_CHAIN_INTACT
from maintenance.monitor.freshness import FRESHNESS
from maintenance.monitor.named_writers import with_jobs
from maintenance.monitor.quarantine import NOTHING_QUARANTINED
from maintenance.monitor.readable import READABLE
from maintenance.monitor.retention import RETENTION_BLOCKERS
from maintenance.monitor.score import HEALTH_TARGETS
from maintenance.monitor.second_compactor import COMPACTS_ALONE
from maintenance.monitor.triggers import NOTHING_DUE
from maintenance.monitor.vectors import DELETION_VECTORS_INTACT
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.project.config import Project, TableConfig
from maintenance.project.targets.alert import Alert, Kind
from maintenance.table.acknowledged import COMPACTIONS_PROVED, OF_WRITERS
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.asset_checks import CHANGELOG_HOLDS, FSCK
from paimon_maintenance.assets.checks.closing import (
    LONG,
    failing_partitions,
    has_failed,
    last_settled,
    latest_results,
)
from paimon_maintenance.assets.checks.databases import found_and_fix, last_rows
from paimon_maintenance.assets.checks.expiring import EXPIRY_DUE
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.assets.checks.orphan_check import ORPHAN_BYTES
from paimon_maintenance.assets.project.console_address import console_address
from paimon_maintenance.assets.project.table_of_run import failed_tables_of
from paimon_maintenance.assets.warehouse.configuration import CONFIGURATION
from paimon_maintenance.sensors.recoveries import what_was_done
from paimon_maintenance.sensors.routes import Routes, parse_reported, reported_text
from paimon_maintenance.sensors.telling import tell

NAME = "alerts"
INTERVAL_SECONDS = 30
_WATCHED = (keys.LATEST_SENSOR, keys.RADAR_SENSOR, "partition_mirror", keys.PROOF_SENSOR)
_SILENT_SECONDS = 900.0
_RUNS_LOOKED_AT = 100
_STEPS_LOOKED_AT = 1000
_NEXT_STEP = "Next step: "
_OPEN_RUN = "Open the run: its failed step says more."
_OPEN_CHECK = "Open the check: its metadata names what was found."
_OPEN_TICKS = "Open the ticks of the sensor: the newest one shows the whole error."
# The run whose output was refused has failed, and people are notified of that.
_CHECKS = {
    **{check: text for check, text in DESCRIPTIONS.items() if check != NOTHING_QUARANTINED},
    FSCK: "The table's files do not fit together.",
    ORPHAN_BYTES: "Files that nothing names take up much space.",
    CHANGELOG_HOLDS: "The changelog does not lead from one state to the next.",
    COMPACTIONS_PROVED: "A compaction of another engine changed rows.",
}
# Of each check; of the configuration: settings.
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys((READABLE, SNAPSHOT_CHAIN_INTACT, DELETION_VECTORS_INTACT, FSCK, CHANGELOG_HOLDS), "damage"),
    COMPACTIONS_PROVED: "damage",
    **dict.fromkeys((*OF_WRITERS, COMPACTS_ALONE), "conflict"),
    **dict.fromkeys((LEVEL0_BACKLOG, SMALL_FILES, CHANGELOG_LAG, NOTHING_DUE, HEALTH_TARGETS), "backlog"),
    **dict.fromkeys((RETENTION_BLOCKERS, ORPHAN_BYTES, EXPIRY_DUE), "space"),
    ROWS_VISIBLE: "invisible",
    FRESHNESS: "stale",
}
_ENDED = (DagsterRunStatus.FAILURE, DagsterRunStatus.SUCCESS)
Faults = dict[str, Alert]


def run_faults(instance: DagsterInstance, tables: Sequence[TableConfig], url: str) -> Faults:
    """Jobs whose last run that ended has failed, and will not be retried."""
    newest: dict[str, dg.DagsterRun] = {}
    for run in instance.get_runs(RunsFilter(statuses=_ENDED), limit=_RUNS_LOOKED_AT):
        name = _job_of(run)
        if run.tags.get("dagster/will_retry") != "true":
            newest.setdefault(name, run)
    names = [table.identifier for table in tables]
    faults: Faults = {}
    for name, run in newest.items():
        if run.status == DagsterRunStatus.FAILURE:
            (summary, fix), whose = _reason(instance, run), _whose(instance, run, names)
            writers = {
                user: job for table in tables if table.identifier in whose for user, job in table.writers.items()
            }
            summary, fix = with_jobs(summary, writers), with_jobs(fix, writers)
            fault, subject = f"run:{name}", f"Run of {name}"
            faults[fault] = Alert(fault, "failed", subject, summary, fix, f"{url}/runs/{run.run_id}", whose)
    return faults


def _job_of(run: dg.DagsterRun) -> str:
    table = run.tags.get("paimon/table")
    if table and run.tags.get("paimon/action") == keys.REFRESH:
        return keys.job(keys.REFRESH, table)  # by hand or by itself
    return f"{run.job_name} ({table})" if table and table.replace(".", "_") not in run.job_name else run.job_name


def _whose(instance: DagsterInstance, run: dg.DagsterRun, names: Sequence[str]) -> tuple[str, ...]:
    """The tables that a run failed for: those that it names, or those whose steps failed; none if that is unclear."""
    about = run.tags.get("paimon/table")
    if about:
        return (about,)
    if failed := failed_tables_of(run):
        return failed
    steps = {record.event_log_entry.step_key or "" for record in _failures(instance, run, _STEPS_LOOKED_AT)}
    return tuple(name for name in names if any(_is_of(step, name) for step in steps))


def _is_of(step: str, table: str) -> bool:
    """Whether a step is one of a table: of its asset, of the assets next to it, or of the job `expire`."""
    asset = keys.asset_key(table).to_python_identifier()
    return step == asset or step.startswith((f"{asset}.", f"{asset}__", f"{keys.job('expire', table)}."))


def _failures(instance: DagsterInstance, run: dg.DagsterRun, limit: int) -> Sequence[dg.EventLogRecord]:
    return instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE, limit=limit).records


def _reason(instance: DagsterInstance, run: dg.DagsterRun) -> tuple[str, str]:
    """What the run failed with, and the next step, from its first failed step."""
    for record in _failures(instance, run, 1):
        event = record.event_log_entry.dagster_event
        failure = event.step_failure_data.user_failure_data if event else None
        if failure is not None and failure.description:
            problem, _, fix = failure.description.partition(_NEXT_STEP)
            return f"run {run.run_id[:8]}: {problem.strip()}", fix.strip() or _OPEN_RUN
    return f"run {run.run_id[:8]} failed", _OPEN_RUN


def check_faults(instance: DagsterInstance, tables: Sequence[TableConfig], url: str) -> Faults:
    """Checks of the tables, and of the configuration, that failed when they last came to a result.

    A check that is just running, or whose run died before it had a result, is as it was before.
    """
    whose: dict[keys.Spot, str | None] = {keys.spot_of(table): table.identifier for table in tables}
    fleet = keys.Spot(keys.FLEET)
    whole = [spot for spot in whose if spot.partition is None]
    found = {**latest_results(instance, whole, list(_CHECKS)), **latest_results(instance, [fleet], [CONFIGURATION])}
    partitions = [spot for spot in whose if spot.partition is not None]
    found |= failing_partitions(instance, partitions, LONG)
    faults: Faults = {}
    for (_, rows), key in ((told, key) for key, told in _of_databases(instance, partitions).items()):
        for table, row in rows.items():
            alert = _database_alert(table, key.name, row, url)
            faults[alert.fault] = alert
    for (spot, check), record in found.items():
        settled = last_settled(instance, AssetCheckKey(spot.asset, check), record)
        if settled is None or not has_failed(settled):
            continue
        alert = _check_alert(spot, check, settled, whose.get(spot), url)
        faults[alert.fault] = alert
    return faults


def _of_databases(instance: DagsterInstance, spots: Sequence[keys.Spot]) -> Mapping[AssetCheckKey, tuple[Any, Any]]:
    """The checks of databases that fail; of tables that Dagster no longer has nobody is told."""
    names = {spot.partition for spot in spots}
    told = last_rows(instance, list(dict.fromkeys(spot.asset.path[0] for spot in spots)))
    return {
        key: (record, {table: row for table, row in rows.items() if table in names})
        for key, (record, rows) in told.items()
        if key.name in _CHECKS
    }


def _database_alert(table: str, check: str, row: Mapping[str, Any], url: str) -> Alert:
    text, fix = found_and_fix(row)
    link = f"{url}{keys.spot(table, grouped=True).path}?view=checks&checkDetail={check}"
    kind = _KINDS.get(check, "settings")
    summary = text or _CHECKS.get(check, "")
    return Alert(
        f"check:{table}:{check}",
        "failed",
        f"Check {check} of {table}",
        summary,
        fix or _OPEN_CHECK,
        link,
        (table,),
        kind,
    )


def _check_alert(spot: keys.Spot, check: str, record: Any, table: str | None, url: str) -> Alert:
    event = record.event.dagster_event if record.event else None
    evaluated = event.asset_check_evaluation_data if event else None
    fix = evaluated.metadata.get("next step") if evaluated else None
    described = (evaluated.description if evaluated else None) or _CHECKS.get(check, "")
    text, _, named = described.partition(_NEXT_STEP)
    step = str(fix.value) if fix else named
    link = f"{url}{spot.path}?view=checks&checkDetail={check}"
    subject = f"Check {check} of {table}" if table else f"Check {check} of tables.yaml"
    summary = (text.rstrip().removesuffix(step) if step else text).rstrip()
    fault = f"check:{table}:{check}" if table else f"check:{check}"
    tables = (table,) if table else ()
    return Alert(fault, "failed", subject, summary, step or _OPEN_CHECK, link, tables, _KINDS.get(check, "settings"))


def sensor_faults(instance: DagsterInstance, url: str, now: float) -> Faults:
    """Sensors and schedules whose last ticks all failed, and sensors of this project that have stopped ticking.

    `now`: seconds since 1970.
    """
    faults: Faults = {}
    states = instance.all_instigator_state()
    # After a pause of the daemon the others are about to tick, too.
    just_back = any(state.name == NAME and _silence(state, now) for state in states)
    for state in states:
        if not state.is_running:
            continue
        fault, subject = f"sensor:{state.name}", f"Sensor {state.name}"
        ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=2)
        if len(ticks) == 2 and all(tick.is_failure for tick in ticks):
            error = ticks[0].error
            problem = error.message.strip().splitlines()[-1] if error and error.message else "it failed twice"
            faults[fault] = Alert(fault, "failed", subject, problem, _OPEN_TICKS, f"{url}/automation", (), "sensor")
        elif (
            (state.name in _WATCHED or state.name.startswith(f"{keys.KEEP_FRESH}_"))
            and not just_back
            and (silence := _silence(state, now))
        ):
            fix = "See whether Dagster's daemon and the code location are running, and restart them."
            problem = f"it is switched on and has not ticked for {number_of(round(silence), 'minute')}"
            faults[fault] = Alert(fault, "failed", subject, problem, fix, f"{url}/automation", (), "sensor")
    return faults


def _silence(state: Any, now: float) -> float | None:
    """For how many minutes a sensor that is switched on has not ticked; None if that is not long, or it is none."""
    data = state.instigator_data
    # The data of schedules has no such times.
    times = (getattr(data, name, None) for name in ("last_tick_timestamp", "last_sensor_start_timestamp"))
    last: float = max(moment or 0.0 for moment in times)
    return (now - last) / 60 if last and now - last > _SILENT_SECONDS else None


def _with_console(alert: Alert) -> Alert:
    """The alert with the page of its table in the console, where that is known."""
    return replace(alert, console=console_address("tables", alert.tables[0])) if len(alert.tables) == 1 else alert


def alert_sensor(project: Project) -> dg.SensorDefinition:
    """The sensor that tells the targets of `project`; it runs from the start where there is a target."""
    routes, url = Routes.of(project), project.alerts.address

    @dg.sensor(
        name=NAME,
        minimum_interval_seconds=INTERVAL_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING if routes.all() else dg.DefaultSensorStatus.STOPPED,
        description="Tells people of failed runs, checks and sensors, once per fault and again when it is over.",
    )
    def alerts(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        instance = context.instance
        now = {
            **run_faults(instance, project.tables, url),
            **check_faults(instance, project.tables, url),
            **sensor_faults(instance, url, time.time()),
        }
        now = {fault: _with_console(alert) for fault, alert in now.items()}
        reported, sent, troubles = tell(
            routes,
            parse_reported(context.cursor),
            now,
            url,
            first=not context.cursor,
            over=lambda fault, before: what_was_done(instance, fault, before, url),
        )
        for trouble in troubles:
            context.log.error(f"An alert could not be sent, it will be tried again: {trouble}")
        return dg.SensorResult(cursor=reported_text(reported), skip_reason="; ".join(sent) or "Nothing new.")

    return alerts
