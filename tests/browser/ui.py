"""Dagster's pages in a real Chromium, driven as a person would: by what can be read and clicked."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.servers import PATIENCE, ROOT, STARTING

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
JOBS = "/locations/paimon_maintenance/jobs"
# A page that should follow what happens is loaded again after so many seconds.
_FOLLOWED = 90.0
TROUBLE = re.compile(r"failed to load|An unexpected error|Unhandled|Unable to|GraphQL error|PythonError", re.IGNORECASE)


def missing() -> str | None:
    """What keeps the browser from starting here, None if nothing does."""
    return None if chromium() else "there is no chromium: run scripts/chromium"


def chromium() -> str | None:
    """Path of the browser's program."""
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def artifacts() -> Path:
    """The folder for screenshots, outside git."""
    folder = Path(os.environ.get("BROWSER_ARTIFACTS") or ROOT / ".artifacts" / "browser")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Ui:
    """One tab. `url`: of the web server; `folder`: where screenshots go."""

    def __init__(self, page: Page, url: str, folder: Path) -> None:
        self.page, self.url, self.folder = page, url, folder

    def open(self, path: str) -> None:
        """Go to a page."""
        self.page.goto(self.url + path)

    def is_not_greeted(self) -> None:
        """The first visit of an instance begins with no dialog: dagster.yaml turns it off."""
        self.open("/overview")
        expect(self.page.get_by_text("Overview").filter(visible=True).first).to_be_visible(timeout=PATIENCE * 1000)
        expect(self.page.get_by_role("button", name="Skip", exact=True)).to_have_count(0)

    def sees(self, *texts: str | re.Pattern[str]) -> None:
        """Wait until each of the texts can be read. Raises: AssertionError."""
        for text in texts:
            expect(self.page.get_by_text(text).filter(visible=True).first).to_be_visible(timeout=PATIENCE * 1000)

    def ends(self, wanted: str, *others: str) -> None:
        """Wait until one of these can be read, and find that it is the first. Raises: AssertionError.

        For what a run or the daemon brings about, which takes longer than a page does.
        """
        any_of = re.compile("|".join(f"^{re.escape(text)}$" for text in (wanted, *others)))
        ended, until = self.page.get_by_text(any_of).filter(visible=True).first, time.monotonic() + STARTING
        while True:
            try:
                expect(ended).to_be_visible(timeout=_FOLLOWED * 1000)
                break
            except AssertionError:
                if time.monotonic() > until:
                    raise
                # The list of a run's events does not always follow to its end.
                self.page.reload()
        expect(ended).to_have_text(wanted)

    def run_ends(self, event: str = "RUN_SUCCESS") -> None:
        """Wait, on a run's page, for the event that ends it. Raises: AssertionError: it is another one."""
        self.ends(event, "RUN_SUCCESS", "RUN_FAILURE", "RUN_CANCELED")

    def lists(self, *paths: str) -> None:
        """Wait until the catalogue lists each of the assets ``database/table``. Long names are abbreviated there."""
        for path in paths:
            link = self.page.locator(f"a[href='/assets/{path}']").filter(visible=True).first
            expect(link).to_be_visible(timeout=PATIENCE * 1000)

    def open_group(self, name: str) -> None:
        """The lineage of a group.

        In the lineage of all, one click opens a group too, but leaves the view where it is, and the rest is not drawn.
        """
        self.open(f"/locations/paimon_maintenance/asset-groups/{name}/lineage")

    def comes_to_show(self, *texts: str | re.Pattern[str]) -> None:
        """Reload the page until each of the texts can be read: not every page follows what happens behind it."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                for text in texts:
                    actual = self.page.get_by_text(text).filter(visible=True).first
                    expect(actual).to_be_visible(timeout=20_000 if time.monotonic() < until else 1_000)
                return
            except AssertionError:
                if time.monotonic() >= until:
                    raise
            self.page.reload()

    def is_well(self) -> None:
        """All is loaded, and nothing on the page speaks of an error. Raises: AssertionError."""
        expect(self.page.get_by_text("Loading").filter(visible=True)).to_have_count(0, timeout=PATIENCE * 1000)
        expect(self.page.get_by_text(TROUBLE).filter(visible=True)).to_have_count(0)

    def click(self, text: str, *, exact: bool = True) -> None:
        """Click what bears this text."""
        self.page.get_by_text(text, exact=exact).filter(visible=True).first.click()

    def choose_partitions(self, *keys: str) -> None:
        """Choose partitions in the dialog of a backfill."""
        self.click("Select a partition or create one")
        for key in keys:
            self.page.get_by_text(key, exact=True).filter(visible=True).last.click()
        self.page.keyboard.press("Escape")
        self.sees(f"{len(keys)} partitions")

    def backfill_succeeds(self) -> None:
        """Wait, on a backfill's page, until its status is told. Raises: AssertionError."""
        done = self.page.get_by_text("100% completed").filter(visible=True).first
        expect(done).to_be_visible(timeout=STARTING * 1000)
        status = self.page.get_by_text("Succeeded", exact=True).filter(visible=True)
        expect(status).to_have_count(2, timeout=PATIENCE * 1000)  # one is the heading of a column

    def launch(self, job: str, config: str) -> str:
        """Launch a job with this config from the Launchpad; returns the run's id."""
        self.open(f"{JOBS}/{job}/playground")
        self.sees("ops")
        self.type_config(config)
        self.sees("No errors")
        self.click("Launch Run")
        self.page.wait_for_url("**/runs/*")
        return self.page.url.rsplit("/", 1)[-1]

    def button(self, name: str | re.Pattern[str]) -> None:
        """Press a button."""
        exact = isinstance(name, str)
        self.page.get_by_role("button", name=name, exact=exact).filter(visible=True).first.click()

    def type_config(self, text: str) -> None:
        """Replace what stands in the Launchpad's editor."""
        self.page.locator(".CodeMirror, .cm-content").first.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text)

    def switch(self, name: str) -> None:
        """Turn the switch beside a sensor or schedule of this name, on the page of automations."""
        row = self.page.get_by_role("link", name=name).locator("xpath=..")
        switch = row.locator("input[type=checkbox]").nth(1)  # the first one selects the row
        switch.locator("xpath=..").click()
        expect(switch).to_be_checked(timeout=PATIENCE * 1000)

    def shoot(self, name: str) -> Path:
        """Keep what a person sees now."""
        path = self.folder / f"{name}.png"
        self.page.screenshot(path=path, animations="disabled")
        return path


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser without a tab. A process has one of them: Playwright's synchronous interface cannot be nested."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def tab(browser: Browser, url: str, folder: Path, size: tuple[int, int] = (1440, 900)) -> Iterator[Ui]:
    """A tab of its own on the web server at `url`."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    context.set_default_timeout(PATIENCE * 1000)
    yield Ui(context.new_page(), url, folder)
    context.close()


@contextmanager
def browsing(url: str, folder: Path) -> Iterator[Ui]:
    """A browser with one tab on the web server at `url`."""
    with launched() as browser, tab(browser, url, folder) as opened:
        yield opened
