"""A DAG of operators: a plan, what carries it out, an operation by its class, one for each of several tables."""

from airflow.sdk import DAG

from paimon_maintenance.operators import (
    ApplyPlanOperator,
    CompactOperator,
    ExpireSnapshotsOperator,
    HealthOperator,
    PlanOperator,
)

with DAG("operators", schedule=None, params={"table": "t"}) as dag:
    plan = PlanOperator(task_id="plan", operation="compact", arguments={"table": "default.{{ params.table }}"})
    apply = ApplyPlanOperator(task_id="apply", plan_id=plan.output)
    compact = CompactOperator(task_id="compact", table="default.{{ params.table }}", nothing_to_do="skip")
    expire = ExpireSnapshotsOperator.partial(
        task_id="expire", trigger_rule="none_failed", paimon_conn_id="lake", retain_max=1, retain_min=1
    ).expand(table=["default.t"])
    refused = CompactOperator(task_id="refused", table="default.missing", retries=3)
    healthy = HealthOperator(task_id="healthy", table="default.{{ params.table }}", trigger_rule="none_failed")
    stale = HealthOperator(task_id="stale", max_age="1 ms", retries=0)
    plan >> apply >> compact >> expire >> healthy >> refused
    healthy >> stale
