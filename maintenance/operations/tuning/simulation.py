"""What would have become of the files of a table under some settings: its arrivals, compacted by the engine's rules.

Which files are compacted is decided by the code that decides it in earnest, `plan_group`, which is given records of
files that do not exist. What a merge makes of them is what it made once, if the table has merged exactly these files;
otherwise it is reckoned by `overlap` and by what rows of merged files take.

A writer's compactions follow its commits, as they do in earnest. Others run when they did, or every so many commits.
Snapshots expire after each commit, by the settings; tags and consumers keep none.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import ceil, nextafter
from typing import Any

import numpy as np

from maintenance.compaction.append import AppendCompaction
from maintenance.compaction.levels import run_count
from maintenance.compaction.plan import BucketCompaction, RewriteStep, UpgradeStep
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.index_manifest import DeletionVectorRange
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER
from maintenance.metadata.manifests import DeletionFile
from maintenance.operations.compaction.plan import CompactionScope, Group, Unit, plan_group, rewritten_files
from maintenance.operations.expiry.rules import Retention, plan_range
from maintenance.operations.ingestion.inline import commits_between_full, compacts_inline
from maintenance.operations.tuning.arrivals import Moment, Past, RowsThere, key_at, local_millis, place_of
from maintenance.operations.tuning.overlap import Overlap
from maintenance.table.table import Table

# Moments at which the state is told.
_POINTS = 48


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Bytes of files. `whole`: of each, whatever is in it; `shrink`: of a row once merged, by what it took before."""

    whole: float = 0.0
    shrink: float = 1.0

    @classmethod
    def of(cls, past: Past) -> "FileBytes":
        """As the files of a table have them."""
        made = [file for merged in past.merged for file in merged.after]
        files = [entry.file for entry in (*past.start, *past.arrived)] + made
        if not files:
            return cls()
        rows, sizes = np.array([(file.row_count, file.file_size) for file in files], float).T
        least = float(sizes.min())
        # Where all files have the same rows, nothing tells what one takes by itself.
        slope, whole = np.polyfit(rows, sizes, 1) if np.ptp(rows) else (0.0, 0.0)
        whole = min(max(0.0, float(whole)), 0.9 * least) if slope > 0 else 0.0
        before = after = 0.0
        for merged in past.merged:
            of_rows = sum(file.file_size - whole for file in merged.before)
            taken = sum(file.row_count for file in merged.before)
            if taken and merged.after:
                before += of_rows / taken * sum(file.row_count for file in merged.after)
                after += sum(file.file_size - whole for file in merged.after)
        return cls(whole, after / before if before > 0 < after else 1.0)

    def merged(self, files: Sequence[DataFileMeta], rows: float) -> float:
        """Of the rows of some files that a merge leaves."""
        taken = sum(file.row_count for file in files)
        return 0.0 if not taken else rows * self.shrink * sum(f.file_size - self.whole for f in files) / taken


@dataclass(frozen=True, slots=True)
class Point:
    """The table at one moment. `runs`: mean of the sorted runs that a read merges; `rewritten`: bytes until then."""

    millis: int
    files: int
    bytes: int
    retained_bytes: int
    runs: float
    rewritten: int


@dataclass(frozen=True, slots=True)
class Pick:
    """What was compacted. `files`: rewritten; `lifted`: that got the level alone."""

    group: Group
    files: frozenset[str]
    lifted: frozenset[str]
    level: int


@dataclass(frozen=True, slots=True)
class _Shape:
    """A bucket as reads find it."""

    files: int
    bytes: int
    runs: int


