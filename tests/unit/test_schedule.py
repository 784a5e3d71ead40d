"""What takes longest is taken up first, and what is noted of it comes back."""

from pathlib import Path

import pytest

from tests.schedule import APART, FOLDERS, NOTED, longest, note_seconds, noted_seconds, work_of

ROOT = Path(__file__).parents[2]


def test_files_that_are_named_exist() -> None:
    noted = {work for selected in ("slow", "not slow") for work in noted_seconds(NOTED, selected)}
    assert noted
    assert [file for file in APART | {work.partition("::")[0] for work in noted} if not (ROOT / file).exists()] == []


def test_the_tests_of_a_file_stay_together_unless_they_share_nothing() -> None:
    apart = min(APART)
    assert work_of("tests/unit/test_names.py::test_one[a::b]") == "tests/unit/test_names.py"
    assert work_of(f"{apart}::test_one[a]") != work_of(f"{apart}::test_one[b]")


def test_the_longest_comes_first_and_of_the_short_the_one_with_most_tests() -> None:
    sizes = {"a": 1, "b": 3, "c": 200, "d": 7}
    order = []
    while sizes:
        order.append(longest(sizes, {"a": 30.0, "d": 6.0}))
        del sizes[order[-1]]
    assert order == ["a", "d", "c", "b"]


def test_a_folder_stays_with_the_process_that_has_begun_it_as_long_as_the_others_have_something_else() -> None:
    spark, java = FOLDERS
    sizes = {f"{spark}a": 1, f"{spark}b": 1, f"{java}a": 1, "tests/unit/a": 1}
    seconds = {f"{spark}a": 40.0, f"{spark}b": 10.0, f"{java}a": 30.0, "tests/unit/a": 20.0}
    assert longest(sizes, seconds) == f"{spark}a"
    assert longest(sizes, seconds, own=[java], others=[spark]) == f"{java}a"
    assert longest(sizes, seconds, others=[spark, java]) == "tests/unit/a"
    del sizes["tests/unit/a"]
    assert longest(sizes, seconds, others=[spark, java]) == f"{spark}a"
    assert longest(sizes, seconds, own=[spark], others=[java]) == f"{spark}a"


def test_seconds_are_noted_by_what_was_selected(tmp_path: Path) -> None:
    noted = tmp_path / "seconds.json"
    noted.write_text('{"slow": {"a": 9.0, "b": 8.0}}')
    note_seconds(noted, "slow", {"b": 70.04, "c": 0.2})
    note_seconds(noted, "not slow", {"a": 12.0})
    assert noted_seconds(noted, "slow") == {"a": 9.0, "b": 70.0}
    assert noted_seconds(noted, "not slow") == {"a": 12.0}
    assert noted_seconds(noted, "") == {"a": 21.0, "b": 70.0}
    assert noted_seconds(noted, "other") == {}
    with pytest.raises(ValueError, match="needs -m"):
        note_seconds(noted, "", {"a": 12.0})
