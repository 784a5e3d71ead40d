"""Add the rows of one branch to another: procedure `merge_branch`. Source: Java `FileSystemBranchManager`,
`BranchMergeHandler`.

One APPEND snapshot of the target names the data files that the source has and the target has not; no file is copied.
Branches do not record where they began, so this is certain only for tables without a primary key whose two histories
are complete and have nothing but appends: a file that one branch deleted would come back.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.errors import ConflictError, NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.refs.delete_branch import check_branch_exists
from maintenance.options import table as table_options
from maintenance.table.table import Table, identity_of

_ADDING = (CommitKind.APPEND, CommitKind.ANALYZE)
_SAME_FILES = "another merge added the same files meanwhile"


@dataclass(frozen=True, slots=True)
class MergeBranchReport(OperationReport):
    """`snapshot_id`: of the target, None if it had all files already; `files`, `rows`, `bytes`: that it gets;
    `file_names`: of the files."""

    table: str
    source: str
    target: str
    snapshot_id: int | None
    files: int
    rows: int
    bytes: int = 0
    file_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergeBranch:
    """The branch whose rows are added, and to which."""

    source_branch: Annotated[str, Param("The branch that has the rows.")]
    target_branch: Annotated[str, Param("The branch that gets them; empty: main.")] = MAIN_BRANCH


@dataclass(frozen=True, slots=True)
class _Merge:
    source: Table
    target: Table
    latest: Snapshot

    def changes(self, newest: Snapshot | None) -> Changes:
        """What the target gets on its newest snapshot."""
        _complete(self.target)
        missing = _missing(self.source, self.latest, self.target, newest)
        return Changes(CommitKind.APPEND, tuple(map(_without_row_ids, missing)))


def plan(_: Run, table: Table, request: MergeBranch) -> Plan[MergeBranch, MergeBranchReport]:
    """The files of the source that the target has not."""
    if request.source_branch == request.target_branch:
        raise OptionError(
            "a branch cannot be merged into itself", table.identifier, "Name another branch as target_branch."
        )
    for branch in (request.source_branch, request.target_branch):
        check_branch_exists(table, branch)
    source, target = table.on_branch(request.source_branch), table.on_branch(request.target_branch)
    table_options.check_keepable(target.options, target.identifier)
    _check_mergeable(source, target)
    merge = _Merge(source, target, _complete(source))
    entries = merge.changes(target.latest_snapshot()).entries
    report = MergeBranchReport(
        table.identifier,
        request.source_branch,
        request.target_branch,
        None,
        len(entries),
        sum(entry.file.row_count for entry in entries),
        sum(entry.file.file_size for entry in entries),
        tuple(sorted(entry.file.file_name for entry in entries)),
    )

    def groups() -> Iterator[PlannedGroup]:
        if report.files:
            reason = f"{number_of(report.rows, 'row is', 'rows are')} added to branch {report.target}"
            yield PlannedGroup(f"files of {report.source}", report.file_names, report.bytes, report.files, reason)

    return Plan(request, report, groups, merge)


def apply(_run: Run, _table: Table, planned: Plan[MergeBranch, MergeBranchReport]) -> MergeBranchReport:
    """Add the files that the target has not, whatever it got since the plan was made."""
    merge, report = planned.work, planned.report
    assert isinstance(merge, _Merge)
    if not report.files:
        return report
    identity = identity_of(merge.target, "merge_branch")
    work = CommitAttempts(merge.target.commit_target(), identity)
    for attempt in work:
        with attempt:
            changes = merge.changes(attempt.latest)
            attempt.commit(changes, None if changes.entries else Conflict(_SAME_FILES, frozenset()))
    return replace(report, snapshot_id=work.snapshot().id)


def _shown(report: MergeBranchReport) -> Shown:
    if not report.dry_run:
        return Shown(nothing_to_do=not report.files)
    return Shown.one({"files": report.files, "rows": report.rows}, nothing_to_do=not report.files)


OPERATION = Operation(
    "merge_branch", "Add the files of a branch to another one.", MergeBranch, plan, apply, _shown, has_job=False
)


def _check_mergeable(source: Table, target: Table) -> None:
    for branch in (source, target):
        if branch.is_primary_key_table:
            problem, fix = "a table with a primary key cannot be merged", "Use fast_forward, or MERGE INTO."
            raise UnsupportedError(problem, branch.identifier, fix)
    if source.schema.fields != target.schema.fields:
        problem = f"its columns are not those of {target.identifier}"
        raise ConflictError(problem, source.identifier, "Give both branches the same columns.")


def _complete(branch: Table) -> Snapshot:
    """The newest snapshot of a branch that has had nothing but appends. Raises: NotFoundError, UnsupportedError."""
    latest = branch.snapshots.latest_id()
    if latest is None:
        raise NotFoundError("the branch has no snapshot", branch.identifier, "Write rows to the branch first.")
    newest: Snapshot | None = None
    for snapshot_id in range(1, latest + 1):
        newest = branch.snapshots.find(snapshot_id)
        if newest is None or newest.commit_kind not in _ADDING:
            what = "is gone" if newest is None else f"is a {newest.commit_kind.value}"
            raise UnsupportedError(
                f"snapshot {snapshot_id} {what}: only complete histories of appends can be merged",
                branch.identifier,
                "Insert the rows of the branch with a statement instead.",
            )
    assert newest is not None
    return newest


def _without_row_ids(entry: ManifestEntry) -> ManifestEntry:
    """An entry whose rows get other ids in the target. Source: Java `BranchMergeHandler`."""
    return replace(entry, file=replace(entry.file, first_row_id=None))


def _missing(source: Table, latest: Snapshot, target: Table, newest: Snapshot | None) -> tuple[ManifestEntry, ...]:
    """The files of the source that the target has not. Raises: ConflictError: their schema is another one there."""
    there = set() if newest is None else {e.identity for e in target.manifests.live_entries(newest)}
    missing = [entry for entry in source.manifests.live_entries(latest) if entry.identity not in there]
    schemas = set(target.schemas.list_ids())
    for schema_id in {entry.file.schema_id for entry in missing}:
        if schema_id not in schemas or target.schemas.get(schema_id) != source.schemas.get(schema_id):
            problem = f"its files have schema {schema_id}, which is not that of {target.identifier}"
            raise ConflictError(problem, source.identifier, "Insert the rows of the branch with a statement instead.")
    totals = {entry.partition: entry.total_buckets for entry in missing}
    other = [] if newest is None else target.manifests.live_entries(newest)
    if any(totals.get(entry.partition, entry.total_buckets) != entry.total_buckets for entry in other):
        problem = f"a partition has another number of buckets than in {target.identifier}"
        raise ConflictError(problem, source.identifier, "Insert the rows of the branch with a statement instead.")
    return tuple(missing)


merge_branch = OPERATION.function(
    """Add the files of a branch to another one that does not have them. Repeating it adds nothing twice.

    Raises: NotFoundError: no such branch, or it has no snapshot; OptionError: both are the same; UnsupportedError: the
        table has a primary key or tracks rows, or a history is not complete or has more than appends; ConflictError:
        the branches have different columns or numbers of buckets.
    """,
    by_position=("target_branch",),
)
