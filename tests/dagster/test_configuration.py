"""Names in tables.yaml that mean nothing: a warning when it is loaded, and a red check with the nearest name."""

import logging
from pathlib import Path

import dagster as dg
import pytest

from maintenance.catalog import Schema
from maintenance.monitor.readable import READABLE
from maintenance.project.config import Project, load_project
from maintenance.project.policies import Alerts
from maintenance.project.targets.webhook import Webhook
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.configuration import CONFIGURATION
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import Receiver, checks_of, evaluate

Sink = tuple[str, type[Receiver]]


def lake(folder: Path, text: str) -> Project:
    """A warehouse with shop.orders, and a project over it."""
    catalog = PaimonCatalog(warehouse=str(folder / "lake")).open()
    catalog.create_database("shop", ignore_if_exists=True)
    catalog.create_table("shop.orders", Schema([("id", "INT")]), ignore_if_exists=True)
    (folder / "tables.yaml").write_text(text)
    return load_project(folder / "tables.yaml", folder)


WRONG = {
    "pattern": ("warehouse: lake\npatterns: [{pattern: shop.*}, {pattern: shp.*}]", "Did you mean 'shop'?"),
    "warehouse": ("warehouse: lakes\npatterns: [{pattern: shop.*}]", "lakes does not exist. Did you mean "),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_means_nothing_is_a_warning_and_a_red_check(
    wrong: str, tmp_path: Path, instance: dg.DagsterInstance, caplog: pytest.LogCaptureFixture, receiver: Sink
) -> None:
    text, said = WRONG[wrong]
    project = lake(tmp_path, text)
    alerts = Alerts(url="http://dagster", targets=(Webhook(kind="webhook", url=receiver[0]),))
    project = project.model_copy(update={"alerts": alerts})
    with caplog.at_level(logging.WARNING):
        build_definitions(project)
    assert said in caplog.text
    data = evaluate(project, instance, "check_radar")
    (event,) = [event for event in checks_of(data) if event.check_name == CONFIGURATION]
    assert not event.passed
    assert said in str(event.description)
    again = evaluate(project, instance, "check_radar", data.cursor)
    assert not [event for event in checks_of(again) if event.asset_key == keys.FLEET], "it was said a moment ago"
    reported = evaluate(project, instance, "alerts").cursor
    (alert,) = receiver[1].received
    assert (alert["subject"], alert["state"]) == ("Check configuration of tables.yaml", "failed")
    assert said in alert["summary"]
    assert alert["fix"].startswith("Correct ")
    repaired = lake(tmp_path, "warehouse: lake\npatterns: [{pattern: shop.*}]").model_copy(update={"alerts": alerts})
    evaluate(repaired, instance, "check_radar", data.cursor)
    evaluate(repaired, instance, "alerts", reported)
    assert [alert["state"] for alert in receiver[1].received] == ["failed", "recovered"]


def test_a_misspelt_table_is_a_warning_and_red_on_its_own_page(
    tmp_path: Path, instance: dg.DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    project = lake(tmp_path, "warehouse: lake\ntables: [{identifier: shop.ordes}, {identifier: shop.orders}]")
    with caplog.at_level(logging.WARNING):
        definitions = build_definitions(project)
    assert "tables.yaml, tables.0.identifier: table 'shop.ordes' does not exist. Did you mean 'shop.orders'?" in (
        caplog.text
    )
    page = next(spec for spec in definitions.resolve_all_asset_specs() if spec.key == keys.asset_key("shop.ordes"))
    assert "Not found in the warehouse" in str(page.description)
    assert "paimon/written-by" not in page.tags
    events = evaluate(project, instance, "check_radar")
    failed = [event for event in checks_of(events) if not event.passed and event.asset_key != keys.FLEET]
    assert [(event.asset_key, event.check_name) for event in failed] == [(keys.asset_key("shop.ordes"), READABLE)]
    assert "Did you mean 'shop.orders'?" in str(failed[0].description)


def test_a_warehouse_that_cannot_be_reached_is_one_fault(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = lake(tmp_path, "warehouse: lake\npatterns: [{pattern: shop.*}]")
    first = evaluate(project, instance, "check_radar")
    definitions = build_definitions(project)
    (tmp_path / "lake").rename(tmp_path / "elsewhere")
    (tmp_path / "lake").write_text("a file, as where nothing is mounted")
    resources = {"catalog": PaimonCatalog(warehouse=project.warehouse)}
    with dg.build_sensor_context(instance, first.cursor, definitions=definitions, resources=resources) as context:
        data = definitions.resolve_sensor_def("check_radar").evaluate_tick(context)
    (event,) = data.asset_events
    assert isinstance(event, dg.AssetCheckEvaluation)
    assert (event.asset_key, event.check_name, event.passed) == (keys.FLEET, CONFIGURATION, False)
    assert "cannot be listed" in str(event.description)


def test_every_finding_is_on_the_page_over_all_tables(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    project = lake(tmp_path, "warehouse: lake\npatterns: [{pattern: shp.*}, {pattern: hr.*}]")
    job = build_definitions(project).resolve_job_def("fleet_summary")
    _, actual = job.execute_in_process(instance=instance).get_asset_check_evaluations()
    assert (actual.check_name, actual.passed) == (CONFIGURATION, False)
    rows = actual.metadata["findings"]
    assert isinstance(rows, dg.TableMetadataValue)
    assert [record.data["place"] for record in rows.records] == ["patterns.0.pattern", "patterns.1.pattern"]
