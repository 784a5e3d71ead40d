"""ANALYZE: count the rows of a table, and publish the statistics in an ANALYZE snapshot.

Planners read them from ``t$statistics``. The snapshot changes no data. Source: metadata section 10.8, Java
`StatsFileHandler`, Spark's `PaimonAnalyzeTableColumnCommand`.
"""

import uuid
from dataclasses import dataclass

from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.publish import Changes, publish
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.format.metadata.table_statistics import TableStatistics, serialize_statistics
from maintenance.options import table as table_options
from maintenance.table.table import Table, new_commit_user


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


def analyze_table(table: Table) -> AnalyzeReport:
    """Count rows and the bytes of their files. Raises: CommitError; UnsupportedError; errors of reading the table."""
    table_options.check_writable(table.options, table.identifier)
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return AnalyzeReport(table.identifier)
    seen = table.copy({table_options.SCAN_SNAPSHOT_ID.key: str(snapshot.id)})
    plan, read = seen.plan(seen.schema.field_names[:1])
    rows = sum(part.num_rows for split in plan.splits for part in read.tables(split))
    size = sum(entry.file.file_size for entry in table.manifests.live_entries(snapshot))
    found = TableStatistics(snapshot.id, snapshot.schema_id, rows, size, {})
    target = table.commit_target()
    name = f"stat-{uuid.uuid4()}-0"
    path = table.paths.statistics_file(name)
    target.file_io.write_bytes(path, serialize_statistics(found))
    target.file_io.flush([path], table.location)
    identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: "analyze_table"})
    changes = Changes(CommitKind.ANALYZE, (), statistics=name)
    published, _, _ = publish(target, changes, identity, lambda *_: None)
    return AnalyzeReport(table.identifier, snapshot.id, None if published is None else published.id, rows, size)
