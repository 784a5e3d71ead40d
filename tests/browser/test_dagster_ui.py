"""What a person sees and does in Dagster, in a real browser, against a running web server and daemon.

The tests share the servers; each has tables of its own, so that their order does not matter. What takes the daemon a
while is begun for all of them at once.
"""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import expect

from maintenance.metadata.partition_path import partition_path
from tests.browser.conftest import World
from tests.browser.servers import wait_for
from tests.browser.ui import JOBS, Ui
from tests.browser.warehouse import CLICKS, DAYS, EVENTS, ORDERS, RETURNS, STALE_DAYS, STOCK

pytestmark = pytest.mark.slow

RANGE = DAYS[:4]


def files_of(world: World, identifier: str) -> dict[str, set[str]]:
    """The names of the live data files, by partition."""
    table = world.table(identifier)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    collected: dict[str, set[str]] = {}
    for entry in table.manifests.live_entries(snapshot):
        collected.setdefault(partition_path(table.paths.spec_of(entry.partition)), set()).add(entry.file.file_name)
    return collected


@dataclass(frozen=True)
class Begun:
    """What a person and two foreign jobs have set going. `backfill`: the path of its page; the rest was before it."""

    backfill: str
    files: dict[str, set[str]]
    snapshot: int


@pytest.fixture(scope="module")
def begun(world: World, browser: Ui) -> Begun:
    """A backfill is launched, a sensor switched on, and others commit."""
    latest = world.table(EVENTS).latest_snapshot()
    assert latest is not None
    backfill = launch_backfill(browser, files := files_of(world, EVENTS))
    browser.open("/automation")
    browser.switch("latest_snapshots")
    browser.shoot("sensors")
    for number in range(2, 5):
        world.java.write(world.warehouse, CLICKS, [(number, f"page {number}")])
    for number, user in enumerate(("compactor-a", "compactor-b", "compactor-a"), 1):
        world.java.commit_as(world.warehouse, STOCK, "till", number, [(number, "sold")])
        world.java.commit_as(world.warehouse, STOCK, user, number, [], compacts=True)
    return Begun(backfill, files, latest.id)


def launch_backfill(ui: Ui, files: dict[str, set[str]]) -> str:
    """Launch the compaction of a range of partitions from its asset's page. Returns the path of the backfill's page."""
    stale = len(STALE_DAYS)
    ui.open("/assets/shop/events/events_compaction?view=partitions")
    ui.sees(f"Materialized ({len(files) - stale})", f"Missing ({stale})")
    ui.open("/assets/shop/events/events_compaction")
    ui.button(re.compile("Materialize"))
    ui.choose_partitions(*(f"day={day}" for day in RANGE))
    ui.sees("Backfills all partitions in a single run.")
    ui.shoot("backfill_dialog")
    ui.button("Launch backfill")
    ui.sees(re.compile("Created backfill"))
    ui.click("View")
    ui.page.wait_for_url("**/runs/b/**")
    return ui.page.url.removeprefix(ui.url)


def test_catalogue_table_page_and_lineage(world: World, page: Ui) -> None:
    page.open("/assets")
    page.lists("shop/orders", "shop/events", "shop/clicks", "shop/stock")
    page.is_well()
    page.shoot("catalogue")
    page.open("/assets/shop/orders")
    page.sees("Orders by number, as the shop's till delivers them.", "sales", "sales@example.com", "paimon", "Spark")
    page.sees("BIGINT", "DECIMAL(9, 2)", "primary key", "non-nullable", "maintain_shop_orders")
    page.is_well()
    page.shoot("table")
    page.open("/assets/shop/events")
    page.sees("maintain_shop_events", re.compile(r"\d sensors"), "shop / events / events_partitions")
    expect(page.page.get_by_role("button", name=re.compile("Materialize")).first).to_be_enabled()
    page.comes_to_show("at a glance", "live data", "kept by", "the current state", "what an expiry would delete")
    page.is_well()
    page.shoot("table_before_any_run")
    page.click("Plots")
    page.sees("records", "bytes", "sorted runs (most in a bucket)")
    expect(page.page.locator("canvas").first).to_be_visible()
    page.shoot("plots")
    page.open("/assets/maintenance/fleet")
    page.comes_to_show("urgent", "shop.events", "live data", "unhealthy tables")
    page.is_well()
    page.shoot("fleet_before_any_run")
    page.open("/assets/shop/orders?view=checks")
    page.sees("single_compactor", "level0_backlog", "retention_blockers", "fsck")
    page.shoot("checks")
    page.open_group("shop")
    page.sees("events_partitions", "events_compaction", "orders_landing", "stock")
    page.is_well()
    page.shoot("lineage")


