"""How a table stands: the numbers that say whether it needs work."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import ManifestColumns, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.metadata.live_groups import LiveSizes, live_sizes
from maintenance.scan.file_index import INDEX_SUFFIX, index_path
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

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
    """Of a snapshot: `files`: how many are live; `sorted_runs_max`: in the bucket that has most; `bytes`: of all."""

    snapshot_id: int | None
    files: int
    sorted_runs_max: int
    bytes: int

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot | None) -> "LiveRuns":
        """What the manifests say. Nothing else is asked for, unlike for `table_shape`."""
        groups = [] if snapshot is None else live_sizes(table.manifests.live_columns(snapshot))
        runs = _runs(groups).values()
        files, size = sum(group.files for group in groups), sum(group.bytes for group in groups)
        return cls(None if snapshot is None else snapshot.id, files, max(runs, default=0), size)


@reads_again
def table_shape(table: Table) -> TableShape:
    """The shape of a table now; reads metadata only."""
    snapshot = table.latest_snapshot()
    indexes = _FileIndexes(table)
    groups = [] if snapshot is None else live_sizes(map(indexes.seen, table.manifests.live_columns(snapshot)))
    runs = list(_runs(groups).values())
    waiting = [group for group in groups if group.level == 0] if table.is_primary_key_table else []
    holders = [] if snapshot is None else _vector_files(table.manifests.read_index(snapshot))
    vectors = [part for holder in holders for part in holder.dv_ranges or ()]
    size, rows = sum(group.bytes for group in groups), sum(group.rows for group in groups)
    deleted = sum(part.cardinality or 0 for part in vectors)
    return TableShape(
        snapshot_id=None if snapshot is None else snapshot.id,
        snapshots=len(table.snapshots.list_ids()),
        partitions=len({group.partition for group in groups}),
        buckets=len(runs),
        files=sum(group.files for group in groups),
        level0_files=sum(group.files for group in waiting),
        sorted_runs_max=max(runs, default=0),
        sorted_runs_avg=sum(runs) / len(runs) if runs else 0.0,
        bytes=size,
        rows=rows,
        index_files=indexes.files,
        index_side_files=indexes.side_files,
        index_bytes=indexes.embedded_bytes + indexes.side_bytes(),
        vectors=len(vectors),
        deleted_rows=deleted,
        vector_bytes=sum(holder.file_size for holder in holders),
        tags=len(table.tags.names()),
        level0_rows=sum(group.rows for group in waiting),
        mergeable_bytes=min(size, _below_the_largest(table, groups) + (size * deleted // rows if rows else 0)),
    )


def _runs(groups: Sequence[LiveSizes]) -> Mapping[tuple[bytes, int], int]:
    """Sorted runs of each (partition, bucket)."""
    runs: Counter[tuple[bytes, int]] = Counter()
    for group in groups:
        runs[group.partition, group.bucket] += group.runs
    return runs


def _below_the_largest(table: Table, groups: Sequence[LiveSizes]) -> int:
    """Bytes of all sorted runs but the largest of each bucket, and of as many rows as retractions may take of that."""
    if not table.is_primary_key_table:
        return 0
    buckets: dict[tuple[bytes, int], list[LiveSizes]] = {}
    for group in groups:
        buckets.setdefault((group.partition, group.bucket), []).append(group)
    found = 0
    for levels in buckets.values():
        size = sum(level.bytes for level in levels)
        largest = max(level.bytes if level.level else level.largest for level in levels)
        rows, retracted = sum(level.rows for level in levels), sum(level.retracted for level in levels)
        found += size - largest + (min(largest, size * retracted // rows) if rows else 0)
    return found


def _vector_files(index: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
    return [entry for entry in index if entry.index_type == DELETION_VECTORS_INDEX]


class _FileIndexes:
    """The file indexes of live files. Of those beside data files some are measured where there are many.

    Attributes:
        files: data files that have one; `side_files`: one beside the data file.
        embedded_bytes: of those in manifests.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.files = self.side_files = self.embedded_bytes = 0
        self._some: list[ManifestEntry] = []

    def seen(self, entries: ManifestColumns) -> ManifestColumns:
        """Takes note of entries. Returns them."""
        embedded, extras = (c.combine_chunks() for c in entries.table("_EMBEDDED_FILE_INDEX", "_EXTRA_FILES").columns)
        is_embedded = embedded.is_valid().to_numpy(zero_copy_only=False)
        beside = np.zeros(len(extras), np.bool_)
        ends = pc.ends_with(pc.list_flatten(extras), INDEX_SUFFIX)
        beside[pc.list_parent_indices(extras).filter(ends).to_numpy()] = True
        places = np.flatnonzero(beside & ~is_embedded)
        self.files += int(is_embedded.sum()) + len(places)
        self.embedded_bytes += pc.sum(pc.binary_length(embedded)).as_py() or 0
        if len(places):
            self.side_files += len(places)
            measured = np.zeros(len(extras), np.bool_)
            measured[places[:: 1 + len(places) // _MEASURED]] = True
            self._some += entries.filtered(measured).select()
        return entries

    def side_bytes(self) -> int:
        """Bytes of the indexes beside data files."""
        measured = self._some[:: 1 + len(self._some) // _MEASURED]
        if not measured:
            return 0
        return sum(map_in_threads(self._size, measured, _THREADS)) * self.side_files // len(measured)

    def _size(self, entry: ManifestEntry) -> int:
        path = index_path(self._table.paths.data_file(entry.partition, entry.bucket, entry.file), entry.file)
        return (self._table.file_io.size(path) or 0) if path else 0
