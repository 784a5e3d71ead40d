"""A statement from the Launchpad: DELETE, UPDATE, MERGE INTO, or a CALL that deletes or rewrites; one job for all.

It is planned first, whether it is a dry run or not. So what a dry run shows is what is done, and `apply_plan` does it
later. It needs no pool: what another run has changed meanwhile is refused, or planned again.
"""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from maintenance.operations.plan_store import MANY
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.steps.apply_plan import apply_any, table_of
from paimon_maintenance.assets.steps.by_session import session_of
from paimon_maintenance.assets.steps.plans import kept_plan

STATEMENT, STATEMENT_OP = keys.STATEMENT, keys.STATEMENT_OP  # the job, and its op


class StatementConfig(dg.Config):
    """What to do."""

    statement: str = Field(
        description="DELETE, UPDATE, MERGE INTO, or CALL sys.… of what deletes or rewrites, in Spark's dialect."
    )
    dry_run: bool = Field(default=False, description="Only say what would be done, and keep it as a plan.")


def statement_op(tables: Sequence[TableConfig], zone: ZoneInfo) -> dg.OpDefinition:
    """Carry out a statement about tables of tables.yaml. `zone`: as of the steps."""
    described: Mapping[str, TableConfig] = {table.identifier: table for table in tables}

    @dg.op(
        name=STATEMENT_OP,
        description="Plans a DELETE, UPDATE, MERGE INTO or CALL, and does it. dry_run: only keep the plan.",
        out=dg.Out(dg.Nothing),
    )
    def carry_out(
        context: dg.OpExecutionContext, config: StatementConfig, catalog: PaimonCatalog, spark: Spark
    ) -> None:
        with as_dagster_failure(context):
            # Procedures plan by metadata; the rows that a statement selects are looked for by Spark.
            is_call = config.statement.lstrip().upper().startswith("CALL")
            plan = session_of(context, catalog, None if is_call else spark.session()).plan(config.statement)
            if plan.table != MANY:
                table_of(plan, described)
            kept = kept_plan(context, catalog, plan)
            if config.dry_run:
                context.add_output_metadata({**kept, **spark.metadata()})
                return
        apply_any(context, catalog, spark, described, zone, plan)

    return carry_out
