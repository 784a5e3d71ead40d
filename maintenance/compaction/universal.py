"""Universal compaction: which sorted runs of a bucket to merge, and into which level.

Runs are numbered from the newest. The rules are tried in order: an early full compaction if its options ask for one,
then size amplification, size ratio, number of runs. A pick that swallows every run goes to the highest level; level 0
is never an output. Source: seed 002 (compaction), Java `UniversalCompaction`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from maintenance.compaction.levels import SortedRun
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.options import table as table_options
from maintenance.options.model import TableModel


@dataclass(frozen=True, slots=True)
class OffPeakHours:
    """Hours of the local clock, from `start` to before `end`, over midnight if `end` is smaller, and what they add.

    -1 as an hour, or twice the same one, means never. Source: Java `OffPeakHours`.
    """

    start: int = -1
    end: int = -1
    ratio: int = 0

    def ratio_at(self, now_millis: int) -> int:
        """What is added to the size ratio, in percent. `now_millis`: local wall clock as if UTC."""
        if self.start == self.end or -1 in (self.start, self.end):
            return 0
        hour = now_millis // 3_600_000 % 24
        inside = self.start <= hour < self.end if self.start < self.end else hour < self.end or self.start <= hour
        return self.ratio if inside else 0


@dataclass(frozen=True, slots=True)
class UniversalOptions:
    """The options of the picking rules. Sizes in bytes, `size_ratio` and `max_size_amplification` in percent."""

    trigger: int = 5
    max_size_amplification: int = 200
    size_ratio: int = 1
    optimization_interval: timedelta | None = None
    total_size_threshold: int | None = None
    incremental_size_threshold: int | None = None
    force_up_level_0: bool = False
    off_peak: OffPeakHours = OffPeakHours()

    def at(self, now_millis: int) -> "UniversalOptions":
        """The options as they are at that hour."""
        added = self.off_peak.ratio_at(now_millis)
        return replace(self, size_ratio=self.size_ratio + added, off_peak=OffPeakHours()) if added else self

    @classmethod
    def of(cls, options: TableModel) -> "UniversalOptions":
        return cls(
            options.num_sorted_run_compaction_trigger,
            options.compaction_max_size_amplification_percent,
            options.compaction_size_ratio,
            options.compaction_optimization_interval,
            table_options.COMPACTION_TOTAL_SIZE_THRESHOLD.of(options),
            table_options.COMPACTION_INCREMENTAL_SIZE_THRESHOLD.of(options),
            # What is written should be merged with the levels above, and get its changelog, soon.
            table_options.COMPACTION_FORCE_UP_LEVEL_0.of(options) or options.looks_up,
            OffPeakHours(
                table_options.COMPACTION_OFFPEAK_START_HOUR.of(options),
                table_options.COMPACTION_OFFPEAK_END_HOUR.of(options),
                table_options.COMPACTION_OFFPEAK_RATIO.of(options),
            ),
        )


@dataclass(frozen=True, slots=True)
class CompactUnit:
    """Files to merge into a level, and why. `files`: newest run first."""

    output_level: int
    files: tuple[DataFileMeta, ...]
    reason: str


def pick(
    runs: Sequence[SortedRun], max_level: int, options: UniversalOptions, *, now_millis: int
) -> CompactUnit | None:
    """The unit that the rules pick, None if they pick nothing.

    Args: `runs`: newest first; `now_millis`: local wall clock as if UTC, as files hold their creation time.
    """
    options = options.at(now_millis)
    unit = (
        _early_full(runs, max_level, options, now_millis)
        or _size_amplification(runs, max_level, options)
        or _size_ratio(runs, max_level, options)
        or _file_number(runs, max_level, options)
        or _level_0(runs, max_level, options)
    )
    if unit is not None and len(unit.files) == 1 and unit.files[0].level == unit.output_level:
        return None
    return unit


def pick_full(runs: Sequence[SortedRun], max_level: int) -> CompactUnit | None:
    """All runs into the highest level, None if there is nothing below it. Source: Java `CompactStrategy`."""
    if not runs or (len(runs) == 1 and runs[0].level == max_level):
        return None
    return _unit(runs, len(runs), max_level, "full compaction")


def _early_full(
    runs: Sequence[SortedRun], max_level: int, options: UniversalOptions, now_millis: int
) -> CompactUnit | None:
    if len(runs) <= 1:
        return None
    top = [run for run in runs if run.level == max_level]
    if options.optimization_interval is not None:
        last_full = max((file.creation_time or 0 for run in top for file in run.files), default=None)
        interval = options.optimization_interval // timedelta(milliseconds=1)
        if last_full is None or now_millis - last_full > interval:
            return _unit(runs, len(runs), max_level, "compaction.optimization-interval has passed")
    total = sum(run.size for run in runs)
    if options.total_size_threshold is not None and total < options.total_size_threshold:
        return _unit(runs, len(runs), max_level, "the bucket is below compaction.total-size-threshold")
    below = total - sum(run.size for run in top)
    if options.incremental_size_threshold is not None and below > options.incremental_size_threshold:
        return _unit(runs, len(runs), max_level, "compaction.incremental-size-threshold is exceeded")
    return None


def _size_amplification(runs: Sequence[SortedRun], max_level: int, options: UniversalOptions) -> CompactUnit | None:
    if len(runs) < options.trigger:
        return None
    newer = sum(run.size for run in runs[:-1])
    if newer * 100 > options.max_size_amplification * runs[-1].size:
        return _unit(runs, len(runs), max_level, "size amplification")
    return None


def _size_ratio(runs: Sequence[SortedRun], max_level: int, options: UniversalOptions) -> CompactUnit | None:
    if len(runs) < options.trigger:
        return None
    count = _extend(runs, 1, options)
    return _unit(runs, count, max_level, "size ratio") if count > 1 else None


def _file_number(runs: Sequence[SortedRun], max_level: int, options: UniversalOptions) -> CompactUnit | None:
    if len(runs) <= options.trigger:
        return None
    count = _extend(runs, len(runs) - options.trigger + 1, options)
    return _unit(runs, count, max_level, "number of sorted runs")


def _level_0(runs: Sequence[SortedRun], max_level: int, options: UniversalOptions) -> CompactUnit | None:
    if not options.force_up_level_0 or not runs or runs[0].level != 0:
        return None
    count = sum(run.level == 0 for run in runs)
    if count < len(runs) and runs[count].level == 1:
        count += 1
    return _unit(runs, _extend(runs, count, options), max_level, "level 0 is lifted")


def _extend(runs: Sequence[SortedRun], count: int, options: UniversalOptions) -> int:
    """Take further runs as long as what is taken is not much smaller than the next one."""
    size = sum(run.size for run in runs[:count])
    while count < len(runs) and size * (100.0 + options.size_ratio) / 100.0 >= runs[count].size:
        size += runs[count].size
        count += 1
    return count


def _unit(runs: Sequence[SortedRun], count: int, max_level: int, reason: str) -> CompactUnit:
    """The first `count` runs, and further ones if the output level would be 0."""
    level = max_level if count == len(runs) else max(0, runs[count].level - 1)
    while level == 0 and count < len(runs):
        level = runs[count].level
        count += 1
    if count == len(runs):
        level = max_level
    return CompactUnit(level, tuple(file for run in runs[:count] for file in run.files), reason)
