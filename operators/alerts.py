"""Failed tasks are told to the alert targets of tables.yaml."""

import logging
from dataclasses import dataclass, replace
from typing import Any

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TellTargets:
    """A callback of tasks, for `on_failure_callback`: one that failed for good is told to those who want to know.

    Attributes:
        tables: the path of the tables.yaml.
        table: whose task it is; None: the project's targets are told.
    """

    tables: str
    table: str | None = None

    def __call__(self, context: Any) -> None:
        """Called by Airflow. A target that cannot be reached is logged, and keeps the others from nothing."""
        from maintenance.project.targets.alert import Alert
        from paimon_maintenance.assets.project.console_address import console_address
        from paimon_maintenance.operators.described import project_of
        from paimon_maintenance.sensors.routes import Routes

        task, error = context["ti"], context.get("exception")
        # What was refused comes as Airflow's own exception.
        error = getattr(error, "__cause__", None) or error
        named = () if self.table is None else (self.table,)
        project = project_of(self.tables)
        found = getattr(error, "found", None)
        alert = Alert(
            f"airflow:{task.dag_id}:{task.task_id}",
            "failed",
            f"Task {task.task_id} of {task.dag_id}",
            f"{found} ({error.where})" if error is not None and found else str(error or "the task failed"),
            getattr(error, "fix", ""),
            str(getattr(task, "log_url", "") or ""),
            named,
            console=console_address("tables", *named) if named else "",
        )
        described = project.with_patterns(named)
        for target in Routes.of(described).of_fault(replace(alert, opened_in="Airflow")).values():
            try:
                target.send(replace(alert, opened_in="Airflow"))
            except Exception as trouble:  # noqa: BLE001 - whatever keeps one target from being told
                _LOG.warning("An alert could not be sent to %s: %s", target.kind, type(trouble).__name__)
