"""One browser for all tests here, a web server and a daemon for each module; screenshots go to `.artifacts/browser`."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser

from maintenance.catalog import CatalogTable, open_catalog
from tests.browser import ui, warehouse
from tests.browser.servers import Dagster, receiving
from tests.browser.ui import Ui
from tests.java.conftest import java  # noqa: F401 - a fixture
from tests.java.process import JavaProcess


@dataclass(frozen=True)
class World:
    """What runs. `alerts`: what the webhook has received; `java`: writes as Flink and Spark jobs do."""

    dagster: Dagster
    warehouse: str
    alerts: list[dict[str, Any]]
    java: JavaProcess

    def table(self, identifier: str) -> CatalogTable:
        """The table as it is now."""
        table = open_catalog({"warehouse": self.warehouse}).get_table(identifier)
        assert isinstance(table, CatalogTable)
        return table


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser. Where there is none, tests are skipped, in CI failed.

    It goes with the file: while Playwright runs, its thread can run no other coroutine.
    """
    reason = ui.missing()
    if reason is not None and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)
    with ui.launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory,
    chromium: Browser,  # before anything is started that needs it
    java: JavaProcess,  # noqa: F811
) -> Iterator[World]:
    """Web server and daemon over tables of real Paimon."""
    folder = tmp_path_factory.mktemp("browser")
    tables = warehouse.build(folder, java)
    with receiving() as (url, alerts):
        dagster = Dagster(folder / "dagster", tables, {"BROWSER_TEST_WEBHOOK": url}, ui.artifacts())
        try:
            dagster.wait_until_ready()
            yield World(dagster, str(folder / "warehouse"), alerts, java)
        finally:
            dagster.stop()


@pytest.fixture(scope="module")
def browser(world: World, chromium: Browser) -> Iterator[Ui]:
    """A tab of the browser, past the greeting of a first visit."""
    with ui.tab(chromium, world.dagster.url, ui.artifacts()) as opened:
        opened.is_not_greeted()
        yield opened


@pytest.fixture
def page(browser: Ui, request: pytest.FixtureRequest) -> Iterator[Ui]:
    """The browser, which keeps a picture of where a test ended, whether it passed or not."""
    yield browser
    browser.shoot(f"end_of_{request.node.name}")
