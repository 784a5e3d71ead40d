"""Sixteen things that somebody new wants: each is found in three clicks or by one command."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.newcomer import TASKS, newcomer, table_of

pytestmark = pytest.mark.slow


def test_each_task_takes_three_clicks_or_one_command(tmp_path: Path, chromium: Browser) -> None:
    with newcomer(tmp_path, chromium) as person:
        for go in TASKS:
            go(person)
    assert len(person.done) == 16
    assert all(task.is_short for task in person.done), "\n".join(table_of(person.done))
    assert all(task.picture.stat().st_size > 0 for task in person.done)
