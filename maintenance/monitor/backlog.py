"""How far is maintenance behind? Level 0, small files, changelogs, and the age of the newest snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.format.manifest import ManifestEntry
from maintenance.format.snapshot import CommitKind, Snapshot
from maintenance.metadata.paths import partition_text_of
from maintenance.monitor.judgement import Judgement
from maintenance.options import table as table_options
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table

FRESHNESS, LEVEL0_BACKLOG, SMALL_FILES, CHANGELOG_LAG = "freshness", "level0_backlog", "small_files", "changelog_lag"


@dataclass(frozen=True, slots=True)
class BacklogLimits:
    """When a backlog is too large.

    Attributes:
        max_age: of the newest snapshot; None = any.
        max_level0_files: in one bucket; None = twice the compaction trigger.
        max_small_share: share of files below the small-file size, once there are `min_files` of them.
        max_changelog_lag: commits whose changes are not in a changelog yet.
    """

    max_age: timedelta | None = None
    max_level0_files: int | None = None
    max_small_share: float = 0.8
    min_files: int = 50
    max_changelog_lag: int = 20


def judge_backlog(table: Table, limits: BacklogLimits, now: datetime) -> tuple[Judgement, ...]:
    """All judgements over backlogs. `now`: with a time zone."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    return (
        freshness(snapshot, limits, now),
        level0_backlog(table, entries, limits),
        small_files(table, entries, limits),
        changelog_lag(table, limits),
    )


def freshness(snapshot: Snapshot | None, limits: BacklogLimits, now: datetime) -> Judgement:
    """Somebody committed lately."""
    if snapshot is None:
        passed = limits.max_age is None
        return Judgement(FRESHNESS, passed, "the table has no snapshot yet", "" if passed else _WRITE)
    age = now - datetime.fromtimestamp(snapshot.time_millis / 1000, now.tzinfo)
    details = {"snapshot": snapshot.id, "age_seconds": age.total_seconds()}
    said = f"the newest snapshot, {snapshot.id} by '{snapshot.commit_user}', is {_rounded(age)} old"
    passed = limits.max_age is None or age <= limits.max_age
    return Judgement(FRESHNESS, passed, said, "" if passed else _WRITE, details)


def level0_backlog(table: Table, entries: Sequence[ManifestEntry], limits: BacklogLimits) -> Judgement:
    """No bucket has many files that only a merge makes readable."""
    if not table.is_primary_key_table:
        return Judgement(LEVEL0_BACKLOG, True, "a table without primary key has no levels")
    trigger = table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER.of(table.options)
    most = limits.max_level0_files if limits.max_level0_files is not None else 2 * trigger
    counts = {place: sum(entry.file.level == 0 for entry in group) for place, group in by_bucket(entries).items()}
    worst = max(counts, key=lambda place: counts[place], default=None)
    details = {"level0_files": sum(counts.values()), "most in a bucket": max(counts.values(), default=0), "limit": most}
    if worst is None or counts[worst] <= most:
        return Judgement(LEVEL0_BACKLOG, True, f"no bucket has more than {most} files of level 0", details=details)
    where = f"{partition_text_of(table.paths.spec_of(worst[0]))} bucket {worst[1]}"
    return Judgement(
        LEVEL0_BACKLOG,
        False,
        f"{where} has {counts[worst]} files of level 0, the limit is {most}",
        "Compact the table, more often or with more tasks; 'num-sorted-run.compaction-trigger' says how often.",
        details,
    )


def small_files(table: Table, entries: Sequence[ManifestEntry], limits: BacklogLimits) -> Judgement:
    """Most files have a decent size."""
    target = table_options.target_file_size(table.options, table.is_primary_key_table)
    small_size = int(table_options.COMPACTION_SMALL_FILE_RATIO.of(table.options) * target)
    small = sum(entry.file.file_size < small_size for entry in entries)
    share = small / len(entries) if entries else 0.0
    details = {"files": len(entries), "small_files": small, "small_share": share}
    said = f"{small} of {len(entries)} files are smaller than {small_size >> 20} MiB"
    passed = len(entries) < limits.min_files or share <= limits.max_small_share
    fix = "Compact the table; fewer, larger commits or fewer buckets make larger files."
    return Judgement(SMALL_FILES, passed, said, "" if passed else fix, details)


def changelog_lag(table: Table, limits: BacklogLimits) -> Judgement:
    """Changes come into the changelog soon."""
    producer = table_options.CHANGELOG_PRODUCER.of(table.options)
    if producer in ("none", "input"):
        said = "the table has no changelog" if producer == "none" else "every commit carries its own changelog"
        return Judgement(CHANGELOG_LAG, True, said)
    lag, last = 0, None
    for snapshot in table.snapshots.newest_first():
        if snapshot.changelog_manifest_list is not None:
            last = snapshot.id
            break
        lag += snapshot.commit_kind in (CommitKind.APPEND, CommitKind.OVERWRITE)
    details = {"commits": lag, "last changelog in snapshot": last or 0}
    said = f"{lag} commits are later than the last changelog" + (f", of snapshot {last}" if last else "")
    passed = lag <= limits.max_changelog_lag
    return Judgement(CHANGELOG_LAG, passed, said, "" if passed else "Run the changelog step more often.", details)


_WRITE = "Look at the job that writes the table."


def _rounded(age: timedelta) -> str:
    return str(timedelta(seconds=round(age.total_seconds())))
