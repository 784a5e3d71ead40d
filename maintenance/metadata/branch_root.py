"""Where the branches of a table lie."""

from maintenance.names import segment

MAIN_BRANCH = "main"
# What stands before a branch's name in the name of a table.
BRANCH_PREFIX = "branch_"


def branch_root(root: str, branch: str) -> str:
    """The folder of a branch's JSON files. Raises: OptionError: the branch's name leads to another folder."""
    if branch == MAIN_BRANCH:
        return root
    return f"{root}/branch/{segment(branch, 'a branch', f'{root}/branch', prefix='branch-')}"
