"""All judgements over a table's metadata at once."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from maintenance.monitor.acknowledged import but_acknowledged
from maintenance.monitor.backlog import BacklogLimits, judge_backlog
from maintenance.monitor.census import take_census
from maintenance.monitor.chain import snapshot_chain_intact
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.quarantine import nothing_quarantined
from maintenance.monitor.readable import lost_files, readable
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.monitor.writers import judge_writers
from maintenance.table.acknowledged import Acknowledged
from maintenance.table.table import Table


def judge_table(
    table: Table, max_age: timedelta | None, acknowledged: Callable[[], Mapping[str, Acknowledged]]
) -> Sequence[Judgement]:
    """What is wrong with a table, and what is right.

    Args: `max_age`: of its newest rows; None = any; `acknowledged`: looks up what of the conflicts of writers was
        acknowledged, by check; it is asked only if there are any.
    """
    now = datetime.now(UTC)
    snapshot = table.latest_snapshot()
    faults = [] if snapshot is None else lost_files(table, snapshot, now)
    return (
        readable(faults),
        snapshot_chain_intact(table),
        *judge_backlog(table, BacklogLimits(max_age=max_age), now),
        *but_acknowledged(judge_writers(table, take_census(table)), acknowledged),
        deletion_vectors_intact(table),
        retention_blockers(table, now),
        nothing_quarantined(table),
    )