@dataclass
class Simulation:
    """One run through the past. `table`: with the settings; `every`: commits between compactions, None = as it was."""

    table: Table
    past: Past
    overlap: Overlap
    bytes_of: FileBytes
    every: int | None = None
    points: list[Point] = field(default_factory=list)
    picks: list[Pick] = field(default_factory=list)
    arrived_bytes: int = 0
    read_bytes: int = 0
    rewritten_bytes: int = 0
    compactions: int = 0
    commits: int = 0

    def __post_init__(self) -> None:
        options = self.table.options
        self._inline = compacts_inline(self.table)
        self._key_of = place_of if self.table.is_primary_key_table else None
        self._target = options.target_file_size(has_primary_key=self.table.is_primary_key_table)
        self._vectors = self.table.model.has_deletion_vectors
        self._known = {_names(merged.before): merged for merged in self.past.merged if merged.before}
        self._groups: dict[Group, dict[str, ManifestEntry]] = {}
        self._shapes: dict[Group, _Shape] = {}
        self._total = _Shape(0, 0, 0)
        self._dead: dict[str, float] = {}
        self._changed: set[Group] = set()
        self._since_full: list[frozenset[Group]] = []
        self._times: dict[int, int] = {}
        self._first = 1
        self._removed: list[tuple[int, int]] = []
        self._made = 0
        self._runs = self._files = 0.0

    def run(self) -> "Simulation":
        """Go through all of it, once."""
        for entry in self.past.start:
            self._put(entry)
        self._shape(set(self._groups))
        moments = self.past.moments
        told = frozenset(np.linspace(0, len(moments) - 1, min(_POINTS, len(moments))).astype(int).tolist())
        for number, moment in enumerate(moments):
            self._pass(moment)
            if number in told:
                self._tell(moment.millis)
        return self

    @property
    def mean_runs(self) -> float:
        """Sorted runs of a bucket that a read merges, behind each commit."""
        return self._runs / self.commits if self.commits else float(self._mean())

    @property
    def mean_files(self) -> float:
        return self._files / self.commits if self.commits else float(self._total.files)

    @property
    def files(self) -> list[ManifestEntry]:
        """What there is in the end."""
        return [entry for files in self._groups.values() for entry in files.values()]

    @property
    def rows(self) -> float:
        """How many of them a read gives, about."""
        return sum(self._distinct([entry.file for entry in files.values()]) for files in self._groups.values())

    @property
    def snapshots(self) -> int:
        """That are kept in the end."""
        return len(self._times) - self._first + 1

    def _distinct(self, files: Sequence[DataFileMeta]) -> float:
        there = RowsThere.of(files)
        deleted = sum(file.delete_row_count or 0 for file in files)
        if not self.table.is_primary_key_table:
            return there.rows - deleted
        return max(0.0, self.overlap.left([self._living(file) for file in files], there) - deleted)

    def _living(self, file: DataFileMeta) -> int:
        return max(0, file.row_count - int(self._dead.get(file.file_name, 0)))

    # Commits

    def _pass(self, moment: Moment) -> None:
        if moment.compacts:
            if self.every is None:
                self._compact_all(moment.millis, full=moment.full)
            return
        groups = frozenset((entry.partition, entry.bucket) for entry in moment.added)
        if self._inline and self.table.is_primary_key_table:
            self._make_room(moment)
        self._remove(moment)
        for entry in moment.added:
            self._put(entry)
            self.arrived_bytes += entry.file.file_size
        self._snapshot(moment.millis)
        self._shape({*groups, *((entry.partition, entry.bucket) for entry in moment.gone)})
        self.commits += 1
        if self._inline:
            self._compact_written(moment, groups)
        if self.every is not None and self.commits % self.every == 0:
            self._compact_all(moment.millis, full=False)
        self._runs += self._mean()
        self._files += self._total.files

    def _make_room(self, moment: Moment) -> None:
        stop = self.table.model.stop_trigger
        coming: dict[Group, int] = {}
        for entry in moment.added:
            coming[entry.partition, entry.bucket] = coming.get((entry.partition, entry.bucket), 0) + 1
        full = []
        for group, count in coming.items():
            runs = run_count([entry.file.level for entry in self._groups.get(group, {}).values()])
            if runs > 1 and runs + count > stop:
                full.append(group)
        self._compact(full, CompactionScope(inline=True), moment.millis)

    def _compact_written(self, moment: Moment, groups: frozenset[Group]) -> None:
        commits = commits_between_full(self.table.options)
        full = commits > 0 and (moment.identifier == BATCH_IDENTIFIER or (moment.identifier + 1) % commits == 0)
        self._since_full = [*self._since_full, groups][-max(1, commits) :]
        if full and moment.identifier != BATCH_IDENTIFIER:
            groups = groups.union(*self._since_full)
        self._compact(groups, CompactionScope(inline=True, full=full), moment.millis)

    def _compact_all(self, millis: int, *, full: bool) -> None:
        timed = self.table.model.compaction_optimization_interval is not None
        groups = list(self._groups) if full or timed else [group for group in self._groups if group in self._changed]
        # A bucket that no rule picks is not picked later unless it changes.
        self._changed = set(self._compact(groups, CompactionScope(full=full, keeps_expiring=True), millis))

    def _remove(self, moment: Moment) -> None:
        """What rows took away; of files that are merged by now, so much as they were."""
        missing: dict[Group, int] = {}
        for entry in moment.gone:
            group = entry.partition, entry.bucket
            there = self._groups.get(group, {})
            if group in moment.emptied:
                for name in list(there):
                    self._take(group, name)
            elif entry.file.file_name in there:
                self._take(group, entry.file.file_name)
            else:
                missing[group] = missing.get(group, 0) + entry.file.row_count
        for group, rows in missing.items():
            there = self._groups.get(group, {})
            made = [entry for entry in there.values() if entry.file.file_source == FileSource.COMPACT]
            kept = 1 - rows / max(rows, sum(entry.file.row_count for entry in made))
            for entry in made:
                file = self._take(group, entry.file.file_name)
                size, count = int(file.file_size * kept), int(file.row_count * kept)
                if count:
                    self._put(replace(entry, file=replace(file, file_size=size, row_count=count)))

    def _put(self, entry: ManifestEntry) -> None:
        group = entry.partition, entry.bucket
        self._groups.setdefault(group, {})[entry.file.file_name] = entry
        self._changed.add(group)

    def _take(self, group: Group, name: str) -> DataFileMeta:
        file = self._groups[group].pop(name).file
        self._removed.append((len(self._times) + 1, file.file_size))
        self._dead.pop(name, None)
        return file

    # Compactions

    def _compact(self, groups: Iterable[Group], scope: CompactionScope, millis: int) -> Collection[Group]:
        """Compact what the rules pick. Returns: the buckets that were."""
        now = local_millis(millis)
        done = []
        for group in groups:
            members = list(self._groups.get(group, {}).values())
            if not members:
                continue
            deletions = self._deletions(members) if self._vectors else {}
            units = plan_group(self.table, group, members, deletions, scope=scope, now_millis=now, key_of=self._key_of)
            if units:
                self._apply(group, units, members, now)
                done.append(group)
        if done:
            self.compactions += 1
            self._snapshot(millis)
            self._shape(done)
        return done

    def _deletions(self, members: Sequence[ManifestEntry]) -> dict[str, DeletionFile]:
        names = [entry.file.file_name for entry in members if self._dead.get(entry.file.file_name, 0) >= 1]
        return {
            name: DeletionFile("simulated", DeletionVectorRange(name, 0, 0, int(self._dead[name])), 0) for name in names
        }

    def _apply(self, group: Group, units: Sequence[Unit], members: Sequence[ManifestEntry], now: int) -> None:
        files = [file for unit in units for file in rewritten_files(unit)]
        there = RowsThere.of([entry.file for entry in members])
        known = self._known.get(_names(files)) if files else None
        made: list[DataFileMeta] = []
        lifted: list[DataFileMeta] = []
        for unit in units:
            if known is None:
                made += self._outputs(unit, there, now)
            if isinstance(unit, BucketCompaction):
                lifted += [replace(s.file, level=unit.output_level) for s in unit.steps if isinstance(s, UpgradeStep)]
                self._mark(unit, there)
        level = units[0].output_level
        if known is not None:
            made = [replace(file, level=level, creation_time=now) for file in known.after]
        buckets = members[0].total_buckets
        self.picks.append(Pick(group, _names(files), _names(lifted), level))
        for file in files:
            self._take(group, file.file_name)
        for file in (*made, *lifted):
            self._put(ManifestEntry(FileKind.ADD, *group, buckets, file))
        self.read_bytes += sum(file.file_size for file in files)
        self.rewritten_bytes += sum(file.file_size for file in made)

    def _outputs(self, unit: Unit, there: RowsThere, now: int) -> list[DataFileMeta]:
        if isinstance(unit, AppendCompaction):
            rows = sum(self._living(file) for file in unit.files)
            return self._files_of(unit.files, rows, 0, unit.output_level, now)
        made = []
        for step in unit.steps:
            if isinstance(step, RewriteStep):
                sections = [[self._living(file) for run in section for file in run] for section in step.sections]
                left = sum(self.overlap.left(rows, there) for rows in sections)
                deleted = min(left, sum(file.delete_row_count or 0 for file in step.files))
                left, deleted = (left - deleted, 0) if unit.drop_deletes else (left, deleted)
                made += self._files_of(step.files, left, round(deleted), unit.output_level, now)
        return made

    def _mark(self, unit: BucketCompaction, there: RowsThere) -> None:
        """Older rows above that rows of level 0 replace, where deletion vectors mark them."""
        living = [(file, self._living(file)) for file in unit.older]
        older = sum(rows for _, rows in living)
        if not unit.marks or not older:
            return
        newer = sum(self._living(file) for file in unit.input_files if file.level == 0)
        share = self.overlap.shared(newer, older, there) / older
        for file, rows in living:
            self._dead[file.file_name] = self._dead.get(file.file_name, 0) + rows * share

    def _files_of(
        self, files: Sequence[DataFileMeta], rows: float, deleted: int, level: int, now: int
    ) -> list[DataFileMeta]:
        """Merged files: each as large as the target, and a rest."""
        size = self.bytes_of.merged(files, rows)
        if rows < 1:
            return []
        most = max(1.0, self._target - self.bytes_of.whole)
        count = max(1, ceil(size / most))
        bounds = [min(1.0, most * i / size) if size else 1.0 for i in range(count)] + [1.0]
        first = files[0]
        low = high = 0.0
        if self._key_of is not None:
            low = min(place_of(file.min_key)[0] for file in files)
            high = max(place_of(file.max_key)[0] for file in files)
        made = []
        for start, end in zip(bounds, bounds[1:], strict=False):
            keys: dict[str, Any] = {}
            if self._key_of is not None:
                begin = low + (high - low) * start
                begin = nextafter(begin, high) if start else begin
                keys = {"min_key": key_at(begin), "max_key": key_at(low + (high - low) * end)}
            self._made += 1
            made.append(
                replace(
                    first,
                    file_name=f"simulated-{self._made}",
                    file_size=round(self.bytes_of.whole + size * (end - start)),
                    row_count=max(1, round(rows * (end - start))),
                    min_sequence_number=min(file.min_sequence_number for file in files),
                    max_sequence_number=max(file.max_sequence_number for file in files),
                    level=level,
                    creation_time=now,
                    delete_row_count=round(deleted * (end - start)),
                    file_source=FileSource.COMPACT,
                    **keys,
                )
            )
        return made

    # What there is

    def _snapshot(self, millis: int) -> None:
        self._times[len(self._times) + 1] = millis

    def _shape(self, groups: Iterable[Group]) -> None:
        for group in groups:
            old = self._shapes.pop(group, _Shape(0, 0, 0))
            files = [entry.file for entry in self._groups.get(group, {}).values()]
            if files:
                shape = _Shape(len(files), sum(file.file_size for file in files), runs_read(self.table, files))
                self._shapes[group] = shape
            else:
                shape = _Shape(0, 0, 0)
            total = self._total
            self._total = _Shape(
                total.files + shape.files - old.files,
                total.bytes + shape.bytes - old.bytes,
                total.runs + shape.runs - old.runs,
            )

    def _mean(self) -> float:
        return self._total.runs / max(1, len(self._shapes))

    def _tell(self, millis: int) -> None:
        self._expire(millis)
        held = sum(size for _, size in self._removed)
        total = self._total
        self.points.append(Point(millis, total.files, total.bytes, held, round(self._mean(), 3), self.rewritten_bytes))

    def _expire(self, millis: int) -> None:
        ids = range(self._first, len(self._times) + 1)
        retention = Retention.of(self.table.options, {}, datetime.fromtimestamp(millis / 1000, UTC))
        kept = plan_range(ids, self._times.get, retention).kept
        self._first = kept[0] if kept else self._first
        # A file is held by the snapshots before the one that took it away.
        self._removed = [(gone, size) for gone, size in self._removed if gone > self._first]


def _names(files: Iterable[DataFileMeta]) -> frozenset[str]:
    return frozenset(file.file_name for file in files)


def runs_read(table: Table, files: Sequence[DataFileMeta]) -> int:
    """That a read of a bucket merges; of an append table the files that it opens."""
    if not table.is_primary_key_table:
        return len(files)
    hidden = table.model.skips_level_0
    levels = [file.level for file in files if file.level > 0 or not hidden]
    return min(1, len(levels)) if table.model.has_deletion_vectors else run_count(levels)
