"""Universal compaction picks what Java picks, in thousands of situations, but for two rules Java 1.4 does not have.

With `compaction.optimization-interval` Java 1.4 remembers the last full compaction in the writer alone, where
Paimon 2.0 looks at the files: here Java is told. With `compaction.force-up-level-0` it does not count level 1 among
what must be lifted, so these situations have no level 1.
"""

from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from random import Random
from typing import Any

import pytest

from maintenance.compaction.levels import SortedRun
from maintenance.compaction.universal import OffPeakHours, UniversalOptions, pick
from tests.java.process import JavaProcess
from tests.unit.compaction.files import data_file

HOUR = 3_600_000
NOW = 1_000 * 24 * HOUR  # midnight: Java is given hours that hold all day, or none
INTERVAL = timedelta(hours=1)
MADE = {"within": NOW - HOUR // 2, "before": NOW - 2 * HOUR, "unknown": NOW}


@dataclass(frozen=True)
class Situation:
    """A bucket and its options. `runs`: level and bytes, newest first; `last_full`: see `JavaPicks.pick`."""

    runs: list[tuple[int, int]]
    num_levels: int
    options: UniversalOptions
    last_full: str | None = None

    def of_java(self) -> dict[str, Any]:
        options, hours = self.options, self.options.off_peak
        return {
            "runs": self.runs,
            "num_levels": self.num_levels,
            "limits": (options.max_size_amplification, options.size_ratio, options.trigger),
            "thresholds": (options.total_size_threshold, options.incremental_size_threshold),
            "last_full": self.last_full,
            "off_peak": (hours.start, hours.end, hours.ratio),
            "force_level_0": options.force_up_level_0,
        }

    def of_ours(self) -> tuple[int, int] | None:
        made = MADE.get(self.last_full or "", 0)
        runs = [SortedRun(level, (data_file("f", level, size, created=made),)) for level, size in self.runs]
        unit = pick(runs, self.num_levels - 1, self.options, now_millis=NOW)
        return None if unit is None else (unit.output_level, len(unit.files))


def situation(random: Random) -> Situation:
    num_levels = random.randint(2, 7)
    forced = num_levels > 2 and random.random() < 0.3
    most = random.choice([40, 4000, 10**6])

    growth = random.choice([1.0, 1.0, 1.5, 3.0])

    def threshold() -> int | None:
        return random.randint(1, 2 * most) if random.random() < 0.15 else None

    levels = sorted(random.sample(range(2 if forced else 1, num_levels), random.randint(0, num_levels - 1 - forced)))
    level_0 = random.randint(0 if levels else 1, 9)
    sizes = (random.randint(1, random.choice([1, 40, most])) for _ in range(99))
    runs = [(level, int(next(sizes) * growth**age)) for age, level in enumerate([0] * level_0 + levels)]
    last_full = None
    if random.random() < 0.2:
        last_full = random.choice(["within", "before"]) if num_levels - 1 in levels else "unknown"
    options = UniversalOptions(
        trigger=random.randint(1, 7),
        max_size_amplification=random.choice([0, 1, 25, 100, 200, 400, 10_000]),
        size_ratio=random.choice([0, 1, 10, 100]),
        optimization_interval=None if last_full is None else INTERVAL,
        total_size_threshold=threshold(),
        incremental_size_threshold=threshold(),
        force_up_level_0=forced,
        off_peak=random.choice(
            [OffPeakHours(), OffPeakHours(0, 24, random.choice([1, 20, 300])), OffPeakHours(5, 5, 90)]
        ),
    )
    return Situation(runs, num_levels, options, last_full)


@pytest.mark.parametrize("seed", range(3))
def test_picks_what_java_picks(java: JavaProcess, seed: int) -> None:
    random = Random(seed)
    situations = [situation(random) for _ in range(2000)]
    theirs = java.picks([each.of_java() for each in situations])
    ours = [each.of_ours() for each in situations]
    for each, expected, actual in zip(situations, theirs, ours, strict=True):
        assert actual == expected, each
    parts = sum(unit is not None and unit[1] < len(each.runs) for unit, each in zip(ours, situations, strict=True))
    assert min(ours.count(None), parts) > 80, "nothing and parts of a bucket are picked often, too"


def test_off_peak_ratios_are_javas_at_every_hour(java: JavaProcess) -> None:
    hours = [(start, end, 20) for start, end in product([-1, 0, 5, 22, 23, 24], repeat=2)]
    ours = [[OffPeakHours(*each).ratio_at(NOW + hour * HOUR) for hour in range(24)] for each in hours]
    assert ours == java.off_peak_ratios(hours)
