"""How a table stands: the numbers that say whether it needs work."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from maintenance.compaction.levels import run_count
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.scan.file_index import has_index, index_path
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table

_MEASURED = 256
_THREADS = 16


@dataclass(frozen=True, slots=True)
class TableShape:
    """Counts over the live files of the latest snapshot. Sizes in bytes; rows are physical, retractions included.

    Attributes:
        snapshot_id: None before the first commit.
        snapshots: on storage now.
        level0_files: not compacted yet (of a table with a primary key); `level0_rows`: in them.
        sorted_runs_max, sorted_runs_avg: over (partition, bucket); files of level 0 and levels with files.
        index_files: data files that have a file index; `index_side_files`: of those, with one beside the data file.
        index_bytes: of all file indexes; of those beside data files some are measured where there are many.
        mergeable_bytes: that a merge of all levels frees, at most, as far as metadata say: of all sorted runs but the
            largest of each bucket, and of deleted rows. How much it is only the rows themselves can tell.
        vectors: data files with a deletion vector; `deleted_rows`: rows of theirs that are deleted, as far as the index
            manifest says; `vector_bytes`: of the index files that hold the vectors.
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
    index_side_files: int
    index_bytes: int
    vectors: int
    deleted_rows: int
    vector_bytes: int
    tags: int
    level0_rows: int = 0
    mergeable_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LiveRuns:
    """Of a snapshot: `files`: how many are live; `sorted_runs_max`: in the bucket that has most."""

    snapshot_id: int | None
    files: int
    sorted_runs_max: int

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot | None) -> "LiveRuns":
        """What the manifests say. Nothing else is asked for, unlike for `table_shape`."""
        entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
        runs = [run_count([entry.file.level for entry in group]) for group in by_bucket(entries).values()]
        return cls(None if snapshot is None else snapshot.id, len(entries), max(runs, default=0))


@reads_again
def table_shape(table: Table) -> TableShape:
    """The shape of a table now; reads metadata only."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    runs = []
    for group in by_bucket(entries).values():
        runs.append(run_count([entry.file.level for entry in group]))
    files = [entry.file for entry in entries]
    waiting = [file for file in files if file.level == 0] if table.is_primary_key_table else []
    indexed = [entry for entry in entries if has_index(entry.file)]
    separate = [entry for entry in indexed if entry.file.embedded_index is None]
    holders = [] if snapshot is None else _vector_files(table.manifests.read_index(snapshot))
    vectors = [part for holder in holders for part in holder.dv_ranges or ()]
    size, rows = sum(f.file_size for f in files), sum(f.row_count for f in files)
    deleted = sum(part.cardinality or 0 for part in vectors)
    return TableShape(
        snapshot_id=None if snapshot is None else snapshot.id,
        snapshots=len(table.snapshots.list_ids()),
        partitions=len({entry.partition for entry in entries}),
        buckets=len(runs),
        files=len(files),
        level0_files=len(waiting),
        sorted_runs_max=max(runs, default=0),
        sorted_runs_avg=sum(runs) / len(runs) if runs else 0.0,
        bytes=size,
        rows=rows,
        index_files=len(indexed),
        index_side_files=len(separate),
        index_bytes=sum(len(e.file.embedded_index or b"") for e in indexed) + _bytes_of_index_files(table, separate),
        vectors=len(vectors),
        deleted_rows=deleted,
        vector_bytes=sum(holder.file_size for holder in holders),
        tags=len(table.tags.names()),
        level0_rows=sum(file.row_count for file in waiting),
        mergeable_bytes=min(size, _below_the_largest(table, entries) + (size * deleted // rows if rows else 0)),
    )


def _below_the_largest(table: Table, entries: Sequence[ManifestEntry]) -> int:
    """Bytes of all sorted runs but the largest of each bucket, and of as many rows as retractions may take of that."""
    if not table.is_primary_key_table:
        return 0
    found = 0
    for group in by_bucket(entries).values():
        runs: Counter[tuple[int, int]] = Counter()
        for number, file in enumerate(entry.file for entry in group):
            runs[file.level, number if file.level == 0 else 0] += file.file_size
        largest = max(runs.values())
        rows, retracted = (
            sum(entry.file.row_count for entry in group),
            sum(entry.file.delete_row_count or 0 for entry in group),
        )
        found += runs.total() - largest + (min(largest, runs.total() * retracted // rows) if rows else 0)
    return found


def _vector_files(index: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
    return [entry for entry in index if entry.index_type == DELETION_VECTORS_INDEX]


def _bytes_of_index_files(table: Table, entries: Sequence[ManifestEntry]) -> int:
    """Bytes of the index files of data files, by some of them if there are many."""
    measured = entries[:: 1 + len(entries) // _MEASURED]
    if not measured:
        return 0

    def size(entry: ManifestEntry) -> int:
        path = index_path(table.paths.data_file(entry.partition, entry.bucket, entry.file), entry.file)
        return (table.file_io.size(path) or 0) if path else 0

    with ThreadPoolExecutor(_THREADS) as pool:
        total = sum(pool.map(size, measured))
    return total * len(entries) // len(measured)
