"""The snapshots of a table: the LATEST and EARLIEST hints, finding, reading and publishing.

A latest hint `h` counts if snapshot `h + 1` does not exist; an earliest hint `h` counts if snapshot `h` exists;
otherwise the folder is listed. Source: Java `SnapshotManager`, `HintFileUtils`.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from maintenance.errors import ExpiredError, NotFoundError
from maintenance.format.metadata.snapshot import Snapshot, parse_snapshot, serialize_snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.fs.file_io import FileIO, is_whole
from maintenance.fs.location import is_local
from maintenance.fs.staged import StagedFile
from maintenance.metadata import hints
from maintenance.metadata.cache import RecentlyUsed, metadata_cache
from maintenance.metadata.each_read import each_read
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.identity import check_number
from maintenance.metadata.paths import RETIRED, TablePaths

_PREFIX = "snapshot-"
_MAX_GAP = 300
_LOOKED_UP = 10
_MANY = 2
_READ_AHEAD = 64


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Reads and publishes the snapshots of one branch."""

    file_io: FileIO
    paths: TablePaths

    def latest_id(self) -> int | None:
        """Id of the newest snapshot, None if the table was never committed to."""
        hint = self._latest_hint()
        return hint if hint is not None and self.exists(hint) else max(self.list_ids(), default=None)

    def _latest_hint(self) -> int | None:
        """What the hint says, None if there is a newer one."""
        hint = self.read_hint(LATEST)
        return hint if hint is not None and hint > 0 and not self.exists(hint + 1) else None

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
        return self.ids_among(self.file_io.list_names(self.paths.snapshot_folder()))

    @staticmethod
    def ids_among(names: Iterable[str]) -> list[int]:
        """The ids of the snapshots among some files, ascending."""
        texts = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        return sorted(int(text) for text in texts if text.isdecimal())

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

    def find_many(self, snapshot_ids: Sequence[int]) -> dict[int, Snapshot]:
        """Those of the ids that are there. On a store one listing tells what is known already."""
        folder = self.paths.snapshot_folder()
        versions: dict[str, Hashable] = {}
        if len(snapshot_ids) > _MANY and not is_local(folder):
            versions = {status.path: status.version for status in self.file_io.list_files(folder)}
        kept = {number: self._known(self.paths.snapshot(number), versions) for number in snapshot_ids}
        unknown = [number for number, snapshot in kept.items() if snapshot is None]
        kept.update(zip(unknown, each_read(self.find, unknown, folder), strict=True))
        return {number: snapshot for number, snapshot in kept.items() if snapshot is not None}

    def _known(self, path: str, versions: Mapping[str, Hashable]) -> Snapshot | None:
        version = versions.get(path)
        known: Snapshot | None = None if version is None else self._kept().get(path, version)
        return known

    def _read(self, snapshot_id: int) -> Snapshot:
        path = self.paths.snapshot(snapshot_id)
        before = self._kept().newest(path)
        data, version = self.file_io.read_if_changed(path, before[0] if before else None)
        if data is None and before is not None:
            unchanged: Snapshot = before[1]
            return unchanged
        if data is None or not is_whole(data):
            data, version = self.file_io.read_settled(path), None
        snapshot = parse_snapshot(data, path)
        check_number("snapshot", snapshot_id, snapshot.id, path)
        if version is not None:
            self._kept().put(path, version, snapshot)
        return snapshot

    def _kept(self) -> RecentlyUsed:
        return metadata_cache(self.file_io.cache).snapshots

    def latest(self) -> Snapshot | None:
        """The newest snapshot; looked up again if an expiry or rollback removes it meanwhile.

        Raises: ExpiredError: that happens each time; CorruptFileError.
        """
        hint = self._latest_hint()
        snapshot = None if hint is None else self.find(hint)
        if snapshot is not None:
            return snapshot
        for _ in range(_LOOKED_UP):
            snapshot_id = max(self.list_ids(), default=None)
            if snapshot_id is None:
                return None
            snapshot = self.find(snapshot_id)
            if snapshot is not None:
                return snapshot
        problem = f"snapshot {snapshot_id} was the newest one, and was gone when it was read; so were others before it"
        raise ExpiredError(
            problem, self.paths.snapshot_folder(), "Read again. Keep snapshots longer than a read takes."
        )

    def latest_identity(self) -> SnapshotIdentity | None:
        """What the newest snapshot is, None if the table was never committed to. Raises: as `latest`."""
        snapshot = self.latest()
        return None if snapshot is None else SnapshotIdentity.of(snapshot)

    def has_left(self, identity: SnapshotIdentity) -> bool:
        """Whether a snapshot belongs to the table's past no more: it was rolled back, or the table is a new one.

        One that has expired is part of it. Raises: CorruptFileError: another one of its number is damaged.
        """
        found = self.find(identity.id)
        if found is not None:
            return SnapshotIdentity.of(found) != identity
        earliest = self.earliest_id()
        return earliest is None or identity.id >= earliest

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

    def newest_first(self, newest: Snapshot | None = None) -> Iterator[Snapshot]:
        """Snapshots from the newest backwards, up to the first that is missing. `newest`: where to begin.

        On a store, who goes far back does not wait for one after the other: more and more are read at once.
        """
        snapshot = newest or self.latest()
        if snapshot is None:
            return
        yield snapshot
        most = 1 if is_local(self.paths.snapshot_folder()) else _READ_AHEAD
        count, following = 1, snapshot.id - 1
        while following > 0:
            ids = range(following, max(0, following - count), -1)
            for each in each_read(self.find, ids, self.paths.snapshot_folder()):
                if each is None:
                    return
                yield each
            following -= count
            count = min(2 * count, most)

    def stage(self, snapshot: Snapshot) -> "StagedSnapshot":
        """Make a snapshot ready to be published."""
        path, data = self.paths.snapshot(snapshot.id), serialize_snapshot(snapshot)
        return StagedSnapshot(self, snapshot.id, path, data, self.file_io.stage(path, data))

    def publish(self, snapshot: Snapshot) -> bool:
        """Make a snapshot visible, atomically, whatever was there before; False if another one has this id."""
        with self.stage(snapshot) as staged:
            return staged.create() and staged.confirm()

    def prevent(self, snapshot_ids: Collection[int]) -> None:
        """Before snapshots go: nobody who has looked for the last time can still create one of these numbers."""
        self.file_io.prevent([self.paths.snapshot(snapshot_id) for snapshot_id in snapshot_ids])

    def retire(self, snapshot_ids: Collection[int]) -> None:
        """Take snapshots out of sight before their files go. What they name stays on record until it is deleted."""
        self.file_io.move_files({self.paths.snapshot(i): self.paths.retired_snapshot(i) for i in snapshot_ids})

    def retired(self) -> dict[int, Snapshot]:
        """Snapshots out of sight whose files are not all deleted, ascending by id.

        One that is in sight still, since its move was interrupted, is not among them: nothing of it is gone.
        """
        return self.retired_among(self.file_io.list_names(self.paths.snapshot_folder()))

    def retired_among(self, names: Sequence[str]) -> dict[int, Snapshot]:
        """As `retired`. `names`: of the files in the folder, as they were listed."""
        texts = (name.removeprefix(RETIRED) for name in names if name.startswith(RETIRED))
        snapshots: dict[int, Snapshot] = {}
        for snapshot_id in sorted(int(text) for text in texts if text.isdecimal()):
            path = self.paths.retired_snapshot(snapshot_id)
            # One whose removal ends meanwhile is left out.
            with suppress(FileNotFoundError):
                snapshot = parse_snapshot(self.file_io.read_settled(path), path)
                if f"{_PREFIX}{snapshot_id}" not in names or self.find(snapshot_id) != snapshot:
                    snapshots[snapshot_id] = snapshot
        return snapshots


