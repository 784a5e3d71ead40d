"""What takes longest is taken up first, and what is noted of it comes back."""

from pathlib import Path

from tests.schedule import APART, NOTED, longest, note_seconds, noted_seconds, work_of

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


def test_seconds_are_noted_by_what_was_selected(tmp_path: Path) -> None:
    noted = tmp_path / "seconds.json"
    noted.write_text('{"slow": {"a": 9.0, "b": 8.0}}')
    note_seconds(noted, "slow", {"b": 70.04, "c": 0.2})
    note_seconds(noted, "", {"a": 12.0})
    assert noted_seconds(noted, "slow") == {"a": 9.0, "b": 70.0}
    assert noted_seconds(noted, "") == {"a": 12.0}
    assert noted_seconds(noted, "not slow") == {}
