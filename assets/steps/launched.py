"""Operations from the Launchpad: a job for each. Most are about one table, which the config names.

They need no pool: what has changed since a plan was made is refused, and work that meets another commit is refused or
planned again.
"""

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import dagster as dg

from maintenance.errors import OptionError
from maintenance.operations.operation import all_operations
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import write_checks
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary
from paimon_maintenance.assets.steps.chain import NEW_TAG, OfPartitions
from paimon_maintenance.assets.steps.config import RANGE
from paimon_maintenance.assets.steps.ops import (
    config_schema_of,
    failing,
    job_of_op,
    known_table,
    record_state,
    resources_of,
)
from paimon_maintenance.assets.steps.plans import person_of
from paimon_maintenance.assets.steps.step import Metadata, Step, Work, run_step
from paimon_maintenance.assets.warehouse.bins import emptying_of

# Jobs and ops that are not called by the operation: an op and its job cannot share a name.
JOBS = {"rollback_to": "rollback", "restore": "restore_from_bin"}
_OPS = {
    "create_tag": "new_tag",
    "rollback_to": "earlier_state",
    "rollback_to_as_latest": "earlier_state_as_latest",
    "reset_consumer": "consumer_to_move",
    "delete_branch": "branch_to_delete",
    "fast_forward": "branch_to_take",
    "explain": "why_still_there",
    "what_if": "other_retention",
    "restore": "from_bin",
    "restore_partitions": "earlier_partitions",
    "acknowledge": keys.ACKNOWLEDGED,
    "approve_plan": "approval",
    "empty_bin": "bin",
    "compact_database": "compact_tables",
    "clone": "copy_to",
    "migrate_table": "plain_table",
    "migrate_database": "plain_tables",
}

# Steps that say more than the record of their operation.
_OWN_STEPS = {"create_tag": NEW_TAG, "restore_partitions": OfPartitions.alone("restore_partitions", instead=RANGE)}


@dataclass(frozen=True)
class _Acknowledge(Step):
    """Acknowledges a conflict: it writes into the history, and the checks of the table at once."""

    tables: Sequence[TableConfig] = ()

    def request(self, work: Work) -> Any:
        known_table(self.tables, work.config.table, keys.ACKNOWLEDGE)
        if work.catalog.history is None:
            fix = "Take 'history: null' out of tables.yaml."
            raise OptionError("there is no history to write it into", work.config.table, fix)
        return super().request(work)

    def show(self, work: Work, report: Any, metadata: Metadata) -> StepSummary:
        work.context.add_output_metadata({**metadata, **report})
        write_checks(work.context, work.catalog, known_table(self.tables, work.config.table, keys.ACKNOWLEDGE))
        return StepSummary()


def acknowledgement(tables: Sequence[TableConfig]) -> Step:
    """Acknowledge what a check of one of the tables has found up to now."""
    return _Acknowledge.alone(
        "acknowledge",
        instead={"history": None, "run_id": None},
        policy=lambda work: {"history": work.catalog.history, "run_id": work.context.run_id},
        tables=tables,
    )


# Who launches it says who approves.
APPROVAL = Step.alone("approve_plan", policy=lambda work: {"name": person_of(work.context)})


def empty_bin(tables: Sequence[TableConfig]) -> Step:
    """Destroy what has been in the bin for long enough: as long as the most patient table asks."""
    asked = asdict(emptying_of(tables))
    return Step.alone("empty_bin", "Destroys what is past the window of the bin.", policy=lambda _: asked)


def op_name(operation: str) -> str:
    """The op that carries out an operation."""
    return _OPS.get(operation, f"{operation}_of_table")


def launched_jobs(tables: Sequence[TableConfig]) -> list[dg.JobDefinition]:
    """The jobs of operations about one table."""
    names = [name for name, each in all_operations().items() if each.has_job and each.is_of_table]
    return [launched_job(_OWN_STEPS.get(name) or _step(name), tables) for name in names]


@functools.cache
def _step(operation: str) -> Step:
    """The step of an operation alone. The same for all tables, and its config is slow to make."""
    return Step.alone(operation)


def launched_job(step: Step, tables: Sequence[TableConfig], action: str | None = None) -> dg.JobDefinition:
    """The job of a step alone. `tables`: of tables.yaml; `action`: what its runs do, if it is not called so."""
    name = step.operation.name
    return job_of_op(JOBS.get(name, name), launched_op(step, tables), action)


def launched_op(step: Step, tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """An op that carries out a step, for the table of its config if it is about one."""
    operation = step.operation
    dry_run = " dry_run: only say what would be done, and keep a plan." if operation.has_dry_run else ""

    @dg.op(
        name=op_name(operation.name),
        description=f"{step.description}{dry_run}",
        out=dg.Out(dg.Nothing),
        config_schema=config_schema_of(step.config),
        required_resource_keys=resources_of(step),
    )
    def launched(context: dg.OpExecutionContext) -> None:
        config, catalog = step.config(**context.op_config), context.resources.catalog
        with as_dagster_failure(context):
            table = known_table(tables, config.table, step.name) if operation.is_of_table else None
        with as_dagster_failure(context) if table is None else failing(context, catalog, table, step.name):
            work = step.work(context, table, config)
            summary = run_step(step, work, RunSummary())
            if table is None or work.dry_run or operation.looks_only:
                return
            if not all(operation.shown(report).nothing_to_do for report in work.reports):
                record_state(context, catalog, table, summary)

    return launched
