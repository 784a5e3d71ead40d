"""Links from a task to the console's pages, where `PAIMON_CONSOLE_URL` says where the console is."""

from typing import Any

from paimon_maintenance.assets.project.console_address import console_address
from paimon_maintenance.operators.airflow_release import BaseOperatorLink


class TableLink(BaseOperatorLink):
    """The page of the task's table."""

    name = "Paimon table"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address; empty where nobody has said it, or where the task is about no table. Called by Airflow."""
        table = operator.arguments.get("table")
        return console_address("tables", table) if isinstance(table, str) else ""


class PlanLink(BaseOperatorLink):
    """The page of the plan that the task has made, or carries out."""

    name = "Paimon plan"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address; empty where there is none. Called by Airflow."""
        plan = getattr(operator, "plan_id", None)
        return console_address("plans", plan) if isinstance(plan, str) else ""
