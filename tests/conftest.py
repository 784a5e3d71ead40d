"""Settings of all tests, and which files take the time."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# The machines are shared: how long an example takes says nothing.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

_SLOWEST = 12
_SECONDS: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of each file, set-up of fixtures included."""
    _SECONDS[report.nodeid.partition("::")[0]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the slowest files of a long run."""
    if sum(_SECONDS.values()) < 60:
        return
    terminalreporter.section("slowest files")
    for name, seconds in _SECONDS.most_common(_SLOWEST):
        terminalreporter.line(f"{seconds:7.1f} s  {Path(name)}")
