"""Delete a branch: procedure `delete_branch`. Source: metadata section 10.7, Java `FileSystemBranchManager`.

First every snapshot, tag, changelog and schema of the table is read: a file of the branch may hold what belongs to
another branch. Then the branch's folder is deleted. As in Paimon, files that only the branch used
become orphans and stay until orphan files are removed.
"""

import uuid

from maintenance.errors import OptionError
from maintenance.metadata.branches import Branches
from maintenance.metadata.own_files import check_own_files
from maintenance.metadata.paths import MAIN_BRANCH, branch_root
from maintenance.options import table as table_options
from maintenance.table.table import Table


def delete_branch(table: Table, branch: str) -> None:
    """Delete a branch.

    Raises: NotFoundError; OptionError: main, or reads of the table look at the branch; CorruptFileError: a snapshot,
        tag, changelog or schema of any branch holds another one's content: nothing is deleted then.
    """
    if branch == MAIN_BRANCH:
        raise OptionError("the main branch cannot be deleted", table.identifier, "Drop the table.")
    check_branch_exists(table, branch)
    main = table.on_branch(MAIN_BRANCH)
    for option in (table_options.SCAN_FALLBACK_BRANCH, table_options.SCAN_PRIMARY_BRANCH):
        if option.of(main.options) == branch:
            raise OptionError(f"branch '{branch}' is the table's '{option.key}'", main.identifier, "Unset the option.")
    check_own_files(Branches(table.file_io, table.paths))
    if not table.record.delete_branch(branch):
        remove_branch(table, branch)


def check_branch_exists(table: Table, branch: str) -> None:
    """Raises: NotFoundError: there is no such branch."""
    if branch not in Branches(table.file_io, table.paths).names():
        table.on_branch(branch)


def remove_branch(table: Table, branch: str) -> None:
    """Take a branch's folder away, at once on a local disk, then delete it."""
    gone = f"{table.location}/branch/.{uuid.uuid4()}.deleted"
    table.file_io.rename_folder(branch_root(table.location, branch), gone)
    table.file_io.delete_folder(gone)
