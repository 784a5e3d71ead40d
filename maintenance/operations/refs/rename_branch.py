"""Give a branch another name: procedure `rename_branch`. Source: Java `FileSystemBranchManager`."""

from maintenance.errors import AlreadyExistsError, OptionError
from maintenance.metadata.branches import Branches
from maintenance.metadata.paths import MAIN_BRANCH, branch_root
from maintenance.operations.refs.create_branch import check_branch_name
from maintenance.operations.refs.delete_branch import check_branch_exists
from maintenance.table.table import Table


def rename_branch(table: Table, from_branch: str, to_branch: str) -> None:
    """Rename a branch; options that name it are not changed. Raises: NotFoundError, AlreadyExistsError, OptionError."""
    if from_branch == MAIN_BRANCH:
        raise OptionError("the main branch cannot be renamed", table.identifier, "Create a branch from a tag.")
    check_branch_exists(table, from_branch)
    check_branch_name(to_branch, table.identifier)
    if to_branch in Branches(table.file_io, table.paths).names():
        raise AlreadyExistsError(f"branch '{to_branch}' exists", table.identifier, "Choose another name.")
    table.file_io.rename_folder(branch_root(table.location, from_branch), branch_root(table.location, to_branch))
