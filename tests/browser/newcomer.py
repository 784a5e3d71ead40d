"""Sixteen things that somebody new wants to know or do on thirteen tables that pypaimon wrote, in Chromium, through the
console and Dagster as they are: ``python -m tests.browser.newcomer``.

Each begins on the first page and ends when what was wanted can be read, or has happened. It has its clicks, its seconds
and a picture. Typing is no click; choosing in a list is one. None may take more than three clicks, or more than one
command. Seconds are those of this machine.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
from playwright.sync_api import Browser, Locator, Page, expect

from maintenance.amounts import number_of
from maintenance.operations.compaction.compact import OPERATION as COMPACT
from maintenance.operations.plan_store import StoredPlan, stored_ids
from tests.browser.console_lake import write_past
from tests.browser.console_server import serving
from tests.browser.servers import PATIENCE, ROOT, Dagster, wait_for
from tests.browser.ui import Ui, artifacts, launched, tab
from tests.pypaimon.process import run_script
from tests.tables import get_table

MOST_CLICKS, MOST_COMMANDS = 3, 1
DAYS, CUSTOMERS, ORDERS = "shop.days", "shop.customers", "shop.orders"
TABLES = """\
warehouse: {lake}
alerts: {{url: "http://127.0.0.1:3000"}}
spark: {{engine: embedded}}
patterns:
  - pattern: "shop.*"
    owners: ["team:lake"]
    retention: {{keep_at_least: 3}}
tables:
  - identifier: shop.orders
    description: Orders by day, as the shops send them.
    owners: ["ann@example.com"]
    compaction: {{trigger: 5}}
    writers: {{shops: the stream of the shops, backfill: the nightly backfill}}
