"""Which partitions are compacted, and which have changed since: judged from the metadata of one snapshot.

A partition is compacted when a full compaction would find nothing to do in it, whoever did the work. So late data
reopens it, and a second compaction does nothing.
"""

import zlib
from collections import Counter
from dataclasses import dataclass

from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.compaction.plan import CompactionScope, plan_compaction
from maintenance.table.table import Table
from maintenance.write.context import wall_clock_millis


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition.

    Attributes:
        spec: the partition.
        digest: of its live files: another one when anything changed.
        stale: whether a full compaction would rewrite something.
        changed_millis: creation of its newest file, since 1970.
        level0_files: those that no compaction has seen.
    """

    spec: PartitionValue
    digest: str
    stale: bool
    files: int
    bytes: int
    changed_millis: int
    level0_files: int = 0


@dataclass(frozen=True, slots=True)
class PartitionStates:
    """All partitions at one snapshot; None for a table that was never committed to."""

    snapshot: SnapshotIdentity | None
    partitions: tuple[PartitionState, ...]


def partition_states(table: Table) -> PartitionStates:
    """The state of every partition of a partitioned table; reads metadata only."""
    plan = plan_compaction(table, CompactionScope(full=True), now_millis=wall_clock_millis())
    if plan.snapshot is None:
        return PartitionStates(None, ())
    stale = {unit.partition for unit in plan.units}
    names: dict[bytes, list[str]] = {}
    sizes: dict[bytes, int] = {}
    newest: dict[bytes, int] = {}
    unseen: Counter[bytes] = Counter()
    for entry in table.manifests.live_entries(plan.snapshot):
        names.setdefault(entry.partition, []).append(f"{entry.file.level}/{entry.file.file_name}")
        unseen[entry.partition] += entry.file.level == 0
        sizes[entry.partition] = sizes.get(entry.partition, 0) + entry.file.file_size
        newest[entry.partition] = max(newest.get(entry.partition, 0), entry.file.creation_time or 0)
    return PartitionStates(
        SnapshotIdentity.of(plan.snapshot),
        tuple(
            PartitionState(
                spec=table.paths.partition(partition),
                digest=f"{zlib.crc32('|'.join(sorted(files)).encode()):08x}",
                stale=partition in stale,
                files=len(files),
                bytes=sizes[partition],
                changed_millis=newest[partition],
                level0_files=unseen[partition],
            )
            for partition, files in names.items()
        ),
    )
