"""Deletion vectors of files that do not live any more: what became of the rows that they delete.

Where a compaction did not know a vector, the rows that it deletes are in another file by now, and are read again. A
*spent* vector does no harm: the compaction left out its rows, and only forgot to take it out of the index. Releases of
Java do that to a file that a full compaction rewrites alone, and read on. Such a vector has been in the index since
before its file went, unchanged, and what the compaction wrote has as many rows as it left of the old files. Where the
snapshots that would tell have expired, the table is read as Java reads it.
Source: Java `FileRewriteCompactTask`, which gave no index file until it was mended.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from maintenance.errors import ExpiredError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.manifests import DeletionFile, Deletions, Manifests
from maintenance.metadata.snapshots import Snapshots

# How many snapshots are looked at.
LOOKED_BACK = 100
EXPIRED = "the snapshots that would tell have expired"
"""Why nothing is known."""


@dataclass(frozen=True, slots=True)
class DeadVector:
    """A vector whose data file does not live. `index_path`: of the index file that holds it."""

    partition: bytes
    bucket: int
    file_name: str
    index_path: str

    @property
    def group(self) -> tuple[bytes, int]:
        return self.partition, self.bucket

    @property
    def name(self) -> tuple[bytes, int, str]:
        return self.partition, self.bucket, self.file_name


def not_live(manifests: Manifests, snapshot: Snapshot, vectors: Sequence[DeadVector]) -> list[DeadVector]:
    """Those of the vectors whose files do not live in a snapshot."""
    selection = EntrySelection(partition={vector.partition for vector in vectors}.__contains__)
    entries = manifests.live_entries(snapshot, selection)
    live = {(entry.partition, entry.bucket, entry.file.file_name) for entry in entries}
    return [vector for vector in vectors if vector.name not in live]


def unspent(
    manifests: Manifests, snapshot: Snapshot, dead: Sequence[DeadVector], *, untold: bool = False
) -> list[DeadVector]:
    """Those dead vectors of a snapshot whose rows are in other files by now.

    Args: `untold`: also those of which nothing is known.
    """
    wrong = (Fate.BACK, Fate.UNTOLD) if untold else (Fate.BACK,)
    return [vector for vector, fate in fates_of(manifests, snapshot, dead).items() if fate in wrong]


class Fate(Enum):
    """What became of the rows that a dead vector deletes: gone with its file, in other files, or nothing is known."""

    SPENT, BACK, UNTOLD = "spent", "back", "untold"


def fates_of(manifests: Manifests, snapshot: Snapshot, dead: Sequence[DeadVector]) -> Mapping[DeadVector, Fate]:
    """What became of the rows of dead vectors of a snapshot, by the snapshots before it."""
    fates: dict[DeadVector, Fate] = dict.fromkeys(dead, Fate.UNTOLD)
    if not dead:
        return fates
    snapshots = Snapshots(manifests.file_io, manifests.paths)
    now, after = manifests.deletion_vectors(snapshot), snapshot
    with suppress(ExpiredError):
        for _ in range(LOOKED_BACK):
            open_ = [vector for vector in dead if fates[vector] == Fate.UNTOLD]
            before = snapshots.find(after.id - 1) if open_ else None
            if after.id == 1:  # their files never lived
                return {**fates, **dict.fromkeys(open_, Fate.BACK)}
            if before is None:
                break
            same = before.index_manifest == after.index_manifest
            then = now if same else manifests.deletion_vectors(before)
            partitions = {vector.partition for vector in open_}
            changes = manifests.delta_entries(after, EntrySelection(partitions.__contains__))
            for vector in open_:
                removed, added = _rewritten(
                    entry for entry in changes if (entry.partition, entry.bucket) == vector.group
                )
                if _deleted(then, vector) != _deleted(now, vector):
                    fates[vector] = Fate.BACK
                elif vector.file_name in removed:
                    is_whole = _keeps_rows(then[vector.group], removed, added)
                    spent = is_whole and after.commit_kind == CommitKind.COMPACT
                    fates[vector] = Fate.SPENT if spent else Fate.BACK
            now, after = then, before
    return fates


def _deleted(deletions: Deletions, vector: DeadVector) -> tuple[int | None, int] | None:
    """How many rows it deletes in a snapshot, and its bytes; None = it is not there."""
    deletion = deletions.get(vector.group, {}).get(vector.file_name)
    return None if deletion is None else (deletion.range.cardinality, deletion.range.length)


_Files = Mapping[str, DataFileMeta]


def _rewritten(entries: Iterable[ManifestEntry]) -> tuple[_Files, _Files]:
    """The files that a snapshot removes from a bucket and adds, by name, but for those that change their level."""
    gone: dict[str, DataFileMeta] = {}
    new: dict[str, DataFileMeta] = {}
    for entry in entries:
        (new if entry.kind == FileKind.ADD else gone)[entry.file.file_name] = entry.file
    return (
        {name: file for name, file in gone.items() if name not in new},
        {name: file for name, file in new.items() if name not in gone},
    )


def _keeps_rows(deletions: Mapping[str, DeletionFile], removed: _Files, added: _Files) -> bool:
    """Whether files of one level became files of that level, with all rows that vectors had left of them."""
    deleted = [deletions[name].range.cardinality for name in removed if name in deletions]
    levels = {file.level for file in (*removed.values(), *added.values())}
    if len(levels) > 1 or None in deleted:
        return False
    left = sum(file.row_count for file in removed.values()) - sum(filter(None, deleted))
    return left == sum(file.row_count for file in added.values())


def without_dead(
    index: Sequence[IndexManifestEntry], live: Deletions, groups: Collection[tuple[bytes, int]]
) -> list[IndexManifestEntry]:
    """An index state without the spent vectors of some buckets, which go when these are written again.

    Args: `live`: the vectors of live files.
    """

    def kept(entry: IndexManifestEntry) -> IndexManifestEntry:
        group = entry.partition, entry.bucket
        if entry.dv_ranges is None or group not in groups:
            return entry
        names = live.get(group, {})
        return replace(entry, dv_ranges=tuple(part for part in entry.dv_ranges if part.data_file_name in names))

    return list(map(kept, index))
