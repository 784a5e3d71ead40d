"""A plan that somebody has to approve, once the table has a new snapshot."""

from airflow.sdk import DAG

from paimon_maintenance.operators import ApplyPlanOperator, ApprovePlanOperator, NewSnapshotSensor, PlanOperator

with DAG("approved", schedule=None) as dag:
    wait = NewSnapshotSensor(task_id="wait", table="default.later", poke_interval=1, paimon_conn_id="lake")
    plan = PlanOperator(
        task_id="plan",
        operation="compact",
        arguments={"table": "default.t", "options": {"compaction.min.file-num": "2"}},
    )
    approve = ApprovePlanOperator(task_id="approve", plan=plan)
    apply = ApplyPlanOperator(task_id="apply", plan_id=plan.output)
    wait >> plan >> approve >> apply
