"""What a process that `workers` has forked does: one run, from loading its definitions to its end.

As Dagster's own run processes do it, by the function that all of them call.
"""

import os

import dagster as dg

from paimon_maintenance.assets.project.scope import within_run
from paimon_maintenance.assets.runs.records import records_kept_open
from paimon_maintenance.run_launcher.internals import (
    EngineEventData,
    InstanceRef,
    capture_interrupts,
    core_execute_run,
    deserialize_value,
    get_run_crash_explanation,
    recon_job_from_origin,
)


def execute(run_id: str, instance_ref: str) -> int:
    """Carry out the run. `instance_ref`: serialized. Returns: the exit code, 0 if the run has come to an end."""
    with capture_interrupts(), records_kept_open(), _instance(instance_ref) as instance:
        run = instance.get_run_by_id(run_id)
        if run is None or run.job_code_origin is None:
            return 1
        if _has_ended(instance, run_id):
            return 0
        process = f"(pid: {os.getpid()})"
        started = EngineEventData.in_process(os.getpid())
        instance.report_engine_event(f"Started process for run {process}.", run, started)
        job = recon_job_from_origin(run.job_code_origin)
        try:
            with within_run(run):
                for _ in core_execute_run(job, run, instance, inject_env_vars=True):
                    pass
        except (Exception, KeyboardInterrupt, dg.DagsterExecutionInterruptedError):  # noqa: BLE001 - the run's log has it
            pass
        instance.report_engine_event(f"Process for run exited {process}.", run)
        return 0 if _has_ended(instance, run_id) else 1


def report_death(run_id: str, instance_ref: str, code: int) -> int:
    """Say of a run that its process has died, if it has not ended. `code`: its exit code, below 0 a signal's number."""
    with _instance(instance_ref) as instance:
        run = instance.get_run_by_id(run_id)
        if run is not None and not _has_ended(instance, run_id):
            message = get_run_crash_explanation(f"Run execution process for {run_id}", code)
            instance.report_engine_event(message, run)
            instance.report_run_failed(run)
    return 0


def _has_ended(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Whether the run is over. One that was cancelled before it began is over with this."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.status == dg.DagsterRunStatus.CANCELING:
        instance.report_run_canceled(run)
        return True
    return run is None or run.is_finished


def _instance(instance_ref: str) -> dg.DagsterInstance:
    return dg.DagsterInstance.from_ref(deserialize_value(instance_ref, InstanceRef))
