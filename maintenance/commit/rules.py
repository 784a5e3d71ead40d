"""What some kinds of tables demand of every commit, whoever makes it."""

from typing import TYPE_CHECKING

from maintenance.format.metadata.snapshot import Snapshot

if TYPE_CHECKING:
    from maintenance.commit.publish import Changes


class CommitRules:
    """Of tables that demand nothing."""

    def check(self, changes: "Changes", latest: Snapshot | None) -> None:
        """Refuse changes of a state before anything is published. Raises: DataError."""

    def published(self, snapshot: Snapshot) -> None:
        """Do what has to follow a snapshot that was published. Raises: CommitError: this failed, and it is there."""


NO_RULES = CommitRules()
