"""What some kinds of tables demand of every commit, whoever makes it."""

from collections.abc import Sequence

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot


class CommitRules:
    """Of tables that demand nothing."""

    def check(self, kind: CommitKind, entries: Sequence[ManifestEntry], latest: Snapshot | None) -> None:
        """Refuse changes of a state before anything is published. Raises: DataError."""

    def published(self, snapshot: Snapshot) -> None:
        """Do what has to follow a snapshot that was published. Raises: CommitError: this failed, and it is there."""


NO_RULES = CommitRules()
