"""Which cases of long tests a run has: the same ones every time, of every value of a parameter."""

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import cases, examples
from tests.cases import left_out, may_be_slow, spread, wants_all

LONG = [f"tests/java/test_x.py::test_a[{i}]" for i in range(7)]
OTHERS = ["tests/java/test_x.py::test_b", "tests/java/test_x.py::test_c[only]", "tests/unit/test_y.py::test_d[1]"]
FORMATS, KINDS, SIZES = ("parquet", "orc", "avro"), ("keyed", "plain"), ("1", "2", "3")
PRODUCT = [f"tests/java/test_z.py::test_e[{'-'.join(values)}]" for values in product(FORMATS, KINDS, SIZES)]


@pytest.mark.parametrize("divisor", [2, 3, 10])
def test_one_of_so_many_cases_runs(divisor: int) -> None:
    run = {*LONG} - left_out([*LONG, *OTHERS], {"tests/java/": divisor})
    assert len(run) == max(1, round(len(LONG) / divisor))


def test_the_same_cases_run_whatever_the_order_of_the_tests() -> None:
    assert left_out([*LONG, *PRODUCT]) == left_out([*reversed(PRODUCT), *LONG]) != set()


def test_other_tests_run_whole() -> None:
    assert not left_out([*LONG, *OTHERS]) & {*OTHERS}


def test_a_file_whose_tests_may_be_slow_says_so_or_its_conftest_does(tmp_path: Path) -> None:
    said, marked, plain = (tmp_path / name / "test_a.py" for name in ("said", "marked", "plain"))
    for file in (said, marked, plain):
        file.parent.mkdir()
        file.write_text("def test_a(): ...")
    said.write_text("pytestmark = SLOW")
    marked.with_name("conftest.py").write_text("pytest.mark.slow")
    assert [may_be_slow(file) for file in (said, marked, plain)] == [True, True, False]


def test_kinds_of_sessions_are_no_cases() -> None:
    plain = ["tests/java/test_x.py::test_f[classic]", "tests/java/test_x.py::test_f[sail]"]
    first = [f"tests/java/test_x.py::test_g[{kind}-{i}]" for kind in ("classic", "sail") for i in range(3)]
    last = [f"tests/java/test_x.py::test_h[{i}-{kind}]" for kind in ("classic", "sail") for i in range(3)]
    run = {*plain, *first, *last} - left_out([*plain, *first, *last])
    assert {*plain} < run
    assert all(sum(kind in case for case in run) == 3 for kind in ("classic", "sail"))


@pytest.mark.parametrize(("file", "tests"), [("test_x", 3), ("test_sessions", 7)])
def test_a_server_has_a_part_of_the_tests_of_a_file_that_is_not_about_sessions(file: str, tests: int) -> None:
    names = [f"test_{letter}" for letter in "abcdefg"]
    of_file = [f"tests/spark/{file}.py::{name}[{kind}]" for name in names for kind in ("classic", "connect")]
    run = {*of_file} - left_out(of_file)
    assert [sum(kind in case for case in run) for kind in ("classic", "connect")] == [7, tests]


def test_a_server_has_fewer_cases_of_each_test() -> None:
    many = [f"tests/spark/test_x.py::test_f[{kind}-{i}]" for kind in ("classic", "connect") for i in range(36)]
    run = {*many} - left_out(many)
    assert [sum(kind in case for case in run) for kind in ("classic", "connect")] == [9, 1]


def test_every_value_of_a_parameter_has_a_case() -> None:
    run = spread(PRODUCT, 6)
    assert len({*run}) == 6
    for value in (*FORMATS, *KINDS, *SIZES):
        assert sum(value in case.partition("[")[2].rstrip("]").split("-") for case in run) >= 2, value


def test_a_run_of_all_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "SEARCHES", False)
    monkeypatch.delenv("PAIMON_TEST_CASES", raising=False)
    assert not wants_all()
    monkeypatch.setenv("PAIMON_TEST_CASES", "all")
    assert wants_all()
    monkeypatch.delenv("PAIMON_TEST_CASES")
    monkeypatch.setattr(cases, "SEARCHES", True)
    assert wants_all()


def test_some_items_are_the_same_ones_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "SEARCHES", False)
    assert examples.some(range(100), 5) == examples.some(range(100), 5)
    assert len({*examples.some(range(100), 5)}) == 5
    assert examples.some(range(3), 5) == [0, 1, 2]
    monkeypatch.setattr(examples, "SEARCHES", True)
    assert examples.some(range(100), 5) == [*range(100)]


@pytest.mark.skipif(examples.SEARCHES, reason="a search draws others each time")
def test_examples_are_the_same_ones_every_time() -> None:
    drawn: list[list[int]] = [[], []]

    @settings(max_examples=20)
    @given(st.integers())
    def look(number: int) -> None:
        drawn[-1].append(number)

    look()
    drawn.reverse()
    look()
    assert drawn[0] == drawn[1] != []
