"""Healthy means that nothing is due: a table over its trigger is red where nobody starts the compaction."""

from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.monitor.judgement import Judgement
from maintenance.monitor.triggers import NOTHING_DUE
from maintenance.operations.refs.create_tag import create_tag
from maintenance.project.config import Project, TableConfig
from maintenance.project.policies import CompactionPolicy, IndexColumns, TagPolicy
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.due import Automation, automation_of
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of, evaluate, state_of, switch_on
from tests.dagster.test_radar import reported
from tests.small_tables import set_commit_time


@pytest.fixture
def visits(project: Project) -> Project:
    """The project, with five small files in shop.visits: as many as make a compaction due."""
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(5):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    return project


def fleet(project: Project, instance: dg.DagsterInstance) -> tuple[Any, list[Any]]:
    """The check of the page over all tables, and the rows of its table."""
    job = definitions_of(project).resolve_job_def("fleet_summary")
    check, _ = job.execute_in_process(instance=instance).get_asset_check_evaluations()
    event = instance.get_latest_materialization_event(keys.FLEET)
    assert event is not None
    assert event.asset_materialization is not None
    table = event.asset_materialization.metadata["fleet"]
    assert isinstance(table, dg.TableMetadataValue)
    return check, [(record.data["table"], record.data["state"]) for record in table.records]


def test_a_table_over_its_trigger_is_not_healthy_while_the_sensor_is_off(
    visits: Project, instance: dg.DagsterInstance
) -> None:
    actual = reported(evaluate(visits, instance, "check_radar"), "shop.visits")
    assert {name for name, event in actual.items() if not event.passed} == {NOTHING_DUE}
    shown = str(actual[NOTHING_DUE].description)
    assert "a bucket has 5 files, the trigger is 5, and the sensor latest_snapshots is off" in shown
    assert "compact_shop_visits" in shown
    check, rows = fleet(visits, instance)
    assert not check.passed
    assert rows[0] == ("shop.visits", "unhealthy")


def test_it_is_not_called_healthy_either_while_the_sensor_is_on(visits: Project, instance: dg.DagsterInstance) -> None:
    switch_on(instance, keys.LATEST_SENSOR)
    actual = reported(evaluate(visits, instance, "check_radar"), "shop.visits")
    assert actual[NOTHING_DUE].passed
    assert "the sensor latest_snapshots starts it" in str(actual[NOTHING_DUE].description)
    check, rows = fleet(visits, instance)
    assert check.passed
    assert rows[0] == ("shop.visits", "compaction due")


def test_a_compaction_that_only_people_start_is_due_whatever_the_sensor(
    visits: Project, instance: dg.DagsterInstance
) -> None:
    switch_on(instance, keys.LATEST_SENSOR)
    manual = visits.tables[1].model_copy(update={"compaction": CompactionPolicy(automatic=False)})
    project = visits.model_copy(update={"tables": (visits.tables[0], manual)})
    actual = reported(evaluate(project, instance, "check_radar"), "shop.visits")[NOTHING_DUE]
    assert not actual.passed
    assert "'automatic' of its compaction is false" in str(actual.description)


def test_a_compaction_that_nothing_starts_is_left_undone_beside_the_backlog_that_it_left(
    visits: Project, instance: dg.DagsterInstance
) -> None:
    table = PaimonCatalog(warehouse=visits.warehouse).get_table("shop.visits")
    for number in range(35):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    actual = reported(evaluate(visits, instance, "check_radar"), "shop.visits")
    assert {name for name, event in actual.items() if not event.passed} == {"small_files", NOTHING_DUE}
    assert str(actual["small_files"].description).startswith("40 of 40 files are smaller than")
    assert "the sensor latest_snapshots is off" in str(actual[NOTHING_DUE].description)
    switch_on(instance, keys.LATEST_SENSOR)
    actual = reported(evaluate(visits, instance, "check_radar"), "shop.visits")
    assert actual[NOTHING_DUE].passed


def test_the_sensor_of_another_code_location_does_not_count(instance: dg.DagsterInstance) -> None:
    here = state_of(keys.LATEST_SENSOR, 0.0).origin.repository_origin.code_location_origin
    assert not automation_of(instance, None).compacts
    instance.add_instigator_state(state_of(keys.LATEST_SENSOR, 0.0, "elsewhere"))
    assert automation_of(instance, None).compacts
    assert not automation_of(instance, here.location_name).compacts


