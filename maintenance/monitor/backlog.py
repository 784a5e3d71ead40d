"""How far is maintenance behind? Level 0, small files, changelogs, and the age of the newest rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.amounts import number_of, part_of, size_text
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.freshness import freshness
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.visibility import rows_visible
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table

CHANGES_LATER = ("lookup", "full-compaction")
"""Changelog producers by which a compaction makes the changelog."""
LEVEL0_BACKLOG, SMALL_FILES, CHANGELOG_LAG = "level0_backlog", "small_files", "changelog_lag"
COUNTED_COMMITS = 500
"""Commits that wait for a changelog are counted up to here, since whoever asks asks again and again."""
# Snapshots looked at for each commit that may be counted: the others are compactions and statistics.
_LOOKED_AT = 4


@dataclass(frozen=True, slots=True)
class BacklogLimits:
    """When a backlog is too large.

    Attributes:
        max_age: of the newest rows; None = any.
        max_level0_files: in one bucket; None = twice the compaction trigger.
        max_small_share: share of files below the small-file size, once there are `min_files` files, or a bucket has
            twice as many small ones as its compaction trigger.
        max_changelog_lag: commits whose changes are not in a changelog yet.
        max_invisible: how long batch reads may miss committed rows of a table that is compacted, see `rows_visible`.
    """

    max_age: timedelta | None = None
    max_level0_files: int | None = None
    max_small_share: float = 0.8
    min_files: int = 50
    max_changelog_lag: int = 20
    max_invisible: timedelta = timedelta(minutes=15)


@reads_again
def judge_backlog(table: Table, limits: BacklogLimits, now: datetime) -> tuple[Judgement, ...]:
    """All judgements over backlogs. `now`: with a time zone."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    return (
        freshness(table, limits.max_age, now),
        rows_visible(table, entries, now, tolerated=limits.max_invisible),
        level0_backlog(table, entries, limits),
        small_files(table, entries, limits),
        changelog_lag(table, limits),
    )


def level0_backlog(table: Table, entries: Sequence[ManifestEntry], limits: BacklogLimits) -> Judgement:
    """No bucket has many files that only a merge makes readable."""
    if not table.is_primary_key_table:
        return Judgement(LEVEL0_BACKLOG, True, "a table without primary key has no levels")
    trigger = table.model.num_sorted_run_compaction_trigger
    most = limits.max_level0_files if limits.max_level0_files is not None else 2 * trigger
    counts = {place: sum(entry.file.level == 0 for entry in group) for place, group in by_bucket(entries).items()}
    worst = max(counts, key=lambda place: counts[place], default=None)
    details = {"level0_files": sum(counts.values()), "most in a bucket": max(counts.values(), default=0), "limit": most}
    if worst is None or counts[worst] <= most:
        return Judgement(
            LEVEL0_BACKLOG, True, f"no bucket has more than {number_of(most, 'file')} of level 0", details=details
        )
    where = _place(table, worst)
    return Judgement(
        LEVEL0_BACKLOG,
        False,
        f"{where} has {number_of(counts[worst], 'file')} of level 0, the limit is {most}",
        "Compact the table, more often or with more tasks; 'num-sorted-run.compaction-trigger' says how often.",
        details,
    )


def small_files(table: Table, entries: Sequence[ManifestEntry], limits: BacklogLimits) -> Judgement:
    """Most files are large enough. Few files are judged only where one bucket has many of them."""
    small_size = small_file_size(table)
    counts = Counter((e.partition, e.bucket) for e in entries if e.file.file_size < small_size)
    small = counts.total()
    share = small / len(entries) if entries else 0.0
    details = {"files": len(entries), "small_files": small, "small_share": share}
    summary = f"{part_of(small, len(entries), 'file', ('is', 'are'))} smaller than {size_text(small_size)}"
    judged = len(entries) >= limits.min_files or max(counts.values(), default=0) >= 2 * _trigger(table)
    if not judged or share <= limits.max_small_share:
        return Judgement(SMALL_FILES, True, summary, "", details)
    worst = [{"bucket": _place(table, place), "small files": count} for place, count in counts.most_common(_SHOWN)]
    summary += f"; {worst[0]['bucket']} has the most of them, {worst[0]['small files']:,}"
    fix = (
        "Compact the table, fully where buckets have many; fewer, larger commits or fewer buckets ('bucket') make"
        " larger files, and 'target-file-size' says what counts as small."
    )
    return Judgement(SMALL_FILES, False, summary, fix, {**details, "worst buckets": worst})


