"""Which tables on object stores certainly have nothing new, for two small requests each.

A LATEST file that has not changed since it named the snapshot that was judged last means that nobody has committed,
unless a writer died between its snapshot and the hint, or a rollback has given the number to another snapshot: the file
says the same then, and so the snapshot's own is asked for as well. For a writer's death a table is looked at in full
after some minutes all the same. Local disks need none of this. What a process knows of the files is lost with it.
"""

import time
from collections.abc import Hashable
from dataclasses import dataclass, field

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.fs.location import is_local
from maintenance.metadata.hints import LATEST
from maintenance.metadata.snapshots import Snapshots
from maintenance.table.table import Table

TRUSTED_SECONDS = 300


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


@dataclass(slots=True)
class Hints:
    """The hints that one process knows, by warehouse and table."""

    _known: dict[tuple[str, str], Hint] = field(default_factory=dict)

    def nothing_new(self, warehouse: str, table: str, judged: str | None) -> bool:
        """Whether a table still has the snapshot that was judged last. False where that is not known."""
        hint, last = self._known.get((warehouse, table)), SnapshotIdentity.parse(judged)
        if hint is None or last is None or hint.snapshot_id != last.id or time.monotonic() > hint.until:
            return False
        return hint.is_unchanged(last)

    def forget(self) -> None:
        """Know nothing of any table, as after the time for which hints are trusted."""
        self._known.clear()

    def read(self, warehouse: str, table: Table) -> None:
        """Remember the hint of a table on a store. To be called before its newest snapshot is looked for."""
        path = f"{table.paths.snapshot_folder()}/{LATEST}"
        self._known.pop((warehouse, table.identifier), None)
        if is_local(path):
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
