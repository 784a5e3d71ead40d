"""The page of what is next: what brings most within the budget, and why the rest waits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import dagster as dg

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations import plan_fleet
from maintenance.operations.history import HistoryEntry, history_table, write_history
from paimon_maintenance.console.links import Links
from tests.console_site import Site
from tests.tables import create_table, keyed


def test_what_is_next_is_shown_with_its_reason(site: Site, keyed_table: CatalogTable, by_month: CatalogTable) -> None:
    answer = site.get("/next")
    assert answer.status == 200
    assert "No budget is set" in answer.text
    assert "compact month=2" in answer.text
    assert "4 small files" in answer.text, "what it is for"
    assert "assumed, nothing like it was run before" in answer.text
    assert "/tables/db.months" in answer.links()


def test_what_the_budget_leaves_out_has_its_turn(
    site: Site, keyed_table: CatalogTable, by_month: CatalogTable, tables_yaml: Path
) -> None:
    tables_yaml.write_text(tables_yaml.read_text() + "fleet: { budget: { seconds: 2 } }\n")
    text = site.get("/next").text
    assert "The budget of a day is 2 s" in text
    assert "it takes 3 s, and 2 s are left of this day" in text or "others that come first" in text


def test_the_page_of_all_tables_says_what_is_next_and_what_it_costs_once_that_is_known(
    tables_yaml: Path, instance: dg.DagsterInstance, by_month: CatalogTable
) -> None:
    site = Site(tables_yaml, instance, seconds=60)
    assert {"/next", "/costs"} <= {*site.get("/").links()}
    planned, costs = site.get("/next").text, site.get("/costs").text
    text = site.get("/").text
    assert "1 of 1 action over 2 tables, in about 2 s" in text
    assert "1 of 1 action over 2 tables, in about 2 s" in planned
    assert "In 30 days 0 runs took 0 s" in text
    assert "In 30 days 0 runs took 0 s" in costs


def test_what_maintenance_costs_is_shown_with_what_comes_next(
    site: Site, keyed_table: CatalogTable, by_month: CatalogTable, tables_yaml: Path
) -> None:
    assert "Without prices nothing is money" in site.get("/costs").text
    tables_yaml.write_text(tables_yaml.read_text() + "costs: { core_hour: 0.5, currency: EUR }\n")
    text = site.get("/costs").text
    assert "Spent, EUR" in text
    assert "db.months" in text
    assert "compact month=2: " in text


def test_a_tables_page_says_what_is_next_what_does_it_and_what_it_cost(
    site: Site, keyed_table: CatalogTable, by_month: CatalogTable, tables_yaml: Path
) -> None:
    tables_yaml.write_text(
        tables_yaml.read_text() + "fleet: { budget: { seconds: 60 } }\ncosts: { core_hour: 0.5, currency: EUR }\n"
    )
    answer = site.get("/tables/db.months")
    assert "compact month=2" in answer.text
    assert "0 of 60 s of the day are worked." in answer.text
    assert "Planned now: compact month=2: 3 files less, in 2.0 s" in answer.text
    assert "Why: 4 small files. Plan it Apply it" in answer.text
    assert "Other tables are not looked at here" in answer.text
    assert "In 30 days 0 runs took 0 s" in answer.text
    assert "EUR a month to store it" in answer.text


def test_the_page_of_a_table_with_nothing_to_do_says_so(site: Site, tmp_path: Path) -> None:
    create_table(tmp_path / "lake", name="db.calm").write_arrow(keyed({1: "a"}))
    answer = site.get("/tables/db.calm")
    assert answer.status == 200
    assert "Planned" not in answer.text
    assert "Nothing is to be done." in answer.section("next")


def test_a_tables_page_has_what_tuning_proposed_last(site: Site, by_month: CatalogTable, tmp_path: Path) -> None:
    assert "Proposals" not in site.get("/tables/db.months").text
    advice = {
        "about": "options",
        "found": "it has no effect",
        "gain": "one less to wonder about",
        "to_do": "ALTER TABLE",
    }
    told: list[dict[str, Any]] = [
        {"reason": "1 proposal"},
        {"reason": "1 proposal", "proposals": [advice]},
        {"proposals": []},
    ]
    catalog, at = open_catalog({"warehouse": str(tmp_path / "lake")}), datetime(2026, 5, 1, tzinfo=UTC)
    texts = []
    for day, details in enumerate(told):
        entry = HistoryEntry(at + timedelta(days=day), "db.months", "advise", details=details)
        write_history(catalog, history_table("_maintenance"), [entry])
        texts.append(site.get("/tables/db.months").section("proposals"))
    assert "2026-05-01 00:00 UTC , and found nothing" in texts[0]
    assert "options it has no effect one less to wonder about ALTER TABLE" in texts[1]
    assert "2026-05-03 00:00 UTC , and found nothing" in texts[2]


def test_actions_lead_to_the_jobs_that_do_them_for_the_partitions_shown(tmp_path: Path, by_month: CatalogTable) -> None:
    links = Links("http://dagster", "lake")
    (line,) = plan_fleet(None, open_catalog({"warehouse": str(tmp_path / "lake")}), dry_run=True).lines
    assert (line.operation, line.scope) == ("compact", "month=2")
    applied = unquote_plus(links.action(line, dry_run=False))
    assert "/jobs/compact_db_months/playground" in applied
    assert 'ops: {compact: {config: {partitions: [{"month": "2"}]}}}' in applied
    planned = unquote_plus(links.action(line, dry_run=True))
    assert 'ops: {compact: {config: {partitions: [{"month": "2"}], dry_run: true}}}' in planned
    whole = replace(line, partitions=(), scope="")
    expired = unquote_plus(links.action(replace(whole, operation="expire_snapshots"), dry_run=True))
    assert "/jobs/expire_db_months/playground" in expired
    assert "ops: {tag: {config: {dry_run: true}}}" in expired
    assert "config" not in unquote_plus(links.action(whole, dry_run=False)).partition("playground")[2]
    merged = unquote_plus(links.action(replace(whole, operation="compact_manifest"), dry_run=False))
    assert "CALL sys.compact_manifest(table => 'db.months')" in merged
    assert "dry_run: false" in merged
