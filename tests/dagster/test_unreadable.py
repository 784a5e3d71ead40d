"""Tables that cannot be read have a red check of their own, people are told once, and once again after the repair."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.definitions.asset_checks.asset_check_evaluation import AssetCheckEvaluationPlanned
from dagster._core.events import DagsterEvent
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from maintenance.catalog import CatalogTable
from maintenance.monitor.readable import READABLE
from maintenance.project.config import Project, load_project
from maintenance.project.policies import Alerts
from maintenance.project.targets.webhook import Webhook
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.sensors.cursor import Cursor
from paimon_maintenance.sensors.radar import cursor_of
from tests.dagster.conftest import Receiver, definitions_of, evaluate
from tests.dagster.test_radar import reported

Sink = tuple[str, type[Receiver]]


@pytest.fixture
def orders(project: Project) -> CatalogTable:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for number in range(2):
        rows = pa.table({"id": pa.array([number], pa.int64()), "status": ["new"]})
        table.write_arrow(rows, commit_user="till", commit_identifier=number)
    return table


def cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:30])
    return path


def later(cursor: str) -> str:
    """The cursor of a radar a good while later."""
    actual = cursor_of(cursor)
    tables = {name: replace(of, at=of.at - 3600) for name, of in actual.tables.items()}
    troubles = {name: replace(of, again=of.again - 3600) for name, of in actual.troubles.items()}
    return replace(actual, tables=tables, troubles=troubles).serialize()


def test_one_alert_and_one_recovery_however_long_it_takes(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable, receiver: Sink
) -> None:
    targets = (Webhook(kind="webhook", url=receiver[0]),)
    project = project.model_copy(update={"alerts": Alerts(url="http://dagster", targets=targets)})
    cursor, shown = evaluate(project, instance, "check_radar").cursor, None
    path = Path(orders.paths.snapshot(2))
    whole = path.read_bytes()
    cut(path)
    for tick in range(6):
        # Some ticks fall into the pauses: nothing is looked at, and nobody hears that it is over.
        data = evaluate(project, instance, "check_radar", cursor if tick % 2 == 0 else later(cursor))
        cursor = data.cursor
        assert "shop.orders: readable" in data.skip_message
        for sensor in ("latest_snapshots", "partition_mirror"):
            evaluate(project, instance, sensor)
        shown = evaluate(project, instance, "alerts", shown).cursor
        assert [alert["state"] for alert in receiver[1].received] == ["failed"]
    assert cursor_of(cursor).troubles["shop.orders"].times > 1
    (alert,) = receiver[1].received
    assert (alert["fault"], alert["tables"]) == ("check:shop.orders:readable", ["shop.orders"])
    assert str(path) in alert["summary"]
    assert alert["fix"]
    assert alert["fix"] not in alert["summary"]
    path.write_bytes(whole)
    cursor = evaluate(project, instance, "check_radar", cursor).cursor
    shown = evaluate(project, instance, "alerts", shown).cursor
    evaluate(project, instance, "check_radar", later(cursor))
    evaluate(project, instance, "alerts", shown)
    states = [alert["state"] for alert in receiver[1].received if "readable" in alert["fault"]]
    assert states == ["failed", "recovered"]


def test_a_recovery_says_what_is_still_open(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable, receiver: Sink
) -> None:
    targets = (Webhook(kind="webhook", url=receiver[0]),)
    project = project.model_copy(update={"alerts": Alerts(targets=targets)})
    key = keys.asset_key("shop.orders")
    for check in ("freshness", READABLE):
        instance.report_runless_asset_event(dg.AssetCheckEvaluation(asset_key=key, check_name=check, passed=False))
    shown = evaluate(project, instance, "alerts").cursor
    instance.report_runless_asset_event(dg.AssetCheckEvaluation(asset_key=key, check_name="freshness", passed=True))
    evaluate(project, instance, "alerts", shown)
    over = receiver[1].received[-1]
    assert (over["subject"], over["state"]) == ("Check freshness of shop.orders", "recovered")
    assert over["summary"].startswith(
        "This problem is over. Still open: Check readable of shop.orders. The check passes"
    )


def test_a_check_that_is_running_is_no_recovery(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable, receiver: Sink
) -> None:
    targets = (Webhook(kind="webhook", url=receiver[0]),)
    project = project.model_copy(update={"alerts": Alerts(targets=targets)})
    cut(Path(orders.paths.snapshot(2)))
    evaluate(project, instance, "check_radar")
    shown = evaluate(project, instance, "alerts").cursor
    job = definitions_of(project).resolve_implicit_global_asset_job_def()
    run = instance.create_run_for_job(job)
    planned = AssetCheckEvaluationPlanned(
        asset_key=keys.asset_key("shop.orders"), check_name=READABLE, partitions_subset=None
    )
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED.value
    event = DagsterEvent(kind, run.job_name, message="checks begin", event_specific_data=planned)
    instance.report_dagster_event(event, run.run_id)
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key([planned.asset_check_key])
    assert [record.status for record in latest.values()] == [AssetCheckExecutionRecordStatus.PLANNED]
    evaluate(project, instance, "alerts", shown)
    assert [alert["state"] for alert in receiver[1].received] == ["failed"]


def test_checks_run_from_the_page_say_why_they_cannot_be_judged(
    project: Project, instance: dg.DagsterInstance, orders: CatalogTable
) -> None:
    path = cut(Path(orders.paths.snapshot(2)))
    job = definitions_of(project).resolve_implicit_global_asset_job_def()
    checks = {dg.AssetCheckKey(keys.asset_key("shop.orders"), name) for name in (READABLE, "freshness")}
    result = job.get_subset(asset_check_selection=checks).execute_in_process(instance=instance, raise_on_error=False)
    (evaluated,) = result.get_asset_check_evaluations()
    assert (evaluated.check_name, evaluated.passed) == (READABLE, False)
    assert "the job rollback, with snapshot_id: 1, goes back to it" in str(evaluated.description)
    assert evaluated.metadata["launch"].value == "[rollback](/guess/rollback)"
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    shown = failure.step_failure_data.user_failure_data
    assert shown is not None
    assert str(shown.description).startswith("freshness cannot be judged: ")
    assert str(path) in str(shown.description)


@pytest.mark.parametrize("sensor", ["latest_snapshots", "partition_mirror"])
def test_no_sensor_fails_over_a_table(
    sensor: str, tmp_path: Path, instance: dg.DagsterInstance, receiver: Sink
) -> None:
    path = tmp_path / "tables.yaml"
    columns = "{id: INT NOT NULL, day: STRING NOT NULL}"
    table = f"{{identifier: db.t, columns: {columns}, partition_keys: [day], options: {{bucket: -1}}}}"
    path.write_text(f"warehouse: lake\ntables: [{table}]\n")
    project = load_project(path, tmp_path)
    opened = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    opened.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "day": ["a"]}))
    cut(Path(opened.paths.snapshot(1)))
    data = evaluate(project, instance, sensor)
    assert "Cannot read 1 of the tables: db.t: " in data.skip_message
    assert Cursor.parse(data.cursor, lambda _: None).troubles["db.t"].times == 1


def test_a_table_that_others_dropped_is_red(project: Project, instance: dg.DagsterInstance) -> None:
    described = project.model_copy(update={"tables": (project.tables[0].model_copy(update={"columns": {}}),)})
    catalog = PaimonCatalog(warehouse=project.warehouse)
    catalog.get_or_create(project.tables[0])
    before = evaluate(described, instance, "check_radar")
    catalog.open().drop_table("shop.orders")
    actual = reported(evaluate(described, instance, "check_radar", later(before.cursor)), "shop.orders")
    assert list(actual) == [READABLE]
    assert "table 'shop.orders' does not exist" in str(actual[READABLE].description)
    assert "reload the code location" in str(actual[READABLE].description)
