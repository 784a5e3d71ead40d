"""ANALYZE: count the rows of a table and the values of columns, and publish the statistics in an ANALYZE snapshot.

Planners read them from ``t$statistics``. The snapshot changes no data. Source: metadata section 10.8, Java
`StatsFileHandler`, Spark's `PaimonAnalyzeTableColumnCommand`.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.format.metadata.table_statistics import TableStatistics, serialize_statistics
from maintenance.operations.indexes.column_statistics import chosen_fields, count_columns
from maintenance.options import table as table_options
from maintenance.table.table import Table, identity_of


@dataclass(frozen=True, slots=True)
class AnalyzeReport:
    """What was found. `analyzed_snapshot_id`: the snapshot looked at; `snapshot_id`: the one that publishes it.

    Both are None for a table that holds nothing yet.
    """

    table: str
    analyzed_snapshot_id: int | None = None
    snapshot_id: int | None = None
    rows: int = 0
    bytes: int = 0


def analyze_table(table: Table, *, columns: Sequence[str] | None = None, all_columns: bool = False) -> AnalyzeReport:
    """Compute statistics of the newest snapshot: rows, bytes, and columns if asked.

    Args: `columns`: names; `all_columns`: all columns of simple types.
    Raises: NotFoundError: no such column; CommitError; UnsupportedError: a column has no statistics; errors of reading
        the table.
    """
    table_options.check_writable(table.options, table.identifier)
    names = columns if columns is not None and not all_columns else None if all_columns else []
    snapshot = table.latest_snapshot()
    if snapshot is None:
        chosen_fields(table.schema.fields, names, table.identifier)
        return AnalyzeReport(table.identifier)
    seen = table.copy({table_options.SCAN_SNAPSHOT_ID.key: str(snapshot.id)})
    fields = chosen_fields(seen.schema.fields, names, table.identifier)
    plan, read = seen.plan([each.name for each in fields] or seen.schema.field_names[:1])
    rows, counts = count_columns(fields, (part for split in plan.splits for part in read.tables(split)))
    size = sum(entry.file.file_size for entry in table.manifests.live_entries(snapshot))
    # The files hold records that merging drops: the size is that of the rows that remain.
    merged = size * rows // snapshot.total_record_count if snapshot.total_record_count else size
    statistics = TableStatistics(snapshot.id, snapshot.schema_id, rows, merged, counts)
    target = table.commit_target()
    name = f"stat-{uuid.uuid4()}-0"
    path = table.paths.statistics_file(name)
    target.file_io.write_bytes(path, serialize_statistics(statistics))
    target.file_io.flush([path], table.location)
    identity = identity_of(table, "analyze_table")
    work = CommitAttempts(target, identity)
    for attempt in work:
        with attempt:
            attempt.commit(Changes(CommitKind.ANALYZE, (), statistics=name))
    return AnalyzeReport(table.identifier, snapshot.id, work.snapshot_id(), rows, size)
