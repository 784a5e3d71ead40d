"""A branch deleted, or taken for main, from the Launchpad: one job each, for all tables.

They need no pool: what has changed since a plan was made is refused, and nothing else is taken away.
"""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

import dagster as dg
from pydantic import Field

from assets.project.config import TableConfig
from assets.resources.catalog import PaimonCatalog
from assets.steps.ops import on_known_table, record_state
from assets.steps.step import Preview, Step, Work, run_step
from maintenance.operations.plans.ref_plans import (
    DELETE_BRANCH,
    FAST_FORWARD,
    apply_delete_branch,
    apply_fast_forward,
    plan_delete_branch,
    plan_fast_forward,
)
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.fast_forward import fast_forward


class BranchConfig(dg.Config):
    """Which branch."""

    branch: str = Field(default="", description="Name of the branch.")
    dry_run: bool = Field(default=False, description="Only list what would go and come, and keep it as a plan.")
    plan_id: str | None = Field(default=None, description="Do what this plan of a dry run says, or refuse.")


class BranchOfTableConfig(dg.Config):
    """Which branch of which table."""

    table: str = Field(description="database.table, one of those that Dagster has.")
    branch: str = Field(description="Name of the branch.")
    dry_run: bool = Field(default=False, description="Only list what would go and come, and keep it as a plan.")


DELETE = Step(
    DELETE_BRANCH,
    "Deletes a branch; files that only it used become orphans.",
    BranchConfig,
    arguments=lambda work: work.config.branch,
    preview=lambda work, branch: Preview(plan_delete_branch(work.table, branch)),
    apply=lambda work, plan: apply_delete_branch(work.table, plan),
    run=lambda work, branch: delete_branch(work.table, branch),
)
TAKE = Step(
    FAST_FORWARD,
    "Replaces main's history by a branch's, from the branch's first snapshot on. Stop the writers first.",
    BranchConfig,
    arguments=lambda work: work.config.branch,
    preview=lambda work, branch: Preview(plan_fast_forward(work.table, branch)),
    apply=lambda work, plan: apply_fast_forward(work.table, plan),
    run=lambda work, branch: fast_forward(work.table, branch),
)


def branch_op(step: Step, name: str, tables: Sequence[TableConfig], zone: ZoneInfo) -> dg.OpDefinition:
    """An op that carries out `step` for the table and branch of its config. `name`: of the op; `zone`: as of steps."""

    @dg.op(name=name, description=step.description, out=dg.Out(dg.Nothing))
    def change(context: dg.OpExecutionContext, config: BranchOfTableConfig, catalog: PaimonCatalog) -> None:
        with on_known_table(context, catalog, tables, config.table, step.name) as table:
            chosen = BranchConfig(branch=config.branch, dry_run=config.dry_run)
            account = run_step(step, Work(context, table, chosen, catalog, zone, None, step.opened), {})
            if account:
                record_state(context, catalog, table, account)

    return change
