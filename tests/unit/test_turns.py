"""Every case of a test has its turn."""

import pytest

from tests import turns
from tests.turns import others_turn

CASES = [f"tests/java/test_x.py::test_a[{i}]" for i in range(7)]
OTHERS = ["tests/java/test_x.py::test_b", "tests/java/test_x.py::test_c[only]", "tests/unit/test_y.py::test_d[1]"]


def test_every_case_has_its_turn_within_the_days() -> None:
    for days in (2, 3, 10):
        runs = [{*CASES} - others_turn([*CASES, *OTHERS], day, {"tests/java/": days}) for day in range(50, 50 + days)]
        assert set().union(*runs) == {*CASES}
        assert all(len(run) in (len(CASES) // days, len(CASES) // days + 1) and run for run in runs)


def test_other_tests_run_every_day() -> None:
    assert not others_turn([*CASES, *OTHERS], 50) & {*OTHERS}


def test_thorough_runs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PROFILE", "thorough")
    assert others_turn([*CASES, *OTHERS], 50) == set()


def test_all_days_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIMON_TEST_DAY", "all")
    assert others_turn([*CASES, *OTHERS], turns.today()) == set()
