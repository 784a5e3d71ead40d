"""A plan carried out, whatever its table and operation: one of a dry run by its id, or one of a statement at once.

The page of a dry run links to the job `apply_plan` with the id filled in. The job `statement` takes DELETE, UPDATE,
MERGE INTO, or a CALL that deletes or rewrites; it plans first, whether it is a dry run or not. So what a dry run shows
is what is done.

Neither needs a pool: a plan whose files another run has moved meanwhile is refused, or planned again.
"""

import time
from collections.abc import Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.databases.compact_database import COMPACT_DATABASE
from maintenance.operations.databases.drop_table import OPERATION as DROP_TABLE
from maintenance.operations.plan_store import MANY, StoredPlan
from maintenance.project.config import TableConfig
from maintenance.sql import Session
from maintenance.sql.planned_rows import CHANGE_ROWS
from maintenance.sql.plans import apply_plan
from maintenance.sql.result import Result
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.runs.summary import Fact, RunSummary, StepSummary
from paimon_maintenance.assets.steps.chain import COMPACTION, EXPIRY, INGEST, REFRESH
from paimon_maintenance.assets.steps.config import PlanConfig
from paimon_maintenance.assets.steps.many_tables import COPIES, compact_many
from paimon_maintenance.assets.steps.ops import failing, record_state
from paimon_maintenance.assets.steps.plans import found_plan, kept_plan, person_of
from paimon_maintenance.assets.steps.step import run_step

_STEPS = {step.name: step for step in (INGEST, REFRESH, *COMPACTION, *EXPIRY)}
_COPIES = {name: step for step in COPIES for name in step.operation.keys}
# The job whose Spark settings a plan is carried out with; "compact" if it is not here.
_ACTIONS = {
    INGEST.name: "ingest",
    REFRESH.name: "refresh",
    "restore_partitions": "restore_partitions",
    **dict.fromkeys(("delete", "update", CHANGE_ROWS), "change_rows"),
    **{name: step.name for name, step in _COPIES.items() if step.operation.uses_spark},
}
# Plans without a step whose work Spark shares; of a statement's plan, its own text says whether Spark had evaluated it.
_ON_SPARK = ("delete", "update", "rescale", "restore_partitions", "compact_chain_table")
_ROWS_SHOWN = 1000


class ApplyPlanConfig(dg.Config):
    """Which plan."""

    plan_id: str = Field(description="The id that a dry run has shown. Its plan is applied exactly, or not at all.")
    into_bin: bool = Field(
        default=False,
        description="Move what is deleted into the bin, where the operation can do that; the policy bin says so, too.",
    )


class StatementConfig(dg.Config):
    """What to do."""

    statement: str = Field(
        description="DELETE, UPDATE, MERGE INTO, or CALL sys.… of what deletes or rewrites, in Spark's dialect."
    )
    dry_run: bool = Field(default=False, description="Only show what would be done, and store it as a plan.")


def apply_plan_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Carry out a plan by its id."""

    @dg.op(
        name="plan",
        description="Applies exactly the plan of a dry run, or refuses if the table has changed.",
        out=dg.Out(dg.Nothing),
    )
    def apply(context: dg.OpExecutionContext, config: ApplyPlanConfig, catalog: PaimonCatalog, spark: Spark) -> None:
        with as_dagster_failure(context):
            plan = found_plan(catalog, config.plan_id)
            tags = {"paimon/plan_id": plan.id, **({} if plan.table == MANY else {"paimon/table": plan.table})}
            context.instance.add_run_tags(context.run_id, tags)
        _apply_any(context, tables, plan, into_bin=config.into_bin)

    return apply


def statement_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Carry out a statement about tables of tables.yaml."""

    @dg.op(
        name=keys.STATEMENT_OP,
        description="Plans a DELETE, UPDATE, MERGE INTO or CALL, and applies the plan. dry_run: only store the plan.",
        out=dg.Out(dg.Nothing),
    )
    def carry_out(
        context: dg.OpExecutionContext, config: StatementConfig, catalog: PaimonCatalog, spark: Spark
    ) -> None:
        with as_dagster_failure(context):
            # Procedures plan by metadata; the rows that a statement selects are looked for by Spark.
            is_call = config.statement.lstrip().upper().startswith("CALL")
            plan = _session(context, None if is_call else spark.session()).plan(config.statement)
            if plan.table != MANY:
                _table_of(plan, tables)
            kept = kept_plan(context, catalog, plan)
            if config.dry_run:
                context.add_output_metadata({**kept, **spark.metadata()})
                return
        _apply_any(context, tables, plan)

    return carry_out


