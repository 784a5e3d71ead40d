"""What a compaction certainly has nothing to do with, told by columns: compacted buckets, and large files.

A table may have millions of files of which a few are new. Those that may have work become entries, the others are
counted. Small files of a table without keys, which may be as many, become groups of rows of columns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.compaction.append import AppendCompaction, pack_sizes
from maintenance.compaction.clustering import is_clustered
from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.format.metadata.manifest import ColumnFiles, EntrySelection, ManifestColumns, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.live_groups import LiveGroup, live_groups
from maintenance.options import table as table_options
from maintenance.table.table import Table

# With fewer files one look at all of them takes less time than two by columns.
_MANY_FILES = 100_000


@dataclass(frozen=True, slots=True)
class Unsettled:
    """`entries`: all live files that a plan depends on; `counts`: how many files each (partition, bucket) has."""

    entries: list[ManifestEntry]
    counts: Mapping[tuple[bytes, int], int]


def unsettled(table: Table, snapshot: Snapshot, selection: EntrySelection) -> Unsettled | None:
    """The files that may have work to do, of those that are wanted; None where all files have to be looked at."""
    manifests = table.manifests.data_manifests(snapshot)
    options = table.options
    if sum(manifest.num_added_files for manifest in manifests) < _MANY_FILES or options.has_deletion_vectors:
        return None
    if not table.is_primary_key_table:
        return None
    expires = RecordExpiry.of(table.schema, options, 0) is not None
    if options.clusters_keys or expires or options.num_sorted_run_compaction_trigger < 2:
        return None
    top = max(2, options.num_levels) - 1
    groups = live_groups(table.manifests, snapshot, selection)
    if any(group.bucket == table_options.POSTPONE_BUCKET for group in groups):
        return None
    levels: dict[tuple[bytes, int], set[int]] = {}
    for group in groups:
        levels.setdefault((group.partition, group.bucket), set()).add(group.level)
    working = {group for group, of_group in levels.items() if len(of_group) > 1 or min(of_group) < top}
    partitions = {partition for partition, _ in working}
    wanted = selection.partition

    def of_partition(partition: bytes) -> bool:
        return partition in partitions and (wanted is None or wanted(partition))

    chosen = EntrySelection(of_partition, test=selection.test)
    entries = [
        entry
        for columns in (table.manifests.live_columns(snapshot, chosen) if working else ())
        for entry in columns.select()
        if (entry.partition, entry.bucket) in working
    ]
    return Unsettled(entries, _counts(groups))


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """Groups of small files that are worth rewriting. `counts`: how many files each (partition, bucket) has."""

    units: tuple[AppendCompaction, ...]
    counts: Mapping[tuple[bytes, int], int]


def small_files(table: Table, snapshot: Snapshot, selection: EntrySelection, *, full: bool) -> SmallFiles | None:
    """The groups of a table without keys and buckets, of the files that are wanted: other files stay as they are.

    However many files there are, none of them is made before its group is rewritten. None: not such a table, or it has
    few files.
    """
    options, manifests = table.options, table.manifests.data_manifests(snapshot)
    if sum(manifest.num_added_files for manifest in manifests) < _MANY_FILES or table.is_primary_key_table:
        return None
    if options.bucket != -1 or options.has_deletion_vectors or options.evolves:
        return None
    if is_clustered(table.schema, options):
        return None
    target = options.target_file_size(has_primary_key=False)
    below = options.compaction_small_file_ratio * target
    counts: dict[tuple[bytes, int], int] = {}
    small: list[ManifestColumns] = []
    for columns in table.manifests.live_columns(snapshot, selection):
        rows = columns.table("_PARTITION", "_BUCKET", "_FILE_SIZE")
        counted = rows.group_by(["_PARTITION", "_BUCKET"], use_threads=False).aggregate([([], "count_all")])
        for *group, count in zip(*(column.to_pylist() for column in counted.columns), strict=True):
            counts[group[0], group[1]] = counts.get((group[0], group[1]), 0) + count
        small.append(columns.filtered(np.asarray(pc.less(rows.column("_FILE_SIZE"), below).to_numpy())))
    joined = ManifestColumns.joined(small)
    least = 2 if full else options.compaction_min_file_num
    return SmallFiles(tuple(_packed(joined, target, least)), counts)


def _packed(columns: ManifestColumns, target: int, least: int) -> Iterator[AppendCompaction]:
    rows = columns.table("_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE_SIZE").combine_chunks()
    keys = rows.select(["_PARTITION", "_BUCKET"]).append_column("place", pa.array(np.arange(rows.num_rows)))
    groups = keys.group_by(["_PARTITION", "_BUCKET"], use_threads=False).aggregate([("place", "list")])
    sizes, totals = rows.column("_FILE_SIZE").to_numpy(), rows.column("_TOTAL_BUCKETS")
    partitions, buckets = (groups.column(name) for name in ("_PARTITION", "_BUCKET"))
    places = groups.column("place_list")
    for number in range(groups.num_rows):
        of_group = places[number].values.to_numpy()
        of_group = of_group[np.argsort(sizes[of_group], kind="stable")]
        partition, bucket = partitions[number].as_py(), buckets[number].as_py()
        total = totals[int(of_group.min())].as_py()
        for start, stop in pack_sizes(sizes[of_group], target_size=target, min_files=least):
            yield AppendCompaction(partition, bucket, total, ColumnFiles(columns, of_group[start:stop]))


def _counts(groups: list[LiveGroup]) -> dict[tuple[bytes, int], int]:
    counts: dict[tuple[bytes, int], int] = {}
    for group in groups:
        counts[group.partition, group.bucket] = counts.get((group.partition, group.bucket), 0) + group.files
    return counts
