"""Universal compaction picks what Java picks, but for two rules of Paimon 2.0 that Java 1.4 does not have.

With `compaction.optimization-interval` Java 1.4 remembers the last full compaction in the writer alone and does not
look at the files; with `compaction.force-up-level-0` it does not count level 1 among what must be lifted.
"""

from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maintenance.compaction.levels import SortedRun
from maintenance.compaction.universal import UniversalOptions, pick
from tests.java.process import JavaProcess
from tests.unit.compaction.files import data_file


@dataclass(frozen=True)
class Situation:
    """A bucket and its options. `runs`: level and bytes, newest first."""

    runs: list[tuple[int, int]]
    num_levels: int
    options: UniversalOptions


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    sizes = st.integers(1, 40) | st.integers(1, 4000)
    trigger = draw(st.integers(1, 6))
    num_levels = draw(st.integers(2, 7))
    level_0 = draw(st.integers(0, 8))
    force_up_level_0 = draw(st.booleans()) and num_levels > 2
    lowest = 2 if force_up_level_0 else 1
    levels = sorted(draw(st.sets(st.integers(lowest, num_levels - 1), min_size=0 if level_0 else 1)))
    runs = [(level, draw(sizes)) for level in [0] * level_0 + levels]
    threshold = st.none() | st.integers(1, 8000)
    options = UniversalOptions(
        trigger=trigger,
        max_size_amplification=draw(st.sampled_from([0, 25, 100, 200, 400])),
        size_ratio=draw(st.sampled_from([0, 1, 10, 100])),
        total_size_threshold=draw(threshold),
        incremental_size_threshold=draw(threshold),
        force_up_level_0=force_up_level_0,
    )
    return Situation(runs, num_levels, options)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(situation=situations())
def test_picks_what_java_picks(java: JavaProcess, situation: Situation) -> None:
    options = situation.options
    theirs = java.pick(
        situation.runs,
        situation.num_levels,
        (options.max_size_amplification, options.size_ratio, options.trigger),
        (options.total_size_threshold, options.incremental_size_threshold),
        force_level_0=options.force_up_level_0,
    )
    runs = [SortedRun(level, (data_file("f", level, size),)) for level, size in situation.runs]
    unit = pick(runs, situation.num_levels - 1, options, now_millis=0)
    ours = None if unit is None else (unit.output_level, len(unit.files))
    assert ours == theirs
