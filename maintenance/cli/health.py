"""All judgements over a table's metadata, as the checks in Dagster make them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from maintenance.metastore.catalog import Catalog
from maintenance.monitor.acknowledged import with_acknowledged
from maintenance.monitor.backlog import BacklogLimits, judge_backlog
from maintenance.monitor.census import take_census
from maintenance.monitor.chain import snapshot_chain_intact
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.quarantine import nothing_quarantined
from maintenance.monitor.readable import lost_files, readable
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.monitor.writers import judge_writers
from maintenance.operations.acknowledgements.acknowledged import acknowledged
from maintenance.operations.history import HISTORY_DATABASE, history_table
from maintenance.table.table import Table


def judge_table(
    table: Table, max_age: timedelta | None = None, *, catalog: Catalog | None = None, history: str = HISTORY_DATABASE
) -> Sequence[Judgement]:
    """What is wrong with a table, and what is right.

    Args: `max_age`: of its newest rows; None = any; `catalog`, `history`: where the database of the history is, which
        says what of the conflicts of writers was acknowledged; None: nothing was.
    """
    now = datetime.now(UTC)
    snapshot = table.latest_snapshot()
    faults = [] if snapshot is None else lost_files(table, snapshot, now)
    return (
        readable(faults),
        snapshot_chain_intact(table),
        *judge_backlog(table, BacklogLimits(max_age=max_age), now),
        *_writers(table, catalog, history),
        deletion_vectors_intact(table),
        retention_blockers(table, now),
        nothing_quarantined(table),
    )


def _writers(table: Table, catalog: Catalog | None, history: str) -> Sequence[Judgement]:
    found = judge_writers(table, take_census(table))
    if catalog is None or all(judgement.passed for judgement in found):
        return found
    known = acknowledged(catalog, history_table(history), table.identifier)
    return [with_acknowledged(judgement, known) for judgement in found]
