"""MERGE INTO of a table with a fallback branch, whose rows are in part those of the branch.

The table's own partitions are merged. A row of the branch is never changed through the table, and none is added to a
partition that the branch stands in for: then the table would have the partition, and all of its rows in the branch
would be hidden. Either is refused.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from maintenance.errors import UnsupportedError
from maintenance.operations.rows.row_changes import of_branches
from maintenance.options import table as table_options
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.table.other_branches import branches_of
from maintenance.table.table import Table


def own_partitions(table: Table, concerns: Callable[[Sequence[Split], SplitRead], bool]) -> Table:
    """The table alone, to merge into; writes through it stay out of the partitions of its fallback branch.

    Args: `concerns`: whether the merge would change rows of these splits, which are of the branch.
    Raises: UnsupportedError: it would; or the table reads a primary branch.
    """
    if branches_of(table) is None:
        return table
    branch = table.model.scan_fallback_branch
    if not branch:
        raise of_branches(table)
    plan, read = table.plan()
    others = [split for split in plan.splits if isinstance(split, Split) and split.fallback]
    if others and concerns(others, read):
        raise UnsupportedError(
            f"the merge changes rows of branch '{branch}', which stands in for partitions that the table lacks",
            table.identifier,
            f"Merge into {table.identifier}$branch_{branch}, or leave such rows out.",
        )
    alone = table.copy({table_options.SCAN_FALLBACK_BRANCH.key: ""})
    return replace(alone, excluded_partitions=frozenset(split.partition for split in others))
