"""`t$branches`: one row for each branch but main."""

import pyarrow as pa

from maintenance.metadata.branches import Branches
from maintenance.table.system.local_time import local_millis
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.table import Table


def _rows(table: Table) -> list[tuple[object, ...]]:
    changed = Branches(table.file_io, table.paths).changed()
    return [(name, local_millis(millis)) for name, millis in changed.items()]


BRANCHES = SystemTable(
    "branches", pa.schema([required("branch_name", pa.string()), required("create_time", LOCAL_TIMESTAMP)]), _rows
)
