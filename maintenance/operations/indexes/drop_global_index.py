"""Procedure `drop_global_index`: leave the index files of a column out of the next snapshot.

Source: data section 10.1, Java `DropGlobalIndexProcedure`.
"""

import time

from maintenance.commit.columns import commit_global_indexes
from maintenance.commit.global_indexes import indexed_fields
from maintenance.operations.indexes.global_index_report import (
    GlobalIndexReport,
    Specs,
    columns_named,
    identity,
    in_partitions,
    report_of,
)
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.options import table as table_options
from maintenance.table.table import Table


def drop_global_index(
    table: Table, column: str, index_type: str, *, partitions: Specs = (), dry_run: bool = False
) -> GlobalIndexReport:
    """Drop the index files of a column, of any index type. Files go when their snapshots expire.

    Args: `column`: names with commas for an index of several; `partitions`: columns to texts, empty = all.
    Raises: PredicateError: there is no such column; CommitError.
    """
    started = time.monotonic()
    table_options.check_keepable(table.options, table.identifier)
    ids = tuple(table.schema.field(name).id for name in columns_named(table, column))
    snapshot = table.latest_snapshot()
    index = [] if snapshot is None else table.manifests.read_index(snapshot)
    chosen = in_partitions(table, partitions)
    going = [
        entry
        for entry in index
        if entry.global_index is not None
        and entry.index_type == index_type.strip().lower()
        and indexed_fields(entry.global_index) == ids
        and chosen(entry.partition)
    ]
    made = None
    if going and not dry_run:
        assert snapshot is not None
        names = {entry.file_name for entry in going}
        made = commit_global_indexes(table.commit_target(), (), names, identity(table, "drop"), snapshot.id)
        tag_after_commit(table, wrote_rows=False)
    return report_of(table, column, index_type, going, made, 1, started, dry_run=dry_run)
