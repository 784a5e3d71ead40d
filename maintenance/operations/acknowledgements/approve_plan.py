"""Approve a plan that somebody else has made: `approve_plan`.

Where the catalog's option `plans.need-approval` is `deleting` or `all`, such plans are not applied before. The first
approval stays. Whoever may write the folder `_maintenance/approvals` can approve; a store can refuse it to others.
"""

from dataclasses import dataclass
from typing import Annotated

from maintenance.operations.operation import Operation, Plan, Run, Shown, Warehouse, as_asked
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import Approval, StoredPlan, approve
from maintenance.person import person


@dataclass(frozen=True, slots=True)
class ApprovePlan:
    """Which plan is approved, by whom, and why."""

    plan: Annotated[str, Param("The id of the plan.")]
    name: Annotated[
        str | None, Param("Who approves it; empty: PAIMON_PERSON, or the user of the operating system.")
    ] = None
    reason: Annotated[str, Param("Why the plan may be applied.")] = ""


@dataclass(frozen=True, slots=True)
class ApprovePlanReport:
    """The approval that holds now.

    Attributes: `made_by`: who has made the plan; `approved_by`, `reason`: of the first approval; `is_new`: whether it
        is this one.
    """

    plan: str
    operation: str
    table: str
    made_by: str
    approved_by: str
    reason: str
    is_new: bool


def apply(run: Run, place: Warehouse, planned: Plan[ApprovePlan, None]) -> ApprovePlanReport:
    """Write it down beside the plan."""
    asked = planned.request
    plan = StoredPlan.load(place.file_io, place.path, asked.plan)
    name = person() if asked.name is None else asked.name.strip()
    asked_for = Approval(name, asked.reason.strip(), person(), run.moment.timestamp())
    approved = approve(place.file_io, place.path, plan, asked_for)
    held = approved.approval or asked_for
    return ApprovePlanReport(
        plan.id, plan.operation, plan.table, plan.made_by, held.name, held.reason, held == asked_for
    )


def _shown(report: ApprovePlanReport) -> Shown:
    people = {"made_by": report.made_by, "approved_by": report.approved_by, "reason": report.reason}
    return Shown.one({"plan": report.plan, "operation": report.operation, "table": report.table, **people},
                     nothing_to_do=not report.is_new)  # fmt: skip


OPERATION = Operation(
    "approve_plan",
    "Approve a plan that somebody else has made.",
    ApprovePlan,
    as_asked,
    apply,
    shown=_shown,
    has_dry_run=False,
    of_warehouse=True,
    has_job=False,
)


approve_plan = OPERATION.function(
    """Approve a plan that somebody else has made.

    Args:
        warehouse: its folder, in which plans lie.
        plan: its id, as the dry run has printed it.
    Raises: NotFoundError: there is no such plan; OptionError: nobody is named, or who has made the plan.
    """
)
