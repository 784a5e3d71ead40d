"""What a snapshot is, as others remember it: its number alone is given again after a rollback, or in a new table."""

import hashlib
import json
import re
from dataclasses import dataclass

from maintenance.format.metadata.snapshot import Snapshot, json_of_snapshot

_FORM = re.compile("([0-9]+)@(-?[0-9]+)-([0-9a-f]{16})")
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class SnapshotIdentity:
    """A snapshot as plans, cursors and checkpoints remember it.

    Attributes:
        time_millis: when it was committed, since 1970-01-01 UTC.
        digest: of what its file says; empty: not known, as of what was remembered by its number alone.
    """

    id: int
    time_millis: int
    digest: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> "SnapshotIdentity":
        text = json.dumps(json_of_snapshot(snapshot), sort_keys=True, default=dict)
        return cls(snapshot.id, snapshot.time_millis, hashlib.sha256(text.encode()).hexdigest()[:_DIGITS])

    @classmethod
    def numbered(cls, snapshot_id: int) -> "SnapshotIdentity":
        """A snapshot of which only the number is known. It is never the same as one that is there."""
        return cls(snapshot_id, 0, "")

    @classmethod
    def parse(cls, text: object) -> "SnapshotIdentity | None":
        """What `str` gives, read again; None: it is anything else, such as the number alone."""
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(int(found[1]), int(found[2]), found[3])

    @property
    def is_known(self) -> bool:
        return bool(self.digest)

    def __str__(self) -> str:
        return f"{self.id}@{self.time_millis}-{self.digest}"
