"""The Java core, started once for all tests that ask for it."""

import os
from collections.abc import Iterator

import pytest

from tests.java.core import missing
from tests.java.process import JavaProcess


@pytest.fixture(scope="session")
def java() -> Iterator[JavaProcess]:
    """The Java core in a process of its own. Where there is none the test is skipped, in CI it fails."""
    reason = missing()
    if reason is not None and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)
    process = JavaProcess()
    yield process
    process.close()
