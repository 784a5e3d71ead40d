"""Flink is started once for all tests that ask for it."""

import os

import pytest

from tests.flink.session import missing


@pytest.fixture(scope="session")
def flink_jars() -> None:
    """Where there are none the test is skipped, in CI it fails."""
    reason = missing()
    if reason is not None and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)
