"""Expire long-lived changelogs and delete what only they used: procedure `expire_changelogs`.

Snapshots leave long-lived changelogs if `changelog.num-retained.min`, `.max` or `changelog.time-retained` are larger
than the retention of snapshots. If these options are removed later, the remaining changelogs expire by the retention of
snapshots, including the last one. The EARLIEST hint moves first, so that readers no longer start at changelogs that are
about to lose files. A run that dies is finished by the next one, which finds the same changelogs. Source: data section
5.1, Java `ExpireChangelogImpl`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import pyarrow as pa

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.holders import History, holders_of, needed_by
from maintenance.metadata.shares import Sharing, in_one_batch
from maintenance.operations.expiry.removal import RemovalPlan, plan_removals, remove
from maintenance.operations.expiry.rules import ChangelogRetention, RetentionChoice, plan_changelogs
from maintenance.operations.expiry.survey import Leaving
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import files_group
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ExpireChangelogsReport(OperationReport):
    """What an expiry of changelogs did, or would do.

    Attributes:
        expired: ids, ascending.
        earliest, latest: of the changelogs that stay; None if none does.
        deleted_files: paths, each of which existed; `deleted_bytes`: their size.
        notes: damaged files of expired changelogs, whose data could not be looked for.
    """

    table: str
    expired: tuple[int, ...] = ()
    earliest: int | None = None
    latest: int | None = None
    deleted_files: tuple[str, ...] = ()
    deleted_bytes: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpireChangelogs:
    """Which long-lived changelogs stay. What is left out comes from the table's options."""

    retain_max: Annotated[int | None, Param("Keep at most this many, counted from the latest snapshot.")] = None
    retain_min: Annotated[int | None, Param("Keep at least this many, counted from the latest snapshot.")] = None
    older_than: Annotated[datetime | None, Param("Only older ones; a time without a zone is local.")] = None
    max_deletes: Annotated[int | None, Param("Expire at most this many.")] = None
    delete_all: Annotated[bool, Param("Expire all of them, regardless of the other settings.")] = False


@dataclass(frozen=True, slots=True)
class _Going:
    """`kept`: ids of the changelogs that stay."""

    removal: RemovalPlan
    kept: Sequence[int]
    sharing: Sharing


def plan(
    run: Run, table: Table, request: ExpireChangelogs, sharing: Sharing = in_one_batch
) -> Plan[ExpireChangelogs, ExpireChangelogsReport]:
    """The changelogs that are due, and the files that only they use. `sharing`: who reads, looks for and deletes."""
    table_options.check_keepable(table.options, table.identifier)
    by_id = {changelog.id: changelog for changelog in table.changelogs.all()}
    latest = table.snapshots.latest_id()
    if not by_id or latest is None:
        return Plan(request, ExpireChangelogsReport(table.identifier))
    due = tuple(by_id)
    if not request.delete_all:
        choice = RetentionChoice(request.retain_max, request.retain_min, request.older_than)
        retention = ChangelogRetention.of(table.options, table.consumers.next_snapshots(), run.moment, choice)
        due = plan_changelogs(list(by_id), latest, lambda number: by_id[number].time_millis, retention)
        due = due if request.max_deletes is None else due[: max(0, request.max_deletes)]
    removal = again_if_expired(lambda: _removal(table, by_id, due, sharing))
    kept = [number for number in by_id if number not in due]
    deletions = [deletion for removal in removal.removals for deletion in removal.deletions]
    report = ExpireChangelogsReport(
        table=table.identifier,
        expired=due,
        earliest=min(kept, default=None),
        latest=max(kept, default=None),
        deleted_files=tuple(deletion.path for deletion in deletions),
        deleted_bytes=sum(deletion.size for deletion in deletions),
        notes=removal.notes,
    )

    def groups() -> Iterator[PlannedGroup]:
        yield from (PlannedGroup(f"changelog {number}", (), 0, 0, "expires") for number in due)
        yield from files_group(report.deleted_files, report.deleted_bytes)

    return Plan(request, report, groups, _Going(removal, kept, sharing))


def _removal(table: Table, by_id: Mapping[int, Snapshot], due: tuple[int, ...], sharing: Sharing) -> RemovalPlan:
    if not due:
        return RemovalPlan(())
    path = table.paths.changelog
    leaving = [Leaving(f"changelog {number}", by_id[number], path(number), is_changelog=True) for number in due]
    branches, manifests = Branches(table.file_io, table.paths), table.manifests
    holders = holders_of(History(branches, manifests), table.branch, without_changelogs=due)
    return plan_removals(leaving, needed_by(holders, manifests, sharing), manifests, sharing)


def apply(run: Run, table: Table, planned: Plan[ExpireChangelogs, ExpireChangelogsReport]) -> ExpireChangelogsReport:
    """Delete the planned changelogs, and the files that only they use."""
    if planned.report.expired:
        going: _Going = planned.work
        if going.kept:
            table.changelogs.write_hint(EARLIEST, going.kept[0])
        remove(table.file_io, going.removal.removals, run.into, going.sharing)
        if not going.kept:
            table.changelogs.delete_hints()
        if run.into is not None:
            run.into.close()
    return planned.report


def counted(name: str, count: int) -> Shown:
    """How many expired."""
    return Shown(pa.table({name: pa.array([count], pa.int32())}), not count)


OPERATION = Operation(
    "expire_changelogs",
    "Expire long-lived changelogs.",
    ExpireChangelogs,
    plan,
    apply,
    shown=lambda report: counted("deleted_changelogs_count", len(report.expired)),
    has_job=False,
)


expire_changelogs = OPERATION.function(
    """Expire the long-lived changelogs of a table or branch.

    Args:
        retain_max, retain_min: in place of `changelog.num-retained.max` and `.min`, counted from the latest snapshot.
        older_than: in place of `changelog.time-retained`; a time without a zone is local.
        delete_all: expire all of them, regardless of other arguments, options and consumers.
        sharing: where the work is done: in Spark tasks or in this process.
    Raises: CorruptFileError: a file that something else needs is missing or damaged; nothing is deleted then.
        OptionError; UnsupportedError.
    """,
    takes=("now", "into"),
)
