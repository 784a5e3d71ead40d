"""When did somebody last write rows?

Compactions, statistics and commits without rows do not count: a table whose writer died may still be compacted.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from maintenance.amounts import seconds_text
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.monitor.judgement import Judgement
from maintenance.table.table import Table

FRESHNESS = "freshness"
# Further back the answer is "older than that".
_LOOKED_AT = 200
_FIX = "Look at the job that writes the table."


@dataclass(frozen=True, slots=True)
class LastWrite:
    """The newest snapshot that brought rows. `known`: False if there is none left: the rows came before `snapshot`."""

    snapshot: Snapshot
    known: bool


def freshness(table: Table, max_age: timedelta | None, now: datetime) -> Judgement:
    """Rows were written lately. `max_age`: of the newest rows, None = any; `now`: with a time zone."""
    last = last_write(table)
    if last is None:
        passed = max_age is None
        return Judgement(FRESHNESS, passed, "the table has no snapshot yet", "" if passed else _FIX)
    snapshot = last.snapshot
    age = now - snapshot.committed_at
    passed = max_age is None or age <= max_age
    old = seconds_text(age.total_seconds())
    if last.known:
        summary = f"the newest rows are {old} old: snapshot {snapshot.id} by '{snapshot.commit_user}'"
    else:
        summary = f"the newest rows are more than {old} old: no snapshot since {snapshot.id} brought any"
    details: dict[str, Any] = {"snapshot": snapshot.id, "age_seconds": age.total_seconds()}
    if last.known:
        details["writer"] = snapshot.commit_user
    return Judgement(FRESHNESS, passed, summary, "" if passed else _FIX, details)


def last_write(table: Table) -> LastWrite | None:
    """The newest snapshot with rows of a writer, or the oldest one looked at; None if the table has no snapshot."""
    oldest = None
    for number, snapshot in enumerate(table.snapshots.newest_first()):
        if number == _LOOKED_AT:
            break
        if _brings_rows(table, snapshot):
            return LastWrite(snapshot, known=True)
        oldest = snapshot
    return None if oldest is None else LastWrite(oldest, known=False)


def _brings_rows(table: Table, snapshot: Snapshot) -> bool:
    if snapshot.commit_kind == CommitKind.APPEND and snapshot.delta_record_count > 0:
        return True
    # An overwrite that replaces more rows than it brings counts fewer than none.
    written = snapshot.commit_kind in (CommitKind.APPEND, CommitKind.OVERWRITE)
    return written and any(
        entry.kind == FileKind.ADD and entry.file.row_count > 0 for entry in table.manifests.delta_entries(snapshot)
    )
