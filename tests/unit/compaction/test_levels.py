"""The runs of a bucket and how many levels it has."""

from maintenance.compaction.levels import level_count, sorted_runs
from tests.unit.compaction.files import data_file


def test_each_file_of_level_0_is_a_run_and_each_higher_level_is_one() -> None:
    files = [
        data_file("old", sequence=1),
        data_file("top-a", 5, 30),
        data_file("new", sequence=9),
        data_file("top-b", 5, 12),
        data_file("mid", 3),
    ]
    runs = sorted_runs(files)
    assert [(run.level, [f.file_name for f in run.files]) for run in runs] == [
        (0, ["new"]),
        (0, ["old"]),
        (3, ["mid"]),
        (5, ["top-a", "top-b"]),
    ]
    assert runs[-1].size == 42


def test_files_of_one_sequence_number_are_told_apart_by_time_then_name() -> None:
    files = [data_file("b", created=1), data_file("c", created=0), data_file("a", created=1)]
    assert [run.files[0].file_name for run in sorted_runs(files)] == ["c", "a", "b"]


def test_there_are_enough_levels_for_what_is_there() -> None:
    assert level_count([], 6) == 6
    assert level_count([data_file("x", 7)], 6) == 8
    assert level_count([], 1) == 2
