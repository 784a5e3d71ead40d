"""A person decides about a plan, in Airflow itself: from release 3.1 on."""

from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator


class ApprovePlanOperator(ApprovalOperator):
    """Waits until somebody approves a plan or rejects it. What comes after is skipped then.

    Args:
        plan: the task that has made the plan.
        subject, body: what is asked; by default the plan's id, and what it would do.
    """

    def __init__(self, *, plan: Any, subject: str | None = None, body: str | None = None, **kwargs: Any) -> None:
        pulled = f"ti.xcom_pull(task_ids='{plan.task_id}'"
        super().__init__(
            subject=subject or f"Apply the plan {{{{ {pulled}) }}}}?",
            body=body or f"{{{{ {pulled}, key='groups') }}}}",
            **kwargs,
        )
        self.set_upstream(plan)
