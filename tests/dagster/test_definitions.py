"""What Dagster loads: every asset, job, schedule and sensor, with its pool, retry policy and metadata."""

import dagster as dg
import pytest

from maintenance.project.config import EmptyBin, Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.assets.project.environment import project_of_environment as shipped_project
from paimon_maintenance.assets.resources.spark import LOG4J
from paimon_maintenance.definitions import build_definitions


@pytest.fixture
def definitions(project: Project) -> dg.Definitions:
    return build_definitions(project)


def test_the_shipped_tables_load() -> None:
    definitions = build_definitions(shipped_project())
    dg.Definitions.validate_loadable(definitions)
    keys_found = {key.to_user_string() for key in definitions.resolve_all_asset_keys()}
    tables = {"demo/flights", "demo/weather", "demo/route_day"}
    landings = {"demo/flights/flights_landing", "demo/weather/weather_landing"}
    beside = {f"demo/flights/flights_{name}" for name in ("partitions", "compaction", "changelog")}
    assert keys_found == tables | landings | beside | {"maintenance/fleet"}
    assert shipped_project().warehouse == str(FOLDER / "warehouse")


def test_files_that_are_not_python_are_where_the_code_looks_for_them() -> None:
    assert (FOLDER / "dagster.yaml").is_file()
    assert LOG4J.is_file(), "without it Spark's own lines fill the run's log"


def test_each_table_has_its_jobs(definitions: dg.Definitions) -> None:
    names = {name for name in definitions.get_repository_def().job_names if not name.startswith("__")}
    tables = ("shop_orders", "shop_visits")
    assert names == {
        "expire",
        "expire_all",
        "fleet_summary",
        "plan_fleet",
        "change_rows",
        "create_tag",
        "rollback",
        "rollback_to_as_latest",
        "reset_consumer",
        "statement",
        "clone",
        "migrate_table",
        "migrate_database",
        "explain",
        "what_if",
        "restorable_partitions",
        "restore_partitions",
        "prove_compactions",
        "simulate_settings",
        "advise",
        "restore_from_bin",
        "delete_branch",
        "fast_forward",
        "empty_bin",
        "acknowledge",
        "night_report",
        "apply_plan",
        "approve_plan",
        "compact_database",
        "compact_small_tables",
        "audit_shop_orders",
        "ingest_shop_orders",
        *(f"{action}_{table}" for action in ("maintain", "compact", "expire", "fsck", "prove") for table in tables),
    }


def steps(definitions: dg.Definitions, job: str) -> list[str]:
    return [node.name for node in definitions.resolve_job_def(job).graph.nodes_in_topological_order]


def test_steps_that_do_not_apply_are_left_out(definitions: dg.Definitions) -> None:
    assert steps(definitions, "compact_shop_orders") == ["compact", "changelog", "file_index", "record"]
    assert steps(definitions, "compact_shop_visits") == ["compact", "record"]


def asset_ops(definitions: dg.Definitions, table: str) -> dict[str, dg.OpDefinition]:
    asset = definitions.resolve_assets_def(keys.asset_key(table))
    assert isinstance(asset.node_def, dg.GraphDefinition)
    nodes = asset.node_def.nodes_in_topological_order
    return {node.name: node.definition for node in nodes if isinstance(node.definition, dg.OpDefinition)}


def test_an_assets_steps_are_ops_in_this_order(definitions: dg.Definitions) -> None:
    expected = ["ingest", "compact", "changelog", "file_index", "tag", "expire_snapshots", "expire_tags", "describe"]
    assert list(asset_ops(definitions, "shop.orders")) == expected


def test_a_table_that_others_write_is_maintained_from_its_page(definitions: dg.Definitions) -> None:
    key = keys.asset_key("shop.visits")
    assert definitions.resolve_asset_graph().get(key).is_executable, "its page has a button that works"
    assert list(asset_ops(definitions, "shop.visits")) == [
        "compact", "tag", "expire_snapshots", "expire_tags", "describe",
    ]  # fmt: skip
    assert steps(definitions, "expire_shop_visits") == ["tag", "expire_snapshots", "expire_tags", "record"]


def test_the_page_of_a_table_names_the_sensors_that_look_after_it(definitions: dg.Definitions) -> None:
    targets = {target.job_name for target in definitions.resolve_sensor_def(keys.LATEST_SENSOR).targets}
    assert {"maintain_shop_orders", "maintain_shop_visits", "compact_shop_visits"} <= targets
    watched = definitions.resolve_sensor_def("check_radar").asset_selection
    assert watched is not None
    assert keys.asset_key("shop.visits") in watched.resolve(definitions.resolve_asset_graph())


