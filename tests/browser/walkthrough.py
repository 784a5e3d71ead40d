"""What a person wants of Dagster, on a lake that pypaimon writes, in clicks and seconds:
``python -m tests.browser.walkthrough``.

Each way begins on a page that the bar on the left leads to, or where the person looks anyway: the catalogue. Typing is
no click; pages are not reloaded by hand. Seconds are those of this machine, and of ticks that come every 30 s.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Locator

from tests.browser.lake import CLICKS, DAYS, DROPPED, LATER, RETURNS, STOCK, TAG, Lake, foreign_lake
from tests.browser.servers import Dagster, wait_for
from tests.browser.ui import Ui, artifacts, browsing

_RESTORE = (
    "ops: {{earlier_partitions: {{config: {{table: {table}, partitions: [{{day: '{day}'}}], tag: {tag}{dry}}}}}}}"
)


@dataclass(frozen=True)
class Way:
    """What it took. `name`: what was wanted."""

    name: str
    clicks: int
    seconds: float


@dataclass
class Walk:
    """A person in front of a tab on Dagster. `ways`: those that they have gone."""

    ui: Ui
    dagster: Dagster
    lake: Lake
    ways: list[Way] = field(default_factory=list)
    clicks: int = 0

    @contextmanager
    def way(self, name: str, path: str = "/assets", since: float | None = None) -> Iterator[None]:
        """Count what is done inside. `path`: where it begins; `since`: when, of the monotonic clock."""
        self.clicks = 0
        started = time.monotonic() if since is None else since
        self.ui.open(path)
        yield
        self.ways.append(Way(name, self.clicks, time.monotonic() - started))
        self.ui.shoot(f"walk_{len(self.ways)}")

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.filter(visible=True).first.click()

    def press(self, button: str) -> None:
        self.click(self.ui.page.get_by_text(button, exact=True))

    def follow(self, label: str) -> None:
        """A link of a table's page, which opens in this tab."""
        self.click(self.ui.page.get_by_role("link", name=label, exact=True))

    def turn_to(self, entry: str) -> None:
        """An entry of the bar on the left."""
        self.click(self.ui.page.get_by_role("navigation").get_by_text(entry, exact=True))

    def to_table(self, table: str) -> None:
        """From the catalogue to a table's page."""
        self.click(self.ui.page.locator(f"a[href='/assets/{table.replace('.', '/')}']"))

    def reload(self) -> None:
        """Have Dagster read tables.yaml and the warehouse again."""
        self.turn_to("Deployment")
        self.click(self.ui.page.get_by_role("button", name="Reload all"))

    def launch(self) -> None:
        """What is in the Launchpad, to its end."""
        self.ui.sees("No errors")
        self.press("Launch Run")
        self.ui.run_ends()


def tables_seen(walk: Walk, started: float) -> None:
    with walk.way("my tables seen, from the command", since=started):
        walk.ui.lists(*(name.replace(".", "/") for name in (CLICKS, RETURNS, STOCK, DAYS)))


def why_snapshots_stay(walk: Walk) -> None:
    with walk.way("why snapshots stay"):
        walk.to_table(RETURNS)
        walk.ui.comes_to_show("kept by", "the current state")


def plan_applied(walk: Walk) -> None:
    walk.lake.write(RETURNS, "etl", 9)
    with walk.way("plan to applied"):
        walk.to_table(RETURNS)
        walk.follow("what a compaction would merge")
        walk.launch()
        walk.press("View full message")
        link = walk.ui.page.locator("a[href*='/jobs/apply_plan/playground/setup']").first.get_attribute("href")
        walk.clicks += 1
        walk.ui.open(link or "")
        walk.launch()
    assert walk.lake.kind(RETURNS) == "COMPACT"


def compacted_by_sensor(walk: Walk) -> None:
    walk.lake.write(CLICKS, "etl", 9)
    with walk.way("first compaction by the sensor"):
        walk.turn_to("Automation")
        walk.clicks += 1
        walk.ui.switch("latest_snapshots")
        wait_for("the compaction", lambda: walk.lake.kind(CLICKS) == "COMPACT")


def who_conflicts(walk: Walk) -> None:
    one = walk.lake.write(STOCK, "etl", 20)
    other = walk.lake.write(STOCK, "backfill", 30)
    walk.lake.write(STOCK, "etl", 40)
    with walk.way("who conflicts, from the third commit"):
        walk.to_table(STOCK)
        walk.ui.comes_to_show("no_bucket_overlap")
        walk.click(walk.ui.page.locator("a[href*='checkDetail=no_bucket_overlap']"))
        walk.ui.comes_to_show(f"'{one}'", f"'{other}'")


def partition_restored(walk: Walk) -> None:
    with walk.way("restore a dropped partition from a tag"):
        walk.to_table(DAYS)
        walk.ui.comes_to_show("earlier states")
        walk.follow("restore_partitions")
        walk.ui.sees("dry_run")
        walk.ui.type_config(_RESTORE.format(table=DAYS, day=DROPPED, tag=TAG, dry=", dry_run: true"))
        walk.launch()
        assert DROPPED not in days(walk.lake), "this was a dry run"
        walk.clicks += 1
        walk.ui.page.go_back()
        walk.ui.sees("No errors")
        walk.ui.type_config(_RESTORE.format(table=DAYS, day=DROPPED, tag=TAG, dry=""))
        walk.launch()
    assert DROPPED in days(walk.lake)


def days(lake: Lake) -> set[str]:
    return set(lake.table(DAYS).to_arrow(columns=["day"])["day"].to_pylist())


def retention_changed(walk: Walk) -> None:
    with walk.way("change one table's retention"):
        walk.lake.shorten_retention(STOCK)
        walk.reload()
        walk.turn_to("Catalog")
        walk.to_table(STOCK)
        # The first page is that of the last materialisation; what was read since is among the events.
        walk.press("Events")
        walk.ui.comes_to_show("nothing; the next expiry deletes it")


def table_added(walk: Walk) -> None:
    walk.lake.do("create", LATER, [])
    with walk.way("add a table"):
        walk.reload()
        wait_for("the table", lambda: LATER in walk.dagster.asset_keys())
        walk.turn_to("Catalog")
        walk.ui.lists(LATER.replace(".", "/"))


# In this order: a plan is of use only as long as the sensor is off.
WAYS: tuple[Callable[[Walk], None], ...] = (
    why_snapshots_stay,
    plan_applied,
    compacted_by_sensor,
    who_conflicts,
    partition_restored,
    retention_changed,
    table_added,
)


def main() -> None:
    """Go all ways, and print what they took."""
    with tempfile.TemporaryDirectory() as folder, foreign_lake(Path(folder)) as lake:
        started = time.monotonic()
        dagster = Dagster(lake.folder / "dagster", lake.yaml, {}, logs=artifacts())
        try:
            dagster.wait_until_ready()
            with browsing(dagster.url, artifacts()) as ui:
                ui.is_not_greeted()
                walk = Walk(ui, dagster, lake)
                tables_seen(walk, started)
                for go in WAYS:
                    go(walk)
        finally:
            dagster.stop()
    for way in walk.ways:
        sys.stdout.write(f"{way.name:45} {way.clicks:2} clicks {way.seconds:6.0f} s\n")


if __name__ == "__main__":
    main()
