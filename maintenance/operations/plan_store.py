"""Plans that are reviewed first and applied later: exactly as they are, or not at all.

A plan names everything that would be rewritten or deleted. It is stored under its id, a digest of its content, in the
folder `_maintenance/plans` of the warehouse, where every process finds it. Applying it means planning again and
comparing: if files of the plan have changed, nothing is done, and the error says which. Other changes of the table
(other partitions, later snapshots) do not matter. A plan belongs to the snapshot that it was made of: once that one was
rolled back, or the table is another one of the same name, nothing is done, whatever the numbers of its snapshots are.

Where the catalog's option `plans.need-approval` says so, a plan is only applied once somebody else than its maker has
approved it. Approvals lie beside the plans, in `_maintenance/approvals`, so that a store can give the right to write
them to some people only.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

from maintenance.amounts import number_of, size_text
from maintenance.errors import (
    CorruptFileError,
    NotFoundError,
    OptionError,
    OutdatedPlanError,
    OvertakenError,
    PaimonError,
)
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.fs.file_io import FileIO
from maintenance.options.catalog import ALL_PLANS, DELETING_PLANS, PLANS_NEED_APPROVAL
from maintenance.person import person
from maintenance.table.folder_table import FolderTable
from maintenance.table.table import Table

Report = TypeVar("Report")

_FOLDER = "_maintenance/plans"
_APPROVALS = "_maintenance/approvals"
_PLAN_ID = re.compile("[0-9a-f]{16}")
_SHOWN, _ATTEMPTS = 5, 5
_SHOWN_ID = 60
_FATES = {False: "be deleted", True: "change"}
MANY = "many tables"
"""What a plan is of that has plans of several tables in it."""
UNPLANNED = "unplanned"
"""The argument of such a plan that says which tables could not be planned, and why."""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """A part of a plan: one (partition, bucket), or one snapshot.

    Attributes:
        name: ``month=7 bucket 0``, ``snapshot 12``.
        files: names of the files to be rewritten, paths of those to be deleted; sorted. bytes: of these, in all.
        expected_files: about how many there will be instead; 0 where they are deleted.
        state: tells it from another one of that name, as a snapshot's number or a tag's name may be given again.
    """

    name: str
    files: tuple[str, ...]
    bytes: int
    expected_files: int = 0
    reason: str = ""
    state: str = ""

    @classmethod
    def of_snapshot(cls, name: str, snapshot: Snapshot | None, expected_files: int, reason: str) -> "PlannedGroup":
        """What is done about one snapshot; `expected_files`: 0 where it goes."""
        state = "" if snapshot is None else str(SnapshotIdentity.of(snapshot))
        return cls(name, (), 0, expected_files, reason, state)


@dataclass(frozen=True, slots=True)
class Approval:
    """That somebody approves a plan.

    Attributes: `name`: who; `by`: the person of the process that has written it; `at`: seconds since 1970.
    """

    name: str
    reason: str
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What an operation would do to a table.

    Attributes:
        base: the snapshot that it was made of; None: there was none, or it is not about one.
        made_at: seconds since 1970.
        arguments: of the operation.
        warnings: what to know before the plan is carried out.
        table_options: dynamic options that the table was planned with, and is to be changed with.
        made_by: who made it, see `person`; empty: unknown.
        needs_approval: whether somebody else has to approve it before it is applied.
        approval: that somebody has; not part of what the plan says.
    """

    operation: str
    table: str
    base: SnapshotIdentity | None
    made_at: float
    groups: tuple[PlannedGroup, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    table_options: Mapping[str, str] = field(default_factory=dict)
    made_by: str = field(default_factory=person)
    needs_approval: bool = False
    approval: Approval | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """A digest of all that the plan says."""
        return hashlib.sha256(self._text().encode()).hexdigest()[:16]

    @property
    def base_snapshot_id(self) -> int | None:
        return None if self.base is None else self.base.id

    def people(self, applied_by: str) -> dict[str, str]:
        """What the history says of a plan that somebody has applied: which, and who made, approved and applied it."""
        approved = {} if self.approval is None else {"approved_by": self.approval.name}
        return {"plan": self.id, "made_by": self.made_by, **approved, "applied_by": applied_by}

    @property
    def bytes(self) -> int:
        return sum(group.bytes for group in self.groups)

    @property
    def files(self) -> int:
        return sum(len(group.files) for group in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """The plan in fields that JSON can hold; `of_dict` reads them."""
        content = asdict(replace(self, approval=None))
        del content["approval"]
        content["base_snapshot_id"], content["base"] = self.base_snapshot_id, str(self.base)
        if self.base is None or not self.base.is_known:  # as in plans that were stored before it was noted
            del content["base"]
        for name in ("table_options", "made_by", "needs_approval"):
            if not content[name]:  # as in plans that were stored before there were any
                del content[name]
        for group in content["groups"]:
            if not group["state"]:
                del group["state"]
        return content

    def _text(self) -> str:
        return json.dumps(self.to_dict(), sort_keys=True)

    def store(self, file_io: FileIO, warehouse: str, options: Mapping[str, str] = MappingProxyType({})) -> str:
        """Keep the plan; returns its id. `options`: of the catalog, which say whether somebody has to approve it."""
        rule = PLANS_NEED_APPROVAL.of(options)
        deletes = any(not group.expected_files for group in self.groups)
        kept = replace(self, needs_approval=rule == ALL_PLANS or (rule == DELETING_PLANS and deletes))
        folder = f"{warehouse.rstrip('/')}/{_FOLDER}"
        file_io.make_folder(folder)
        file_io.overwrite(f"{folder}/{kept.id}.json", kept._text().encode())
        return kept.id

    @classmethod
    def of_dict(cls, stored: Mapping[str, Any]) -> "StoredPlan":
        """A plan out of the fields that it was written as. Raises: ValueError, TypeError, KeyError: they are others."""
        kept = dict(stored)
        number, base = kept.pop("base_snapshot_id"), SnapshotIdentity.parse(kept.pop("base", None))
        if base is None and number is not None:
            base = SnapshotIdentity.numbered(int(number))
        groups = tuple(PlannedGroup(**{**g, "files": tuple(g["files"])}) for g in kept["groups"])
        made_by = kept.get("made_by", "")
        warnings = tuple(kept.get("warnings", ()))
        return cls(**{**kept, "base": base, "groups": groups, "warnings": warnings, "made_by": made_by})

    @classmethod
    def load(cls, file_io: FileIO, warehouse: str, plan_id: str) -> "StoredPlan":
        """The plan of an id. Raises: NotFoundError; CorruptFileError: it is not what was stored."""
        if _PLAN_ID.fullmatch(plan_id) is None:
            fix = "Copy the id that the dry run printed: 16 digits and letters from a to f."
            raise NotFoundError(f"{plan_id[:_SHOWN_ID]!r} is not a plan id", _FOLDER, fix)
        path = f"{warehouse.rstrip('/')}/{_FOLDER}/{plan_id}.json"
        try:
            plan = cls.of_dict(json.loads(file_io.read_bytes(path)))
        except FileNotFoundError as error:
            raise NotFoundError(f"there is no plan '{plan_id}'", path, "Launch a dry run for a new one.") from error
        except (ValueError, TypeError, KeyError) as error:
            raise CorruptFileError("this is not a plan", path, "Launch a dry run for a new one.") from error
        if plan.id != plan_id:
            raise CorruptFileError("the plan was changed after it was stored", path, "Launch a dry run for a new one.")
        return replace(plan, approval=_approval(file_io, warehouse, plan_id))


def approve(file_io: FileIO, warehouse: str, plan: StoredPlan, approval: Approval) -> StoredPlan:
    """Write down that somebody approves a plan; the first approval stays. Returns: the plan with it.

    Raises: OptionError: nobody is named, or who has made a plan that somebody else has to approve; errors of the
        storage.
    """
    where = f"plan {plan.id}"
    if not approval.name.strip():
        raise OptionError("nobody is named", where, "Say who approves the plan.")
    if plan.needs_approval and approval.name == plan.made_by:
        raise OptionError(f"{approval.name} has made this plan", where, "Ask somebody else to approve it.")
    folder = f"{warehouse.rstrip('/')}/{_APPROVALS}"
    file_io.make_folder(folder)
    file_io.publish(f"{folder}/{plan.id}.json", json.dumps(asdict(approval), sort_keys=True).encode())
    return replace(plan, approval=_approval(file_io, warehouse, plan.id))


def _approval(file_io: FileIO, warehouse: str, plan_id: str) -> Approval | None:
    """What says that a plan is approved. Raises: CorruptFileError."""
    path = f"{warehouse.rstrip('/')}/{_APPROVALS}/{plan_id}.json"
    try:
        return Approval(**json.loads(file_io.read_bytes(path)))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise CorruptFileError("this is not an approval", path, "Delete it, and approve the plan again.") from error


def stored_ids(file_io: FileIO, warehouse: str) -> list[str]:
    """The ids of the plans that are kept, the newest first."""
    found = file_io.list_files(f"{warehouse.rstrip('/')}/{_FOLDER}")
    newest_first = sorted(found, key=lambda status: (-status.mtime_ms, status.name))
    names = [status.name.removesuffix(".json") for status in newest_first]
    return [name for name in names if _PLAN_ID.fullmatch(name)]


def plan_of_many(
    operation: str,
    plans: Iterable[StoredPlan],
    errors: Mapping[str, PaimonError],
    more: Iterable[PlannedGroup] = (),
    **arguments: Any,
) -> StoredPlan:
    """The plans of several tables as one; those in which nothing is to be done are left out.

    Args: `errors`: of the tables that could not be planned: they are not part of it, the argument `UNPLANNED` says why;
        `more`: groups besides those of the plans; `arguments`: besides the plans.
    """
    due = [plan for plan in plans if plan.groups]
    groups = [replace(group, name=f"{plan.table} {group.name}") for plan in due for group in plan.groups]
    failed = {name: str(error) for name, error in errors.items()}
    warnings = [warning for plan in due for warning in plan.warnings]
    warnings += [f"not part of the plan: {name}: {why}" for name, why in failed.items()]
    kept = {"plans": [plan.to_dict() for plan in due], **arguments, UNPLANNED: failed}
    now = datetime.now(UTC).timestamp()
    return StoredPlan(operation, MANY, None, now, (*groups, *more), kept, tuple(warnings))


def plans_of(plan: StoredPlan) -> dict[str, StoredPlan]:
    """The plans that `plan_of_many` has put together, by their tables."""
    return {each["table"]: StoredPlan.of_dict(each) for each in plan.arguments["plans"]}


def check_plan(plan: StoredPlan, operation: str, table: Table | FolderTable | None) -> None:
    """Raises: OptionError: it is not a plan of this operation and table, or not approved; OutdatedPlanError: its
    snapshot is not of the table's past. `table`: None = of many.
    """
    name = MANY if table is None else table.identifier
    if (plan.operation, plan.table) != (operation, name):
        raise OptionError(
            f"this plan is about {plan.operation} of {plan.table}",
            f"plan {plan.id}, {operation} of {name}",
            "Name a plan of this table and operation.",
        )
    if plan.needs_approval and (plan.approval is None or plan.approval.name == plan.made_by):
        maker = f"{plan.made_by}, who made it" if plan.made_by else "its maker"
        raise OptionError(
            f"this plan needs an approval by somebody other than {maker}",
            f"plan {plan.id}, {operation} of {name}",
            f"Ask somebody else to look at it, and to run: paimonctl approve-plan {plan.id}",
        )
    if isinstance(table, Table) and plan.base is not None:
        refuse(plan, _lost(table, plan.base))


def _lost(table: Table, base: SnapshotIdentity) -> list[str]:
    """What became of the snapshot that a plan was made of, if it is not part of the table's past."""
    if not base.is_known:
        return [f"the plan says of its snapshot only the number {base.id}, which another one may have by now"]
    if not table.snapshots.has_left(base):
        return []
    return [f"snapshot {base.id} that the plan was made of was rolled back, or was one of another table of this name"]


def moved_groups(plan: StoredPlan, now: Sequence[PlannedGroup]) -> list[str]:
    """What became of the plan's groups whose files are others now; groups that came since do not matter."""
    files = {group.name: group.files for group in now}
    return [_difference(g, files.get(g.name, ())) for g in plan.groups if files.get(g.name) != g.files]


def moved_victims(plan: StoredPlan, now: Sequence[PlannedGroup]) -> list[str]:
    """As `moved_groups`, of what would be deleted: nothing else may go, either."""
    planned = {group.name for group in plan.groups}
    return [
        *moved_groups(plan, now),
        *(f"{g.name} would {_FATES[g.expected_files > 0]}, too" for g in now if g.name not in planned),
    ]


def changed_groups(plan: StoredPlan, now: Sequence[PlannedGroup]) -> list[str]:
    """As `moved_victims`, and what has another size or another reason now."""
    moved = moved_victims(plan, now)
    by_name = {group.name: group for group in now}
    for old in plan.groups:
        new = by_name.get(old.name)
        if new is not None and new.files == old.files and new != old:
            sizes = ("", "") if old.bytes == new.bytes else (f"{size_text(old.bytes)}, ", f"{size_text(new.bytes)}, ")
            states = ("", "") if old.state == new.state else (f", {old.state}", f", {new.state}")
            moved.append(f"{old.name}: was {sizes[0]}{old.reason}{states[0]}; is {sizes[1]}{new.reason}{states[1]}")
    return moved


def _difference(planned: PlannedGroup, now: Sequence[str]) -> str:
    gone, new = sorted(set(planned.files) - set(now)), sorted(set(now) - set(planned.files))
    parts = [f"{number_of(len(gone), 'file')} no longer in it ({', '.join(gone[:_SHOWN])})"] if gone else []
    parts += [f"{number_of(len(new), 'file')} new in it ({', '.join(new[:_SHOWN])})"] if new else []
    return f"{planned.name}: {' and '.join(parts) or 'nothing left to do'}"


def refuse(plan: StoredPlan, moved: Sequence[str]) -> None:
    """Raises: OutdatedPlanError: something has moved."""
    if moved:
        raise OutdatedPlanError(
            f"the table has changed: {'; '.join(moved)}",
            f"plan {plan.id} of snapshot {plan.base_snapshot_id} of {plan.table}",
            "Nothing was changed. Launch a dry run for a new plan.",
        )


def unless_overtaken(attempt: Callable[[], Report]) -> Report:
    """Compare a plan and carry it out, once more for each time that others have committed in between.

    Raises: OvertakenError: they kept doing so; as the attempt.
    """
    for _ in range(_ATTEMPTS - 1):
        with suppress(OvertakenError):
            return attempt()
    return attempt()
