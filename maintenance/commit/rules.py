"""What some kinds of tables demand of every commit, whoever makes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.errors import DataError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot


class CommitRules:
    """Of tables that demand nothing."""

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Refuse changes of a state before anything is published. Raises: DataError."""

    def published(self, snapshot: Snapshot) -> None:
        """Do what has to follow a snapshot that was published. Raises: CommitError: this failed, and it is there."""


NO_RULES = CommitRules()


@dataclass(frozen=True, slots=True)
class KeptOut(CommitRules):
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