@dataclass(frozen=True, slots=True)
class StagedSnapshot:
    """A snapshot whose file is ready; deleted at the end of its `with` block if it did not get its name."""

    snapshots: Snapshots
    id: int
    path: str
    data: bytes
    file: StagedFile

    def create(self) -> bool:
        """Create its file, atomically; False if another snapshot has this id. Then it is confirmed or withdrawn."""
        return self.file.publish() or self._is_there()

    def withdraw(self) -> None:
        """Delete the file that was just created."""
        self.snapshots.file_io.delete_quietly([self.path])

    def confirm(self) -> bool:
        """Let the LATEST hint follow; False if another writer has replaced the file meanwhile.

        Whether the hint can be written changes nothing: the snapshot is there.
        """
        self.snapshots.write_hint(LATEST, self.id, flushed=False)
        return not is_local(self.path) or self._stays()

    def _is_there(self) -> bool:
        try:
            return self.snapshots.file_io.read_settled(self.path) == self.data
        except FileNotFoundError:
            return False

    def _stays(self) -> bool:
        """Whether a new file is still the same. Java gives a snapshot its name in two steps on a local disk, and may
        so replace one that came between them."""
        try:
            return self.snapshots.file_io.read_bytes(self.path) == self.data
        except FileNotFoundError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.file.__exit__(*problem)
