"""What the newest snapshot holds in some partitions, followed from snapshot to snapshot while a commit is tried."""

from collections.abc import Collection
from dataclasses import dataclass, field

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.live_groups import live_groups
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.snapshots import Snapshots
from maintenance.write.state import WriteState

# The changes of more snapshots than this are not read one by one.
_SNAPSHOTS = 64


@dataclass(slots=True)
class Newest:
    """What new files have to come after.

    Attributes:
        partitions: only their files count.
        sequences: largest sequence number of each (partition, bucket), or one that was there since `snapshot` was new.
        created: newest creation time of a file in each partition.
        snapshot: up to which this holds, None = nothing is known.
    """

    snapshots: Snapshots
    manifests: Manifests
    partitions: Collection[bytes]
    sequences: dict[tuple[bytes, int], int] = field(default_factory=dict)
    created: dict[bytes, int] = field(default_factory=dict)
    snapshot: Snapshot | None = None

    @classmethod
    def of(
        cls, snapshots: Snapshots, manifests: Manifests, partitions: Collection[bytes], state: WriteState | None
    ) -> "Newest":
        """`state`: on which the new files were written, None = it is not known."""
        if state is None or state.snapshot is None:
            return cls(snapshots, manifests, partitions)
        sequences = {group: last for group, last in state.sequences.items() if group[0] in partitions}
        created = {partition: made for partition, made in state.created.items() if partition in partitions}
        return cls(snapshots, manifests, partitions, sequences, created, state.snapshot)

    def advance(self, latest: Snapshot | None) -> None:
        """Take what was committed up to `latest`: read its changes, or its files where their snapshots are gone."""
        if latest == self.snapshot:
            return
        since = None if latest is None else self._since(latest)
        if since is None:
            self.sequences, self.created = {}, {}
            selection = EntrySelection(self.partitions.__contains__)
            for group in [] if latest is None else live_groups(self.manifests, latest, selection):
                self._add(group.partition, group.bucket, group.max_sequence_number, group.created)
        for entry in since or ():
            self._add(entry.partition, entry.bucket, entry.file.max_sequence_number, entry.file.creation_time)
        self.snapshot = latest

    def _add(self, partition: bytes, bucket: int, number: int, made: int | None) -> None:
        self.sequences[partition, bucket] = max(self.sequences.get((partition, bucket), number), number)
        if made is not None:
            self.created[partition] = max(self.created.get(partition, made), made)

    def _since(self, latest: Snapshot) -> list[ManifestEntry] | None:
        """Files added since the snapshot known so far; None if not all snapshots in between are there."""
        last_seen = self.snapshot
        if last_seen is None or not 0 < latest.id - last_seen.id <= _SNAPSHOTS:
            return None
        # After a rollback other snapshots have the same ids.
        snapshots = [self.snapshots.find(snapshot_id) for snapshot_id in range(last_seen.id, latest.id)]
        if snapshots[0] != last_seen or None in snapshots:
            return None
        selection = EntrySelection(self.partitions.__contains__)
        entries: list[ManifestEntry] = []
        try:
            for snapshot in [*snapshots[1:], latest]:
                if snapshot is not None:
                    entries += self.manifests.entries_of(self.manifests.delta_manifests(snapshot), selection)
        except (CorruptFileError, NotFoundError):
            # An expiry has deleted the changes in the meantime.
            return None
        return [entry for entry in entries if entry.kind == FileKind.ADD]
