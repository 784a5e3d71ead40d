"""Does another engine compact the same table as we do?

Two compactors that both commit are visible in the snapshots (`single_compactor`). One that loses every race is not: it
leaves no snapshots, and a Flink job restarts again and again while the table looks healthy. So this check looks at what
may happen: the table lets its writers compact, we compact it, and somebody else writes to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from maintenance.format.metadata.snapshot import CommitKind
from maintenance.monitor.census import Census, Commit
from maintenance.monitor.judgement import Judgement
from maintenance.options.own import BESIDE_OTHER_COMPACTORS
from maintenance.table.compactors import endangers_deletions, refusal, writers_compact
from maintenance.table.table import Table

COMPACTS_ALONE = "compacts_alone"
_WRITES = (CommitKind.APPEND, CommitKind.OVERWRITE)
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=2), timedelta(hours=1)
_WRITE_ONLY = "Set 'write-only' = 'true', and start the writers again"
_LOSES = "deleted rows come back where both compact a bucket. This is a matter of correctness, not of speed"


def compacts_alone(table: Table, census: Census, *, automatic: bool) -> Judgement:
    """Nobody else compacts a table that we compact. `automatic`: whether we do so without being asked."""
    ours = [commit for commit in census.commits if commit.ours and commit.kind == CommitKind.COMPACT]
    others = [c for c in census.commits if not c.ours and c.kind in (*_WRITES, CommitKind.COMPACT)]
    if not ours and not automatic:
        return Judgement(COMPACTS_ALONE, True, "we do not compact this table")
    if table.model.beside_other_compactors:
        return Judgement(COMPACTS_ALONE, True, f"'{BESIDE_OTHER_COMPACTORS.key}' allows other compactors")
    if endangers_deletions(table):
        return _endangered(table, others)
    if others and writers_compact(table):
        return _beside(others)
    dedicated = _dedicated(table, others)
    if dedicated:
        return _both_dedicated(dedicated[-1])
    return Judgement(COMPACTS_ALONE, True, "nobody else compacts the table")


def _endangered(table: Table, others: Sequence[Commit]) -> Judgement:
    summary = (
        f"the table has deletion vectors and is not 'write-only': a Flink or Spark writer compacts, too, and {_LOSES}"
    )
    summary += f"; {_last(others)}" if others else ""
    refused = refusal(table)
    summary += "; our compaction refuses" if refused is not None else ""
    return Judgement(COMPACTS_ALONE, False, summary, f"{_WRITE_ONLY}.", _details(others), severe=bool(others))


def _beside(others: Sequence[Commit]) -> Judgement:
    summary = (
        f"the table is not 'write-only', so its writers compact, and so do we; {_last(others)}. The loser of a race"
        " has done its work in vain and leaves no snapshot; a Flink job restarts"
    )
    fix = f"{_WRITE_ONLY}; or switch our compaction of it off: 'compaction.automatic' = false."
    return Judgement(COMPACTS_ALONE, False, summary, fix, _details(others))


def _both_dedicated(commit: Commit) -> Judgement:
    summary = (
        f"another engine compacts the table as well: '{commit.writer}', last in snapshot {commit.snapshot_id}. With"
        f" deletion vectors {_LOSES}"
    )
    return Judgement(COMPACTS_ALONE, False, summary, "Stop one of the two.", _details([commit]), severe=True)


def _dedicated(table: Table, others: Sequence[Commit]) -> list[Commit]:
    """Compactions by others of a table with deletion vectors, since its writers have left that to a job of its own."""
    compactions = [commit for commit in others if commit.kind == CommitKind.COMPACT]
    if not compactions or not (table.is_primary_key_table and table.model.has_deletion_vectors):
        return []
    left_to_jobs = {
        schema_id
        for schema_id in {commit.schema_id for commit in compactions}
        if table.schemas.get(schema_id).model.write_only
    }
    return [commit for commit in compactions if commit.schema_id in left_to_jobs]


def _last(others: Sequence[Commit]) -> str:
    return f"'{others[-1].writer}' commits to it, last in snapshot {others[-1].snapshot_id}"


def _details(others: Sequence[Commit]) -> dict[str, object]:
    if not others:
        return {}
    return {"commit user": others[-1].writer, "snapshot": others[-1].snapshot_id}


@dataclass(frozen=True, slots=True)
class Pause:
    """Our compaction backs off. `until`: with a time zone; `reason`: for people."""

    until: datetime
    reason: str


def pause_for_others(table: Table, census: Census, now: datetime) -> Pause | None:
    """How long our compaction backs off from writers that may compact the same buckets; None: it need not.

    Where others have committed to the buckets of our last compaction since then, the next one waits: 2 minutes, twice
    as long after each compaction of the last hour, an hour at most. `now`: with a time zone.
    """
    ours = [commit for commit in census.commits if commit.ours and commit.kind == CommitKind.COMPACT]
    if not ours:
        return None
    last = ours[-1]
    rivals = [
        commit
        for commit in census.commits
        if commit.snapshot_id > last.snapshot_id
        and not commit.ours
        and (commit.kind == CommitKind.COMPACT or (commit.kind in _WRITES and writers_compact(table)))
        and commit.places & last.places
    ]
    if not rivals:
        return None
    recent = [c for c in ours if now - _time(c) <= timedelta(hours=1) and c.places & last.places]
    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(10, max(0, len(recent) - 1)))
    until = _time(last) + pause
    if until <= now:
        return None
    return Pause(
        until, f"'{rivals[-1].writer}' works on the same buckets, our compaction backs off until {until:%H:%M:%S} UTC"
    )


def _time(commit: Commit) -> datetime:
    return datetime.fromtimestamp(commit.time_millis / 1000, UTC)
