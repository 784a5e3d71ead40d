"""Procedure `drop_global_index`: leave the index files of a column out of the next snapshot.

Source: data section 10.1, Java `DropGlobalIndexProcedure`.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.columns import commit_global_indexes
from maintenance.commit.global_indexes import indexed_fields
from maintenance.metadata.partition_names import Spec
from maintenance.operations.indexes.global_index_report import (
    GlobalIndexReport,
    columns_named,
    identity,
    in_partitions,
    report_of,
)
from maintenance.operations.operation import Operation, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class DropGlobalIndex:
    """Which index goes."""

    column: Annotated[str, Param("The column, or several columns separated by commas.", name="index_column")]
    index_type: Annotated[str, Param("btree or bitmap.")]
    partitions: Annotated[Sequence[Spec], Param("Only these partitions; empty: all.")] = ()


def plan(_: Run, table: Table, request: DropGlobalIndex) -> Plan[DropGlobalIndex, GlobalIndexReport]:
    """The index files of the column."""
    started = time.monotonic()
    table_options.check_keepable(table.options, table.identifier)
    ids = tuple(table.schema.field(name).id for name in columns_named(table, request.column))
    snapshot = table.latest_snapshot()
    index = [] if snapshot is None else table.manifests.read_index(snapshot)
    chosen = in_partitions(table, request.partitions)
    going = [
        entry
        for entry in index
        if entry.global_index is not None
        and entry.index_type == request.index_type.strip().lower()
        and indexed_fields(entry.global_index) == ids
        and chosen(entry.partition)
    ]
    report = report_of(table, request.column, request.index_type, going, None, 1, started)

    def groups() -> Iterator[PlannedGroup]:
        if report.file_names:
            reason = f"index files of {number_of(report.rows, 'row')} are left out of the next snapshot"
            name = f"{report.index_type} index of {report.column}"
            yield PlannedGroup(name, report.file_names, report.bytes, 0, reason)

    return Plan(request, report, groups, snapshot)


def apply(_: Run, table: Table, planned: Plan[DropGlobalIndex, GlobalIndexReport]) -> GlobalIndexReport:
    """Leave the index files out of the next snapshot."""
    started, report, snapshot = time.monotonic(), planned.report, planned.work
    made = None
    if report.file_names:
        names = {*report.file_names}
        made = commit_global_indexes(table.commit_target(), (), names, identity(table, "drop"), snapshot)
        tag_after_commit(table, wrote_rows=False)
    return replace(report, snapshot_id=made, dry_run=False, seconds=report.seconds + time.monotonic() - started)


OPERATION = Operation(
    "drop_global_index",
    "Drop a global index of a column.",
    DropGlobalIndex,
    plan,
    apply,
    shown=lambda report: Shown.one(
        {"result": True, "dropped_file_count": report.files}, nothing_to_do=not report.files
    ),
    has_job=False,
)


drop_global_index = OPERATION.function(
    """Drop the global index of a column, of any type. Its files are deleted when their snapshots expire.

    Args:
        column: names with commas for an index of several.
        partitions: columns to texts, empty = all.
    Raises: PredicateError: there is no such column; CommitError.
    """
)
