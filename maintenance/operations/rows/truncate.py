"""Delete all rows of a table, or those of a partition: `TRUNCATE TABLE`.

One OVERWRITE snapshot deletes their files, which stay on storage until their snapshots expire. Source: Java
`BatchTableCommit.truncateTable` and `truncatePartitions`.
"""

from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.commit.overwrite import Overwrite
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import covering
from maintenance.operations.ingestion import append
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.planned_groups import partition_groups
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class TruncateReport(OperationReport):
    """What was deleted, or would be.

    Attributes: `snapshot_ids`: none, if there were no rows; `files`, `bytes`: of the rows.
    """

    table: str
    snapshot_ids: tuple[int, ...]
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Truncate:
    """Which rows."""

    partition: Annotated[Spec | None, Param("A partition; some of its columns suffice. Empty: all rows.")] = None


def plan(_: Run, table: Table, request: Truncate) -> Plan[Truncate, TruncateReport]:
    """The partitions that would be emptied, with their files."""
    snapshot = table.latest_snapshot()
    live = () if snapshot is None else table.manifests.live_entries(snapshot)
    rows = dict.fromkeys(entry.partition for entry in live)
    chosen = () if request.partition is None else named_partitions(table, [request.partition])
    covers = covering(table.schema.partition_fields, chosen)
    emptied = [table.paths.partition(row) for row in rows if request.partition is None or covers(row)]
    groups = sorted(partition_groups(table, emptied, "is emptied"), key=lambda group: group.name)
    files, size = sum(len(group.files) for group in groups), sum(group.bytes for group in groups)
    report = TruncateReport(table.identifier, (), files, size)
    return Plan(request, report, lambda: groups, None if request.partition is None else chosen)


def apply(_: Run, table: Table, planned: Plan[Truncate, TruncateReport]) -> TruncateReport:
    """Commit that the rows are gone; those that another writer adds meanwhile go, too."""
    ids = append.truncate(table, Overwrite(planned.work, dynamic=False))
    return replace(planned.report, snapshot_ids=ids)


OPERATION = Operation(
    "truncate",
    "Delete all rows of a table, or those of a partition.",
    Truncate,
    plan,
    apply,
    shown=lambda report: Shown(nothing_to_do=not report.files),
    is_guarded=True,
    has_job=False,
    spellings=(),
)


truncate = OPERATION.function(
    """Delete all rows of a table, or those of a partition.

    Args:
        partition: columns to values as texts, or to None for null; some of the columns suffice.
        dry_run: report what would be deleted, change nothing.
    Raises: DataError: a column is not one of the partition, or a name may mean several; CommitError.
    """
)
