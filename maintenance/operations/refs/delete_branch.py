"""Delete a branch: procedure `delete_branch`. Source: metadata section 10.7, Java `FileSystemBranchManager`.

First every snapshot, tag, changelog and schema of the table is read: a file of the branch may hold what belongs to
another branch. Then the branch's folder is deleted. As in Paimon, files that only the branch used
become orphans and stay until orphan files are removed.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.errors import OptionError
from maintenance.fs.location import is_local
from maintenance.metadata.branch_root import MAIN_BRANCH, branch_root
from maintenance.metadata.branches import Branches
from maintenance.metadata.holders import History, holders_of, needed_by
from maintenance.metadata.own_files import check_own_files
from maintenance.metadata.schemas import Schemas
from maintenance.operations.operation import Operation, OperationReport, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup, StoredPlan
from maintenance.operations.refs.branch_states import branch_state, refuse_if_moved
from maintenance.options import table as table_options
from maintenance.scan.chain import CHAIN_BRANCHES
from maintenance.table.table import Table

READ_BRANCHES = (
    table_options.SCAN_FALLBACK_BRANCH,
    table_options.SCAN_PRIMARY_BRANCH,
    *CHAIN_BRANCHES,
)
"""The options by which reads of the table look at a branch."""


@dataclass(frozen=True, slots=True)
class DeleteBranchReport(OperationReport):
    """What the deletion of a branch did, or would do.

    Attributes:
        snapshots: ids of the branch's snapshots; `tags`: its tags.
        orphan_files, orphan_bytes: data files that nothing else needs: the next removal of orphan files takes them.
            None where they were not looked for: only a dry run reads every manifest.
    """

    table: str
    branch: str
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    orphan_files: int | None = None
    orphan_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteBranch:
    """Which branch goes. `states`: what it was when a plan was made, by its name."""

    branch: Annotated[str, Param("Name of the branch.", others=("branch_name", "branches"), is_each=True)]
    states: Mapping[str, str] | None = None


@dataclass(frozen=True)
class BranchDeletion:
    """A branch that can go. Who else needs its files is looked for only if asked: that reads every manifest."""

    asked: DeleteBranch
    main: Table
    found: DeleteBranchReport
    of = None
    warnings = ()

    @property
    def request(self) -> DeleteBranch:
        return replace(self.asked, states=self.states)

    @cached_property
    def states(self) -> Mapping[str, str]:
        return {self.asked.branch: branch_state(_on_folder(self.main, self.asked.branch))}

    @cached_property
    def report(self) -> DeleteBranchReport:
        sizes = _left_alone(self.main, self.asked.branch)
        return replace(self.found, orphan_files=len(sizes), orphan_bytes=sum(sizes.values()))

    def groups(self) -> Iterator[PlannedGroup]:
        """What the branch has, and how much nothing would need then."""
        report = self.report
        for number in report.snapshots:
            yield PlannedGroup(f"snapshot {number} of {report.branch}", (), 0, 0, "goes")
        for name in report.tags:
            yield PlannedGroup(f"tag {name} of {report.branch}", (), 0, 0, "goes")
        if report.orphan_files:
            orphans = number_of(report.orphan_files, "data file becomes an orphan", "data files become orphans")
            reason = f"{orphans}: nothing but the branch needs them"
            yield PlannedGroup("files", (), report.orphan_bytes or 0, 0, reason)


def plan(_: Run, table: Table, request: DeleteBranch) -> BranchDeletion:
    """Checks that the branch can go."""
    branch = request.branch
    if branch == MAIN_BRANCH:
        fix = "Drop the table with DROP TABLE to delete its main branch."
        raise OptionError("the main branch cannot be deleted", table.identifier, fix)
    check_branch_exists(table, branch)
    main = table.on_branch(MAIN_BRANCH)
    check_not_read(main, branch)
    check_own_files(Branches(table.file_io, table.paths))
    other = _on_folder(main, branch)
    found = DeleteBranchReport(main.identifier, branch, tuple(other.snapshots.list_ids()), tuple(other.tags.names()))
    return BranchDeletion(request, main, found)


def _again(run: Run, table: Table, request: DeleteBranch, stored: StoredPlan) -> BranchDeletion:
    made = plan(run, table, request)
    refuse_if_moved(stored, made.groups(), made.states)
    return made


def apply(_: Run, table: Table, planned: BranchDeletion) -> DeleteBranchReport:
    """Delete the branch."""
    branch = planned.asked.branch
    if not table.record.delete_branch(branch):
        remove_branch(table, branch)
    return planned.found


def _shown(report: DeleteBranchReport) -> Shown:
    if not report.dry_run:
        return Shown()
    row = {"branch": report.branch, "snapshots": len(report.snapshots), "tags": len(report.tags)}
    return Shown.one({**row, "orphan_files": report.orphan_files, "orphan_bytes": report.orphan_bytes})


OPERATION = Operation(
    "delete_branch",
    "Delete branches.",
    DeleteBranch,
    plan,
    apply,
    _shown,
    _again,
)


def _on_folder(main: Table, branch: str) -> Table:
    """The table on a branch that has a folder, also where a deletion that was interrupted has left no schema in it."""
    folder = f"{branch_root(main.location, branch)}/schema"
    return main.on_branch(branch) if Schemas(main.file_io, folder).list_ids() else replace(main, branch=branch)


def _left_alone(main: Table, branch: str) -> dict[str, int]:
    """The data files that only a branch needs, with their bytes."""
    holders = holders_of(History(Branches(main.file_io, main.paths), main.manifests), MAIN_BRANCH)
    sizes: dict[str, int] = {}
    for holder in (holder for holder in holders if holder.branch == branch and not holder.is_changelog):
        for entry in holder.manifests(main.manifests).live_entries(holder.snapshot):
            sizes[entry.file.file_name] = entry.file.file_size
    others = needed_by([holder for holder in holders if holder.branch != branch], main.manifests)
    needed = others.data_files(main.manifests, sizes)
    return {name: size for name, size in sizes.items() if name not in needed}


def check_branch_exists(table: Table, branch: str) -> None:
    """Raises: NotFoundError: there is no such branch."""
    if branch not in Branches(table.file_io, table.paths).names():
        table.on_branch(branch)


def check_not_read(main: Table, branch: str) -> None:
    """Raises: OptionError: reads of the table look at the branch."""
    for option in READ_BRANCHES:
        if option.of(main.options) == branch:
            problem = f"branch '{branch}' is the table's '{option.key}'"
            raise OptionError(problem, main.identifier, f"Unset '{option.key}' of the table first.")


def remove_branch(table: Table, branch: str) -> None:
    """Take a branch away at once, then delete its files. A store hides it, since it renames file by file."""
    root = branch_root(table.location, branch)
    if is_local(root):
        gone = f"{table.location}/branch/.{uuid.uuid4()}.deleted"
        table.file_io.rename_folder(root, gone)
        table.file_io.delete_folder(gone)
        return
    branches = Branches(table.file_io, table.paths)
    branches.hide(branch)
    # While there is a schema, a deletion that was interrupted can be repeated.
    files = (f"{root}/{file.path}" for file in table.file_io.list_tree(root))
    table.file_io.delete_unordered([path for path in files if not path.startswith(f"{root}/schema/")])
    if table.file_io.folder_exists(root):
        table.file_io.delete_folder(root)
    branches.show(branch)


delete_branch = OPERATION.function(
    """Delete a branch.

    Args:
        dry_run: only check whether that is possible, and report what would go.
    Raises: NotFoundError; OptionError: main, or reads of the table look at the branch; CorruptFileError: a snapshot,
        tag, changelog or schema of any branch holds another one's content: nothing is deleted then.
    """,
    without=("states",),
)
