"""Does a table need compaction? Judged from the metadata of its latest snapshot.

A table is due when a bucket has reached its trigger (sorted runs with a primary key, small files without one), and at
once when committed rows are invisible to batch reads until a compaction. More triggers can be set; they name the
partitions in which they fire, since only a full compaction of these partitions removes the cause.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from maintenance.amounts import number_of
from maintenance.compaction.clustering import is_clustered
from maintenance.compaction.levels import run_count
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.metadata.manifests import Deletions
from maintenance.metadata.partition_value import PartitionValue
from maintenance.monitor.backlog import CHANGES_LATER, commits_without_changelog, small_file_size
from maintenance.monitor.visibility import hidden_rows, hides, invisible
from maintenance.options import table as table_options
from maintenance.scan.split import by_bucket
from maintenance.table.shape import LiveRuns, TableShape
from maintenance.table.table import Table

NOTHING_DUE = "nothing_due"
# Keeps a run's config readable; the rest fires again at the next snapshot.
_PARTITIONS = 100


@dataclass(frozen=True, slots=True)
class Triggers:
    """What makes a table due, over all that it says itself. None = no trigger, of `sorted_runs` the table's own.

    Attributes:
        sorted_runs: in one bucket; without a primary key small files.
        level0_files, small_files: in one bucket that has other files to merge them with.
        deleted_share: of the rows of one partition, deleted by vectors or by records that say so.
        changelog_lag: commits that are in no changelog yet, of a table whose changelog is made by compaction.
    """

    sorted_runs: int | None = None
    level0_files: int | None = None
    small_files: int | None = None
    deleted_share: float | None = None
    changelog_lag: int | None = None


@dataclass(frozen=True, slots=True)
class CompactionNeed:
    """The judgement.

    Attributes:
        reason: a sentence for people, also when nothing is due.
        full: whether only a full compaction helps; `partitions`: of these, none for a table without partitions.
    """

    due: bool
    reason: str
    snapshot_id: int | None
    max_sorted_runs: int
    files: int
    full: bool = False
    partitions: tuple[PartitionValue, ...] = ()


@reads_again
def judge(table: Table, shape: TableShape, triggers: Triggers = Triggers()) -> CompactionNeed:
    """Whether some bucket has reached its trigger, or rows are invisible until a compaction. `shape`: as it is now."""
    return judge_snapshot(table, table.latest_snapshot(), shape, triggers)


def judge_snapshot(
    table: Table, snapshot: Snapshot | None, shape: TableShape | LiveRuns, triggers: Triggers
) -> CompactionNeed:
    """As `judge`, of a snapshot that has been read already. Raises: ExpiredError: it is gone."""
    fired = _Fired(table, snapshot)
    trigger, most = _trigger(table, triggers), shape.sorted_runs_max
    unit = "sorted run" if _counts_runs(table) else "file"
    # A bucket has no more small files than files, so most tables need no second look.
    if not _counts_runs(table) and most >= trigger:
        most = max(fired.small_files().values(), default=0)
    due, reason = most >= trigger, f"a bucket has {number_of(most, unit)}, the trigger is {trigger}"
    hidden = fired.invisible()
    if hidden:
        due, reason = True, hidden_rows(hidden)
    lag = _changelog_lag(table, triggers.changelog_lag)
    if not due and lag is not None:
        due, reason = True, lag
    full = None if due or snapshot is None else fired.by(triggers)
    if full is None:
        return CompactionNeed(due, reason, shape.snapshot_id, shape.sorted_runs_max, shape.files)
    partitions, reason = full
    return CompactionNeed(True, reason, shape.snapshot_id, shape.sorted_runs_max, shape.files, True, partitions)


@dataclass(frozen=True, slots=True)
class Pressure:
    """How near each bucket is to its compaction.

    Attributes:
        unit: ``sorted runs``, or ``small files`` of a table without a primary key.
        trigger: how many of them make a bucket due.
        buckets: (serialized partition, bucket) -> how many it has.
    """

    unit: str
    trigger: int
    buckets: Mapping[tuple[bytes, int], int]


def pressure(table: Table, entries: Sequence[ManifestEntry], triggers: Triggers = Triggers()) -> Pressure:
    """By bucket, what `judge` compares with the trigger. `entries`: the live ones."""
    if _counts_runs(table):
        runs = {place: run_count([e.file.level for e in group]) for place, group in by_bucket(entries).items()}
        return Pressure("sorted runs", _trigger(table, triggers), runs)
    return Pressure("small files", _trigger(table, triggers), _small_files(table, entries))


def _counts_runs(table: Table) -> bool:
    return table.is_primary_key_table or is_clustered(table.schema, table.options)


def _trigger(table: Table, triggers: Triggers) -> int:
    option = (
        table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER
        if _counts_runs(table)
        else table_options.COMPACTION_MIN_FILE_NUM
    )
    return triggers.sorted_runs or option.of(table.options)


def _small_files(table: Table, entries: Sequence[ManifestEntry]) -> Counter[tuple[bytes, int]]:
    size = small_file_size(table)
    return Counter((e.partition, e.bucket) for e in entries if e.file.file_size < size)


def _changelog_lag(table: Table, limit: int | None) -> str | None:
    if limit is None or table.model.changelog_producer not in CHANGES_LATER:
        return None
    found = commits_without_changelog(table, most=max(1, limit))
    lag, more = len(found.waiting), "" if found.is_whole else "at least "
    return (
        f"{more}{number_of(lag, 'commit is', 'commits are')} not in a changelog yet, the trigger is {limit}"
        if lag >= limit
        else None
    )


@dataclass(slots=True)
class _Fired:
    """The triggers that need the list of files, which is read when the first one asks."""

    table: Table
    snapshot: Snapshot | None
    _entries: Sequence[ManifestEntry] | None = None

    @property
    def entries(self) -> Sequence[ManifestEntry]:
        if self._entries is None:
            self._entries = [] if self.snapshot is None else self.table.manifests.live_entries(self.snapshot)
        return self._entries

    def invisible(self) -> Sequence[ManifestEntry]:
        return invisible(self.table, self.entries) if hides(self.table) else ()

    def small_files(self) -> Counter[tuple[bytes, int]]:
        return _small_files(self.table, self.entries)

    def by(self, triggers: Triggers) -> tuple[tuple[PartitionValue, ...], str] | None:
        """The partitions in which the first of the triggers fires that does, and why."""
        size = small_file_size(self.table)
        checks: list[tuple[float | None, str, Callable[[], Mapping[bytes, float]]]] = [
            (triggers.level0_files, "files of level 0 in a bucket", lambda: self._most(lambda e: e.file.level == 0)),
            (triggers.small_files, "small files in a bucket", lambda: self._most(lambda e: e.file.file_size < size)),
            (triggers.deleted_share, "of the rows deleted", self._deleted_shares),
        ]
        for limit, quantity, measure in checks:
            if limit is None or (quantity.startswith("files of") and not self.table.is_primary_key_table):
                continue
            measured = measure()
            due = sorted((p for p in measured if measured[p] >= limit), key=lambda p: -measured[p])
            if due:
                shown = f"{measured[due[0]]:.0%}" if isinstance(limit, float) else f"{measured[due[0]]:.0f}"
                bound = f"{limit:.0%}" if isinstance(limit, float) else str(limit)
                chosen = tuple(map(self.table.paths.partition, due[:_PARTITIONS]))
                return (chosen if chosen[0] else (), f"there are {shown} {quantity}, the trigger is {bound}")
        return None

    def _most(self, counts: Callable[[ManifestEntry], bool]) -> dict[bytes, float]:
        """By partition: the most files that count in a bucket; a file that is alone there is merged with nothing."""
        most: dict[bytes, float] = {}
        for (partition, _), group in by_bucket(self.entries).items():
            if len(group) > 1:
                most[partition] = max(most.get(partition, 0), sum(map(counts, group)))
        return most

    def _deleted_shares(self) -> dict[bytes, float]:
        deletions: Deletions = {}
        if self.snapshot is not None and self.table.model.has_deletion_vectors:
            deletions = self.table.manifests.deletion_vectors(self.snapshot)
        rows: Counter[bytes] = Counter()
        deleted: Counter[bytes] = Counter()
        for entry in self.entries:
            rows[entry.partition] += entry.file.row_count
            vector = deletions.get((entry.partition, entry.bucket), {}).get(entry.file.file_name)
            deleted[entry.partition] += (entry.file.delete_row_count or 0) if self.table.is_primary_key_table else 0
            deleted[entry.partition] += 0 if vector is None else vector.range.cardinality or 0
        return {partition: deleted[partition] / count for partition, count in rows.items() if count}
