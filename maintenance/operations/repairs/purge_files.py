"""Empty a table and delete its whole history: procedure `purge_files`. Only schemas and one empty snapshot stay.

Branches go first, then tags and consumers, then the rows, then snapshots and changelogs, at last orphan files. Each
step can be repeated, so after a crash the same call goes on. Source: Java `FileStoreTable.purgeFiles`, which deletes
files of any age: those of a writer that runs meanwhile, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.overwrite import Overwrite, overwrite_or_abort
from maintenance.errors import OptionError
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.operations.expiry.expire_changelogs import expire_changelogs
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.orphans.remove_orphan_files import MINIMUM_AGE, remove_orphan_files
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.refs.clear_consumers import clear_consumers
from maintenance.operations.refs.delete_branch import check_not_read, delete_branch, remove_branch
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.options import table as table_options
from maintenance.table.table import Table, new_commit_user

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PurgeFilesReport(OperationReport):
    """What went, or would go.

    Attributes:
        branches, tags, consumers: names; `rows`: of the newest state; `snapshots`: ids.
        deleted_files, deleted_bytes: of snapshots, changelogs, tags and orphans; 0 in a dry run.
    """

    table: str
    branches: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    rows: int = 0
    snapshots: tuple[int, ...] = ()
    deleted_files: int = 0
    deleted_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to purge."""
        return not (self.branches or self.tags or self.consumers or self.rows or self.snapshots or self.deleted_files)

    def lines(self) -> Iterator[str]:
        """What goes, a line for each thing."""
        yield from (f"branch {name}" for name in self.branches)
        yield from (f"tag {name}" for name in self.tags)
        yield from (f"consumer {name}" for name in self.consumers)
        yield from (f"snapshot {snapshot_id}" for snapshot_id in self.snapshots)
        yield number_of(self.rows, "row")


@dataclass(frozen=True, slots=True)
class PurgeFiles:
    """Which orphan files go, besides all that the table has."""

    older_than: Annotated[datetime | None, Param("Only orphan files last changed before this time.")] = None
    minimum_age: Annotated[timedelta, Param("How far back older_than must lie, such as 6 h.")] = MINIMUM_AGE


def plan(_: Run, table: Table, request: PurgeFiles) -> Plan[PurgeFiles, PurgeFilesReport]:
    """What the table has, if all of it can go."""
    table_options.check_keepable(table.options, table.identifier)
    main = table.on_branch(MAIN_BRANCH)
    if table.branch != MAIN_BRANCH:
        problem = f"the whole table is purged, and branch '{table.branch}' is named"
        fix = f"Call it for the table {main.identifier}, or delete the branch with delete_branch."
        raise OptionError(problem, table.identifier, fix)
    report = _going(main)
    for branch in report.branches:
        check_not_read(main, branch)
    lines = [] if report.is_empty else [*report.lines()]
    groups = [PlannedGroup(line, (), 0, 0, "everything goes") for line in lines]
    return Plan(request, report, lambda: groups, main)


def apply(_: Run, __: Table, planned: Plan[PurgeFiles, PurgeFilesReport]) -> PurgeFilesReport:
    """Delete it, and what nothing names then."""
    main, going, asked = planned.work, planned.report, planned.request
    assert isinstance(main, Table)
    latest = main.latest_snapshot()
    if latest is None:
        return going
    for branch in going.branches:
        delete_branch(main, branch)
    for branch in Branches(main.file_io, main.paths).hidden():
        remove_branch(main, branch)  # what an interrupted creation or deletion has left on a store
    tags = delete_tag(main, *going.tags)
    clear_consumers(main)
    properties = {OPERATION_PROPERTY: "purge_files"}
    identity = CommitIdentity(new_commit_user(main.options), properties=properties)
    if main.manifests.live_entries(latest):
        overwrite_or_abort(main.commit_target(), (), identity, Overwrite(None, dynamic=False))
    snapshots = expire_snapshots(
        main, retain_min=1, retain_max=1, older_than=datetime.now().astimezone(), max_deletes=_MOST
    )
    changelogs = expire_changelogs(main, delete_all=True)
    orphans = remove_orphan_files(None, main, older_than=asked.older_than, minimum_age=asked.minimum_age)
    reports = (tags, snapshots, changelogs)
    return PurgeFilesReport(
        main.identifier,
        going.branches,
        going.tags,
        going.consumers,
        going.rows,
        snapshots.expired,
        sum(len(report.deleted_files) for report in reports) + orphans.deleted_files,
        sum(report.deleted_bytes for report in reports) + orphans.deleted_bytes,
    )


def _shown(report: PurgeFilesReport) -> Shown:
    if not report.dry_run:
        return Shown(nothing_to_do=report.is_empty)
    return Shown.texts(("going",), [(line,) for line in report.lines()], nothing_to_do=False)


OPERATION = Operation(
    "purge_files",
    "Delete all rows and history of a table, with branches, tags and consumers.",
    PurgeFiles,
    plan,
    apply,
    _shown,
    has_job=False,
)


def _going(main: Table) -> PurgeFilesReport:
    branches = tuple(name for name in Branches(main.file_io, main.paths).names() if name != MAIN_BRANCH)
    latest = main.latest_snapshot()
    live = [] if latest is None else main.manifests.live_entries(latest)
    ids = main.snapshots.list_ids()
    return PurgeFilesReport(
        main.identifier,
        branches,
        tuple(main.tags.names()),
        tuple(main.consumers.names()),
        sum(entry.file.row_count for entry in live),
        tuple(ids if live else ids[:-1]),  # an empty one stays
    )


purge_files = OPERATION.function(
    """Delete all rows, snapshots, changelogs, tags, branches and consumers of a table; call it on its main branch.

    Files that only branches used become orphan files. The young ones stay until the next removal of orphan files.

    Raises: OptionError: a branch is named, or an option of the table names one that reads need; nothing is deleted.
        Errors of the steps: call it again to purge the rest.
    """
)
