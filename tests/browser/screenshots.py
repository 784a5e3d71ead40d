"""Takes the pictures of README and docs again: ``python -m tests.browser.screenshots``, after ``make demo``.

With ``tour`` behind it, only those of the tour through a fleet with faults, which need no demo.
It drives Dagster on what the demo left as a person would. So that there is something to plan and to compact, it writes
some of the flights of summer to their table again, as they are. `checks.png` is the tests' own picture `conflict`.
"""

import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.project.config import load_project
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.demo.run import REPOSITORY, dagster_instance
from tests.browser import tour
from tests.browser.servers import ROOT, Dagster
from tests.browser.ui import JOBS, Ui, artifacts, browsing

IMAGES = ROOT / "docs" / "images"


def main(arguments: Sequence[str]) -> None:
    """Write the pictures to docs/images."""
    tour.take(IMAGES)
    if list(arguments) != ["tour"]:
        demo()
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def demo() -> None:
    """The pictures of what the demo left."""
    late_flights()
    run_jobs()
    dagster = Dagster(ROOT, ROOT / "demo" / "tables.yaml", {}, logs=artifacts())
    try:
        dagster.wait_until_ready()
        with browsing(dagster.url, IMAGES) as ui:
            if dagster.query("{ shouldShowNux }")["shouldShowNux"]:
                ui.is_not_greeted()
            fleet(ui)
            plan(ui)
            pages(ui)
            backfill(ui)
    finally:
        dagster.stop()


def late_flights() -> None:
    """Commit a few flights of July and August once more, as a feed that is late would: two partitions become stale."""
    table = open_catalog({"warehouse": str(ROOT / "warehouse")}).get_table("demo.flights")
    assert isinstance(table, CatalogTable)
    number = int(time.time())
    for month in (7, 8):
        rows = table.to_arrow(where=f"month = {month} AND origin = 'LGA' AND dest = 'CLE'")
        table.write_arrow(rows, commit_user="late-feed", commit_identifier=number + month)


def run_jobs() -> None:
    """Tell how all tables stand, and record the table of routes as it is."""
    definitions = build_definitions(load_project(ROOT / "demo" / "tables.yaml", ROOT))
    dry: dict[str, Any] = {"ops": {"compact": {"config": {"dry_run": True}}}}
    with dagster_instance() as instance:
        for name, config in (("compact_demo_route_day", dry), ("fleet_summary", {})):
            job = definitions.resolve_job_def(name)
            job.execute_in_process(run_config=config, instance=instance, tags=REPOSITORY)


def backfill(ui: Ui) -> None:
    """A backfill of compaction over the summer, about to be launched."""
    ui.open("/assets/demo/flights/flights_compaction?view=partitions")
    ui.sees("12 Partitions Selected")
    ui.open("/assets/demo/flights/flights_compaction")
    ui.button(re.compile("Materialize"))
    ui.choose_partitions(*(f"month={month}" for month in (6, 7, 8, 9)))
    ui.shoot("backfill")


def plan(ui: Ui) -> None:
    """A dry run, and the plan it made."""
    ui.open(f"{JOBS}/compact_demo_flights/playground")
    ui.sees("dry_run")
    others = "changelog: {config: {dry_run: true}}, file_index: {config: {dry_run: true}}"
    ui.type_config("ops: {compact: {config: {dry_run: true, full: true}}, " + others + "}")
    ui.sees("No errors")
    ui.click("Launch Run")
    ui.page.wait_for_url("**/runs/**")
    ui.run_ends()
    ui.open(ui.page.url.removeprefix(ui.url))
    ui.click("View full message")
    ui.sees("plan id", "expected files")
    ui.shoot("plan")


def fleet(ui: Ui) -> None:
    """Health of all tables."""
    ui.open("/assets/maintenance/fleet")
    ui.sees("sorted runs")
    ui.shoot("fleet")


def pages(ui: Ui) -> None:
    """What is there to look at."""
    ui.open_group("demo")
    ui.sees("route_day")
    ui.is_well()
    ui.shoot("lineage")
    ui.open("/assets/demo/flights")
    ui.sees("partition key")
    ui.is_well()
    ui.shoot("table")
    ui.open("/assets/demo/route_day")
    ui.sees(re.compile("From demo.flights: status."))
    ui.page.get_by_text("carriers", exact=True).filter(visible=True).first.scroll_into_view_if_needed()
    ui.shoot("columns")


if __name__ == "__main__":
    main(sys.argv[1:])
