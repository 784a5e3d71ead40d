"""The deletion vectors of a snapshot, for reads and rewrites of its files: each must be of a live file, or spent.

A vector says which rows of one file are deleted. If a compaction has replaced that file, the rows are in other files by
now, and no vector says there that they are deleted: reads would return them, and the next compaction would
keep them permanently. It happens where two jobs compact one table and one of them, which keeps the vectors of its
buckets in memory, does not look at what the other one has committed. So every
operation that needs the bucket refuses such vectors.
Source: Java `BucketedDvMaintainer`, whose index file replaces that of the bucket whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.dead_vectors import LOOKED_BACK, DeadVector, not_live, unspent
from maintenance.metadata.manifests import DeletionFile, Deletions, Manifests
from maintenance.metadata.paths import bucket_text
from maintenance.metadata.snapshots import Snapshots


@dataclass(frozen=True, slots=True)
class Origin:
    """The oldest snapshot known that has a dead vector. `exact`: whether the one before it is there and has none."""

    snapshot: Snapshot
    exact: bool

    @property
    def description(self) -> str:
        snapshot = f"snapshot {self.snapshot.id}"
        return f"{snapshot} by commit user '{self.snapshot.commit_user}'" if self.exact else f"{snapshot} or before"


def live_deletions(manifests: Manifests, snapshot: Snapshot, entries: Sequence[ManifestEntry]) -> Deletions:
    """The deletion vectors of the live files of a snapshot.

    Args: `entries`: live ones; in their buckets each vector must be of a live file, or spent.
    Raises: CorruptFileError: it is neither; it names file, index file, snapshot and commit user.
    """
    deletions = manifests.deletion_vectors(snapshot)
    dead = _dead(manifests, snapshot, deletions, entries)
    if not dead:
        return deletions
    wrong = unspent(manifests, snapshot, dead)
    if wrong:
        raise damage(manifests, snapshot, wrong)
    names = {vector.name for vector in dead}
    # Nor are they written again.
    return {
        group: {name: deletion for name, deletion in of_group.items() if (*group, name) not in names}
        for group, of_group in deletions.items()
    }


def dead_vectors(manifests: Manifests, snapshot: Snapshot, entries: Sequence[ManifestEntry]) -> list[DeadVector]:
    """The vectors of dead files in the buckets of `entries`, which are live."""
    return _dead(manifests, snapshot, manifests.deletion_vectors(snapshot), entries)


def _dead(
    manifests: Manifests, snapshot: Snapshot, vectors: Deletions, entries: Sequence[ManifestEntry]
) -> list[DeadVector]:
    names_by_group: dict[tuple[bytes, int], set[str]] = {}
    for entry in entries:
        if (entry.partition, entry.bucket) in vectors:
            names_by_group.setdefault((entry.partition, entry.bucket), set()).add(entry.file.file_name)
    missing = [
        _vector(group, deletion)
        for group, names in names_by_group.items()
        for name, deletion in vectors[group].items()
        if name not in names
    ]
    # The caller may have left out files, for example those of level 0: only now all of them are worth reading.
    return not_live(manifests, snapshot, missing) if missing else []


def _vector(group: tuple[bytes, int], deletion: DeletionFile) -> DeadVector:
    return DeadVector(*group, deletion.range.data_file_name, deletion.path)


def origin_of(manifests: Manifests, snapshot: Snapshot, dead: Sequence[DeadVector]) -> Origin:
    """Where vectors came from that are dead in a snapshot: the snapshot from which on one of them is."""
    names = {vector.name for vector in dead}
    snapshots = Snapshots(manifests.file_io, manifests.paths)
    first = snapshot
    for snapshot_id in range(snapshot.id - 1, max(0, snapshot.id - 1 - LOOKED_BACK), -1):
        before = snapshots.find(snapshot_id)
        if before is None:
            break
        vectors = [
            _vector(group, deletion)
            for group, of_group in manifests.deletion_vectors(before).items()
            for name, deletion in of_group.items()
            if (*group, name) in names
        ]
        if not vectors or not not_live(manifests, before, vectors):
            return Origin(first, exact=True)
        first = before
    return Origin(first, exact=False)


def damage(manifests: Manifests, snapshot: Snapshot, dead: Sequence[DeadVector]) -> CorruptFileError:
    """The error that refuses a bucket with dead vectors. `dead`: one or more."""
    first, origin = dead[0], origin_of(manifests, snapshot, dead)
    place = bucket_text(manifests.paths.partition(first.partition), first.bucket)
    count = f" ({len(dead)} such vectors)" if len(dead) > 1 else ""
    back = (
        f"snapshot {origin.snapshot.id - 1}, or to a tag of it or an earlier one" if origin.exact else "an earlier tag"
    )
    return CorruptFileError(
        f"a deletion vector names data file {first.file_name}, which is no longer part of the table{count}: "
        "deleted rows would be read",
        f"{place} of snapshot {snapshot.id}, index file {first.index_path}, since {origin.description}",
        f"Roll back to {back}. Then let one job alone compact the table: set 'write-only' = 'true', and start its"
        " writers again.",
    )
