"""How a table stands: the numbers that say whether it needs work."""

from dataclasses import dataclass

from maintenance.scan.split import by_bucket
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class TableShape:
    """Counts over the live files of the latest snapshot. Sizes in bytes; rows are physical, retractions included.

    Attributes:
        snapshot_id: None before the first commit.
        snapshots: on storage now.
        level0_files: not compacted yet (of a table with a primary key).
        sorted_runs_max, sorted_runs_avg: over (partition, bucket); files of level 0 and levels with files.
        index_files: data files that have a file index; `index_bytes`: of those indexes embedded in manifests.
    """

    snapshot_id: int | None
    snapshots: int
    partitions: int
    buckets: int
    files: int
    level0_files: int
    sorted_runs_max: int
    sorted_runs_avg: float
    bytes: int
    rows: int
    index_files: int
    index_bytes: int
    tags: int


def table_shape(table: Table) -> TableShape:
    """The shape of a table now; reads metadata only."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    runs = []
    for group in by_bucket(entries).values():
        levels = [entry.file.level for entry in group]
        runs.append(levels.count(0) + len({level for level in levels if level > 0}))
    files = [entry.file for entry in entries]
    indexed = [f for f in files if f.embedded_index or any(name.endswith(".index") for name in f.extra_files)]
    return TableShape(
        snapshot_id=None if snapshot is None else snapshot.id,
        snapshots=len(table.snapshots.list_ids()),
        partitions=len({entry.partition for entry in entries}),
        buckets=len(runs),
        files=len(files),
        level0_files=sum(f.level == 0 for f in files) if table.is_primary_key_table else 0,
        sorted_runs_max=max(runs, default=0),
        sorted_runs_avg=sum(runs) / len(runs) if runs else 0.0,
        bytes=sum(f.file_size for f in files),
        rows=sum(f.row_count for f in files),
        index_files=len(indexed),
        index_bytes=sum(len(f.embedded_index or b"") for f in indexed),
        tags=len(table.tags.names()),
    )
