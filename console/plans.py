"""Plans of dry runs: what each would do in three lines, whether it still holds, and what became of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.amounts import number_of, size_text
from maintenance.errors import NotFoundError, PaimonError
from maintenance.operations.operation import Operation, all_operations
from maintenance.operations.plan_store import MANY, PlannedGroup, StoredPlan, stored_ids
from maintenance.table.table import Table
from paimon_maintenance.assets.keys import APPLY_PLAN, APPROVE_PLAN
from paimon_maintenance.assets.runs.history import reason_of
from paimon_maintenance.assets.units import files_text
from paimon_maintenance.console.lake import Known

_LISTED = 100
_GROUPS = 500
_RUNS = 20
PLAN_TAG = "paimon/plan_id"


@dataclass(frozen=True, slots=True)
class Use:
    """A run that carried a plan out, or tried to. `status`: as Dagster says it, in small letters."""

    run_id: str
    status: str
    at: datetime | None

    @property
    def has_done_it(self) -> bool:
        return self.status == "success"


@dataclass(frozen=True, slots=True)
class Maker:
    """What made a plan. `run_id`: empty: no run of Dagster, but `paimonctl` or SQL."""

    run_id: str
    why: str


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A plan in the list. `plan`: None where it cannot be read."""

    id: str
    plan: StoredPlan | None
    made_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlanView:
    """A plan.

    Attributes:
        goes, stays, gained: the plan in three lines.
        refusal: why it would be refused now; empty: it still holds. None: that cannot be told without reading rows.
        uses: runs that carried it out or tried to, the newest first.
        hidden: groups that are not shown.
    """

    plan: StoredPlan
    made_at: datetime
    maker: Maker
    goes: str
    stays: str
    gained: str
    refusal: str | None
    uses: Sequence[Use]
    groups: Sequence[PlannedGroup]
    hidden: int

    @property
    def is_used(self) -> bool:
        return any(use.has_done_it for use in self.uses)

    @property
    def waits(self) -> bool:
        """Whether somebody has to approve it first."""
        return self.plan.needs_approval and self.plan.approval is None

    @property
    def job(self) -> str:
        """What comes next: the job that approves it, or the one that carries it out."""
        return APPROVE_PLAN if self.waits else APPLY_PLAN

    @property
    def config(self) -> str:
        """What the Launchpad of that job is filled in with."""
        if self.waits:
            return f"ops: {{approval: {{config: {{plan: '{self.plan.id}', name: ''}}}}}}"
        return f"ops: {{plan: {{config: {{plan_id: '{self.plan.id}'}}}}}}"


def plan_lines(known: Known) -> Sequence[PlanLine]:
    """The newest plans that are kept; none where the warehouse is no folder."""
    if not known.catalog.has_root():
        return []
    file_io, root = known.catalog.file_io(), known.catalog.root()
    return [_line(known, plan_id) for plan_id in stored_ids(file_io, root)[:_LISTED]]


def _line(known: Known, plan_id: str) -> PlanLine:
    try:
        plan = StoredPlan.load(known.catalog.file_io(), known.catalog.root(), plan_id)
    except PaimonError:  # it is damaged, or was deleted meanwhile
        return PlanLine(plan_id, None, None)
    return PlanLine(plan_id, plan, _moment(plan.made_at))


def plan_view(known: Known, instance: dg.DagsterInstance, plan_id: str) -> PlanView:
    """The page of a plan. Raises: NotFoundError, CorruptFileError."""
    plan = StoredPlan.load(known.catalog.file_io(), known.catalog.root(), plan_id)
    runs = instance.get_runs(dg.RunsFilter(tags={PLAN_TAG: plan_id}), limit=_RUNS)
    appliers = [run for run in runs if plan_id in json.dumps(run.run_config, default=str)]
    makers = [run for run in runs if run not in appliers]
    uses = [Use(run.run_id, run.status.value.lower(), _ended(instance, run)) for run in appliers]
    maker = Maker(makers[-1].run_id, reason_of(makers[-1])) if makers else Maker("", "")
    table = None if plan.table == MANY else _table(known, plan.table)
    goes, gained = _goes(plan)
    return PlanView(
        plan,
        _moment(plan.made_at),
        maker,
        goes,
        _stays(plan, table),
        gained,
        _refusal(plan, table),
        uses,
        plan.groups[:_GROUPS],
        max(0, len(plan.groups) - _GROUPS),
    )


def _goes(plan: StoredPlan) -> tuple[str, str]:
    """What goes and what is won by that, in words."""
    deleted = [group for group in plan.groups if not group.expected_files]
    rewritten = [group for group in plan.groups if group.expected_files]
    goes, gained = [], []
    if deleted:
        files, size = sum(len(group.files) for group in deleted), sum(group.bytes for group in deleted)
        things = f"{len(deleted):,} {'item goes' if len(deleted) == 1 else 'items go'}"
        goes.append(f"{things}, {files_text(files, size)}" if files else things)
        gained.append(f"{size_text(size)} freed")
    if rewritten:
        files, size = sum(len(group.files) for group in rewritten), sum(group.bytes for group in rewritten)
        expected = sum(group.expected_files for group in rewritten)
        goes.append(f"{files_text(files, size)} become about {number_of(expected, 'file')}")
        gained.append(f"about {number_of(max(0, files - expected), 'file')} fewer to read")
    return "; ".join(goes) or "nothing", "; ".join(gained) or "nothing"


def _stays(plan: StoredPlan, table: Table | None) -> str:
    """What of the table's newest state the plan does not touch."""
    snapshot = None if table is None else table.latest_snapshot()
    if table is None or snapshot is None:
        return "all that the plan does not name"
    touched = {path.rpartition("/")[2] for group in plan.groups for path in group.files}
    live = [entry.file for entry in table.manifests.live_entries(snapshot)]
    kept = [file for file in live if file.file_name not in touched]
    size = sum(file.file_size for file in kept)
    return f"the table keeps {len(kept):,} of its {len(live):,} live files as they are, {size_text(size)}"


def _refusal(plan: StoredPlan, table: Table | None) -> str | None:
    operation = _operations().get(plan.operation)
    # Plans of a kind of their own are compared by what carries them out.
    if table is None or operation is None or operation.is_guarded or operation.keeping is not None:
        return None
    try:
        # That nobody has approved it yet is said beside this.
        operation.check_kept(table.copy(plan.table_options), replace(plan, needs_approval=False))
    except PaimonError as error:
        return f"{error.found}. {error.fix}"
    return ""


def _operations() -> Mapping[str, Operation[Any, Any, Any]]:
    return {operation.key: operation for operation in all_operations().values()}


def _table(known: Known, identifier: str) -> Table | None:
    try:
        return known.catalog.get_table(identifier)
    except NotFoundError:
        return None


def _ended(instance: dg.DagsterInstance, run: dg.DagsterRun) -> datetime | None:
    record = instance.get_run_record_by_id(run.run_id)
    ended = None if record is None else record.end_time
    return None if ended is None else _moment(ended)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