"""


@dataclass(frozen=True)
class Task:
    """What it took. `name`: what was wanted."""

    name: str
    clicks: int
    commands: int
    seconds: float
    picture: Path

    @property
    def is_short(self) -> bool:
        return self.clicks <= MOST_CLICKS and self.commands <= MOST_COMMANDS


@dataclass
class Newcomer:
    """Somebody in front of a tab on the console. `done`: the tasks behind them."""

    ui: Ui
    dagster: Dagster
    tables: Path
    done: list[Task] = field(default_factory=list)
    clicks: int = 0
    commands: int = 0

    @property
    def page(self) -> Page:
        return self.ui.page

    @property
    def lake(self) -> Path:
        return self.tables.parent / "lake"

    @contextmanager
    def task(self, name: str, path: str = "/") -> Iterator[None]:
        """Count what is done inside."""
        self.clicks, self.commands = 0, 0
        started = time.monotonic()
        self.ui.open(path)
        yield
        seconds = time.monotonic() - started
        shot = self.ui.shoot(f"newcomer_{len(self.done) + 1:02d}")
        self.done.append(Task(name, self.clicks, self.commands, seconds, shot))

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.filter(visible=True).first.click()

    def follow(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name, exact=True))

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True))

    def section(self, name: str) -> Locator:
        return self.page.locator(f"section#{name}")

    def reads(self, where: Locator, *texts: str) -> None:
        """Wait until the texts can be read there. Raises: AssertionError."""
        for text in texts:
            expect(where).to_contain_text(text, timeout=PATIENCE * 1000)

    def launch(self) -> None:
        """What is filled in in the Launchpad, to its end."""
        self.ui.sees("No errors")
        self.click(self.page.get_by_text("Launch Run", exact=True))
        self.ui.run_ends()

    def command(self, program: str, *arguments: str) -> str:
        """What a command prints, whatever it finds; a picture shows it."""
        self.commands += 1
        path = Path(sys.executable).parent / program
        done = subprocess.run([str(path), *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        self.page.set_content("<pre></pre>")
        self.page.locator("pre").evaluate("(element, text) => { element.textContent = text }", done.stdout)
        return done.stdout


def tables_by_urgency(person: Newcomer) -> None:
    with person.task("all my tables, the urgent ones first"):
        rows = person.page.locator("table.fleet tbody tr")
        person.reads(rows.first, "shop.broken", "cannot be read")
        expect(rows).to_have_count(13)


def what_is_wrong(person: Newcomer) -> None:
    with person.task("what is wrong with the worst table, and what to do"):
        person.follow("shop.broken")
        person.reads(person.page.locator("main"), "readable", "Next step")


def whose_tables(person: Newcomer) -> None:
    with person.task("the tables of one owner"):
        person.clicks += 1
        person.page.get_by_label("Owner").select_option("ann@example.com")
        person.press("Show")
        expect(person.page.locator("table.fleet tbody tr")).to_have_count(1)
        person.reads(person.page.locator("table.fleet"), "shop.orders")


def why_a_snapshot_stays(person: Newcomer) -> None:
    with person.task("why a snapshot is still there"):
        person.follow(ORDERS)
        person.click(person.page.get_by_text("The snapshots as a table"))
        person.reads(person.section("snapshots"), "consumer dashboard", "tag month-end", "the current state")


def what_can_be_freed(person: Newcomer) -> None:
    with person.task("what can be freed, by which setting"):
        person.follow(ORDERS)
        person.reads(person.section("freeable"), "the next expiry", "retention.keep_at_least = 3 (tables.yaml, line")


def who_conflicts(person: Newcomer) -> None:
    with person.task("which writers get in each other's way, and what to set"):
        person.follow(ORDERS)
        person.follow("Compare its writers")
        person.reads(person.page.locator("main"), "shops", "backfill", "no_bucket_overlap")


def what_is_due(person: Newcomer) -> None:
    with person.task("which partitions are due"):
        person.follow(ORDERS)
        person.reads(person.page.locator("main"), "Partitions")
        expect(person.page.locator("section#partitions svg")).to_be_visible(timeout=PATIENCE * 1000)


def other_retention(person: Newcomer) -> None:
    with person.task("what other retention would delete"):
        person.follow(ORDERS)
        person.page.get_by_label("keep_at_least").fill("1")
        person.page.get_by_label("keep_at_most").fill("1")
        person.press("Try it")
        person.reads(person.section("retention"), "snapshots")


def where_settings_come_from(person: Newcomer) -> None:
    with person.task("where a setting comes from"):
        person.follow(ORDERS)
        settings = person.page.locator("section#settings")
        person.reads(settings, "compaction.trigger", "tables.yaml, line")


def last_night(person: Newcomer) -> None:
    with person.task("what happened last night, what failed, who must act"):
        person.follow("Night")
        person.follow("24 hours")
        person.reads(person.page.locator("main"), "Failed", "manifest-1 is missing", "Open now", "ann@example.com")


def plan_applied(person: Newcomer) -> None:
    number = stored_plan_of(person, CUSTOMERS)
    with person.task("a plan read and applied", "/plans"):
        person.follow(number)
        person.reads(person.page.locator("main"), "Goes", "Stays", "Gained")
        person.follow("Apply in Dagster")
        person.launch()
    person.ui.open(f"/plans/{number}")
    person.reads(person.page.locator("main"), "Applied by run", "Applied again, it does nothing")


def stored_plan_of(person: Newcomer, table: str) -> str:
    """The id of the plan for a table."""
    file_io = get_table(person.lake, table).file_io
    plans = [StoredPlan.load(file_io, str(person.lake), number) for number in stored_ids(file_io, str(person.lake))]
    (found,) = [plan.id for plan in plans if plan.table == table]
    return found


def partition_planned_back(person: Newcomer) -> None:
    with person.task("bring a dropped partition back: the dry run", f"/tables/{DAYS}"):
        person.reads(person.section("dropped"), "day=2")
        person.click(person.section("dropped").get_by_role("link", name="Plan its restoration"))
        person.launch()


def next_action_done(person: Newcomer) -> None:
    before = get_table(person.lake, ORDERS).snapshots.latest_id()
    with person.task("what is planned next for a table, done now"):
        person.follow(ORDERS)
        person.reads(person.page.locator("p.planned"), "Planned", "Why:")
        person.click(person.page.locator("p.planned").get_by_role("link", name="Apply it"))
        person.launch()
    assert get_table(person.lake, ORDERS).snapshots.latest_id() != before


def compactions_switched_on(person: Newcomer) -> None:
    with person.task("compactions that start by themselves"):
        person.click(person.page.get_by_role("navigation").get_by_text("Dagster", exact=True))
        person.click(person.page.get_by_role("navigation").get_by_text("Automation", exact=True))
        person.clicks += 1
        person.ui.switch("latest_snapshots")


def report_by_a_command(person: Newcomer) -> None:
    with person.task("the report of a day on the command line"):
        text = person.command("paimonctl", "--tables", str(person.tables), "report", "--since", "1 d")
        assert "Failed:" in text, text
        assert "manifest-1 is missing" in text, text


def settings_looked_over(person: Newcomer) -> None:
    with person.task("my settings looked over before they count"):
        text = person.command("paimon-maintenance", "check", str(person.tables))
        assert "problem" in text, text


# In this order: a plan is of use only as long as the sensor is off.
TASKS: tuple[Callable[[Newcomer], None], ...] = (
    tables_by_urgency,
    what_is_wrong,
    whose_tables,
    why_a_snapshot_stays,
    what_can_be_freed,
    who_conflicts,
    what_is_due,
    other_retention,
    where_settings_come_from,
    last_night,
    plan_applied,
    partition_planned_back,
    next_action_done,
    compactions_switched_on,
    report_by_a_command,
    settings_looked_over,
)


def lake_of(folder: Path) -> Path:
    """Thirteen tables that pypaimon wrote, one of them damaged since, with a plan and a history; no run needs Spark.

    Returns: tables.yaml.
    """
    lake, path = folder / "lake", folder / "tables.yaml"
    run_script("write_thirteen.py", lake)
    (lake / "shop.db" / "broken" / "snapshot" / "snapshot-1").write_bytes(b"{")
    customers = get_table(lake, CUSTOMERS)
    COMPACT.dry_run(customers, full=True).store(customers.file_io, str(lake))
    write_past(lake, "shop")
    path.write_text(TABLES.format(lake=lake))
    return path


@contextmanager
def newcomer(folder: Path, browser: Browser) -> Iterator[Newcomer]:
    """Somebody in front of the console and a running Dagster."""
    tables = lake_of(folder)
    home = folder / "dagster"
    dagster = Dagster(home, tables, {}, logs=artifacts())
    tables.write_text(tables.read_text().replace("http://127.0.0.1:3000", dagster.url))
    try:
        dagster.wait_until_ready()
        with chdir(home), dg.DagsterInstance.from_config(str(home)) as instance, serving(tables, instance, 0) as url:
            wait_for("the sensor check_radar", lambda: _has_ticked(instance))
            with tab(browser, url, artifacts()) as ui:
                yield Newcomer(ui, dagster, tables)
    finally:
        dagster.stop()


def _has_ticked(instance: dg.DagsterInstance) -> bool:
    """Whether the tables have been looked at: until then the console does not know where the jobs are."""
    states = [state for state in instance.all_instigator_state() if state.name == "check_radar"]
    return bool(states and getattr(states[0].instigator_data, "cursor", None))


def table_of(done: list[Task]) -> Iterator[str]:
    """What each task took, a line each."""
    for number, task in enumerate(done, 1):
        mark = "" if task.is_short else "  TOO LONG"
        effort = number_of(task.commands, "command") if task.commands else number_of(task.clicks, "click")
        yield f"{number:2}  {task.name:58} {effort:10} {task.seconds:6.1f} s  {task.picture.name}{mark}"


def main() -> int:
    """Do all tasks, print what they took. Returns: 1 if one of them takes too much."""
    with tempfile.TemporaryDirectory() as folder, launched() as browser, newcomer(Path(folder), browser) as person:
        try:
            for go in TASKS:
                go(person)
        finally:
            sys.stdout.write("\n".join(table_of(person.done)) + "\n")
    return 0 if all(task.is_short for task in person.done) else 1


if __name__ == "__main__":
    sys.exit(main())
