"""Universal picking: each rule by hand, all of them against a model."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.compaction.levels import SortedRun
from maintenance.compaction.universal import CompactUnit, OffPeakHours, UniversalOptions, pick, pick_full
from maintenance.options.model import TableModel
from tests.models import universal as model
from tests.unit.compaction.files import data_file

TOP = 5
DAY = 86_400_000


def runs_of(*pairs: tuple[int, int], created: int = 0) -> list[SortedRun]:
    """Runs of (level, size), newest first."""
    return [
        SortedRun(level, (data_file(str(i), level, size, created=created),)) for i, (level, size) in enumerate(pairs)
    ]


def chosen(unit: CompactUnit | None) -> tuple[int, int] | None:
    return None if unit is None else (len(unit.files), unit.output_level)


def picked(runs: list[SortedRun], options: UniversalOptions | None = None, now: int = 0) -> tuple[int, int] | None:
    return chosen(pick(runs, TOP, options or UniversalOptions(), now_millis=now))


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        # Too few runs for any rule.
        ([], None),
        ([(0, 10)], None),
        ([(0, 1), (0, 1), (0, 1), (0, 1)], None),
        # Five equal runs: the newer four are 400 % of the oldest.
        ([(0, 1)] * 5, (5, TOP)),
        # The newer ones are exactly 200 % of the oldest, which is not more: it is the size ratio that takes all.
        ([(0, 50), (0, 50), (0, 50), (0, 50), (5, 100)], (5, TOP)),
        ([(0, 10), (0, 200), (0, 300), (0, 400), (5, 100_000)], None),
        # Size ratio: 10 and 10 and 20 are similar, the next one is far larger.
        ([(0, 10), (0, 10), (0, 20), (3, 1000), (5, 100_000)], (3, 2)),
        # One percent of slack: 100 takes 101, and not 102.
        ([(0, 100), (0, 101), (3, 10_000), (4, 20_000), (5, 900_000)], (2, 2)),
        ([(0, 100), (0, 102), (3, 10_000), (4, 20_000), (5, 900_000)], None),
        # Number of runs: two more than the trigger, so at least three go.
        ([(0, 1), (0, 10), (0, 100), (0, 1000), (3, 10_000), (4, 100_000), (5, 9_000_000)], (5, 3)),
        # Output would be level 0: further runs are taken until one above level 0 is among them.
        ([(0, 10), (0, 10), (0, 100_000), (1, 200_000), (5, 9_000_000)], (4, 1)),
        # Everything was swallowed on the way: the highest level.
        ([(0, 10), (0, 10), (0, 100_000), (0, 200_000), (0, 9_000_000)], (5, TOP)),
    ],
)
def test_each_rule_picks_its_runs_and_their_level(
    runs: list[tuple[int, int]], expected: tuple[int, int] | None
) -> None:
    assert picked(runs_of(*runs)) == expected


def test_a_single_file_that_stays_on_its_level_is_no_work() -> None:
    options = UniversalOptions(trigger=1)
    assert picked(runs_of((5, 10)), options) is None
    assert picked(runs_of((0, 10)), UniversalOptions(force_up_level_0=True)) == (1, TOP)


def test_early_full_compaction_by_interval() -> None:
    options = UniversalOptions(optimization_interval=timedelta(days=1))
    two = [(0, 1), (5, 1_000_000)]
    assert picked(runs_of(*two, created=DAY), options, now=2 * DAY) is None
    assert picked(runs_of(*two, created=DAY), options, now=2 * DAY + 1) == (2, TOP)
    assert picked(runs_of((0, 1), (4, 10)), options, now=0) == (2, TOP), "never compacted in full"
    assert picked(runs_of((0, 1)), options, now=9 * DAY) is None, "a single run is left alone"


def test_early_full_compaction_of_a_small_bucket() -> None:
    options = UniversalOptions(total_size_threshold=100)
    assert picked(runs_of((0, 9), (5, 90)), options) == (2, TOP)
    assert picked(runs_of((0, 10), (5, 90)), options) is None


def test_early_full_compaction_of_much_that_is_new() -> None:
    options = UniversalOptions(incremental_size_threshold=100)
    assert picked(runs_of((0, 60), (3, 41), (5, 10_000)), options) == (3, TOP)
    assert picked(runs_of((0, 60), (3, 40), (5, 10_000)), options) is None


def test_level_0_is_lifted_when_asked_for() -> None:
    options = UniversalOptions(force_up_level_0=True)
    assert picked(runs_of((0, 10), (0, 10), (3, 10_000), (5, 99_999)), options) == (2, 2)
    assert picked(runs_of((0, 10), (1, 10_000), (5, 99_999)), options) == (2, 4), "level 1 directly behind comes along"
    assert picked(runs_of((0, 10), (2, 5), (5, 99_999)), options) == (2, 4), "and what is not much larger"
    assert picked(runs_of((0, 10)), options) == (1, TOP)
    assert picked(runs_of((3, 10), (5, 99_999)), options) is None, "there is no level 0"


def test_options_of_a_table() -> None:
    options = UniversalOptions.of(
        TableModel(
            {
                "num-sorted-run.compaction-trigger": "3",
                "compaction.max-size-amplification-percent": "50",
                "compaction.size-ratio": "20",
                "compaction.optimization-interval": "1 h",
                "compaction.total-size-threshold": "1 kb",
                "compaction.incremental-size-threshold": "2 kb",
                "compaction.force-up-level-0": "true",
            }
        )
    )
    assert options == UniversalOptions(3, 50, 20, timedelta(hours=1), 1024, 2048, True)


def test_a_full_compaction_takes_all_runs_but_not_one_at_the_top() -> None:
    assert pick_full([], TOP) is None
    assert pick_full(runs_of((5, 10)), TOP) is None
    assert chosen(pick_full(runs_of((4, 10)), TOP)) == (1, TOP)
    assert chosen(pick_full(runs_of((0, 1), (5, 10)), TOP)) == (2, TOP)


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int]]:
    sizes = st.integers(1, 6).flatmap(lambda digits: st.integers(1, 10**digits))
    level0 = [(0, draw(sizes)) for _ in range(draw(st.integers(0, 8)))]
    return level0 + [(level, draw(sizes)) for level in sorted(draw(st.sets(st.integers(1, TOP))))]


@given(trees(), st.integers(1, 6), st.sampled_from([0, 100, 200]), st.sampled_from([0, 1, 50]))
def test_any_runs_are_picked_as_the_model_picks_them(
    tree: list[tuple[int, int]], trigger: int, amplification: int, ratio: int
) -> None:
    options = UniversalOptions(trigger=trigger, max_size_amplification=amplification, size_ratio=ratio)
    runs = runs_of(*tree)
    unit = pick(runs, TOP, options, now_millis=0)
    assert chosen(unit) == model.pick(tree, TOP, trigger, amplification, ratio)
    if unit is not None:
        assert unit.output_level > 0
        assert list(unit.files) == [file for run in runs[: len(unit.files)] for file in run.files]


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        (-1, 5, []),
        (5, -1, []),
        (3, 3, []),
        (-1, -1, []),
        (2, 4, [2, 3]),
        (0, 1, [0]),
        (22, 1, [22, 23, 0]),
        (23, 0, [23]),
    ],
)
def test_the_ratio_of_off_peak_hours_counts_in_them_alone(start: int, end: int, hours: list[int]) -> None:
    off_peak = OffPeakHours(start, end, 7)
    for day in (0, 20_000):
        actual = {hour: off_peak.ratio_at(day * DAY + hour * 3_600_000 + 3_599_999) for hour in range(24)}
        assert actual == {hour: 7 if hour in hours else 0 for hour in range(24)}


def test_off_peak_the_size_ratio_is_larger() -> None:
    options = UniversalOptions(off_peak=OffPeakHours(0, 1, 9))
    runs = runs_of((0, 100), (0, 110), (3, 10_000), (4, 20_000), (5, 900_000))
    assert picked(runs, options, now=0) == (2, 2)
    assert picked(runs, options, now=3_600_000) is None
    assert options.at(0).size_ratio == 10
    assert options.at(3_600_000) is options


def test_size_amplification_counts_all_runs_but_the_oldest() -> None:
    options = UniversalOptions(trigger=3, size_ratio=0)
    assert chosen(pick(runs_of((0, 100), (3, 101), (5, 100)), TOP, options, now_millis=0)) == (3, TOP)
    assert pick(runs_of((0, 10), (3, 189), (5, 100)), TOP, options, now_millis=0) is None
    assert chosen(pick(runs_of((0, 10), (3, 191), (5, 100)), TOP, options, now_millis=0)) == (3, TOP)
