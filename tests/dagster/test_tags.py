"""Tags by the clock: periods in their own zone, a schedule for each group of tables, backfills of missed periods."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.definitions.partitions.context import partition_loading_context

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.project.config import Project, load_project
from maintenance.project.policies import TagPolicy
from maintenance.project.tag_periods import last_period, period_of
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.tag_partitions import period_in, periods_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import definitions_of

TEXT = """
warehouse: lake
expiry: {time_zone: Europe/Berlin}
patterns:
  - pattern: "shop.*"
    tag: {cron: 0 0 * * *, time_zone: America/New_York, name: "day-{date}", time_retained: 30 d, since: 2026-03-01}
tables:
  - identifier: shop.orders
    columns: {id: INT NOT NULL}
    options: {bucket: -1}
  - identifier: shop.hours
    columns: {id: INT NOT NULL}
    options: {bucket: -1}
    tag: {cron: 0 * * * *, time_zone: Europe/Berlin, name: "{date}T{time}"}
  - identifier: hr.people
    columns: {id: INT NOT NULL}
    options: {bucket: -1}
"""
NEW_YORK, BERLIN = ZoneInfo("America/New_York"), ZoneInfo("Europe/Berlin")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TEXT)
    return load_project(path, tmp_path)


@pytest.fixture
def table(project: Project) -> CatalogTable:
    """Orders with a snapshot at noon in New York of March 3, 4 and 8 (when the clock goes forward), 2026."""
    catalog = PaimonCatalog(warehouse=project.warehouse)
    created = catalog.get_or_create(project.tables[0])
    for day in (3, 4, 8):
        created.write_arrow(pa.table({"id": pa.array([day], pa.int32())}))
        path = Path(created.paths.snapshot(created.snapshots.latest_id() or 0))
        millis = int(datetime(2026, 3, day, 12, tzinfo=NEW_YORK).timestamp() * 1000)
        path.write_text(json.dumps({**json.loads(path.read_text()), "timeMillis": millis}))
    return catalog.get_table("shop.orders")


def tag(project: Project, instance: dg.DagsterInstance, key: str) -> dg.ExecuteInProcessResult:
    job = definitions_of(project).resolve_job_def("tags_0_0_x_x_x_America_New_York")
    return job.execute_in_process(instance=instance, partition_key=key, raise_on_error=False)


def test_every_group_of_tables_has_a_schedule_with_its_zone(project: Project) -> None:
    definitions = build_definitions(project)
    names = {name: definitions.resolve_schedule_def(name) for name in
             ("tags_0_0_x_x_x_America_New_York", "tags_0_x_x_x_x_Europe_Berlin")}  # fmt: skip
    assert [schedule.execution_timezone for schedule in names.values()] == ["America/New_York", "Europe/Berlin"]
    daily = names["tags_0_0_x_x_x_America_New_York"]
    assert daily.default_status == dg.DefaultScheduleStatus.STOPPED
    now = datetime(2026, 3, 9, 0, 0, tzinfo=NEW_YORK)
    context = dg.build_schedule_context(scheduled_execution_time=now, repository_def=definitions.get_repository_def())
    (request,) = daily.evaluate_tick(context).run_requests or []
    assert request.partition_key == "2026-03-08"
    assets = set(definitions.resolve_all_asset_keys())
    assert {keys.tags("shop.orders"), keys.tags("shop.hours")} <= assets
    assert keys.tags("hr.people") not in assets


def test_a_backfill_tags_missed_days_from_the_snapshots_of_then(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    for key in ("2026-03-02", "2026-03-03", "2026-03-04", "2026-03-06", "2026-03-08"):
        assert tag(project, instance, key).success
    held = {name: tag.snapshot.id for name, tag in table.tags.all().items()}
    assert held == {"day-2026-03-03": 1, "day-2026-03-04": 2, "day-2026-03-06": 2, "day-2026-03-08": 3}
    assert {tag.time_retained for tag in table.tags.all().values()} == {timedelta(days=30)}
    assert instance.get_materialized_partitions(keys.tags("shop.orders")) == {
        "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-06", "2026-03-08",
    }  # fmt: skip
    assert tag(project, instance, "2026-03-04").success, "again: nothing changes"
    assert len(table.tags.names()) == 4


def test_a_period_whose_snapshot_has_expired_fails_by_itself(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1)
    result = tag(project, instance, "2026-03-04")
    failure = result.failure_data_for_node("shop__orders__orders_tags")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "has expired, the earliest remaining one is 3" in str(failure.user_failure_data.description)
    assert tag(project, instance, "2026-03-08").success


def test_the_expiry_makes_sure_of_the_last_periods_tag_first(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    job = definitions_of(project).resolve_job_def("expire_shop_orders")
    dry = {"ops": {"tag": {"config": {"dry_run": True}}}}
    result = job.execute_in_process(instance=instance, op_selection=["tag"], run_config=dry)
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    plan = event.step_output_data.metadata["plan"]
    assert isinstance(plan, dg.TableMetadataValue)
    (planned,) = plan.records
    assert (str(planned.data["group"])[:8], planned.data["reason"]) == ("tag day-", "keeps snapshot 3")
    assert not table.tags.names()
    selection = ["tag", "expire_snapshots"]
    assert job.execute_in_process(instance=instance, op_selection=selection).success
    yesterday = datetime.now(NEW_YORK) - timedelta(days=1)
    assert {name: tag.snapshot.id for name, tag in table.tags.all().items()} == {f"day-{yesterday:%Y-%m-%d}": 3}


def test_without_a_policy_a_tag_is_made_only_when_somebody_names_one(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    untagged = project.model_copy(update={"tables": (project.tables[0].model_copy(update={"tag": None}),)})
    definitions = build_definitions(untagged)
    assert keys.tags("shop.orders") not in definitions.resolve_all_asset_keys()
    job = definitions.resolve_job_def("expire_shop_orders")
    selection = ["tag"]
    assert job.execute_in_process(instance=instance, op_selection=selection).success
    assert not table.tags.names()
    named = {"ops": {"tag": {"config": {"name": "release"}}}}
    assert job.execute_in_process(instance=instance, op_selection=selection, run_config=named).success
    assert {name: tag.time_retained for name, tag in table.tags.all().items()} == {"release": None}


def test_hours_that_the_clock_shows_twice_have_different_names() -> None:
    policy = TagPolicy(name="{date}T{time}", cron="0 * * * *", time_zone="Europe/Berlin")
    starts = [datetime(2026, 10, 24, 23 + hour - 24 * (hour > 0), tzinfo=UTC) + timedelta(days=hour > 0)
              for hour in range(4)]  # fmt: skip
    names = [period_of(policy, start.astimezone(BERLIN), start).name for start in starts]
    assert names == ["2026-10-25T0100", "2026-10-25T0200", "2026-10-25T0200+0100", "2026-10-25T0300"]
    windows = periods_of(policy.model_copy(update={"since": datetime(2026, 10, 25).date()}), BERLIN)
    assert windows.time_window_for_partition_key("2026-10-25-01:00").start.timestamp() == starts[0].timestamp()


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("{cron: 0 * * * *}", "needs {time}"),
        ("{cron: 0 0 * * *, name: fixed}", "needs {date}"),
        ("{cron: every day}", "not a cron schedule"),
        ("{name: '{day}'}", "only {date} and {snapshot} are filled in here"),
        ("{cron: 0 0 * * *, name: '{date}-{snapshot}'}", "only {date} and {time} are filled in here"),
        ("{cron: 0 0 * * *, time_zone: Mars/Base}", "not a time zone"),
    ],
)
def test_a_mistake_in_a_tag_policy_is_told_with_its_line(tmp_path: Path, policy: str, said: str) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(f"warehouse: lake\ntables:\n  - identifier: a.b\n    tag: {policy}\n")
    with pytest.raises(OptionError, match=r"line 4") as caught:
        load_project(path, tmp_path)
    assert said in caught.value.found


@pytest.mark.parametrize("cron", ["0 0 * * *", "0 * * * *", "30 2 * * *", "0 */6 * * *", "0 0 * * 1", "0 0 1 * *"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_the_last_period_is_that_of_dagsters_partitions(cron: str, zone: str) -> None:
    """Around the hours that clocks leave out and show twice, and where a period has just ended."""
    policy = TagPolicy(cron=cron, name="{date}-{time}", time_zone=zone)
    windows = periods_of(policy, ZoneInfo("UTC"))
    for day in ("2026-03-08", "2026-03-29", "2026-06-11", "2026-10-25", "2026-11-01"):
        for minutes in range(0, 48 * 60, 45):
            now = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(minutes=minutes)
            with partition_loading_context(effective_dt=now):
                window = windows.get_last_partition_window()
            assert window is not None
            assert last_period(policy, ZoneInfo("UTC"), now) == period_in(policy, ZoneInfo("UTC"), window)
