"""A table whose option `branch` names a branch: reads and writes go there, under the options of the table.

Paimon takes the snapshots of the branch and the schema of main together, and gives new files the id of that schema,
which the branch may not have. Here files get the id of the branch's schema, so that `t$branch_b` reads them, too, and
both ids are understood. Columns that differ are refused: Paimon would take files of one schema for files of the other.
Source: Java `AbstractFileStoreTable.currentBranch`.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from maintenance.errors import SchemaError
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

if TYPE_CHECKING:
    from maintenance.table.table import Table


def on_named_branch(table: "Table", options: TableModel) -> "Table":
    """The table on the branch that its stored options name. A table that is on a branch already stays there.

    Raises: NotFoundError: the branch does not exist; SchemaError: it has other columns or keys.
    """
    name = table_options.BRANCH.of(options)
    if name == MAIN_BRANCH or table.branch != MAIN_BRANCH:
        return table
    other = table.on_branch(name)
    mine, theirs = table.schema, other.schema
    if (mine.fields, mine.partition_keys, mine.primary_keys) != (
        theirs.fields,
        theirs.partition_keys,
        theirs.primary_keys,
    ):
        raise SchemaError(
            f"the option 'branch' names branch '{name}', whose columns or keys are not those of the table",
            f"table {table.identifier}",
            f"Make the same changes to {other.identifier}, or unset the option.",
        )
    return replace(other, schema=replace(theirs, options={**mine.options, table_options.BRANCH.key: name}))
