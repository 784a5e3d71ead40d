"""The console in a real Chromium: every width, dark and light, without JavaScript, by keyboard, for a screen reader."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from playwright.sync_api import Browser, Page

from maintenance.fs.file_io import FileIO
from maintenance.operations.plan_store import stored_ids
from tests.browser import ui
from tests.browser.console_lake import build
from tests.browser.console_server import serving

pytestmark = pytest.mark.slow

PAGES = {
    "fleet": "/",
    "table": "/tables/db.orders",
    "tried": "/tables/db.orders?keep_at_least=1&keep_at_most=2",
    "broken": "/tables/db.broken",
    "writers": "/tables/db.orders/writers",
    "settings": "/tables/db.orders/settings?try=num-sorted-run.compaction-trigger%3D3,8&snapshots=20",
    "night": "/night?since=1+d",
    "plans": "/plans",
    "fault": "/tables/db.nowhere",
}
# What the checker of names and contrasts finds; see `accessibility.js` for its rules.
CHECKER = (Path(__file__).parent / "accessibility.js").read_text()


@dataclass(frozen=True)
class Served:
    """The console over a lake of its own. `plans`: ids of those that are kept."""

    url: str
    browser: Browser
    folder: Path
    plans: list[str]

    def page(self, **look: Any) -> Page:
        """A tab. `look`: as Playwright wants it."""
        return self.browser.new_context(**look).new_page()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Served]:
    path = build(tmp_path_factory.mktemp("console"))
    shots = ui.artifacts() / "console"
    shots.mkdir(exist_ok=True)
    with dg.instance_for_test() as instance, serving(path, instance) as url:
        yield Served(url, chromium, shots, _plans(path))


def _plans(path: Path) -> list[str]:
    return stored_ids(FileIO(), str(path.parent / "lake"))


def test_a_plan_is_found_from_the_list_and_leads_to_the_job(served: Served) -> None:
    page = served.page(viewport={"width": 1280, "height": 900})
    page.goto(f"{served.url}/plans")
    page.get_by_role("link", name=served.plans[0]).click()
    page.screenshot(path=served.folder / "plan-1280-light.png", full_page=True)
    assert page.get_by_role("link", name="Apply in Dagster").count() == 1
    assert page.get_by_text("It still holds").count() == 1
    assert page.evaluate(CHECKER) == []
    page.context.close()


def test_a_tables_page_leads_with_health_and_what_is_next_and_does_it(served: Served) -> None:
    page = served.page(viewport={"width": 1280, "height": 900})
    page.goto(f"{served.url}/tables/db.orders")
    titles = page.locator("section h2").all_inner_texts()
    assert titles[:3] == ["Health", "What is next", "What it costs and saves"]
    row = page.locator("#next tbody tr").filter(has_text="compact manifest")
    for name in ("Plan", "Apply"):
        assert (row.get_by_role("link", name=name).get_attribute("href") or "").endswith("/statement")
    page.get_by_role("link", name="Costs", exact=True).last.click()
    assert page.locator("#costs").is_visible()
    page.screenshot(path=served.folder / "table-next-1280-light.png", full_page=True)
    assert page.evaluate(CHECKER) == []
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280, 2560])
@pytest.mark.parametrize("name", PAGES)
def test_every_page_fits_its_width_and_can_be_read(served: Served, name: str, width: int, scheme: str) -> None:
    page = served.page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    answer = page.goto(served.url + PAGES[name])
    assert answer is not None
    assert answer.status == (404 if name == "fault" else 200)
    page.screenshot(path=served.folder / f"{name}-{width}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "only tables scroll sideways"
    assert page.evaluate(CHECKER) == []
    page.context.close()


def test_the_checker_finds_what_it_is_to_find(served: Served) -> None:
    page = served.page()
    page.set_content(
        "<h1>a</h1><h3>b</h3><svg></svg><input><a href='/'></a><p style='color: #bbb'>pale</p><table><th>x"
    )
    found = " ".join(page.evaluate(CHECKER))
    for fault in ("no language", "no title", "skips a level", "picture without", "field without", "without a name: <a",
                  "contrast 1.92: P", "head without scope"):  # fmt: skip
        assert fault in found
    page.context.close()


def test_all_works_without_javascript(served: Served) -> None:
    page = served.page(java_script_enabled=False)
    page.goto(served.url)
    page.get_by_role("link", name="db.orders").click()
    page.get_by_label("keep_at_most").fill("2")
    page.get_by_label("keep_at_least").fill("1")
    page.get_by_role("button", name="Try it").click()
    assert re.search(r"keep_at_most=2", page.url)
    assert page.get_by_role("columnheader", name="With these values").count() == 1
    page.context.close()


def test_filters_and_rows_can_be_reached_by_keyboard(served: Served) -> None:
    page = served.page()
    page.goto(served.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert {"db.orders", "db.broken", "Show"} <= set(reached)
    page.context.close()


def test_nothing_is_fetched_from_elsewhere(served: Served) -> None:
    page, asked = served.page(), []
    page.on("request", lambda request: asked.append(request.url))
    for path in PAGES.values():
        page.goto(served.url + path)
    assert asked
    assert all(url.startswith(served.url) for url in asked)
    page.context.close()
