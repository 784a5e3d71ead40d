"""Which tests run a line."""

import os
from pathlib import Path

import pytest

from tests.mutants.reach import lines_of, reaching

SOURCE = """\
LIMIT = 3


def small(value: int, most: int = LIMIT) -> bool:
    if (
        value
        < most
    ):
        return True
    return False


class Box:
    size = 1
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [(1, set()), (4, set(range(5, 11))), (7, {5, 6, 7, 8}), (9, {9}), (10, {10}), (13, set()), (14, set())],
)
def test_lines_that_run_with_a_line(line: int, expected: set[int]) -> None:
    assert lines_of(SOURCE, line) == expected


def test_tests_that_run_a_line_and_pass(tmp_path: Path) -> None:
    (tmp_path / "sizes.py").write_text(SOURCE)
    tests = {
        "both": "import sizes, time\ndef test_both():\n    time.sleep(0.2)\n    sizes.small(1), sizes.small(5)\n",
        "first": "import sizes\n\ndef test_first():\n    assert sizes.small(1)\n",
        "fails": "import sizes\n\ndef test_fails():\n    assert sizes.small(5)\n",
    }
    for name, text in tests.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\npythonpath = .\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    lines = [("sizes.py", 9), ("sizes.py", 10), ("sizes.py", 1)]
    both, first = "test_both.py::test_both", "test_first.py::test_first"
    assert reaching(tmp_path, lines, ["."], environment) == [[first, both], [both], [first, both]]
