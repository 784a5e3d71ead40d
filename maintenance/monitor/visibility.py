"""Are there committed rows that no batch read returns?

Batch reads leave out level 0 of a table with deletion vectors or with `merge-engine` = `first-row`, and the postpone
bucket: rows there wait for a compaction. Without one, the commit was acknowledged but its rows never appear.
Source: data section 6.1, Java `CoreOptions.batchScanSkipLevel0`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from maintenance.amounts import number_of, seconds_text
from maintenance.commit.identity import OPERATION_PROPERTY, REWRITE_FILE_INDEX
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.judgement import Judgement
from maintenance.table.table import Table

ROWS_VISIBLE = "rows_visible"
_SHOWN = 5
_SNAPSHOTS_LOOKED_AT = 200


def hides(table: Table) -> bool:
    """Whether batch reads of the table leave out some of its live files."""
    return table.is_primary_key_table and (table.model.skips_level_0 or table.model.is_postponed)


def invisible(table: Table, entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    """The live files that batch reads leave out until a compaction."""
    if not hides(table):
        return []
    skips_level_0, postponed = table.model.skips_level_0, table.model.is_postponed
    return [entry for entry in entries if (skips_level_0 and entry.file.level == 0) or (postponed and entry.bucket < 0)]


def hidden_rows(hidden: Sequence[ManifestEntry]) -> str:
    """How much is hidden, as the beginning of a sentence."""
    rows = sum(entry.file.row_count for entry in hidden)
    verb = "is" if rows == 1 else "are"
    found = f"{number_of(rows, 'committed row')} in {number_of(len(hidden), 'file')}"
    return f"{found} {verb} invisible to batch reads until a compaction"


def rows_visible(table: Table, entries: Sequence[ManifestEntry], now: datetime, *, tolerated: timedelta) -> Judgement:
    """No committed rows are hidden from batch reads for long.

    Args: `entries`: the live ones; `now`: with a time zone; `tolerated`: for how long rows may be hidden of a table
        that is known to be compacted. Where no compaction is known they may not be hidden for any time.
    """
    hidden = invisible(table, entries)
    rows = sum(entry.file.row_count for entry in hidden)
    if not hidden:
        counted = {"invisible rows": rows} if hides(table) else {}
        return Judgement(ROWS_VISIBLE, True, "batch reads see every committed row", details=counted)
    since = _since(table, {entry.file.file_name for entry in hidden})
    age = now - since.snapshot.committed_at
    summary = f"{hidden_rows(hidden)}, since {since.description}, {seconds_text(age.total_seconds())} ago"
    details: dict[str, Any] = {
        "invisible rows": rows,
        "invisible files": len(hidden),
        "since snapshot": since.snapshot.id,
        "age_seconds": age.total_seconds(),
        "buckets": _places(table, hidden),
    }
    if since.compacted and age <= tolerated:
        return Judgement(ROWS_VISIBLE, True, summary, "", details)
    fix = "Compact the table, and switch its automatic compaction on, so that every commit is compacted at once."
    return Judgement(ROWS_VISIBLE, False, summary, fix, details)


def hidden_since(table: Table, hidden: Sequence[ManifestEntry]) -> Snapshot:
    """The snapshot that added the oldest of some hidden files, as far as that is known. `hidden`: at least one."""
    return _since(table, {entry.file.file_name for entry in hidden}).snapshot


@dataclass(frozen=True, slots=True)
class _Since:
    """From when on files are hidden.

    Attributes:
        snapshot: the oldest that added one of them; if not `exact`, the oldest that is known: they may be older.
        compacted: whether the snapshots looked at show a compaction.
    """

    snapshot: Snapshot
    exact: bool
    compacted: bool

    @property
    def description(self) -> str:
        snapshot = f"snapshot {self.snapshot.id}"
        return f"{snapshot} by '{self.snapshot.commit_user}'" if self.exact else f"{snapshot} or before"


def _since(table: Table, names: set[str]) -> _Since:
    unexplained = set(names)
    compacted = False
    oldest = last = table.snapshots.get(table.snapshots.latest_id() or 0)
    for last in islice(table.snapshots.newest_first(), _SNAPSHOTS_LOOKED_AT):
        compacted = compacted or _merges(last)
        added_here = _added(table.manifests.delta_entries(last), unexplained) if unexplained else set()
        unexplained -= added_here
        oldest = last if added_here else oldest
        if compacted and not unexplained:
            break
    return _Since(last if unexplained else oldest, not unexplained, compacted)


def _merges(snapshot: Snapshot) -> bool:
    """Whether a snapshot merged files; one that only gave them other indexes brings no row to light."""
    indexed = (snapshot.properties or {}).get(OPERATION_PROPERTY) == REWRITE_FILE_INDEX
    return snapshot.commit_kind == CommitKind.COMPACT and not indexed


def _added(delta: Sequence[ManifestEntry], names: set[str]) -> set[str]:
    """Files that a snapshot added. One of which it changed the metadata alone was there before."""
    gone = {entry.file.file_name for entry in delta if entry.kind == FileKind.DELETE}
    added = {entry.file.file_name for entry in delta if entry.kind == FileKind.ADD}
    return (added & names) - gone


def _places(table: Table, entries: Sequence[ManifestEntry]) -> list[dict[str, str | int]]:
    """The buckets with the most hidden rows."""
    rows: Counter[tuple[bytes, int]] = Counter()
    for entry in entries:
        rows[entry.partition, entry.bucket] += entry.file.row_count
    return [
        {"bucket": bucket_text(table.paths.partition(partition), bucket), "invisible rows": count}
        for (partition, bucket), count in rows.most_common(_SHOWN)
    ]
