"""How well a table is kept, as one number with its parts: each a value beside its target. Read from metadata alone.

A part at its target or below it has 100 points; beyond it has 100 x target / value: 50 at twice the target, 25 at four
times. The score is the mean of the parts that a table has, by their weights. Targets come from the table's options;
they can be set.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from maintenance.amounts import number_of, seconds_text, size_text
from maintenance.compaction.clustering import is_clustered
from maintenance.compaction.levels import run_count
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.monitor.backlog import (
    CHANGES_LATER,
    COUNTED_COMMITS,
    BacklogLimits,
    commits_without_changelog,
    small_file_size,
)
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.retention import RETENTION_BLOCKERS
from maintenance.monitor.visibility import hidden_since, hides, invisible
from maintenance.scan.split import by_bucket
from maintenance.table.table import Table

GOOD, OVER, FAR_OVER = "good", "over target", "far over target"
FILES, RUNS, SHARE, BYTES, SECONDS, TIMES = "files", "sorted runs", "share", "bytes", "seconds", "times the mean"
COMMITS, SNAPSHOTS = "commits", "snapshots"
_FAR = 2.0
_BUCKETS_OF_TARGET = 8
_USUAL = BacklogLimits()


@dataclass(frozen=True, slots=True)
class Measure:
    """A part of the health. `text`: what is measured; `weight`: of its points in the score."""

    name: str
    unit: str
    weight: int
    text: str


MEASURES = {
    measure.name: measure
    for measure in (
        Measure("invisible_seconds", SECONDS, 20, "for how long batch reads have missed committed rows"),
        Measure("sorted_runs", RUNS, 15, "that a read of a bucket merges, in the worst bucket"),
        Measure("level0_files", FILES, 10, "that no compaction has merged yet, in the worst bucket"),
        Measure("small_files", FILES, 10, "below the small-file size, in the worst bucket"),
        Measure("vector_share", SHARE, 10, "of the rows, deleted by vectors but still stored"),
        Measure("changelog_seconds", SECONDS, 10, "for how long counted changes have waited for their changelog"),
        Measure("delete_share", SHARE, 5, "of the records, which say that a row is gone"),
        Measure("changelog_commits", COMMITS, 5, f"in no changelog yet, counted up to {COUNTED_COMMITS} or the target"),
        Measure("manifests", FILES, 5, "below the manifests' target size, which every plan of a read opens"),
        Measure("old_snapshots", SNAPSHOTS, 5, "past their retention"),
        Measure("bucket_bytes", BYTES, 5, "of the largest bucket"),
        Measure("bucket_skew", TIMES, 5, "of its partition's buckets, the largest bucket"),
        Measure("consumer_bytes", BYTES, 5, "of files that only consumers keep"),
        Measure("tag_bytes", BYTES, 3, "of files that only tags and branches keep"),
        Measure("orphan_bytes", BYTES, 3, "of files that nothing names, as last counted"),
    )
}
"""All parts, by name."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a table's health."""

    measure: Measure
    value: float
    target: float

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def points(self) -> float:
        """Out of 100."""
        return 100.0 if self.value <= self.target else 100.0 * self.target / self.value

    @property
    def state(self) -> str:
        if self.value <= self.target:
            return GOOD
        return OVER if self.value <= _FAR * self.target else FAR_OVER

    def text(self, number: float) -> str:
        """A value or target of this part, for people."""
        match self.measure.unit:
            case "share":
                return f"{number:.1%}"
            case "bytes":
                return size_text(round(number))
            case "seconds":
                return seconds_text(number) if number else "0 s"
            case "times the mean":
                return f"{number:.1f} times the mean"
        return f"{number:,.0f} {self.measure.unit}"


@dataclass(frozen=True, slots=True)
class HealthRecord:
    """How well a table is kept at a snapshot. `parts`: those that it has, the weightiest first."""

    snapshot_id: int | None
    at: datetime
    parts: tuple[Part, ...]

    @property
    def score(self) -> int:
        """From 0 to 100."""
        weights = sum(part.measure.weight for part in self.parts)
        if not weights:
            return 100
        exact = sum(part.points * part.measure.weight for part in self.parts) / weights
        return 100 if exact >= 100 else min(99, round(exact))

    @property
    def worst(self) -> tuple[Part, ...]:
        """The parts beyond their targets, those first that cost the score most."""
        over = [part for part in self.parts if part.state != GOOD]
        return tuple(sorted(over, key=lambda part: (part.points - 100) * part.measure.weight))


HEALTH_TARGETS = "health_targets"


def checked_targets(given: Mapping[str, float]) -> dict[str, float]:
    """Targets as somebody has written them, by name of the part. Raises: ValueError: what is wrong."""
    unknown = sorted(set(given) - set(MEASURES))
    if unknown:
        raise ValueError(f"'{unknown[0]}' is no part of the health: {', '.join(MEASURES)}")
    targets = {name: float(target) for name, target in given.items()}
    negative = sorted(name for name, target in targets.items() if target < 0)
    if negative:
        raise ValueError(f"the target of '{negative[0]}' is below 0")
    return targets


