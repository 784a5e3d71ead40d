"""A person decides about a plan, in Airflow itself: from release 3.1 on."""

from collections.abc import Sequence
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator

from paimon_maintenance.operators.failures import as_airflow_failure
from paimon_maintenance.operators.operation import PlanOperator


class ApprovePlanOperator(ApprovalOperator):
    """Waits until somebody approves a plan or rejects it. What comes after is skipped then.

    Who has approved it in Airflow is written down beside the plan, as `approve_plan` does it.

    Args:
        plan: the task that has made the plan.
        subject, body: what is asked; by default the plan's id, and what it would do.
    """

    template_fields: Sequence[str] = (*ApprovalOperator.template_fields, "plan_id")

    def __init__(
        self, *, plan: PlanOperator, subject: str | None = None, body: str | None = None, **kwargs: Any
    ) -> None:
        pulled = f"ti.xcom_pull(task_ids='{plan.task_id}'"
        super().__init__(
            subject=subject or f"Apply the plan {{{{ {pulled}) }}}}?",
            body=body or f"{{{{ {pulled}, key='groups') }}}}",
            **kwargs,
        )
        self.plan_id = f"{{{{ {pulled}) }}}}"
        self.lake = plan.lake
        self.set_upstream(plan)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Called by Airflow, once somebody has answered."""
        answer = super().execute_complete(context, event)
        person = answer.get("responded_by_user")
        if answer["chosen_options"] == [self.APPROVE] and person:
            from maintenance.operations import approve_plan
            from maintenance.sql.plans import place_of_plans

            with as_airflow_failure(f"plan {self.plan_id}"):
                file_io, warehouse = place_of_plans(self.lake.catalog())
                approve_plan(file_io, warehouse, self.plan_id, name=person["name"], reason="approved in Airflow")
        return answer