def _trigger(table: Table) -> int:
    """How many files of a bucket the table's own options take together."""
    if table.is_primary_key_table:
        return table.model.num_sorted_run_compaction_trigger
    return table.model.compaction_min_file_num


def small_file_size(table: Table) -> int:
    """Bytes below which a file counts as small, by `target-file-size` and `compaction.small-file-ratio`."""
    target = table.model.target_file_size(table.is_primary_key_table)
    return int(table.model.compaction_small_file_ratio * target)


def _place(table: Table, place: tuple[bytes, int]) -> str:
    return bucket_text(table.paths.partition(place[0]), place[1])


def changelog_lag(table: Table, limits: BacklogLimits) -> Judgement:
    """Few commits wait for the changelog that shows their changes."""
    producer = table.model.changelog_producer
    if producer not in CHANGES_LATER:
        summary = "the table has no changelog" if producer == "none" else "every commit carries its own changelog"
        return Judgement(CHANGELOG_LAG, True, summary)
    found = commits_without_changelog(table, most=max(COUNTED_COMMITS, limits.max_changelog_lag + 1))
    waiting, last, lag = found.waiting, found.last, len(found.waiting)
    details = {"commits": lag, "last changelog in snapshot": last or 0}
    more = "" if found.is_whole else "at least "
    summary = f"{more}{number_of(lag, 'commit')} came after the last changelog"
    summary += f", of snapshot {last}" if last else ""
    if lag <= limits.max_changelog_lag:
        return Judgement(CHANGELOG_LAG, True, summary, "", details)
    users = sorted({snapshot.commit_user for snapshot in waiting})
    summary += f": snapshots {waiting[-1].id} to {waiting[0].id}, by {', '.join(repr(user) for user in users[:_SHOWN])}"
    fix = (
        f"Run the step 'changelog' more often, or set the trigger 'changelog_lag'; 'changelog-producer' = '{producer}'"
        " leaves it to compaction, 'input' would leave it to the writers."
    )
    return Judgement(CHANGELOG_LAG, False, summary, fix, {**details, "commit users": users[:_SHOWN]})


@dataclass(frozen=True, slots=True)
class WaitingCommits:
    """The commits of writers after the newest changelog.

    Attributes:
        waiting: newest first.
        last: the snapshot that has that changelog, None where none was found.
        is_whole: False where there may be more than those that were looked at.
    """

    waiting: Sequence[Snapshot]
    last: int | None = None
    is_whole: bool = True


def commits_without_changelog(table: Table, *, most: int = COUNTED_COMMITS) -> WaitingCommits:
    """The commits that wait for their changelog. `most`: no further ones are looked for."""
    waiting: list[Snapshot] = []
    for number, snapshot in enumerate(table.snapshots.newest_first()):
        if snapshot.changelog_manifest_list is not None:
            return WaitingCommits(waiting, snapshot.id)
        if len(waiting) == most or number == _LOOKED_AT * most:
            return WaitingCommits(waiting, is_whole=False)
        drops = snapshot.commit_kind == CommitKind.OVERWRITE and not _adds_files(table, snapshot)
        if snapshot.commit_kind in (CommitKind.APPEND, CommitKind.OVERWRITE) and not drops:
            waiting.append(snapshot)
    return WaitingCommits(waiting)


def _adds_files(table: Table, snapshot: Snapshot) -> bool:
    return any(entry.kind == FileKind.ADD for entry in table.manifests.delta_entries(snapshot))


_SHOWN = 5
