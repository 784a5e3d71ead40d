"""What some kinds of tables demand of every commit, whoever makes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.errors import DataError, OvertakenError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.snapshots import Snapshots


class CommitRules:
    """Of tables that demand nothing."""

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Refuse changes of a state before anything is published. Raises: DataError."""

    def published(self, snapshot: Snapshot) -> None:
        """Do what has to follow a snapshot that was published. Raises: CommitError: this failed, and it is there."""


NO_RULES = CommitRules()


# Snapshots whose table has the rows of the one before.
_SAME_ROWS = (CommitKind.COMPACT, CommitKind.ANALYZE)


@dataclass(frozen=True, slots=True)
class Following(CommitRules):
    """Rules of a handle that changes rows as they were in one state, and not where others have changed some since.

    Attributes:
        rules: the table's; `snapshots`: its branch's.
        base: the state's snapshot, None = there was none.
    """

    rules: CommitRules
    snapshots: Snapshots
    base: SnapshotIdentity | None
    table: str

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Raises: OvertakenError: others have committed since."""
        if kind not in _SAME_ROWS and self._rows_of(latest) != self.base:
            found = "nothing" if latest is None else f"snapshot {latest.id}"
            seen = "of an empty table" if self.base is None else f"of snapshot {self.base.id}"
            raise OvertakenError(
                f"others have committed meanwhile: it was made {seen}, and the newest is {found}",
                f"plan of table {self.table}",
                "Nothing was changed. Launch a dry run for a new plan.",
            )
        self.rules.check(kind, entries, latest)

    def _rows_of(self, latest: Snapshot | None) -> SnapshotIdentity | None:
        """The oldest snapshot with the rows of the newest one, but none before the state's own."""
        found, first = latest, 0 if self.base is None else self.base.id
        while found is not None and found.id > first and found.commit_kind in _SAME_ROWS:
            found = self.snapshots.find(found.id - 1)
        return None if found is None else SnapshotIdentity.of(found)

    def published(self, snapshot: Snapshot) -> None:
        self.rules.published(snapshot)


@dataclass(frozen=True, slots=True)
class ExcludedPartitions(CommitRules):
    """Rules of a handle that adds no rows to some partitions, for others show theirs there. `rules`: the table's."""

    rules: CommitRules
    partitions: frozenset[bytes]
    table: str

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Raises: DataError: rows are added to one of these partitions."""
        if any(entry.kind == FileKind.ADD and entry.partition in self.partitions for entry in entries):
            raise DataError(
                "rows would be added to a partition that the fallback branch stands in for, and hide those there",
                f"table {self.table}",
                "Write them to the branch, or copy the partition to the table first.",
            )
        self.rules.check(kind, entries, latest)

    def published(self, snapshot: Snapshot) -> None:
        self.rules.published(snapshot)
