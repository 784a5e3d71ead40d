"""The ways of a person through Dagster, on a lake that only pypaimon writes; each finds what it says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import ui
from tests.browser.lake import foreign_lake
from tests.browser.servers import Dagster
from tests.browser.walkthrough import WAYS, Walk, tables_seen
from tests.pypaimon import test_read_by_pypaimon as pypaimon_tests

pytestmark = pytest.mark.slow
pypaimon = pypaimon_tests.pypaimon


@pytest.fixture
def walk(tmp_path: Path, chromium: Browser, pypaimon: Path) -> Iterator[Walk]:
    """Web server and daemon over the lake, and a person in front of them."""
    with foreign_lake(tmp_path, pypaimon) as lake:
        dagster = Dagster(tmp_path / "dagster", lake.yaml, {}, logs=ui.artifacts())
        try:
            dagster.wait_until_ready()
            with ui.tab(chromium, dagster.url, ui.artifacts()) as page:
                page.is_not_greeted()
                yield Walk(page, dagster, lake)
                page.shoot("end_of_walk")
        finally:
            dagster.stop()


def test_each_way_leads_there_in_a_few_clicks(walk: Walk) -> None:
    tables_seen(walk, 0.0)
    for go in WAYS:
        go(walk)
    assert [way.clicks for way in walk.ways] == [0, 1, 6, 2, 2, 5, 5, 3], [way.name for way in walk.ways]
