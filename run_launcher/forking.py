"""The run launcher of `make ui`: runs are forked from a process that has imported what they need.

That process (`workers`) is started by `make ui` and found by a variable of the environment. Where there is none, as
with `dagster dev` or units of systemd, this is Dagster's own launcher; so it is for a run that the process cannot take,
after a line in the run's log that says why.

A run's tag says which process has forked it, so whoever is asked to cancel it, the web server or the daemon, asks that
one; and a run whose process is gone is seen as dead by the daemon's run monitoring.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any, Self

import dagster as dg

from maintenance.errors import PaimonError
from paimon_maintenance.run_launcher.internals import (
    CheckRunHealthResult,
    ConfigurableClassData,
    GrpcServerCodeLocationOrigin,
    LaunchRunContext,
    WorkerStatus,
    serialize_value,
)
from paimon_maintenance.run_launcher.workers import SOCKET_VARIABLE, UnansweredError, ask

# Hidden in Dagster's UI, as the tag by which its own launcher finds a run again.
SOCKET_TAG = ".dagster/paimon_run_workers"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class ForkingRunLauncher(dg.DefaultRunLauncher):
    """Dagster's default launcher, with a faster way for runs of this machine."""

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        """Made by Dagster from dagster.yaml; there is nothing to configure."""
        return cls(inst_data=inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        """Have the run forked; where that cannot be, have its code server start it."""
        run, address = context.dagster_run, os.environ.get(SOCKET_VARIABLE)
        if address is None:
            super().launch_run(context)
            return
        reason = _elsewhere(run)
        if reason is None:
            # First the tag: whoever cancels the run must find its process as soon as there is one.
            self._instance.add_run_tags(run.run_id, {SOCKET_TAG: address})
            reason = self._forked(address, run)
        if reason is not None:
            self._instance.add_run_tags(run.run_id, {SOCKET_TAG: ""})
            message = f"This run starts in a process of its own, which takes longer: {reason}"
            self._instance.report_engine_event(message, run, cls=type(self))
            super().launch_run(context)

    def _forked(self, address: str, run: dg.DagsterRun) -> str | None:
        """Ask for a process; returns why there is none.

        Raises: UnansweredError: there may be one; the run fails, since two processes must not do it.
        """
        instance = serialize_value(self._instance.get_ref())
        try:
            answer = ask(address, {"do": "start", "run": run.run_id, "instance": instance})
        except UnansweredError:
            raise
        except PaimonError as error:
            return str(error)
        return None if answer["state"] == "running" else str(answer.get("reason", "it has run before"))

    def terminate(self, run_id: str) -> bool:
        """Interrupt the run, wherever it was launched from; False if it has no process any more."""
        run = self._instance.get_run_by_id(run_id) if self.has_instance else None
        address = run.tags.get(SOCKET_TAG) if run else None
        if run is None or run.is_finished or not address:
            return bool(super().terminate(run_id))  # type: ignore[no-untyped-call]
        self._instance.report_run_canceling(run)
        try:
            return bool(ask(address, {"do": "interrupt", "run": run_id})["state"] == "running")
        except PaimonError as error:
            self._instance.report_engine_event(f"The run cannot be interrupted: {error}", run, cls=type(self))
            return False

    @property
    def supports_check_run_worker_health(self) -> bool:
        """True: asked by the daemon's run monitoring."""
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Whether the run's process lives. Those of code servers are watched by these."""
        address = run.tags.get(SOCKET_TAG)
        if not address:
            return CheckRunHealthResult(WorkerStatus.RUNNING, "watched by its code server")
        try:
            answer = ask(address, {"do": "state", "run": run.run_id})
        except PaimonError as error:
            if isinstance(error.__cause__, (FileNotFoundError, ConnectionRefusedError)):
                message = f"The run's process is gone with its parent: {error}"
                return CheckRunHealthResult(WorkerStatus.NOT_FOUND, message)
            return CheckRunHealthResult(WorkerStatus.RUNNING, f"as far as is known: {error}")  # it may only be slow
        if answer["state"] == "running":
            return CheckRunHealthResult(WorkerStatus.RUNNING, run_worker_id=str(answer["pid"]))
        if answer["state"] == "ended" and answer["code"] == 0:
            return CheckRunHealthResult(WorkerStatus.SUCCESS)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"The run's process has ended: {answer}")


def _elsewhere(run: dg.DagsterRun) -> str | None:
    """Why the run's code is not to be executed by this Python on this machine; None if it is."""
    code, job = run.job_code_origin, run.remote_job_origin
    if code is None or job is None:
        return "it does not say where its code is"
    location = job.repository_origin.code_location_origin
    if isinstance(location, GrpcServerCodeLocationOrigin) and not location.socket and location.host not in _LOOPBACK:
        return f"its code location is on {location.host}"
    if code.repository_origin.container_image:
        return "its code location is in a container"
    if os.path.realpath(code.repository_origin.executable_path) != os.path.realpath(sys.executable):
        return f"its code location has a Python of its own, {code.repository_origin.executable_path}"
    return None