def test_every_step_has_its_tables_pool_and_leaves_retries_to_the_classes_of_errors(
    definitions: dg.Definitions,
) -> None:
    for name, op in asset_ops(definitions, "shop.orders").items():
        assert op.pool == "paimon/shop.orders", name
        assert op.retry_policy is None, name


def test_an_asset_shows_what_its_table_is(definitions: dg.Definitions) -> None:
    spec = definitions.resolve_assets_def(keys.asset_key("shop.orders")).get_asset_spec()
    assert spec.metadata["dagster/table_name"] == "shop.orders"
    assert spec.metadata["dagster/storage_kind"] == "paimon"
    schema = spec.metadata["dagster/column_schema"]
    assert [(column.name, column.type, column.constraints.nullable) for column in schema.columns] == [
        ("id", "BIGINT", False),
        ("status", "STRING", True),
        ("amount", "DECIMAL(9, 2)", True),
    ]
    assert spec.kinds == {"paimon", "spark", "parquet"}
    assert list(spec.owners) == ["team:sales"]


def test_the_expiry_schedule_says_its_zone(definitions: dg.Definitions) -> None:
    schedule = definitions.resolve_schedule_def("daily_expiry")
    assert schedule.cron_schedule == "30 2 * * *"
    assert schedule.execution_timezone == "Europe/Berlin"
    assert schedule.job_name == "expire_all"
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED


def test_a_schedule_skips_a_tick_while_its_last_run_goes_on(project: Project) -> None:
    # Its own definitions: they remember the first instance that they were used with.
    repository = build_definitions(project).get_repository_def()
    schedule, job = repository.get_schedule_def("daily_expiry"), repository.get_job("expire_all")
    with dg.instance_for_test() as instance:
        context = dg.build_schedule_context(instance, repository_def=repository)
        (requested,) = schedule.evaluate_tick(context).run_requests or ()
        run = instance.create_run_for_job(job, tags=requested.tags, status=dg.DagsterRunStatus.STARTED)
        assert str(schedule.evaluate_tick(context).skip_message) == f"The last run has not ended: {run.run_id}."
        instance.report_run_canceled(run)
        assert schedule.evaluate_tick(context).run_requests


def test_the_page_over_all_tables_has_a_schedule(definitions: dg.Definitions) -> None:
    schedule = definitions.resolve_schedule_def("fleet_summary")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 6 * * *", "UTC")
    assert schedule.job_name == "fleet_summary"
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED


def test_the_bin_is_emptied_by_a_schedule_of_its_own(definitions: dg.Definitions, project: Project) -> None:
    schedule = definitions.resolve_schedule_def("daily_empty_bin")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 5 * * *", "UTC")
    assert schedule.job_name == "empty_bin"
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    weekly = project.model_copy(update={"empty_bin": EmptyBin(cron="0 4 * * 0", time_zone="Europe/Berlin")})
    schedule = build_definitions(weekly).resolve_schedule_def("daily_empty_bin")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 4 * * 0", "Europe/Berlin")


def test_no_job_that_fills_the_bin_empties_it(definitions: dg.Definitions) -> None:
    jobs = [definitions.resolve_job_def(name) for name in definitions.get_repository_def().job_names]
    emptying = [job for job in jobs if any(node.name == "bin" for node in job.all_node_defs)]
    assert [job.name for job in emptying] == ["empty_bin"]
    assert [node.name for node in emptying[0].graph.nodes] == ["bin"]


@pytest.mark.parametrize("job", ["maintain_shop_orders", "compact_shop_orders", "expire", "expire_all"])
def test_a_job_needs_no_config(job: str, definitions: dg.Definitions) -> None:
    dg.validate_run_config(definitions.resolve_job_def(job), {})


def test_steps_take_typed_config(definitions: dg.Definitions) -> None:
    job = definitions.resolve_job_def("compact_shop_orders")
    dg.validate_run_config(job, {"ops": {"compact": {"config": {"full": True, "dry_run": True}}}})
    with pytest.raises(dg.DagsterInvalidConfigError):
        dg.validate_run_config(job, {"ops": {"compact": {"config": {"fool": True}}}})