_MERGE = "Compact the table."
_DROP = "Compact the table fully: that drops rows that are deleted."
_STEPS = {
    "invisible_seconds": _MERGE,
    "sorted_runs": f"{_MERGE} With a smaller 'num-sorted-run.compaction-trigger' that comes earlier.",
    "level0_files": _MERGE,
    "small_files": "Compact the table, fully where buckets have many; larger commits or fewer buckets make fewer.",
    "vector_share": _DROP,
    "delete_share": _DROP,
    "changelog_seconds": "Run produce_changelog, or compact the table.",
    "changelog_commits": "Run produce_changelog, or compact the table.",
    "manifests": "Run compact_manifest.",
    "old_snapshots": "Run expire_snapshots.",
    "bucket_bytes": "Set a larger 'bucket' and rescale; advise says how many.",
    "bucket_skew": "Look at the columns of the bucket key: many rows have few of their values.",
    "consumer_bytes": "Reset or delete consumers with which nobody reads; held_bytes names them.",
    "tag_bytes": "Delete tags and branches that nobody needs; held_bytes names them.",
    "orphan_bytes": "Run remove_orphan_files.",
}


def health_targets(record: HealthRecord, targets: Mapping[str, float]) -> Judgement:
    """Whether the parts of the health keep to the targets that somebody has set. `targets`: by name of the part."""
    judged = [part for part in record.parts if part.name in targets]
    over = [part for part in record.worst if part.name in targets]
    rows = [{"part": part.name, "now": part.text(part.value), "target": part.text(part.target)} for part in judged]
    unmeasured = [name for name in MEASURES if name in targets and name not in {part.name for part in judged}]
    if not over:
        said = "no targets are set"
        if targets:
            keeps = "keeps" if len(judged) == 1 else "keep"
            said = f"{number_of(len(judged), 'part')} with a target {keeps} to it"
        if unmeasured:
            said = f"{said}; not measured here: {', '.join(unmeasured)}"
        return Judgement(HEALTH_TARGETS, True, said, details={"parts": rows} if rows else {})
    named = [f"{part.name} is {part.text(part.value)}, and its target {part.text(part.target)}" for part in over]
    steps = " ".join(dict.fromkeys(_STEPS[part.name] for part in over))
    fix = f"{steps} Or set another target, in health.targets."
    return Judgement(HEALTH_TARGETS, False, "; ".join(named), fix, {"parts": rows})


