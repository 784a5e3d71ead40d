"""How trying to publish a snapshot ended."""

from dataclasses import dataclass

from maintenance.commit.conflicts import Conflict
from maintenance.commit.target import CommitTarget
from maintenance.errors import BucketNumberError, ConflictError, ReplayedError
from maintenance.format.metadata.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Published:
    """The snapshot is there. `attempts`: how many were made."""

    snapshot: Snapshot
    attempts: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing is published, and trying again would not help.

    Attributes:
        conflict: what is in the way, and which groups of files it concerns.
        to: the newest snapshot, whose state is in the way; None = the table has none.
    """

    conflict: Conflict
    to: Snapshot | None
    attempts: int

    def error(self, target: CommitTarget) -> ConflictError:
        """What whoever needs all of the changes raises."""
        reason, where = self.conflict.reason, f"table {target.name}"
        if self.conflict.replayed:
            return ReplayedError(reason, where, "Nothing to do: the table has these rows, once.")
        if self.conflict.fix:
            return BucketNumberError(reason, where, self.conflict.fix)
        return ConflictError(reason, where, "Open the table again and repeat the work.")


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Nothing is published, since another writer was first: the next attempt may succeed."""


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Storage was asked to publish, and what it did is unknown: the files that the snapshot names must stay."""

    error: BaseException
