"""What a compaction certainly has nothing to do with, told by columns: compacted buckets, and large files.

A table may have millions of files of which a few are new. Those that may have work become entries, the others are
counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from maintenance.compaction.clustering import is_clustered
from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.format.metadata.manifest import EntrySelection, ManifestColumns, ManifestEntry
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
        return _small_files(table, snapshot, selection)
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


def _small_files(table: Table, snapshot: Snapshot, selection: EntrySelection) -> Unsettled | None:
    """Of a table without keys and buckets: files that are not small stay as they are."""
    options = table.options
    if options.bucket != -1 or options.evolves or is_clustered(table.schema, options):
        return None
    below = options.compaction_small_file_ratio * options.target_file_size(has_primary_key=False)

    def are_small(columns: ManifestColumns) -> np.ndarray:
        sizes = columns.table("_FILE_SIZE").column(0)
        return np.asarray(pc.less(sizes, below).to_numpy())

    counts = _counts(live_groups(table.manifests, snapshot, selection))
    parts = table.manifests.live_columns(snapshot, selection)
    return Unsettled([entry for part in parts for entry in part.filtered(are_small(part)).select()], counts)


def _counts(groups: list[LiveGroup]) -> dict[tuple[bytes, int], int]:
    counts: dict[tuple[bytes, int], int] = {}
    for group in groups:
        counts[group.partition, group.bucket] = counts.get((group.partition, group.bucket), 0) + group.files
    return counts
