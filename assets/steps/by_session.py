"""Plans and statements that no step of a table's chain is about: made and carried out by a session of SQL."""

import time
from typing import Any

import dagster as dg

from maintenance.operations.plan_store import StoredPlan
from maintenance.sql import Session
from maintenance.sql.planned_rows import CHANGE_ROWS
from maintenance.sql.plans import apply_plan
from maintenance.sql.result import Result
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.summary import Fact, RunSummary, StepSummary
from paimon_maintenance.assets.steps.plans import person_of

# Plans whose work Spark shares; of a statement's plan, its own text says whether Spark had evaluated it.
_ON_SPARK = ("delete", "update", "rescale", "restore_partitions", "compact_chain_table")
_ROWS_SHOWN = 1000


def session_of(context: dg.OpExecutionContext, catalog: PaimonCatalog, spark: Any = None) -> Session:
    """A session whose commits name the run. `spark`: a Spark session; None: this process does the work."""
    session = Session(catalog.open(), spark, makes_default=False)
    session.run = context.run_id
    return session


def needs_spark(plan: StoredPlan) -> bool:
    """Whether a plan is carried out on Spark."""
    return plan.operation in _ON_SPARK or (plan.operation == CHANGE_ROWS and bool(plan.arguments["on_spark"]))


def apply_by_session(
    context: dg.OpExecutionContext, catalog: PaimonCatalog, spark: Spark, plan: StoredPlan, *, into_bin: bool
) -> RunSummary:
    """Carry out a plan. `into_bin`: what is deleted goes into the bin, where the operation can do that."""
    started = time.monotonic()
    session = session_of(context, catalog, spark.session() if needs_spark(plan) else None)
    result = apply_plan(session, plan, into_bin=into_bin, progress=context.log.info)
    seconds = time.monotonic() - started
    context.add_output_metadata({"plan id": plan.id, **result_metadata(result), **spark.metadata()})
    facts: dict[str, Fact] = {
        "seconds": seconds,
        "files": plan.files,
        "bytes": plan.bytes,
        **plan.people(person_of(context)),
    }
    return RunSummary.of(plan.operation, StepSummary(facts))


def result_metadata(result: Result) -> dict[str, Any]:
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
