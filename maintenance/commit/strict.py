"""Option `commit.strict-mode.last-safe-snapshot`: give up where others have changed the same partitions since.

A commit fails if another user has compacted or overwritten one of its partitions after the snapshot that the option
names; an overwrite fails if another user has added files to real buckets of them, too. Source: Java
`StrictModeChecker` of 2.0; that of 1.4 does not ask for partitions.
"""

from collections.abc import Collection

from maintenance.commit.conflicts import Conflict
from maintenance.errors import NotFoundError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.snapshots import Snapshots
from maintenance.options import table as table_options

_REPLACING = (CommitKind.COMPACT, CommitKind.OVERWRITE)


class StrictMode:
    """The check of one commit, asked at each attempt; what an attempt has looked at is not looked at again.

    Args: `last_safe`: id of the last snapshot that needs no check, None = the option is not set; below 0 = what the
        first attempt finds is safe. `user`: who commits.
    """

    def __init__(self, snapshots: Snapshots, manifests: Manifests, last_safe: int | None, user: str) -> None:
        self._snapshots = snapshots
        self._manifests = manifests
        self._last_safe = last_safe
        self._user = user

    def found(self, kind: CommitKind, entries: Collection[ManifestEntry], latest: Snapshot | None) -> Conflict | None:
        """What is in the way of publishing these changes after a snapshot."""
        if self._last_safe is None or latest is None:
            return None
        first, self._last_safe = (self._last_safe + 1 if self._last_safe >= 0 else latest.id + 1), latest.id
        groups = frozenset((entry.partition, entry.bucket) for entry in entries)
        key = table_options.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.key
        for snapshot_id in range(first, latest.id + 1):
            try:
                snapshot = self._snapshots.get(snapshot_id)
            except NotFoundError:
                return Conflict(f"snapshot {snapshot_id} has expired before '{key}' could look at it", groups)
            if snapshot.commit_user != self._user and self._clashes(kind, groups, snapshot):
                return Conflict(
                    f"snapshot {snapshot.id} ({snapshot.commit_kind.value}) of user '{snapshot.commit_user}' changed "
                    f"the same partitions, and '{key}' is set",
                    groups,
                )
        return None

    def _clashes(self, kind: CommitKind, groups: Collection[tuple[bytes, int]], snapshot: Snapshot) -> bool:
        replaces = snapshot.commit_kind in _REPLACING
        if not replaces and not (snapshot.commit_kind == CommitKind.APPEND and kind == CommitKind.OVERWRITE):
            return False
        partitions = {partition for partition, _ in groups}
        entries = self._manifests.delta_entries(snapshot)
        if any(entry.partition in partitions and (replaces or entry.bucket >= 0) for entry in entries):
            return True
        return replaces and self._changed_index(partitions, snapshot)

    def _changed_index(self, partitions: Collection[bytes], snapshot: Snapshot) -> bool:
        """Whether a snapshot changed the index, and has one of the partitions in it."""
        if snapshot.index_manifest is None:
            return False
        try:
            before = self._snapshots.get(snapshot.id - 1).index_manifest
        except NotFoundError:
            before = None
        if before == snapshot.index_manifest:
            return False
        return any(entry.partition in partitions for entry in self._manifests.read_index(snapshot))