def test_an_expiry_that_nothing_starts_is_left_undone(project: Project, instance: dg.DagsterInstance) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for number in range(4):
        table.write_arrow(pa.table({"id": pa.array([number], pa.int64()), "status": ["new"]}))
    switch_on(instance, keys.LATEST_SENSOR)
    found = reported(evaluate(project, instance, "check_radar"), "shop.orders")[NOTHING_DUE]
    assert not found.passed
    assert "2 snapshots can expire, and the schedule daily_expiry is off" in str(found.description)
    assert "expire_shop_orders" in str(found.description)
    switch_on(instance, keys.EXPIRY_SCHEDULE)
    found = reported(evaluate(project, instance, "check_radar"), "shop.orders")[NOTHING_DUE]
    assert found.passed
    assert "2 snapshots can expire; the schedule daily_expiry does it" in str(found.description)


def test_partitions_past_their_retention_are_left_undone_until_the_schedule_is_on(
    project: Project, instance: dg.DagsterInstance
) -> None:
    columns = {"day": "STRING", "page": "STRING"}
    options = {"partition.expiration-time": "7 d"}
    config = TableConfig(identifier="shop.days", columns=columns, partition_keys=("day",), options=options)
    project = project.model_copy(update={"tables": (*project.tables, config)})
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(config)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    table.write_arrow(pa.table({"day": ["2026-01-01", "2026-01-02", today], "page": ["a", "b", "c"]}))
    switch_on(instance, keys.LATEST_SENSOR)
    found = reported(evaluate(project, instance, "check_radar"), "shop.days")[NOTHING_DUE]
    assert not found.passed
    assert "2 partitions can expire, and the schedule daily_expiry is off" in str(found.description)
    switch_on(instance, keys.EXPIRY_SCHEDULE)
    found = reported(evaluate(project, instance, "check_radar"), "shop.days")[NOTHING_DUE]
    assert found.passed
    assert "2 partitions can expire; the schedule daily_expiry does it" in str(found.description)


def test_a_tag_that_is_missing_is_left_undone_until_its_schedule_is_on(
    project: Project, instance: dg.DagsterInstance
) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    set_commit_time(table, 1, int((datetime.now(UTC) - timedelta(days=2)).timestamp() * 1000))
    tagged = project.tables[1].model_copy(
        update={"tag": TagPolicy(name="day-{date}", cron="0 0 * * *", time_zone="UTC")}
    )
    project = project.model_copy(update={"tables": (project.tables[0], tagged)})
    found = reported(evaluate(project, instance, "check_radar"), "shop.visits")[NOTHING_DUE]
    assert not found.passed
    assert "is missing, and the schedule tags_0_0_x_x_x_UTC is off" in str(found.description)
    switch_on(instance, "tags_0_0_x_x_x_UTC")
    assert reported(evaluate(project, instance, "check_radar"), "shop.visits")[NOTHING_DUE].passed
    instance.delete_instigator_state(*_ids(instance, "tags_0_0_x_x_x_UTC"))
    yesterday = datetime.now(UTC) - timedelta(days=1)
    create_tag(table, f"day-{yesterday:%Y-%m-%d}", snapshot_id=1)
    found = reported(evaluate(project, instance, "check_radar"), "shop.visits")[NOTHING_DUE]
    assert found.passed
    assert "nothing is due" in str(found.description)


def _ids(instance: dg.DagsterInstance, name: str) -> tuple[str, str]:
    (state,) = [state for state in instance.all_instigator_state() if state.name == name]
    return state.instigator_origin_id, state.selector_id


def test_file_indexes_that_are_declared_and_missing_are_left_undone(
    visits: Project, instance: dg.DagsterInstance
) -> None:
    config = visits.tables[1].model_copy(update={"index_columns": IndexColumns(bloom_filter=("page",))})
    catalog = PaimonCatalog(warehouse=visits.warehouse)
    definitions_of(visits).resolve_job_def("compact_shop_visits").execute_in_process(instance=instance)

    def judged(moment: datetime, automation: Automation) -> Judgement:
        found = look_at(catalog, config, moment, automation=automation)
        (judgement,) = [each for each in found if each.check == NOTHING_DUE]
        return judgement

    now = datetime.now(UTC)
    off = judged(now, Automation(expires=True))
    assert not off.passed
    assert "1 of 1 file lacks a file index that is declared, and nothing starts its compactions" in off.summary
    assert "compact_shop_visits" in off.fix
    on = Automation(compacts=True, expires=True)
    assert judged(now, on).passed
    idle = judged(now + timedelta(days=2), on)
    assert not idle.passed
    assert "no compaction has come by for a day" in idle.summary