def part_rows(record: HealthRecord) -> list[dict[str, str]]:
    """A row of texts for each part, those first that cost the score most."""
    shown = [*record.worst, *(part for part in record.parts if part.state == GOOD)]
    return [
        {
            "part": part.name,
            "now": part.text(part.value),
            "target": part.text(part.target),
            "state": part.state,
            "points": f"{part.points:.0f}",
            "weight": str(part.measure.weight),
            "what": part.measure.text,
        }
        for part in shown
    ]


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes that only some keep, as far as they were added up already; None: nobody has."""

    tags: int | None = None
    consumers: int | None = None
    orphans: int | None = None

    @classmethod
    def of(cls, judgements: Iterable[Judgement], orphans: int | None = None) -> "Held":
        """As the judgement over what keeps old states has it."""
        found = next((judgement for judgement in judgements if judgement.check == RETENTION_BLOCKERS), None)
        if found is None:
            return cls(orphans=orphans)
        blockers: Sequence[Mapping[str, Any]] = found.details["blockers"]
        tags, consumers = (
            sum(int(blocker["bytes"]) for blocker in blockers if (blocker["kind"] == "consumer") == of_consumers)
            for of_consumers in (False, True)
        )
        return cls(tags, consumers, orphans)


@reads_again
def health_record(
    table: Table, now: datetime, targets: Mapping[str, float] | None = None, held: Held = Held()
) -> HealthRecord:
    """The health of a table at its newest snapshot.

    Args: `now`: with a time zone; `targets`: by name of the part, over those of the table's options; `held`: what was
        added up already: it takes more than a look at the newest snapshot. Raises: CorruptFileError; ExpiredError.
    """
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return HealthRecord(None, now, ())
    given = targets or {}
    counted = max(COUNTED_COMMITS, int(given.get("changelog_commits", 0)) + 1)
    values = dict(_Look(table, snapshot, table.manifests.live_entries(snapshot), now, held, counted).values())
    bounds = {**_targets(table, values.pop("_live")), **given}
    parts = tuple(Part(MEASURES[name], values[name], bounds[name]) for name in MEASURES if name in values)
    return HealthRecord(snapshot.id, now, parts)


def _targets(table: Table, live: float) -> dict[str, float]:
    options = table.options
    trigger = options.num_sorted_run_compaction_trigger
    merged = trigger if table.is_primary_key_table else options.compaction_min_file_num
    size = options.target_file_size(table.is_primary_key_table)
    deleted = options.compaction_delete_ratio_threshold
    return {
        "invisible_seconds": _USUAL.max_invisible.total_seconds(),
        "sorted_runs": trigger,
        "level0_files": 2 * trigger,
        "small_files": 2 * merged,
        "vector_share": deleted,
        "changelog_seconds": timedelta(hours=1).total_seconds(),
        "delete_share": deleted,
        "changelog_commits": _USUAL.max_changelog_lag,
        "manifests": options.manifest_merge_min_count,
        "old_snapshots": max(100, options.snapshot_num_retained_min),
        "bucket_bytes": _BUCKETS_OF_TARGET * size,
        "bucket_skew": 3.0,
        "consumer_bytes": 0.5 * live,
        "tag_bytes": live,
        "orphan_bytes": 0.1 * live,
    }


@dataclass(frozen=True, slots=True)
class _Look:
    """What one look at a snapshot finds. `entries`: the live ones; `counted`: commits without changelog, at most."""

    table: Table
    snapshot: Snapshot
    entries: Sequence[ManifestEntry]
    now: datetime
    held: Held
    counted: int

    def values(self) -> Iterator[tuple[str, float]]:
        """Each part that the table has, with its value; and the bytes of live files."""
        yield "_live", sum(entry.file.file_size for entry in self.entries)
        groups = by_bucket(self.entries)
        yield from self._files(groups)
        yield from self._deleted()
        yield from self._waiting()
        yield "manifests", self._manifests()
        yield "old_snapshots", self._old_snapshots()
        for name, size in (
            ("tag_bytes", self.held.tags),
            ("consumer_bytes", self.held.consumers),
            ("orphan_bytes", self.held.orphans),
        ):
            if size is not None:
                yield name, size

    def _files(self, groups: Mapping[tuple[bytes, int], Sequence[ManifestEntry]]) -> Iterator[tuple[str, float]]:
        keyed, small = self.table.is_primary_key_table, small_file_size(self.table)
        if keyed or is_clustered(self.table.schema, self.table.options):
            yield "sorted_runs", max((run_count([e.file.level for e in g]) for g in groups.values()), default=0)
        if keyed:
            yield "level0_files", max((sum(e.file.level == 0 for e in g) for g in groups.values()), default=0)
        yield "small_files", max((sum(e.file.file_size < small for e in g) for g in groups.values()), default=0)
        sizes: defaultdict[bytes, list[int]] = defaultdict(list)
        for (partition, bucket), group in groups.items():
            if bucket >= 0 and (keyed or self.table.model.bucket > 0):
                sizes[partition].append(sum(entry.file.file_size for entry in group))
        if sizes:
            target = self.table.model.target_file_size(keyed)
            yield "bucket_bytes", max(max(some) for some in sizes.values())
            # Of small buckets it does not matter which is larger.
            skews = [max(some) * len(some) / sum(some) for some in sizes.values() if max(some) > target]
            yield "bucket_skew", max(skews, default=1.0)

    def _deleted(self) -> Iterator[tuple[str, float]]:
        rows = sum(entry.file.row_count for entry in self.entries) or 1
        if self.table.is_primary_key_table:
            yield "delete_share", sum(entry.file.delete_row_count or 0 for entry in self.entries) / rows
        if self.table.model.has_deletion_vectors:
            index = [
                e for e in self.table.manifests.read_index(self.snapshot) if e.index_type == DELETION_VECTORS_INDEX
            ]
            yield "vector_share", sum(part.cardinality or 0 for e in index for part in e.dv_ranges or ()) / rows

    def _waiting(self) -> Iterator[tuple[str, float]]:
        """Rows and changes that a compaction brings to light."""
        if hides(self.table):
            hidden = invisible(self.table, self.entries)
            yield "invisible_seconds", self._age(hidden_since(self.table, hidden)) if hidden else 0.0
        if self.table.model.changelog_producer in CHANGES_LATER:
            waiting = commits_without_changelog(self.table, most=self.counted).waiting
            yield "changelog_commits", len(waiting)
            yield "changelog_seconds", self._age(waiting[-1]) if waiting else 0.0

    def _age(self, snapshot: Snapshot) -> float:
        return max(0.0, round((self.now - snapshot.committed_at).total_seconds(), 1))

    def _manifests(self) -> int:
        """How many are smaller than they should be: these a merge of manifests takes together."""
        size = self.table.model.manifest_target_file_size
        return sum(meta.file_size < size for meta in self.table.manifests.data_manifests(self.snapshot))

    def _old_snapshots(self) -> int:
        """How many are past their retention, whether or not something keeps them: a search among their times."""
        options, ids = self.table.options, self.table.snapshots.list_ids()
        most = len(ids) - options.snapshot_num_retained_min
        limit = (self.now - options.snapshot_time_retained).timestamp() * 1000
        low, high = 0, max(0, most)
        while low < high:
            middle = (low + high) // 2
            # A snapshot is old once the one that replaced it is.
            following = self.table.snapshots.find(ids[middle + 1]) if middle + 1 < len(ids) else self.snapshot
            if following is None or following.time_millis < limit:
                low = middle + 1
            else:
                high = middle
        return max(low, len(ids) - options.snapshot_num_retained_max)
