"""Which tests run certain lines: a plug-in of pytest, ``-p tests.mutants.reach``, and who starts it.

Only functions of the modules asked about are traced, so that the others cost next to nothing.
"""

import ast
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_ASKED = "MUTANTS_REACH"


def reaching(
    folder: Path, lines: Sequence[tuple[str, int]], tests: Sequence[str], environment: Mapping[str, str]
) -> list[list[str]]:
    """The tests that run each line, quickest first; without those that fail already.

    Args: `folder`: of the checkout; `lines`: paths from there, and numbers from 1; `tests`: files or folders.
    """
    report = folder / "reach.json"
    asked = json.dumps({"lines": lines, "root": str(folder), "report": str(report)})
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "tests.mutants.reach", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    subprocess.run(command, cwd=folder, env={**environment, _ASKED: asked}, capture_output=True, check=False)
    seconds_by_line: list[dict[str, float]] = json.loads(report.read_text())
    return [sorted(seconds, key=seconds.__getitem__) for seconds in seconds_by_line]


def lines_of(source: str, line: int) -> frozenset[int]:
    """The lines of which one runs whenever a given one does; none where that is any line of the module.

    That is the statement of the line, without the block below it; of the head of a function all that is in it.
    """
    innermost: ast.stmt | None = None
    inside = False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            if innermost is None or node.lineno >= innermost.lineno:
                innermost = node
            inside |= isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line
    if innermost is None or isinstance(innermost, ast.ClassDef):
        return frozenset()
    last = innermost.end_lineno or innermost.lineno
    if isinstance(innermost, ast.FunctionDef):
        return frozenset(range(innermost.body[0].lineno, last + 1))
    if not inside:
        return frozenset()
    below = [part.lineno for part in ast.walk(innermost) if isinstance(part, ast.stmt) and part is not innermost]
    return frozenset(range(innermost.lineno, max(innermost.lineno + 1, min(below, default=last + 1))))


class _Reach:
    """What the tests of this process run of the lines asked about."""

    def __init__(self, root: str, lines: Sequence[tuple[str, int]]) -> None:
        self._seconds: list[dict[str, float]] = [{} for _ in lines]
        self._numbers: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for number, (path, line) in enumerate(lines):
            wanted = lines_of((Path(root) / path).read_text(), line)
            for each in wanted or {0}:
                self._numbers[str(Path(root) / path)][each].add(number)
        self._hit: set[int] = set()
        self.failed: set[str] = set()

    def begin(self) -> None:
        self._hit = set()
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def end(self, test: str, seconds: float) -> None:
        sys.settrace(None)
        threading.settrace(None)
        for number in self._hit:
            self._seconds[number][test] = seconds

    def seconds_of_passed(self) -> list[dict[str, float]]:
        """How long the tests that passed took, for each line asked about."""
        return [
            {test: seconds for test, seconds in tests.items() if test not in self.failed} for tests in self._seconds
        ]

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        numbers = self._numbers.get(frame.f_code.co_filename)
        if numbers is None:
            return None
        self._hit |= numbers.get(0, set())

        def in_function(frame: FrameType, event: str, argument: Any) -> Any:
            del argument
            if event == "line":
                self._hit |= numbers.get(frame.f_lineno, set())
            return in_function

        return in_function


if _ASKED in os.environ:
    _asked = json.loads(os.environ[_ASKED])
    _reach = _Reach(_asked["root"], _asked["lines"])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
        began = time.monotonic()
        _reach.begin()
        try:
            return (yield)
        finally:
            _reach.end(item.nodeid, time.monotonic() - began)

    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        if report.failed:
            _reach.failed.add(report.nodeid)

    def pytest_sessionfinish() -> None:
        Path(_asked["report"]).write_text(json.dumps(_reach.seconds_of_passed()))
