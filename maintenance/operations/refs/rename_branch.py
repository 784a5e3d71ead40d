"""Give a branch another name: procedure `rename_branch`. Source: Java `FileSystemBranchManager`.

Where a folder is renamed in one step that is all. An object store copies file by file: there the branch under the new
name is hidden until it is whole, then the old one is deleted. A record says so meanwhile. In between both names are
there; the same call ends that, unless somebody has committed to the old one since.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import AlreadyExistsError, ConflictError, OptionError
from maintenance.metadata.branch_root import MAIN_BRANCH, branch_root
from maintenance.metadata.branches import Branches
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.refs.branch_states import branch_state
from maintenance.operations.refs.create_branch import check_branch_name
from maintenance.operations.refs.delete_branch import READ_BRANCHES, check_branch_exists, remove_branch
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

_THREADS = 8
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class RenameBranchReport(OperationReport):
    """`options`: of the table that name the branch and are not changed, so that reads look for the old name."""

    table: str
    from_branch: str
    to_branch: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameBranch:
    """Which branch, and what it is called then."""

    from_branch: Annotated[str, Param("Name of the branch.")]
    to_branch: Annotated[str, Param("The new name.")]


def plan(_: Run, table: Table, request: RenameBranch) -> Plan[RenameBranch, RenameBranchReport]:
    """Checks that the branch can get the name."""
    from_branch, to_branch = request.from_branch, request.to_branch
    if from_branch == MAIN_BRANCH:
        raise OptionError("the main branch cannot be renamed", table.identifier, "Create a branch from a tag.")
    branches = Branches(table.file_io, table.paths)
    names, begun = branches.names(), _has_begun(branches, from_branch, to_branch)
    if not (begun and to_branch in names):
        check_branch_exists(table, from_branch)
        check_branch_name(to_branch, table.identifier)
        if to_branch in names:
            raise AlreadyExistsError(f"branch '{to_branch}' exists", table.identifier, "Choose another name.")
    options = table.on_branch(MAIN_BRANCH).options
    naming = tuple(option.key for option in READ_BRANCHES if option.of(options) == from_branch)

    def groups() -> Iterator[PlannedGroup]:
        branch = table.on_branch(from_branch)
        ids = branch.snapshots.list_ids()
        held = f"snapshots {ids[0]} to {ids[-1]}" if ids else "no snapshot"
        reason = f"is named {to_branch} then; it has {held}, its state is {branch_state(branch)}"
        yield PlannedGroup(f"branch {from_branch}", (), 0, 0, reason)

    return Plan(request, RenameBranchReport(table.identifier, from_branch, to_branch, naming), groups)


def apply(_: Run, table: Table, planned: Plan[RenameBranch, RenameBranchReport]) -> RenameBranchReport:
    """Rename the branch."""
    from_branch, to_branch = planned.request.from_branch, planned.request.to_branch
    source, target = (branch_root(table.location, name) for name in (from_branch, to_branch))
    if table.file_io.renames_at_once(source):
        table.file_io.rename_folder(source, target)
    else:
        _rename_by_copies(table, Branches(table.file_io, table.paths), from_branch, to_branch)
    return planned.report


def _shown(report: RenameBranchReport) -> Shown:
    if not report.dry_run:
        return Shown()
    options = ", ".join(report.options)
    return Shown.one({"from_branch": report.from_branch, "to_branch": report.to_branch, "options": options})


OPERATION = Operation("rename_branch", "Rename a branch.", RenameBranch, plan, apply, _shown, has_job=False)


def _has_begun(branches: Branches, from_branch: str, to_branch: str) -> bool:
    """Whether a renaming was interrupted on an object store; on other storages none is recorded."""
    root = branch_root(branches.paths.root, from_branch)
    return not branches.file_io.renames_at_once(root) and branches.renamed_to(from_branch) == to_branch


def _rename_by_copies(table: Table, branches: Branches, from_branch: str, to_branch: str) -> None:
    source, target = (branch_root(table.location, name) for name in (from_branch, to_branch))
    if to_branch not in branches.names():
        branches.note_renaming(from_branch, to_branch)
        if table.file_io.folder_exists(target):
            table.file_io.delete_folder(target)
            branches.show(to_branch)  # so that what hides it is new, too
        branches.hide(to_branch)
        _copy(table, source, target)
        branches.show(to_branch)
    elif from_branch in branches.names() and not _contents(table, source).items() <= _contents(table, target).items():
        raise AlreadyExistsError(
            f"branch '{to_branch}' exists, and '{from_branch}' has changed since it was copied there",
            table.identifier,
            f"Delete '{to_branch}' and rename again, if '{from_branch}' is what counts.",
        )
    if table.file_io.folder_exists(source) or from_branch in branches.hidden():
        remove_branch(table, from_branch)
    branches.forget_renaming(from_branch)


def _copy(table: Table, source: str, target: str) -> None:
    """Copy the files of a branch until it is the same. Raises: ConflictError."""
    there: dict[str, bytes] = {}
    for _ in range(_ATTEMPTS):
        wanted = _contents(table, source)
        changed = {path: data for path, data in wanted.items() if there.get(path) != data}
        if there and not changed:
            return
        copies = [(f"{target}/{path}", content) for path, content in changed.items()]
        map_in_threads(lambda copy: table.file_io.overwrite(*copy), copies, _THREADS)
        there |= changed
    raise ConflictError(
        "the branch kept changing while it was copied", source, "Stop its writers, and run again: nothing was renamed."
    )


def _contents(table: Table, root: str) -> dict[str, bytes]:
    """The files of a branch: its metadata alone, which is small."""
    paths = [file.path for file in table.file_io.list_tree(root)]
    return dict(zip(paths, table.file_io.read_many([f"{root}/{path}" for path in paths]), strict=True))


rename_branch = OPERATION.function(
    """Rename a branch. Options that name it are not changed. If a call dies, repeat it to finish.

    Args:
        dry_run: only check whether that is possible.
    Raises: NotFoundError, AlreadyExistsError, OptionError; ConflictError: other writers kept committing to the branch
        while it was copied on an object store.
    """
)
