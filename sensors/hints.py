"""Which tables certainly have nothing new, for two small requests each on an object store and none on a local disk.

A LATEST file that has not changed since it named the snapshot that was judged last means that nobody has committed,
unless a writer died between its snapshot and the hint, or a rollback has given the number to another snapshot: the file
says the same then, and so the snapshot's own is asked for as well. For a writer's death a table is looked at in full
after some minutes all the same. On a local disk the folders of the snapshots and schemas say when something was last
made, renamed or deleted in them. What a process knows of the files is lost with it.
"""

import os
import time
from collections.abc import Hashable
from dataclasses import dataclass, field

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.fs.location import is_local, local_path
from maintenance.metadata.hints import LATEST
from maintenance.metadata.snapshots import Snapshots
from maintenance.table.table import Table

TRUSTED_SECONDS = 300
_SETTLED_NANOS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Hint:
    """The LATEST file of a table as it was read. `until`: when it stops to be trusted, as of `time.monotonic`."""

    snapshots: Snapshots
    path: str
    version: Hashable
    snapshot_id: int
    until: float

    def is_unchanged(self, judged: SnapshotIdentity) -> bool:
        """Whether storage still has the same file, and the snapshot that was judged. Asks for one after the other."""
        try:
            if self.snapshots.file_io.read_if_changed(self.path, self.version)[0] is not None:
                return False
            snapshot = self.snapshots.find(self.snapshot_id)
        except (OSError, CorruptFileError):
            return False
        return snapshot is not None and SnapshotIdentity.of(snapshot) == judged


@dataclass(frozen=True, slots=True)
class Folder:
    """The folders of a table's snapshots and schemas on a local disk.

    Attributes:
        stamps: of the folders, before `newest` was found to be the newest snapshot.
        until: as of a `Hint`.
    """

    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    newest: str
    until: float

    @classmethod
    def of(cls, table: Table) -> "Folder | None":
        """None: there is none, or it has changed so lately that another change could have the same time."""
        paths = tuple(map(local_path, (table.paths.snapshot_folder(), table.paths.schema_folder())))
        stamps = tuple(stamp for stamp in map(_stamp, paths) if stamp is not None)
        if len(stamps) < len(paths) or time.time_ns() - max(changed for _, changed in stamps) < _SETTLED_NANOS:
            return None
        newest = str(table.snapshots.latest_identity() or "")
        return cls(paths, stamps, newest, time.monotonic() + TRUSTED_SECONDS) if newest else None

    def is_unchanged(self) -> bool:
        return tuple(map(_stamp, self.paths)) == self.stamps


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


@dataclass(slots=True)
class Hints:
    """The hints that one process knows, by warehouse and table."""

    _known: dict[tuple[str, str], Hint] = field(default_factory=dict)
    _folders: dict[tuple[str, str], Folder] = field(default_factory=dict)

    def nothing_new(self, warehouse: str, table: str, judged: str | None) -> bool:
        """Whether a table still has the snapshot that was judged last. False where that is not known."""
        folder = self._folders.get((warehouse, table))
        if folder is not None:
            return folder.newest == judged and time.monotonic() <= folder.until and folder.is_unchanged()
        hint, last = self._known.get((warehouse, table)), SnapshotIdentity.parse(judged)
        if hint is None or last is None or hint.snapshot_id != last.id or time.monotonic() > hint.until:
            return False
        return hint.is_unchanged(last)

    def forget(self) -> None:
        """Know nothing of any table, as after the time for which hints are trusted."""
        self._known.clear()
        self._folders.clear()

    def read(self, warehouse: str, table: Table) -> None:
        """Remember what says that a table has nothing new. To be called before its newest snapshot is looked for."""
        path = f"{table.paths.snapshot_folder()}/{LATEST}"
        self._known.pop((warehouse, table.identifier), None)
        self._folders.pop((warehouse, table.identifier), None)
        if is_local(path):
            folder = Folder.of(table)
            if folder is not None:
                self._folders[warehouse, table.identifier] = folder
            return
        try:
            data, version = table.file_io.read_if_changed(path, None)
            if data is not None and version is not None:
                until = time.monotonic() + TRUSTED_SECONDS
                hint = Hint(table.snapshots, path, version, int(data), until)
                self._known[(warehouse, table.identifier)] = hint
        except (OSError, ValueError):
            return


HINTS = Hints()
