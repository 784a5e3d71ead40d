"""What a compaction does to each file: keep, lift, or rewrite together with which others."""

import pytest

from maintenance.compaction.plan import (
    BucketCompaction,
    CompactionRules,
    RewriteStep,
    UpgradeStep,
    drops_deletes,
    plan_steps,
)
from maintenance.compaction.universal import CompactUnit
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import EMPTY_ROW
from tests.unit.compaction.files import KEY_OF, data_file

TOP = 5
LARGE, SMALL = 100, 10


def steps(*files: DataFileMeta, level: int = TOP, force_rewrite: bool = False) -> list[object]:
    """Names: a text for a file that is lifted, a list of lists (sections of runs) for a rewrite."""
    rules = CompactionRules(TOP, small_size=50, force_rewrite=force_rewrite)
    planned = plan_steps(CompactUnit(level, files, "test"), rules, KEY_OF)
    return [
        step.file.file_name
        if isinstance(step, UpgradeStep)
        else [sorted(f.file_name for run in section for f in run) for section in step.sections]
        for step in planned
    ]


def test_large_files_that_overlap_nothing_are_lifted() -> None:
    assert steps(data_file("a", 0, LARGE, (0, 4)), data_file("b", 3, LARGE, (5, 9))) == ["a", "b"]


def test_files_already_there_are_left_alone() -> None:
    assert steps(data_file("a", 0, LARGE, (0, 4)), data_file("b", TOP, LARGE, (5, 9))) == ["a"]


def test_files_that_overlap_are_rewritten() -> None:
    files = [data_file("a", 0, LARGE, (0, 5)), data_file("b", 3, LARGE, (5, 9)), data_file("c", 3, LARGE, (10, 12))]
    assert steps(*files) == [[["a", "b"]], "c"]


def test_small_neighbours_are_rewritten_together() -> None:
    files = [data_file(name, 0, SMALL, (i, i)) for i, name in enumerate("abc")]
    assert steps(*files) == [[["a"], ["b"], ["c"]]]


def test_a_small_file_alone_is_lifted() -> None:
    files = [data_file("a", 0, LARGE, (0, 1)), data_file("b", 0, SMALL, (2, 3)), data_file("c", 0, LARGE, (4, 5))]
    assert steps(*files) == ["a", "b", "c"]


def test_small_files_join_the_section_before_and_after_them() -> None:
    files = [
        data_file("a", 0, LARGE, (0, 5)),
        data_file("b", 3, LARGE, (4, 6)),
        data_file("c", 3, SMALL, (7, 8)),
        data_file("d", 3, LARGE, (9, 10)),
        data_file("e", 0, SMALL, (11, 12)),
        data_file("f", 3, SMALL, (13, 14)),
    ]
    assert steps(*files) == [[["a", "b"], ["c"]], "d", [["e"], ["f"]]]


@pytest.mark.parametrize("deletes", [1, None])
def test_retractions_may_not_be_lifted_to_the_highest_level(deletes: int | None) -> None:
    file = data_file("a", 0, LARGE, deletes=deletes)
    assert steps(file) == [[["a"]]]
    assert steps(file, level=3) == ["a"]
    assert steps(data_file("a", TOP, LARGE, deletes=deletes)) == [[["a"]]]


def test_all_files_are_rewritten_when_asked_for() -> None:
    files = [data_file("a", 0, LARGE, (0, 1)), data_file("b", TOP, LARGE, (2, 3))]
    assert steps(*files, force_rewrite=True) == [[["a"]], [["b"]]]


def test_retractions_are_dropped_where_nothing_older_can_lie_below() -> None:
    assert drops_deletes(5, [data_file("a"), data_file("b", 5)])
    assert drops_deletes(3, [data_file("a"), data_file("b", 3)])
    assert drops_deletes(3, [data_file("a")]), "no level is higher than the output"
    assert not drops_deletes(3, [data_file("a"), data_file("b", 4)])
    assert not drops_deletes(0, [data_file("a")])


def test_input_files_of_all_steps() -> None:
    files = [data_file(name, 0, LARGE) for name in "abc"]
    planned = (RewriteStep((((files[0],), (files[1],)),)), UpgradeStep(files[2]))
    plan = BucketCompaction(EMPTY_ROW, 0, 1, TOP, TOP, True, False, planned, "test")
    assert plan.input_files == tuple(files)


def upgraded(file: DataFileMeta, level: int = TOP, **more: object) -> str:
    """What becomes of a large file that overlaps no other."""
    rules = CompactionRules(TOP, small_size=50, **more)  # type: ignore[arg-type]
    planned = plan_steps(CompactUnit(level, (file,), "test"), rules, KEY_OF)
    if not planned:
        return "stays"
    (step,) = planned
    return ("lifted, changelog" if step.changelog else "lifted") if isinstance(step, UpgradeStep) else "rewritten"


CLEAN, DIRTY, UNKNOWN = (data_file("a", 0, LARGE, deletes=count) for count in (0, 1, None))
LIFTED, AT_TOP = data_file("a", 3, LARGE), data_file("a", TOP, LARGE)


@pytest.mark.parametrize(
    ("file", "level", "rules", "becomes"),
    [
        (CLEAN, TOP, {}, "lifted"),
        (DIRTY, TOP, {}, "rewritten"),
        (UNKNOWN, TOP, {}, "rewritten"),
        (DIRTY, 3, {}, "lifted"),
        (AT_TOP, TOP, {}, "stays"),
        (LIFTED, 3, {}, "stays"),
        (AT_TOP, TOP, {"force_rewrite": True}, "rewritten"),
        (AT_TOP, TOP, {"expires": lambda file: file.level == TOP}, "rewritten"),
        (CLEAN, TOP, {"expires": lambda file: file.level == TOP}, "lifted"),
        (CLEAN, TOP, {"changelog": True}, "lifted, changelog"),
        (LIFTED, TOP, {"changelog": True}, "lifted, changelog"),
        (CLEAN, TOP, {"looks_up": True}, "lifted"),
        (CLEAN, 3, {"looks_up": True}, "rewritten"),
        (CLEAN, 3, {"looks_up": True, "lifts_level_0": True}, "lifted"),
        (CLEAN, TOP, {"looks_up": True, "new_form": True}, "rewritten"),
        (LIFTED, TOP, {"looks_up": True, "new_form": True}, "lifted"),
        (DIRTY, 3, {"looks_up": True, "lifts_level_0": True}, "lifted"),
        (DIRTY, 3, {"looks_up": True, "lifts_level_0": True, "marks": True}, "rewritten"),
        (CLEAN, 3, {"looks_up": True, "lifts_level_0": True, "marks": True}, "lifted"),
        (CLEAN, TOP, {"looks_up": True, "changelog": True}, "lifted, changelog"),
        (LIFTED, TOP, {"looks_up": True, "changelog": True}, "lifted"),
    ],
)
def test_a_file_alone_stays_or_is_lifted_or_rewritten(
    file: DataFileMeta, level: int, rules: dict[str, object], becomes: str
) -> None:
    assert upgraded(file, level, **rules) == becomes
