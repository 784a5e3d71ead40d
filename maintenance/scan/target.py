"""The part of a table's history that a read covers."""

from dataclasses import dataclass

from maintenance.format.metadata.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class FullState:
    """The rows of one snapshot, None = of no snapshot: none.

    Attributes:
        travelled: the options name a snapshot, so its schema is the one to read with.
        files_since: only files made at that moment or later, milliseconds since 1970-01-01 UTC; None = all.
    """

    snapshot: Snapshot | None
    travelled: bool = False
    files_since: int | None = None


@dataclass(frozen=True, slots=True)
class RecordChanges:
    """The records that snapshots brought, as their writers or changelogs wrote them.

    Attributes:
        snapshots: in order of their ids; `changelog`: their changelog files, else the files they appended.
    """

    snapshots: tuple[Snapshot, ...]
    changelog: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """What is otherwise in one snapshot than in an earlier one, key by key."""

    before: Snapshot
    after: Snapshot


ScanTarget = FullState | RecordChanges | Difference
NOTHING = FullState(None)
