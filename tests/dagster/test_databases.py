"""Tables as partitions of their databases: the same steps, checks and pages, by jobs that are for any table."""

import threading
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.operations.history import read_history
from maintenance.project.config import Assets, Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import latest_results
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.assets.pages.holders import OrphansOf
from paimon_maintenance.assets.project.scope import tables_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.console.links import Links
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors.alerts import check_faults
from paimon_maintenance.sensors.latest import in_progress
from tests.dagster.conftest import checks_of, definitions_of, evaluate, land

SHOP = keys.database_key("shop.orders")
CHOSEN = {"choose": {"config": {"table": "shop.orders"}}}


@pytest.fixture
def grouped(project: Project) -> Project:
    return project.model_copy(update={"assets": Assets(per="database")})


@pytest.fixture
def catalog(grouped: Project) -> PaimonCatalog:
    catalog = PaimonCatalog(warehouse=grouped.warehouse, history=grouped.history)
    for table in grouped.tables:
        catalog.get_or_create(table)
    return catalog


def commit(catalog: PaimonCatalog, times: int) -> CatalogTable:
    table = catalog.get_table("shop.orders")
    for _ in range(times):
        table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int64()), "status": ["a", "b"]}))
    return table


def launch(project: Project, instance: dg.DagsterInstance, job: str, **ops: Any) -> Any:
    definition = definitions_of(project).resolve_job_def(job)
    return definition.execute_in_process(run_config={"ops": CHOSEN | ops}, instance=instance, raise_on_error=False)


def materialized(instance: dg.DagsterInstance, table: str) -> dg.AssetMaterialization:
    chosen = dg.AssetRecordsFilter(SHOP, asset_partitions=[table])
    event = instance.fetch_materializations(chosen, limit=1).records[0].asset_materialization
    assert event is not None
    return event


def test_a_database_is_one_asset_and_jobs_are_for_any_table(grouped: Project) -> None:
    definitions = build_definitions(grouped)
    dg.Definitions.validate_loadable(definitions)
    assert {key.to_user_string() for key in definitions.resolve_all_asset_keys()} == {"shop", "maintenance/fleet"}
    names = set(definitions.get_repository_def().job_names)
    assert {"maintain", "ingest", "compact", "expire_table", "audit", "fsck", "prove", "expire_all"} <= names
    assert not [name for name in names if name.endswith(("shop_orders", "shop_visits"))]
    compact = definitions.resolve_job_def("compact")
    with pytest.raises(dg.DagsterInvalidConfigError, match="choose"):
        dg.validate_run_config(compact, {})
    dg.validate_run_config(compact, {"ops": {**CHOSEN, "compact": {"config": {"full": True}}}})


