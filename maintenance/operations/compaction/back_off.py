"""What a compaction does after another writer has changed its groups: it waits before it plans them again.

Against writers of this engine a short pause is enough. Another engine's writer that keeps committing to the same groups
would lose its own work, and a Flink job would restart, each time that we win: there the pause is long, and grows.
"""

import random
from collections.abc import Collection

from maintenance.commit.identity import is_ours
from maintenance.errors import ExpiredError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.compaction.plan import Group
from maintenance.table.table import Table

_LONGEST, _LONGEST_AFTER_OTHERS = 5.0, 30.0


def rival(table: Table, since: Snapshot | None, groups: Collection[Group]) -> str | None:
    """The commit user of another engine that has changed one of these groups since a snapshot.

    None if none has, as far as the snapshots that have not expired say.
    """
    try:
        for snapshot in table.snapshots.newest_first():
            if since is not None and snapshot.id <= since.id:
                return None
            if not is_ours(snapshot) and any(
                (entry.partition, entry.bucket) in groups for entry in table.manifests.delta_entries(snapshot)
            ):
                return snapshot.commit_user
    except ExpiredError:
        # It was expired after it was listed, and with it all that were older.
        return None
    return None


def seconds_to_wait(attempt: int, *, lost_to_others: bool) -> float:
    """Before what was lost in an attempt is planned again. `attempt`: from 0; `lost_to_others`: another engine won."""
    base, longest = (0.5, _LONGEST_AFTER_OTHERS) if lost_to_others else (0.1, _LONGEST)
    return min(longest, base * 2.0 ** min(attempt, 10)) * (1 + random.random())
