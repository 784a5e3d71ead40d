"""Whether a snapshot file that was just created comes next after the snapshot that it was made from.

The number of an expired snapshot is free again. A writer that stands still between its last look at the table and the
creation of the file may therefore create a snapshot below the newest one, where its rows are never seen. Readers and
other writers follow the hint, which such a snapshot does not get, so it can be withdrawn and the commit tried again.

Expiry deletes snapshots in the order of their ids and never the newest; a rollback deletes the newest ones first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from maintenance.errors import CorruptFileError, ExpiredError, InfrastructureError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.snapshots import Snapshots

_LOOKS = 5


@dataclass(frozen=True, slots=True)
class PublishCheck:
    """A snapshot that was created, what it changes, and the snapshot that it was made from; None = it is the first."""

    file_io: FileIO
    paths: TablePaths
    snapshot: Snapshot
    previous: Snapshot | None
    entries: Sequence[ManifestEntry]

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.file_io, self.paths)

    def may_publish(self) -> bool:
        """Before the file is created: whether the previous snapshot is still there. The newest one always is.

        On a local disk an expiry moves the hint before it deletes, and deletes the temporary files of those who asked
        before it did: so no number that expires is used again.
        """
        snapshots, previous = self.snapshots, self.previous
        hint = snapshots.read_hint(EARLIEST) if is_local(self.paths.root) else None
        if hint is not None and hint > self.snapshot.id and max(snapshots.list_ids(), default=0) > self.snapshot.id:
            return False
        return previous is None or snapshots.find(previous.id) == previous

    def is_next(self) -> bool:
        """After the file was created: whether it was the next one.

        Raises: InfrastructureError: it has expired since, or others have, so that nothing can tell any more.
        """
        if self._nothing_expired():
            return True
        for _ in range(_LOOKS):
            ids = self.snapshots.list_ids()
            later = [snapshot_id for snapshot_id in ids if snapshot_id > self.snapshot.id]
            if later:
                replaced = self._is_in(min(later), there=self.snapshot.id in ids)
                if replaced is not None:
                    return replaced
            elif self.snapshot.id in ids:
                # Nothing is newer. Only a rollback leaves snapshots before a gap; an expiry leaves none.
                before = [snapshot_id for snapshot_id in ids if snapshot_id < self.snapshot.id]
                return not before or self.snapshot.id - 1 in before
        raise InfrastructureError(
            f"snapshot {self.snapshot.id} was created while others expired, and whether it counts is unknown",
            self.paths.snapshot_folder(),
            "Look for the rows before the commit is repeated. Keep snapshots longer than a commit takes.",
        )

    def _nothing_expired(self) -> bool:
        """Whether the previous snapshot is still there, so that the number was not free for being expired."""
        snapshots, previous = self.snapshots, self.previous
        if previous is None or not snapshots.exists(previous.id):
            return False
        if is_local(self.paths.root):
            return True
        # A store deletes the snapshots of one request in any order, but the hint is moved before.
        hint = snapshots.read_hint(EARLIEST)
        return hint is None or hint <= self.snapshot.id

    def _is_in(self, later_id: int, *, there: bool) -> bool | None:
        """Whether a later snapshot was made after this one; None: unknown, or not known from this one.

        Args: `there`: whether the file created still exists. If it does and the one after it does not, it was below.
        """
        later = self.snapshots.find(later_id)
        if later is None:
            return None
        try:
            trace = self._trace_in(later, at_once=later_id == self.snapshot.id + 1)
        except (ExpiredError, CorruptFileError, FileNotFoundError):
            return None
        if trace:
            return True
        if later_id == self.snapshot.id + 1:
            return trace
        return False if there else None

    def _trace_in(self, later: Snapshot, *, at_once: bool) -> bool | None:
        """Whether a later snapshot's files show what this one changed; None: it changed nothing that would show.

        Args: `at_once`: it is the very next one, so that what it was made from is the state that this one left.
        """
        manifests = Manifests(self.file_io, self.paths)
        added, deleted = _names(self.entries, FileKind.ADD), _names(self.entries, FileKind.DELETE)
        with manifests.reading(later):
            if added - deleted:
                entries = manifests.entries_of(manifests.data_manifests(later))
                return not (added - deleted).isdisjoint(entry.file.file_name for entry in entries)
            if at_once and deleted - added:
                base = manifests.read_list(later.base_manifest_list, later.base_manifest_list_size)
                live = merge_scan(manifests.entries_of(base))
                if any(entry.file.file_name in deleted - added for entry in live):
                    return False
        before = None if self.previous is None else self.previous.index_manifest
        own = self.snapshot.index_manifest
        return True if own is not None and own != before and own == later.index_manifest else None


def _names(entries: Iterable[ManifestEntry], kind: FileKind) -> set[str]:
    return {entry.file.file_name for entry in entries if entry.kind == kind}
