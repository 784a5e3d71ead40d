"""Materialized tables in a running Dagster: freshness refreshes one, a suspended one rests, and a failure is seen."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from maintenance.sql import Session
from tests.browser import ui
from tests.browser.servers import Dagster, receiving, wait_for
from tests.browser.ui import Ui

pytestmark = pytest.mark.slow

TABLES = """
warehouse: {folder}/warehouse
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    spark.sql.codegen.wholeStage: false
    spark.sql.shuffle.partitions: 1
alerts:
  url: http://dagster.example
  targets: [{{kind: webhook, url: "${{BROWSER_TEST_WEBHOOK}}"}}]
patterns:
  - pattern: shop.*
"""
SETUP = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE visits (day STRING, page STRING, seconds INT) PARTITIONED BY (day);
INSERT INTO visits VALUES ('2026-01-01', 'home', 5), ('2026-01-02', 'home', 7), ('2026-01-02', 'cart', 20);
CREATE MATERIALIZED TABLE visits_by_day COMMENT 'Visits and seconds of each day.' PARTITIONED BY (day)
  FRESHNESS = INTERVAL '20' SECOND
  AS SELECT day, COUNT(*) AS visits, SUM(seconds) AS seconds FROM visits GROUP BY day;
CREATE MATERIALIZED TABLE resting FRESHNESS = INTERVAL '20' SECOND AS SELECT day, page FROM visits;
ALTER MATERIALIZED TABLE resting SUSPEND;
CREATE MATERIALIZED TABLE pages_a_minute FRESHNESS = INTERVAL '20' SECOND
  AS SELECT page, MAX(60 / seconds) AS a_minute FROM visits GROUP BY page;
"""


@dataclass(frozen=True)
class Shop:
    """What runs. `session`: of the people who own the tables; `alerts`: what the webhook has received."""

    dagster: Dagster
    session: Session
    alerts: list[dict[str, Any]]

    def rows(self, query: str) -> list[dict[str, Any]]:
        return self.session.sql(query).to_arrow().to_pylist()


@pytest.fixture
def shop(tmp_path: Path, chromium: Browser) -> Iterator[Shop]:
    tables = tmp_path / "tables.yaml"
    tables.write_text(TABLES.format(folder=tmp_path))
    session = Session({"warehouse": str(tmp_path / "warehouse")}, dialect="flink")
    list(session.execute(SETUP))
    shots = ui.artifacts() / "materialized"
    shots.mkdir(exist_ok=True)
    with receiving() as (url, alerts):
        dagster = Dagster(tmp_path / "dagster", tables, {"BROWSER_TEST_WEBHOOK": url}, shots)
        try:
            dagster.wait_until_ready()
            yield Shop(dagster, session, alerts)
        finally:
            dagster.stop()


def test_freshness_refreshes_and_failures_are_seen(shop: Shop, chromium: Browser) -> None:
    shop.session.sql("INSERT INTO visits VALUES ('2026-01-02', 'cart', 0), ('2026-01-03', 'home', 9)")
    with ui.tab(chromium, shop.dagster.url, ui.artifacts() / "materialized") as page:
        page.is_not_greeted()
        refreshed(shop, page)
        failed(shop, page)
        rested(shop, page)


def refreshed(shop: Shop, page: Ui) -> None:
    """A run that nobody has launched replaces the partitions that the new rows are in."""
    query = "SELECT day, visits FROM visits_by_day ORDER BY day"
    wanted = [
        {"day": "2026-01-01", "visits": 1},
        {"day": "2026-01-02", "visits": 3},
        {"day": "2026-01-03", "visits": 1},
    ]
    wait_for("the refresh", lambda: shop.rows(query) == wanted)
    latest = shop.session.table(("visits_by_day",)).latest_snapshot()
    assert latest is not None
    (run,) = shop.dagster.runs(paimon_table="shop.visits_by_day")
    assert (latest.properties or {})["paimon-maintenance.run"] == run["id"]
    tags = {tag["key"]: tag["value"] for tag in run["tags"]}
    assert tags["dagster/sensor_name"] == "keep_fresh_shop_visits_by_day"
    page.open(f"/runs/{run['id']}")
    page.run_ends()
    page.shoot("run")
    page.open("/assets/shop/visits_by_day")
    page.comes_to_show("Visits and seconds of each day.", "ACTIVATED", re.compile("20 seconds, continuous mode"))
    page.sees(re.compile("Materialized from shop.visits"), "refresh_shop_visits_by_day")
    page.sees(re.compile("FRESHNESS = INTERVAL '20' SECOND"), "From shop.visits: seconds.")
    page.is_well()
    page.shoot("table")


def failed(shop: Shop, page: Ui) -> None:
    """A visit of no seconds divides by zero: the run fails, people are told, and the table is as it was."""

    def reported() -> list[dict[str, Any]]:
        return [alert for alert in shop.alerts if alert["tables"] == ["shop.pages_a_minute"]]

    wait_for("the alert", reported)
    alert = reported()[0]
    assert (alert["state"], alert["fault"]) == ("failed", "run:refresh_shop_pages_a_minute")
    assert "DIVIDE_BY_ZERO" in alert["summary"]
    page.open(alert["link"].removeprefix("http://dagster.example"))
    page.run_ends("RUN_FAILURE")
    page.sees(re.compile("DIVIDE_BY_ZERO"))
    page.shoot("failed_run")
    assert len(shop.rows("SELECT * FROM pages_a_minute")) == 2


def rested(shop: Shop, page: Ui) -> None:
    """Its source has changed as well, and its sensor has ticked meanwhile."""
    assert shop.dagster.runs(paimon_table="shop.resting") == []
    assert len(shop.rows("SELECT * FROM resting")) == 3
    page.open("/assets/shop/resting")
    page.sees("SUSPENDED")
    page.shoot("suspended")
    page.open("/automation")
    page.sees("keep_fresh_shop_resting", "keep_fresh_shop_visits_by_day")
    page.shoot("automations")