def test_the_sensor_asks_for_the_table_that_is_due_and_the_run_compacts_it(
    grouped: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    orders = commit(catalog, 3)
    tick = evaluate(grouped, instance, keys.LATEST_SENSOR)
    (request,) = tick.run_requests
    assert request.job_name == "compact"
    assert request.run_config == {"ops": CHOSEN}
    assert request.tags["paimon/table"] == "shop.orders"
    result = launch(grouped, instance, "compact")
    assert result.success
    assert str(getattr(orders.latest_snapshot(), "commit_kind", None)) == "COMPACT"
    event = materialized(instance, "shop.orders")
    assert event.partition == "shop.orders"
    assert event.metadata["files"].value == 1
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    assert run.tags["paimon/table"] == "shop.orders", "as pauses, alerts and lists of runs look for it"
    history = read_history(catalog.open(), "_maintenance.history", "shop.orders")
    assert "compact" in {row["operation"] for row in history}


def test_materialising_a_partition_runs_the_chain_of_its_table(grouped: Project, instance: dg.DagsterInstance) -> None:
    land(grouped, 1, 1, [(1, "new", "+I"), (2, "new", "+I")])
    definitions = build_definitions(grouped)
    with instance:
        instance.add_dynamic_partitions("paimon/shop", ["shop.orders"])
        job = definitions.resolve_implicit_global_asset_job_def()
        result = job.execute_in_process(
            partition_key="shop.orders", asset_selection=[SHOP], instance=instance, raise_on_error=False
        )
    assert result.success
    rows = PaimonCatalog(warehouse=grouped.warehouse).get_table("shop.orders").to_arrow(columns=["id"]).to_pylist()
    assert sorted(row["id"] for row in rows) == [1, 2]
    event = materialized(instance, "shop.orders")
    assert event.metadata["dagster/row_count"].value == 2
    done = result.output_for_node("tables_of_shop.describe").steps
    assert {"ingest", "expire_snapshots"} <= set(done)


def test_an_unknown_table_is_refused_by_name(grouped: Project, instance: dg.DagsterInstance) -> None:
    result = launch(grouped, instance, "compact", choose={"config": {"table": "shop.order"}})
    assert not result.success
    (failure,) = result.get_step_failure_events()
    assert "'shop.order' is not one of the tables here" in failure.step_failure_data.user_failure_data.description


def test_the_mirror_adds_tables_as_partitions_and_drops_those_that_are_gone(
    grouped: Project, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions("paimon/shop", ["shop.visits", "shop.dropped"])
    tick = evaluate(grouped, instance, "partition_mirror")
    assert set(instance.get_dynamic_partitions("paimon/shop")) == {"shop.orders", "shop.visits"}
    assert not tick.dynamic_partitions_requests, "of those the daemon asks for each partition whether it is there"


@pytest.mark.slow
def test_pages_are_of_partitions_and_checks_of_databases_name_the_tables_that_fail(
    grouped: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    orders = commit(catalog, 3)
    tick = evaluate(grouped, instance, "check_radar")
    told = {check.check_name: check for check in checks_of(tick) if check.asset_key == SHOP}
    assert set(told) == set(DESCRIPTIONS), "one of each kind for the database"
    assert "1 of 2 tables: shop.orders" in str(told["nothing_due"].description)
    assert told["readable"].passed
    pages = [event for event in tick.asset_events if isinstance(event, dg.AssetObservation)]
    assert {page.partition for page in pages if page.asset_key == SHOP} == {"shop.orders", "shop.visits"}
    tables = [table for table in grouped.with_patterns([]).tables if table.grouped]
    assert "check:shop.orders:nothing_due" in check_faults(instance, tables, "http://here")
    fault = check_faults(instance, tables, "http://here")["check:shop.orders:nothing_due"]
    assert fault.tables == ("shop.orders",)
    assert "launch the job compact" in fault.fix
    orders.write_arrow(pa.table({"id": pa.array([4], pa.int64()), "status": ["c"]}))
    catalog.get_table("shop.visits").write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    some = evaluate(grouped, instance, "check_radar", tick.cursor)
    assert "shop.orders" in str(next(c for c in checks_of(some) if c.check_name == "nothing_due").description)
    assert "readable" not in {check.check_name for check in checks_of(some)}, "what has not changed is not said again"
    assert launch(grouped, instance, "compact").success
    assert launch(grouped, instance, "expire_table").success
    evaluate(grouped, instance, "check_radar", some.cursor)
    assert "check:shop.orders:nothing_due" not in check_faults(instance, tables, "http://here")


def test_the_long_checks_are_of_partitions(
    grouped: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit(catalog, 1)
    assert launch(grouped, instance, "fsck").success
    spot = keys.spot("shop.orders", grouped=True)
    first = latest_results(instance, [spot], ["fsck", "orphan_bytes"])
    counted = OrphansOf(instance, [table for table in grouped.with_patterns([]).tables if table.grouped])
    assert (counted.bytes_of("shop.orders"), counted.bytes_of("shop.visits")) == (0, None)
    assert {check: record.status.name for (_, check), record in first.items()} == {
        "fsck": "SUCCEEDED", "orphan_bytes": "SUCCEEDED",
    }  # fmt: skip
    assert not latest_results(instance, [keys.spot("shop.visits", grouped=True)], ["fsck"])
    catalog.open().alter_table("shop.orders", [SetOption("file.format", "orc")])
    (Path(catalog.get_table("shop.orders").location) / "schema" / "schema-0").unlink()
    assert launch(grouped, instance, "fsck").success
    tables = [table for table in grouped.with_patterns([]).tables if table.grouped]
    assert check_faults(instance, tables, "http://here")["check:shop.orders:fsck"].tables == ("shop.orders",)


def test_expire_goes_over_all_tables_and_one_that_fails_does_not_block_the_others(
    grouped: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    orders = commit(catalog, 4)
    definitions = build_definitions(grouped)
    visits = Path(catalog.get_table("shop.visits").location)
    (visits / "schema" / "schema-0").write_text("broken")
    job = definitions.resolve_job_def("expire_all")
    result = job.execute_in_process(instance=instance, raise_on_error=False)
    assert not result.success
    (failure,) = result.get_step_failure_events()
    user_data = failure.step_failure_data.user_failure_data
    assert user_data is not None
    assert "1 of 2 tables failed; shop.visits" in str(user_data.description)
    assert len(orders.snapshots.list_ids()) == 2
    (observed,) = instance.fetch_observations(keys.database_key("shop.orders"), limit=10).records
    assert (observed.partition_key, observed.run_id) == ("shop.orders", result.run_id)
    alone = {"ops": {"expire_tables": {"config": {"tables": ["shop.o*"]}}}}
    assert job.execute_in_process(run_config=alone, instance=instance).success


def test_a_step_waits_for_the_pool_of_its_table(
    grouped: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit(catalog, 1)
    storage, pool = instance.event_log_storage, keys.pool("shop.orders")
    storage.set_concurrency_slots(pool, 1)
    assert storage.claim_concurrency_slot(pool, "another run", "compact").is_claimed
    results: list[Any] = []
    run = threading.Thread(target=lambda: results.append(launch(grouped, instance, "compact")))
    run.start()
    run.join(4)
    assert run.is_alive()
    assert [claim.run_id for claim in storage.get_concurrency_info(pool).claimed_slots] == ["another run"]
    storage.free_concurrency_slot_for_step("another run", "compact")
    run.join()
    assert [event.event_specific_data for event in results[0].all_events if event.is_step_up_for_retry] == []
    assert results[0].success
    assert not storage.get_concurrency_info(pool).claimed_slots


def run_of(job: str, **changes: Any) -> dg.DagsterRun:
    return dg.DagsterRun(job, **changes)


@pytest.mark.parametrize(
    ("run", "tables"),
    [
        (run_of("compact", tags={"paimon/table": "db.t"}), {"db.t"}),
        (run_of("compact", run_config={"ops": {"choose": {"config": {"table": "db.t"}}}}), {"db.t"}),
        (run_of("expire_table", run_config={"ops": {"choose": {"config": {"table": "db.t"}}}}), {"db.t"}),
        (run_of("expire_all"), set()),
        (
            run_of(
                "__ASSET_JOB",
                asset_selection=frozenset([keys.database_key("db.t")]),
                tags={"dagster/partition": "db.t"},
            ),
            {"db.t"},
        ),
        (run_of("__ASSET_JOB", asset_selection=frozenset([keys.database_key("db.t")])), set()),
    ],
)
def test_a_run_loads_the_table_that_it_is_about(run: dg.DagsterRun, tables: set[str]) -> None:
    assert tables_of(run) == tables


def test_a_table_that_a_run_makes_as_a_partition_is_busy(grouped: Project, instance: dg.DagsterInstance) -> None:
    run = run_of(
        "__ASSET_JOB",
        asset_selection=frozenset([SHOP]),
        tags={"dagster/partition": "shop.orders"},
        status=dg.DagsterRunStatus.STARTED,
    )
    instance.add_run(run)
    assert in_progress(instance, grouped.tables) == {"shop.orders"}


def test_the_console_fills_the_table_into_the_jobs_for_any_table() -> None:
    links = Links("http://here", "place", lambda table: table == "db.t")
    assert "/jobs/compact/" in links.table_job("compact", "db.t", "ops: {compact: {config: {dry_run: true}}}")
    assert "choose" in links.table_job("expire", "db.t")
    assert "/jobs/expire_table/" in links.table_job("expire", "db.t")
    assert "/jobs/compact_db_u/" in links.table_job("compact", "db.u")
    assert links.asset("db.t") == "http://here/assets/db?view=partitions&partition=db.t"
    assert "choose" in str(links.next_step("db.t", "nothing_due", "Switch it on, or launch the job compact."))
