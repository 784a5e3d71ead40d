"""Universal compaction in the Java core: which runs it picks."""

from collections.abc import Sequence
from typing import Any

import jpype

NEVER = 10**15


class JavaPicks:
    """`paimon`: the core's package, the JVM running."""

    def __init__(self, paimon: Any) -> None:
        self._paimon = paimon

    def pick(
        self,
        runs: Sequence[tuple[int, int]],
        num_levels: int,
        limits: tuple[int, int, int],
        *,
        thresholds: tuple[int | None, int | None] = (None, None),
        last_full: str | None = None,
        off_peak: tuple[int, int, int] | None = None,
        force_level_0: bool = False,
    ) -> tuple[int, int] | None:
        """The output level and the number of runs.

        Args:
            runs: level and bytes, newest first.
            limits: size amplification in percent, size ratio in percent, number of runs that triggers.
            thresholds: bytes of `compaction.total-size-threshold` and `compaction.incremental-size-threshold`.
            last_full: with `compaction.optimization-interval` the last full compaction: ``unknown``, ``within`` the
                interval or ``before`` it; None = without that option.
            off_peak: start, end, ratio; as of the hour that it is.
        """
        compact = self._paimon.mergetree.compact
        early = None
        if thresholds != (None, None) or last_full is not None:
            interval = None if last_full is None else jpype.JLong(-NEVER if last_full == "before" else NEVER)
            early = compact.EarlyFullCompaction(interval, *(None if t is None else jpype.JLong(t) for t in thresholds))
            if last_full in ("within", "before"):
                early.updateLastFullCompaction()
        hours = None if off_peak is None else compact.OffPeakHours.create(*map(jpype.JInt, off_peak))
        strategy = compact.UniversalCompaction(*limits, early, hours)
        if force_level_0:
            strategy = compact.ForceUpLevel0Compaction(strategy, None)
        actual = strategy.pick(num_levels, jpype.java.util.ArrayList([self._run(*run) for run in runs]))
        unit = actual.get() if actual.isPresent() else None
        return None if unit is None else (int(unit.outputLevel()), len(unit.files()))

    def ratios(self, start: int, end: int, ratio: int) -> list[int]:
        """What each hour of a day adds to the size ratio."""
        hours = self._paimon.mergetree.compact.OffPeakHours.create(
            jpype.JInt(start), jpype.JInt(end), jpype.JInt(ratio)
        )
        return [0 if hours is None else int(hours.currentRatio(hour)) for hour in range(24)]

    def _run(self, level: int, size: int) -> Any:
        io, empty = self._paimon.io, self._paimon.data.BinaryRow.EMPTY_ROW
        stats = self._paimon.stats.SimpleStats.EMPTY_STATS
        file = io.DataFileMeta.create(
            "f", size, 1, empty, empty, stats, stats, 0, 0, 0, level, None, None, None, None, None, None
        )  # fmt: skip
        run = self._paimon.mergetree.SortedRun.fromSingle(file)
        return self._paimon.mergetree.LevelSortedRun(level, run)
