"""The stored plan of a refresh: which partitions would be replaced, from which states of the sources."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.partition_names import kept
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, check_plan, refuse
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.materialized.plan import RefreshKind, RefreshPlan, RefreshRequest, plan_refresh
from maintenance.sql.materialized.record import REFRESH
from maintenance.sql.materialized.refresh import Progress, RefreshReport, carry_out
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def stored(plan: RefreshPlan, request: RefreshRequest) -> StoredPlan:
    """A plan in the form that is kept until somebody applies it."""
    arguments = {
        "partition": None if request.partition is None else kept(plan.choices[0]),
        "full": request.full,
        "zone": request.zone,
        "kind": str(plan.kind),
        "sources": {name: state.stored() for name, state in plan.states.items()},
    }
    base = plan.table.snapshots.latest_identity()
    return StoredPlan(REFRESH, plan.table.identifier, base, datetime.now(UTC).timestamp(), _groups(plan), arguments)


def apply_refresh(
    query: DefiningQuery,
    table: Table,
    plan: StoredPlan,
    spark: "Callable[[], SparkSession | None]",
    progress: Progress = lambda _: None,
) -> RefreshReport:
    """Do what a stored plan says, from the states of the sources that it names.

    Raises: OutdatedPlanError: sources have changed since, or a refresh would do something else by now; OptionError: it
        is not a plan of this table's refresh; others as of the refresh.
    """
    check_plan(plan, REFRESH, table)
    wanted = plan.arguments
    request = RefreshRequest(wanted["partition"], wanted["full"], wanted["zone"])
    now = plan_refresh(query, table, request)
    before, after = wanted["sources"], {name: state.stored() for name, state in now.states.items()}
    moved = [
        f"{name} is at snapshot {_shown(after.get(name))}, was {_shown(before.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    planned, found = ({group.name for group in groups} for groups in (plan.groups, _groups(now)))
    moved += [f"{name} would be refreshed, too" for name in sorted(found - planned)]
    moved += [f"{name} is not to be refreshed any more" for name in sorted(planned - found)]
    refuse(plan, moved)
    return carry_out(now, spark, progress)


def _shown(state: Any) -> str:
    """A state of a source as its plan has it; one of an earlier form is its number."""
    number, text, _ = state if isinstance(state, list) else (state, "", 0)
    identity = SnapshotIdentity.parse(text)
    return str(number) if identity is None else f"{number} ({identity.digest})"


def _groups(plan: RefreshPlan) -> tuple[PlannedGroup, ...]:
    match plan.kind:
        case RefreshKind.NOTHING:
            return ()
        case RefreshKind.PARTITIONS:
            return tuple(PlannedGroup(name, (), 0, reason=plan.why) for name in plan.partitions)
        case RefreshKind.ROWS:
            return (PlannedGroup("rows", (), 0, reason=plan.why),)
    return (PlannedGroup("whole table", (), 0, reason=plan.why),)
