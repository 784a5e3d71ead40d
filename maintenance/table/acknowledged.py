"""What somebody has looked at and found in order, of what checks have found in a table's snapshots."""

from dataclasses import dataclass
from datetime import datetime

OF_WRITERS = ("single_compactor", "no_bucket_overlap", "writers_are_write_only")
"""Checks over who writes and who compacts."""
COMPACTIONS_PROVED = "compactions_proved"
"""The check of compactions that other engines have made."""
ACKNOWLEDGEABLE = (*OF_WRITERS, COMPACTIONS_PROVED)
"""Checks that find fault with what has happened, and not with how the table is."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What was acknowledged. `name`: who did it; `at`: with a time zone; `snapshot_id`: the table's newest then."""

    check: str
    name: str
    reason: str
    at: datetime
    snapshot_id: int
