"""First part of compacting tables with postponed buckets: rows that wait get real buckets, in a COMPACT snapshot.

The second part is an ordinary compaction of the real buckets. Source: data section 8.4, Java Spark's
`SparkPostponeCompactProcedure`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maintenance.bucket.postpone import POSTPONE_BUCKET, PostponeOptions
from maintenance.compaction.postpone import PostponeCompaction, in_order
from maintenance.format.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.snapshot import Snapshot
from maintenance.operations.compact_plan import CompactionScope
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table

_SHARE_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class PostponedPlan:
    """Work on one snapshot. `units`: one or more for each partition in which rows wait."""

    snapshot: Snapshot | None
    units: tuple[PostponeCompaction, ...]


def plan_postponed(table: Table, scope: CompactionScope, *, now_millis: int) -> PostponedPlan:
    """The plan on the latest snapshot. `now_millis`: local wall clock as if UTC."""
    snapshot = table.latest_snapshot()
    if snapshot is None or not table.is_primary_key_table:  # only keys wait for their bucket
        return PostponedPlan(snapshot, ())
    entries = table.manifests.live_entries(snapshot, replace(scope, groups=None).selection(table))
    left = scope.left_alone(table, entries, now_millis)
    groups = by_bucket([entry for entry in entries if entry.partition not in left])
    waiting = {partition: found for (partition, bucket), found in groups.items() if bucket == POSTPONE_BUCKET}
    commits = _commits(table, snapshot, {entry.file.file_name for found in waiting.values() for entry in found})
    options = PostponeOptions.of(table.options)
    units: list[PostponeCompaction] = []
    for partition, files in waiting.items():
        real = {bucket: found for (p, bucket), found in groups.items() if p == partition and bucket >= 0}
        units += _units(partition, files, real, commits, options)
    return PostponedPlan(snapshot, tuple(units))


def _units(
    partition: bytes,
    waiting: Sequence[ManifestEntry],
    real: Mapping[int, Sequence[ManifestEntry]],
    commits: Mapping[str, int],
    options: PostponeOptions,
) -> list[PostponeCompaction]:
    files = [entry.file for entry in waiting]
    size = sum(file.file_size for file in files)
    known = next((entry.total_buckets for entries in real.values() for entry in entries), None)
    total = known or options.buckets_for(sum(file.row_count for file in files), size)
    sequences = {b: max(entry.file.max_sequence_number for entry in entries) for b, entries in real.items()}
    shares = max(1, min(total, size // _SHARE_BYTES))
    ordered = in_order(files, commits)
    return [PostponeCompaction(partition, total, ordered, sequences, share, shares) for share in range(shares)]


def _commits(table: Table, latest: Snapshot, names: set[str]) -> dict[str, int]:
    """The id of the snapshot that added each file, as far as snapshots are there."""
    found: dict[str, int] = {}
    waiting = EntrySelection(test=lambda entry: entry.bucket == POSTPONE_BUCKET)
    for snapshot in table.snapshots.newest_first():
        if len(found) == len(names):
            break
        if snapshot.id > latest.id:
            continue
        manifests = table.manifests.delta_manifests(snapshot)
        for entry in table.manifests.entries_of(manifests, waiting):
            if entry.kind == FileKind.ADD and entry.file.file_name in names:
                found[entry.file.file_name] = snapshot.id
    return found
