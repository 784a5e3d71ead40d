"""The snapshots of a table: the LATEST and EARLIEST hints, finding, reading and publishing.

A latest hint `h` counts if snapshot `h + 1` does not exist; an earliest hint `h` counts if snapshot `h` exists;
otherwise the folder is listed. Source: Java `SnapshotManager`, `HintFileUtils`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from maintenance.errors import ExpiredError, NotFoundError
from maintenance.format.metadata.snapshot import Snapshot, parse_snapshot, serialize_snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata import hints
from maintenance.metadata.cache import metadata_cache, through
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.identity import check_number
from maintenance.metadata.paths import TablePaths

_PREFIX = "snapshot-"
_MAX_GAP = 300
_LOOKED_UP = 10


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Reads and publishes the snapshots of one branch."""

    file_io: FileIO
    paths: TablePaths

    def latest_id(self) -> int | None:
        """Id of the newest snapshot, None if the table was never committed to."""
        hint = self.read_hint(LATEST)
        if hint is not None and hint > 0 and not self.exists(hint + 1) and self.exists(hint):
            return hint
        return max(self.list_ids(), default=None)

    def earliest_id(self) -> int | None:
        """Id of the oldest snapshot that is still there."""
        hint = self.read_hint(EARLIEST)
        if hint is not None and self.exists(hint):
            return hint
        return min(self.list_ids(), default=None)

    def read_hint(self, name: str) -> int | None:
        return hints.read_hint(self.file_io, self.paths.snapshot_folder(), name)

    def write_hint(self, name: str, snapshot_id: int, *, flushed: bool = True) -> bool:
        """Never fails; False if readers may be misled: see `hints`."""
        return hints.write_hint(self.file_io, self.paths.snapshot_folder(), name, snapshot_id, flushed=flushed)

    def list_ids(self) -> list[int]:
        """Ids of all snapshots there are, ascending."""
        names = self.file_io.list_names(self.paths.snapshot_folder())
        found = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        return sorted(int(text) for text in found if text.isdecimal())

    def exists(self, snapshot_id: int) -> bool:
        return self.file_io.exists(self.paths.snapshot(snapshot_id))

    def get(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id. Raises: NotFoundError, with the ids there are; CorruptFileError: as `find`."""
        try:
            return self._read(snapshot_id)
        except FileNotFoundError as error:
            raise NotFoundError(
                f"snapshot {snapshot_id} does not exist",
                self.paths.snapshot_folder(),
                f"Use one of {self.earliest_id()} to {self.latest_id()}, or a tag.",
            ) from error

    def find(self, snapshot_id: int) -> Snapshot | None:
        """The snapshot of that id, or None. Raises: CorruptFileError: damaged, or the file holds another snapshot."""
        try:
            return self._read(snapshot_id)
        except FileNotFoundError:
            return None

    def _read(self, snapshot_id: int) -> Snapshot:
        path = self.paths.snapshot(snapshot_id)
        kept = metadata_cache(self.file_io.cache).snapshots(self.paths.snapshot_folder())
        version = self.file_io.version(path)

        def read() -> Snapshot:
            snapshot = parse_snapshot(self.file_io.read_settled(path), path)
            check_number("snapshot", snapshot_id, snapshot.id, path)
            return snapshot

        return through(kept, path, version, read, lambda _: 1)

    def latest(self) -> Snapshot | None:
        """The newest snapshot; looked up again if an expiry or rollback removes it meanwhile.

        Raises: ExpiredError: that happens each time; CorruptFileError.
        """
        for _ in range(_LOOKED_UP):
            snapshot_id = self.latest_id()
            if snapshot_id is None:
                return None
            snapshot = self.find(snapshot_id)
            if snapshot is not None:
                return snapshot
        found = f"snapshot {snapshot_id} was the newest one, and gone when it was read, as others before it"
        raise ExpiredError(found, self.paths.snapshot_folder(), "Read again. Keep snapshots longer than a read takes.")

    def earliest(self) -> Snapshot | None:
        """The oldest snapshot that can be read; those that vanish meanwhile are skipped."""
        first, last = self.earliest_id(), self.latest_id()
        if first is None or last is None:
            return None
        for snapshot_id in range(first, min(last, first + _MAX_GAP) + 1):
            snapshot = self.find(snapshot_id)
            if snapshot is not None:
                return snapshot
        return None

    def newest_first(self) -> Iterator[Snapshot]:
        """Snapshots from the newest backwards, up to the first that is missing."""
        snapshot_id = self.latest_id()
        while snapshot_id is not None and snapshot_id > 0:
            snapshot = self.find(snapshot_id)
            if snapshot is None:
                return
            yield snapshot
            snapshot_id -= 1

    def publish(self, snapshot: Snapshot) -> bool:
        """Make a snapshot visible, atomically; False if another one has this id.

        Then the LATEST hint follows. Whether it can be written changes nothing: the snapshot is there.
        """
        path = self.paths.snapshot(snapshot.id)
        data = serialize_snapshot(snapshot)
        if not self.file_io.publish(path, data) and self.file_io.read_settled(path) != data:
            return False
        self.write_hint(LATEST, snapshot.id, flushed=False)
        return True
