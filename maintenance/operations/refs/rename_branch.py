"""Give a branch another name: procedure `rename_branch`. Source: Java `FileSystemBranchManager`."""

from dataclasses import dataclass

from maintenance.errors import AlreadyExistsError, OptionError
from maintenance.metadata.branch_root import MAIN_BRANCH, branch_root
from maintenance.metadata.branches import Branches
from maintenance.operations.refs.create_branch import check_branch_name
from maintenance.operations.refs.delete_branch import READ_BRANCHES, check_branch_exists
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class RenameBranchReport:
    """`options`: of the table that name the branch and are not changed, so that reads look for the old name."""

    table: str
    from_branch: str
    to_branch: str
    options: tuple[str, ...] = ()
    dry_run: bool = False


def rename_branch(table: Table, from_branch: str, to_branch: str, *, dry_run: bool = False) -> RenameBranchReport:
    """Rename a branch; options that name it are not changed.

    Args: `dry_run`: only check whether that is possible. Raises: NotFoundError, AlreadyExistsError, OptionError.
    """
    if from_branch == MAIN_BRANCH:
        raise OptionError("the main branch cannot be renamed", table.identifier, "Create a branch from a tag.")
    check_branch_exists(table, from_branch)
    check_branch_name(to_branch, table.identifier)
    if to_branch in Branches(table.file_io, table.paths).names():
        raise AlreadyExistsError(f"branch '{to_branch}' exists", table.identifier, "Choose another name.")
    options = table.on_branch(MAIN_BRANCH).options
    naming = tuple(option.key for option in READ_BRANCHES if option.of(options) == from_branch)
    if not dry_run:
        table.file_io.rename_folder(branch_root(table.location, from_branch), branch_root(table.location, to_branch))
    return RenameBranchReport(table.identifier, from_branch, to_branch, naming, dry_run)
