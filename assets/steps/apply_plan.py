"""A plan of a dry run carried out by its id alone, whatever its table and operation.

The page of a dry run links to this job with the id filled in. It needs no pool: a plan whose files another run has
moved meanwhile is refused, and nothing is done.
"""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.databases.compact_database import COMPACT_DATABASE
from maintenance.operations.plan_store import MANY, StoredPlan
from maintenance.operations.plans.drop_plans import DROP_TABLE
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.runs.summary import RunSummary
from paimon_maintenance.assets.steps.by_session import apply_by_session
from paimon_maintenance.assets.steps.chain import COMPACTION, EXPIRY
from paimon_maintenance.assets.steps.config import PlanConfig
from paimon_maintenance.assets.steps.copies import COPIES
from paimon_maintenance.assets.steps.ingestion import INGEST, REFRESH
from paimon_maintenance.assets.steps.many_tables import compact_many
from paimon_maintenance.assets.steps.ops import failing, record_state
from paimon_maintenance.assets.steps.plans import found_plan
from paimon_maintenance.assets.steps.step import run_step

_STEPS = {step.name: step for step in (INGEST, REFRESH, *COMPACTION, *EXPIRY)}
_COPIES = {name: step for step in COPIES for name in step.operation.keys}
# The job whose Spark settings a plan is carried out with; "compact" if it is not here.
_ACTIONS = {
    INGEST.name: "ingest",
    REFRESH.name: "refresh",
    "restore_partitions": "restore_partitions",
    **dict.fromkeys(("delete", "update", "change_rows"), "change_rows"),
    **{name: step.name for name, step in _COPIES.items() if step.operation.uses_spark},
}


class ApplyPlanConfig(dg.Config):
    """Which plan."""

    plan_id: str = Field(description="The id that a dry run has shown. Exactly what its plan says is done, or nothing.")
    into_bin: bool = Field(
        default=False,
        description="Move what is deleted into the bin, where the operation can do that; the policy bin says so, too.",
    )


def apply_plan_op(tables: Sequence[TableConfig], zone: ZoneInfo) -> dg.OpDefinition:
    """Carry out a plan. `zone`: as of the steps."""
    described = {table.identifier: table for table in tables}

    @dg.op(
        name="plan",
        description="Does exactly what a plan of a dry run says, or refuses if the table has changed.",
        out=dg.Out(dg.Nothing),
    )
    def apply(context: dg.OpExecutionContext, config: ApplyPlanConfig, catalog: PaimonCatalog, spark: Spark) -> None:
        with as_dagster_failure(context):
            plan = found_plan(catalog, config.plan_id)
            tags = {"paimon/plan_id": plan.id, **({} if plan.table == MANY else {"paimon/table": plan.table})}
            context.instance.add_run_tags(context.run_id, tags)
        apply_any(context, catalog, spark, described, zone, plan, into_bin=config.into_bin)

    return apply


def apply_any(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    spark: Spark,
    described: Mapping[str, TableConfig],
    zone: ZoneInfo,
    plan: StoredPlan,
    *,
    into_bin: bool = False,
) -> None:
    """Carry out a plan, whatever its operation, and report what it is about to its asset.

    Args: `described`: the tables of tables.yaml; `zone`: as of the steps; `into_bin`: what is deleted goes into the
        bin, where the operation can do that.
    """
    steps = {**_STEPS, **_COPIES, COMPACT_DATABASE: compact_many(list(described.values()))}
    step = steps.get(plan.operation)
    with as_dagster_failure(context):
        table = None if plan.table == MANY or plan.operation in _COPIES else table_of(plan, described)
    spark.serve(_ACTIONS.get(plan.operation, "compact"), table.identifier if table else None)
    with as_dagster_failure(context) if table is None else failing(context, catalog, table, plan.operation):
        if step is None or (table is None and step.operation.is_of_table):
            takes_bin = into_bin or (table is not None and table.bin is not None)
            summary = apply_by_session(context, catalog, spark, plan, into_bin=takes_bin)
        else:
            work = step.work(context, table, PlanConfig(plan_id=plan.id, into_bin=into_bin), zone)
            summary = run_step(step, work, RunSummary())
        if table is not None:
            record_state(context, catalog, table, summary)


def table_of(plan: StoredPlan, described: Mapping[str, TableConfig]) -> TableConfig:
    """The table of a plan. Raises: NotFoundError: it is not in tables.yaml; OptionError: it would be dropped."""
    if plan.operation == DROP_TABLE:
        problem = f"the plan drops {plan.table}, and jobs maintain the tables of tables.yaml"
        raise OptionError(problem, f"plan {plan.id}", f"Take the table out there, then run paimonctl apply {plan.id}.")
    if plan.table not in described:
        problem = f"the plan is of {plan.table}, which is not in tables.yaml"
        raise NotFoundError(problem, f"plan {plan.id}", "Add the table, or choose another plan.")
    return described[plan.table]