def _apply_any(
    context: dg.OpExecutionContext, tables: Sequence[TableConfig], plan: StoredPlan, *, into_bin: bool = False
) -> None:
    """Carry out a plan of some operation, and report its table to its asset. `into_bin`: what can, goes there."""
    catalog = context.resources.catalog
    step = {**_STEPS, **_COPIES, COMPACT_DATABASE: compact_many(tables)}.get(plan.operation)
    with as_dagster_failure(context):
        table = None if plan.table == MANY or plan.operation in _COPIES else _table_of(plan, tables)
    context.resources.spark.serve(_ACTIONS.get(plan.operation, "compact"), table.identifier if table else None)
    with as_dagster_failure(context) if table is None else failing(context, catalog, table, plan.operation):
        if step is None or (table is None and step.operation.is_of_table):
            takes_bin = into_bin or (table is not None and table.bin is not None)
            summary = _by_session(context, plan, into_bin=takes_bin)
        else:
            work = step.work(context, table, PlanConfig(plan_id=plan.id, into_bin=into_bin))
            summary = run_step(step, work, RunSummary())
        if table is not None:
            record_state(context, catalog, table, summary)


def _table_of(plan: StoredPlan, tables: Sequence[TableConfig]) -> TableConfig:
    """The table of a plan. Raises: NotFoundError: it is not in tables.yaml; OptionError: it would be dropped."""
    if plan.operation == DROP_TABLE.name:
        problem = f"the plan drops {plan.table}, and jobs maintain the tables of tables.yaml"
        raise OptionError(problem, f"plan {plan.id}", f"Take the table out there, then run paimonctl apply {plan.id}.")
    found = next((table for table in tables if table.identifier == plan.table), None)
    if found is None:
        problem = f"the plan is of {plan.table}, which is not in tables.yaml"
        raise NotFoundError(problem, f"plan {plan.id}", "Add the table, or choose another plan.")
    return found


def _session(context: dg.OpExecutionContext, spark: Any = None) -> Session:
    """A session of SQL whose commits name the run. `spark`: a Spark session; None: this process does the work."""
    session = Session(context.resources.catalog.open(), spark, makes_default=False)
    session.run = context.run_id
    return session


def _by_session(context: dg.OpExecutionContext, plan: StoredPlan, *, into_bin: bool) -> RunSummary:
    """Carry out a plan that no step is about. `into_bin`: what is deleted goes there, where the operation can do it."""
    started, spark = time.monotonic(), context.resources.spark
    on_spark = plan.operation in _ON_SPARK or (plan.operation == CHANGE_ROWS and plan.arguments["on_spark"])
    session = _session(context, spark.session() if on_spark else None)
    result = apply_plan(session, plan, into_bin=into_bin, progress=context.log.info)
    seconds = time.monotonic() - started
    context.add_output_metadata({"plan id": plan.id, **_metadata_of(result), **spark.metadata()})
    facts: dict[str, Fact] = {"seconds": seconds, "files": plan.files, "bytes": plan.bytes}
    return RunSummary.of(plan.operation, StepSummary({**facts, **plan.people(person_of(context))}))


def _metadata_of(result: Result) -> dict[str, Any]:
    """What happened in sentences, and the rows of a result as a table; a single row as its numbers and texts."""
    shown = result.to_arrow().slice(0, _ROWS_SHOWN)
    said: dict[str, Any] = {"what happened": "\n".join(result.said)} if result.said else {}
    # A column alone says no more than that it is done.
    rows = [] if said and shown.num_columns == 1 else shown.to_pylist()
    if len(rows) == 1:
        return said | {name.replace("_", " "): value for name, value in rows[0].items() if value is not None}
    texts = [{name: value if isinstance(value, int | float | str) else str(value) for name, value in row.items()}
             for row in rows]  # fmt: skip
    return said | ({"result": dg.MetadataValue.table([dg.TableRecord(row) for row in texts])} if rows else {})