def test_a_backfill_over_a_range_rewrites_stale_partitions_alone(world: World, begun: Begun, page: Ui) -> None:
    page.open(begun.backfill)
    page.backfill_succeeds()
    page.shoot("backfill")
    before = begun.files
    after = files_of(world, EVENTS)
    rewritten = {f"day={day}" for day in RANGE if day in STALE_DAYS}
    assert {key for key in before if before[key] != after[key]} == rewritten
    assert all(len(after[key]) == 1 for key in rewritten)
    assert len(after[f"day={STALE_DAYS[-1]}"]) == 2, "this one lies outside of the range"
    table = world.table(EVENTS)
    latest = table.latest_snapshot()
    assert latest is not None
    assert (latest.id, str(latest.commit_kind)) == (begun.snapshot + 1, "COMPACT"), "one run, one snapshot"
    assert sorted(world.java.rows(world.warehouse, EVENTS))[-1] == (DAYS[-1], 9, "late"), "Java reads what is left"
    page.open("/assets/shop/events/events_compaction?view=partitions")
    page.comes_to_show("Materialized (5)", "Missing (1)")
    page.click("day=2026-01-02")
    page.sees(re.compile("View all historical events"), "partitions rewritten", re.compile("^files$"))
    page.is_well()
    page.shoot("partitions")


def test_a_dry_run_shows_its_plan_and_the_link_applies_it(world: World, page: Ui) -> None:
    before = files_of(world, RETURNS)
    page.open(f"{JOBS}/compact_shop_returns/playground")
    page.sees("dry_run")
    page.type_config("ops: {compact: {config: {dry_run: true, full: true}}}")
    page.sees("No errors")
    page.shoot("launchpad")
    page.click("Launch Run")
    page.run_ends()
    run = page.page.url.rsplit("/", 1)[-1]
    page.open(f"/runs/{run}")
    page.click("View full message")
    page.sees("plan id", "expected files", "full compaction", "now and expected after", "bucket 0")
    page.is_well()
    page.shoot("plan")
    tags = {tag["key"]: tag["value"] for actual in world.dagster.runs(paimon_table=RETURNS) for tag in actual["tags"]}
    page.sees(tags["paimon/plan_id"])
    assert files_of(world, RETURNS) == before
    link = page.page.locator("a[href*='/jobs/apply_plan/playground/setup']").first.get_attribute("href")
    assert link is not None
    page.open(link)
    page.sees(tags["paimon/plan_id"], "No errors")
    page.shoot("apply_plan")
    page.click("Launch Run")
    page.run_ends()
    latest = world.table(RETURNS).latest_snapshot()
    assert latest is not None
    assert str(latest.commit_kind) == "COMPACT"
    assert (latest.properties or {})["paimon-maintenance.run"] == page.page.url.rsplit("/", 1)[-1]


def test_a_sensor_switched_on_reacts_to_a_commit_of_the_java_core(world: World, begun: Begun, page: Ui) -> None:
    page.open(f"{JOBS}/compact_shop_clicks/runs")
    page.sees("latest_snapshots")
    page.ends("Success", "Failure", "Canceled")
    page.is_well()
    page.shoot("sensor_run")
    page.open("/assets/shop/clicks?view=events")
    page.sees("kept snapshots", "COMPACT", "the current state")
    page.shoot("sensor_events")
    latest = world.table(CLICKS).latest_snapshot()
    assert latest is not None
    assert str(latest.commit_kind) == "COMPACT"
    assert sorted(world.java.rows(world.warehouse, CLICKS)) == [(1, "home"), *((n, f"page {n}") for n in range(2, 5))]


def test_two_compactors_turn_a_check_red_and_the_webhook_hears_of_it(world: World, begun: Begun, page: Ui) -> None:
    page.open("/assets/shop/stock?view=checks&checkDetail=single_compactor")
    page.sees("single_compactor", re.compile("two compactors work on the same buckets alternately"))
    page.sees(re.compile("^Failed"), re.compile("compactor-a"), re.compile("compactor-b"))
    page.shoot("conflict")

    def named() -> list[dict[str, Any]]:
        return [said for said in world.alerts if "compactor-a" in said["summary"] and "compactor-b" in said["summary"]]

    wait_for("the alert", named)
    (alert,) = named()
    assert alert["fault"] == "check:shop.stock:single_compactor"
    assert alert["state"] == "failed"
    assert "write-only" in alert["summary"] + alert["fix"]
    page.open(alert["link"].removeprefix("http://dagster.example"))
    page.sees("single_compactor", re.compile("two compactors work"))
    page.open("/assets/shop/stock")
    page.sees("maintain_shop_stock")
    page.shoot("conflict_table")


def test_materialising_a_table_ingests_what_landed(world: World, page: Ui) -> None:
    page.open("/assets/shop/orders")
    page.button(re.compile("Materialize"))
    page.sees(re.compile("Launched run"))
    page.click("View")
    page.run_ends()
    page.is_well()
    page.shoot("ingestion")
    page.open("/assets/shop/orders")
    page.sees("last runs", "launched by hand", "before and after", "sorted runs (most in a bucket)")
    page.shoot("table_after_run")
    assert len(world.java.rows(world.warehouse, ORDERS)) == 3
