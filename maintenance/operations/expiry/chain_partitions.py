"""Which partitions of a chain table are past their retention: whole segments, those of both branches together.

A segment is a partition of the snapshot branch and the changes from it up to the next one. The newest complete
partition that is due stays with what follows it, for later partitions build on it. Changes before the first complete
partition go with the first segment. Changes are dropped first, the latest before the earlier, so that at every moment
each of them has what it builds on. Source: Java `ChainTablePartitionExpire`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from maintenance.commit.overwrite import drop_partitions
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.scan.chain import CHAIN_BRANCHES
from maintenance.table.chain import ChainBranches, chain_of
from maintenance.table.partitions import done_partitions, forget_partitions
from maintenance.table.table import Table, identity_of

_MILLI = 10**6


@dataclass(frozen=True, slots=True)
class DuePartitions:
    """What is due of a chain table.

    Attributes:
        changes: of the delta branch, the latest first; `complete`: of the snapshot branch.
        entries: their files.
        remaining: segments that are due as well, beyond the largest number; `without_time`: partitions that name none.
    """

    changes: tuple[bytes, ...]
    complete: tuple[bytes, ...]
    entries: tuple[ManifestEntry, ...]
    remaining: int
    without_time: tuple[bytes, ...]


def branches_of_chain(table: Table) -> ChainBranches[Table] | None:
    """The branches of a chain table, also of one that is opened on one of them; None for any other table."""
    names = {(option.of(table.options) or "").lower() for option in CHAIN_BRANCHES}
    if not table.model.is_chain_table or "" in names:
        return None
    # Seen from the table itself, whose options and name are those of the branch at hand.
    return chain_of(replace(table, branch=MAIN_BRANCH) if table.branch.lower() in names else table)


def due_of_chain(chain: ChainBranches[Table], limit_millis: int, most: int) -> DuePartitions:
    """The segments whose complete partition names a time before the limit. `most`: segments of a chain that may go."""
    changes, complete = _entries(chain.delta), _entries(chain.snapshot)
    times = {partition: chain.chains.time_of(partition) for partition in {*changes, *complete}}
    of_group: dict[bytes, list[bytes]] = {}
    for partition in sorted(complete, key=chain.chains.place):
        time = times[partition]
        if time is not None and limit_millis > -(-time // _MILLI):
            of_group.setdefault(chain.chains.group(partition), []).append(partition)
    going: list[bytes] = []
    going_changes: set[bytes] = set()
    remaining = 0
    for group, before in of_group.items():
        segments = min(len(before) - 1, most)
        remaining += len(before) - 1 - segments
        if segments <= 0:
            continue
        going += before[:segments]
        end = times[before[segments]]
        assert end is not None
        going_changes |= {
            partition for partition in changes if _is_before(times[partition], end, chain, partition, group)
        }
    entries = [entry for part in going for entry in complete[part]]
    entries += [entry for part in going_changes for entry in changes[part]]
    return DuePartitions(
        tuple(sorted(going_changes, key=chain.chains.place, reverse=True)),
        tuple(going),
        tuple(entries),
        remaining,
        tuple(sorted(partition for partition, time in times.items() if time is None)),
    )


def _is_before(time: int | None, end: int, chain: ChainBranches[Table], partition: bytes, group: bytes) -> bool:
    return time is not None and time < end and chain.chains.group(partition) == group


def _entries(table: Table) -> dict[bytes, list[ManifestEntry]]:
    snapshot = table.latest_snapshot()
    found: dict[bytes, list[ManifestEntry]] = {}
    for entry in [] if snapshot is None else table.manifests.live_entries(snapshot):
        found.setdefault(entry.partition, []).append(entry)
    return found


def drop_due(chain: ChainBranches[Table], due: DuePartitions, batch_size: int) -> tuple[int, ...]:
    """Drop partitions, `batch_size` in each snapshot, 0 = all. Returns the ids of the snapshots, of both branches."""
    return (
        *_dropped(chain.delta, due.changes, batch_size),
        *_dropped(chain.snapshot, due.complete, batch_size),
    )


def _dropped(table: Table, partitions: tuple[bytes, ...], batch_size: int) -> Iterable[int]:
    size = batch_size if batch_size > 0 else max(1, len(partitions))
    for start in range(0, len(partitions), size):
        batch = frozenset(partitions[start : start + size])
        identity = identity_of(table, "expire_partitions")
        snapshot_id = drop_partitions(table.commit_target(), identity, partial(_still_there, batch))
        if snapshot_id is not None:
            specs = [table.paths.spec_of(partition) for partition in batch]
            forget_partitions(table, [*specs, *done_partitions(specs)])
            yield snapshot_id


def _still_there(batch: frozenset[bytes], live: Sequence[ManifestEntry]) -> set[bytes]:
    return {entry.partition for entry in live if entry.partition in batch}
