"""First part of compacting tables with postponed buckets: rows that wait get real buckets, in a COMPACT snapshot.

The second part is an ordinary compaction of the real buckets. Source: data section 8.4, Java Spark's
`SparkPostponeCompactProcedure`.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maintenance.bucket.postpone import POSTPONE_BUCKET, PostponeOptions
from maintenance.compaction.postpone import DirectFiles, PostponeCompaction, in_order
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.compaction.arrivals import Arrivals, find_arrivals
from maintenance.operations.compaction.plan import CompactionScope
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
    if not waiting:
        return PostponedPlan(snapshot, ())
    arrivals = find_arrivals(table, snapshot, [entry for entry in entries if entry.partition in waiting])
    options = PostponeOptions.of(table.options)
    units: list[PostponeCompaction] = []
    for partition, files in waiting.items():
        real = {bucket: found for (p, bucket), found in groups.items() if p == partition and bucket >= 0}
        units += _units(partition, files, real, arrivals, options)
    return PostponedPlan(snapshot, tuple(units))


def _units(
    partition: bytes,
    waiting: Sequence[ManifestEntry],
    real: Mapping[int, Sequence[ManifestEntry]],
    arrivals: Arrivals,
    options: PostponeOptions,
) -> list[PostponeCompaction]:
    files = [entry.file for entry in waiting]
    size = sum(file.file_size for file in files)
    known = next((entry.total_buckets for entries in real.values() for entry in entries), None)
    total = known or options.buckets_for(sum(file.row_count for file in files), size)
    ordered = in_order(files, arrivals.commits)
    direct = _direct(ordered, real, arrivals)
    newer = {file.file_name for each in direct for file in each.files}
    older = {bucket: [e for e in entries if e.file.file_name not in newer] for bucket, entries in real.items()}
    unit = PostponeCompaction(partition, total, ordered, _highest(older), direct, _highest(real))
    shares = max(1, min(total, size // _SHARE_BYTES))
    return [replace(unit, share=share, shares=shares) for share in range(shares)]


def _highest(entries: Mapping[int, Sequence[ManifestEntry]]) -> dict[int, int]:
    """The largest sequence number in each bucket that has files."""
    return {
        bucket: max(entry.file.max_sequence_number for entry in found) for bucket, found in entries.items() if found
    }


def _direct(
    waiting: Sequence[DataFileMeta], real: Mapping[int, Sequence[ManifestEntry]], arrivals: Arrivals
) -> tuple[DirectFiles, ...]:
    """What came into real buckets after some of the files that wait, oldest first. `waiting`: in order."""
    moments = [arrivals.moment(file) for file in waiting]
    commits: dict[tuple[int, int, int], list[DataFileMeta]] = {}
    for bucket, entries in real.items():
        for entry in entries:
            if arrivals.came_after(entry, moments[0]):
                moment = arrivals.moment(entry.file)
                # Files without a known commit may be of one.
                place = (bisect_right(moments, moment), moment[0], bucket)
                commits.setdefault(place, []).append(entry.file)
    return tuple(DirectFiles(bucket, after, tuple(files)) for (after, _, bucket), files in sorted(commits.items()))
