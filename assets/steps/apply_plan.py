"""A plan of a dry run carried out by its id alone, whatever its table and operation.

The page of a dry run links to this job with the id filled in. It needs no pool: a plan whose files another run has
moved meanwhile is refused, and nothing is done.
"""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from assets import keys
from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.resources.spark import Spark
from assets.runs.failures import as_dagster_failure
from assets.steps.branches import DELETE, TAKE
from assets.steps.compaction import CHANGELOG, COMPACT, FILE_INDEX
from assets.steps.expiry import EXPIRE_PARTITIONS, EXPIRE_SNAPSHOTS, EXPIRE_TAGS, TAG
from assets.steps.ingestion import INGEST
from assets.steps.many_tables import apply_many
from assets.steps.ops import failing, record_state
from assets.steps.orphans import ORPHANS
from assets.steps.plans import found_plan
from assets.steps.refresh import REFRESH
from assets.steps.step import Work, run_step
from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.plans.stored_plan import MANY, StoredPlan

STEPS = {
    step.name: step
    for step in (
        INGEST,
        REFRESH,
        COMPACT,
        CHANGELOG,
        FILE_INDEX,
        TAG,
        EXPIRE_PARTITIONS,
        EXPIRE_SNAPSHOTS,
        EXPIRE_TAGS,
        ORPHANS,
        DELETE,
        TAKE,
    )
}


class ApplyPlanConfig(dg.Config):
    """Which plan."""

    plan_id: str = Field(description="The id that a dry run has shown. Exactly what its plan says is done, or nothing.")


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
            plan = found_plan(catalog, catalog.file_io(), config.plan_id)
            table = None if plan.table == MANY else _table_of(plan, described)
            tags = {"paimon/plan_id": plan.id, **({"paimon/table": plan.table} if table else {})}
            context.instance.add_run_tags(context.run_id, tags)
        action = {INGEST.name: "ingest", REFRESH.name: "refresh"}.get(plan.operation, "compact")
        spark.serve(action, table.identifier if table else None)
        if table is None:
            apply_many(context, catalog, spark, described, plan)
            return
        if plan.operation not in STEPS:
            raise OptionError(
                f"plans of {plan.operation} are not carried out here", f"plan {plan.id}", "Use paimonctl … --apply."
            )
        step = STEPS[plan.operation]
        chosen = step.config(plan_id=plan.id)
        work = Work(context, table, chosen, catalog, zone, spark if step.uses_spark else None, step.opened)
        with failing(context, catalog, table, step.name):
            record_state(context, catalog, table, run_step(step, work, {}))

    return apply


def _table_of(plan: StoredPlan, described: Mapping[str, TableConfig]) -> TableConfig:
    """The table of a plan. Raises: NotFoundError: this project does not maintain it."""
    if plan.table not in described:
        problem = f"the plan is of {plan.table}, which is not in tables.yaml"
        raise NotFoundError(problem, f"plan {plan.id}", "Add the table, or choose another plan.")
    return described[plan.table]


def apply_plan_job(
    tables: Sequence[TableConfig], zone: ZoneInfo, loggers: Mapping[str, dg.LoggerDefinition]
) -> dg.JobDefinition:
    """The job of that op alone."""
    op = apply_plan_op(tables, zone)

    @dg.graph(name=keys.APPLY_PLAN)
    def apply_plan() -> None:
        op()

    return apply_plan.to_job(
        description="Carry out the plan of a dry run; its id is all that is needed.",
        tags={"paimon/action": keys.APPLY_PLAN},
        executor_def=dg.in_process_executor,
        logger_defs=loggers,
    )
