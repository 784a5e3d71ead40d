"""Deletion vectors in a commit: the index state that follows, and whether what the work was planned on still holds.

A vector is written whole, so of two commits that delete rows of one file the second must know what the first deleted;
and a compaction must have applied every vector of the files that it replaces. Both are known by the index file that
held a data file's vector when the work was planned. Source: metadata section 9.3, Java `ConflictDetection`.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.commit.conflicts import Conflict, Group
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests
from maintenance.write.message import CommitMessage, VectorsChange

IndexChange = Callable[[Sequence[IndexManifestEntry]], list[IndexManifestEntry]]


def vectors_after(messages: Sequence[CommitMessage]) -> IndexChange | None:
    """What makes the next index state of the one before; None = it stays."""
    changes = [message.vectors for message in messages if message.vectors]
    removed = {name for change in changes for name in change.removed}
    added = [entry for change in changes for entry in change.added]
    if not removed and not added:
        return None
    return lambda old: [*(entry for entry in old if entry.file_name not in removed), *added]


def without_vectors_of(gone: Collection[tuple[bytes, int, str]]) -> IndexChange:
    """What leaves the vectors of some files out of the next index state. `gone`: partition, bucket and name of each."""

    def kept(entry: IndexManifestEntry) -> IndexManifestEntry | None:
        ranges = tuple(
            part for part in entry.dv_ranges or () if (entry.partition, entry.bucket, part.data_file_name) not in gone
        )
        if entry.dv_ranges is None or len(ranges) == len(entry.dv_ranges):
            return entry
        return replace(entry, dv_ranges=ranges, row_count=len(ranges)) if ranges else None

    return lambda old: [entry for entry in map(kept, old) if entry is not None]


def check_vectors(manifests: Manifests, messages: Sequence[CommitMessage], latest: Snapshot | None) -> Conflict | None:
    """Groups whose data files have other vectors than when the work was planned, or are gone."""
    planned = {(message.partition, message.bucket): message.vectors for message in messages if message.vectors}
    if not planned:
        return None
    index = [] if latest is None else manifests.read_index(latest)
    of_group: dict[Group, list[IndexManifestEntry]] = {}
    for entry in index:
        if entry.index_type == DELETION_VECTORS_INDEX:
            of_group.setdefault((entry.partition, entry.bucket), []).append(entry)
    seen = pa.array({name for vectors in planned.values() for name in vectors.seen}, pa.string())
    selection = EntrySelection(
        {partition for partition, _ in planned}.__contains__,
        names=lambda names: pc.is_in(names, value_set=seen).to_numpy(zero_copy_only=False),
    )
    entries = [] if latest is None else manifests.live_entries(latest, selection)
    live = {(entry.partition, entry.bucket, entry.file.file_name) for entry in entries}
    moved = set()
    for message in messages:
        group = (message.partition, message.bucket)
        if message.vectors and (
            any((*group, name) not in live for name in message.vectors.seen)
            or _moved(message.vectors, of_group.get(group, []))
        ):
            moved.add(group)
    if not moved:
        return None
    return Conflict("another writer deleted rows of the same files meanwhile, or replaced them", frozenset(moved))


def _moved(change: VectorsChange, now: Sequence[IndexManifestEntry]) -> bool:
    names = {entry.file_name for entry in now}
    holders = {part.data_file_name: entry.file_name for entry in now for part in entry.dv_ranges or ()}
    if change.only and (change.removed or change.added) and names != set(change.removed):
        return True
    return not names.issuperset(change.removed) or any(holders.get(f) != name for f, name in change.seen.items())
