"""Every step's dry run keeps a plan with an id; the plan is carried out as it stands, or refused with what moved."""

import re
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.amounts import seconds_text
from maintenance.catalog import CatalogTable
from maintenance.project.config import Project
from maintenance.project.policies import IndexColumns
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of, land


def launch(
    project: Project, instance: dg.DagsterInstance, job: str, step: str, **config: Any
) -> dg.ExecuteInProcessResult:
    """One step alone, as the op selection of the Launchpad runs it."""
    definition = definitions_of(project).resolve_job_def(job)
    given = {"ops": {step.rpartition(".")[2]: {"config": config}}}
    if "." in step:
        given = {"ops": {step.partition(".")[0]: given}}
    return definition.execute_in_process(run_config=given, instance=instance, op_selection=[step], raise_on_error=False)


def reported(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    assert result.success
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    return {label: actual.value for label, actual in event.step_output_data.metadata.items()}


def refused(result: dg.ExecuteInProcessResult) -> str:
    assert not result.success
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_FAILURE"]
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert failure.description is not None
    return failure.description


def orders(project: Project) -> CatalogTable:
    return PaimonCatalog(warehouse=project.warehouse).get_table("shop.orders")


@pytest.fixture
def table(project: Project) -> CatalogTable:
    created = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    created.write_arrow(pa.table({"id": pa.array([1, 2], pa.int64()), "status": ["new", "new"]}))
    return created


STEPS = {
    "changelog": ("compact_shop_orders", "changelog", {}),
    "file_index": ("compact_shop_orders", "file_index", {}),
    "tag": ("expire_shop_orders", "tag", {"name": "once"}),
    "expire_tags": ("expire_shop_orders", "expire_tags", {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_dry_run_keeps_a_plan_that_is_done_once(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable, step: str
) -> None:
    job, op, config = STEPS[step]
    if step == "file_index":
        more = project.tables[0].model_copy(update={"index_columns": IndexColumns(bitmap=("status",))})
        project = project.model_copy(update={"tables": (more,)})
    if step == "expire_tags":
        config = {"older_than": "2999-01-01T00:00:00+00:00"}
        launch(project, instance, "expire_shop_orders", "tag", name="old")
    before = table.snapshots.latest_id(), table.tags.names()
    dry = launch(project, instance, job, op, dry_run=True, **config)
    shown = reported(dry)
    assert (table.snapshots.latest_id(), table.tags.names()) == before, "a dry run changes nothing"
    assert {"plan id", "plan", "planned files", "planned size"} <= shown.keys()
    assert len(shown["plan"].records) >= 1
    assert "before and after" not in shown, "nothing has changed yet"
    if step in ("compact", "file_index", "expire_snapshots"):
        files, size = (row.data for row in shown["now and expected after"].records)
        assert int(files["now"]) == shown["planned files"]
        assert size["now"] == shown["planned size"]
        assert re.fullmatch(r"[\d.,]+ (bytes|KiB|MiB)", size["now"])
    if step == "compact":
        assert int(files["expected after"]) == 1
        assert {row.data["group"] for row in shown["plan"].records} == {"bucket 0"}
    run = instance.get_run_by_id(dry.run_id)
    assert run is not None
    assert run.tags["paimon/plan_id"] == shown["plan id"]
    done = reported(launch(project, instance, job, op, plan_id=shown["plan id"]))
    assert done["plan id"] == shown["plan id"]
    assert (table.snapshots.latest_id(), table.tags.names()) != before
    again = refused(launch(project, instance, job, op, plan_id=shown["plan id"]))
    assert "the table has changed" in again
    assert again.count("Next step: ") == 1


def apply(project: Project, instance: dg.DagsterInstance, plan_id: str) -> dg.ExecuteInProcessResult:
    job = definitions_of(project).resolve_job_def("apply_plan")
    config = {"ops": {"plan": {"config": {"plan_id": plan_id}}}}
    return job.execute_in_process(run_config=config, instance=instance, raise_on_error=False)


def test_a_plan_is_carried_out_by_its_id_alone(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    job, op, config = STEPS["tag"]
    plan_id = reported(launch(project, instance, job, op, dry_run=True, **config))["plan id"]
    done = apply(project, instance, plan_id)
    assert reported(done)["plan id"] == plan_id
    assert table.tags.names() == ["once"]
    run = instance.get_run_by_id(done.run_id)
    assert run is not None
    assert (run.tags["paimon/table"], run.tags["paimon/plan_id"]) == ("shop.orders", plan_id)
    event = instance.get_latest_materialization_event(dg.AssetKey(["shop", "orders"]))
    assert event is not None
    assert event.run_id == done.run_id, "the table's page shows what was done"
    assert "tag 'once' exists" in refused(apply(project, instance, plan_id))
    others = project.model_copy(update={"tables": project.tables[1:]})
    assert "the plan is of shop.orders, which is not in tables.yaml" in refused(apply(others, instance, plan_id))
    assert "there is no plan" in refused(apply(project, instance, "0" * 16))


@pytest.mark.slow
def test_the_plan_of_an_ingestion_names_files_and_rows(project: Project, instance: dg.DagsterInstance) -> None:
    def ingest(**config: Any) -> dg.ExecuteInProcessResult:
        return launch(project, instance, "ingest_shop_orders", "ingest", **config)

    land(project, 1, 1, [(1, "new", "+I"), (2, "new", "+I")])
    land(project, 2, 2, [(3, "new", "+I")])
    shown = reported(ingest(dry_run=True))
    assert [(row.data["group"], row.data["reason"]) for row in shown["plan"].records] == [
        ("batch 1 of delivery 1", "2 rows"),
        ("batch 2 of delivery 2", "1 rows"),
    ]
    assert not (Path(project.warehouse) / "shop.db" / "orders").exists(), "a dry run creates no table"
    land(project, 3, 3, [(4, "new", "+I")])
    done = reported(ingest(plan_id=shown["plan id"]))
    assert (done["committed batches"], done["row count"]) == (2, 3)
    assert "batch 1 of delivery 1: batch 3 of delivery 3 comes in its place" in refused(
        ingest(plan_id=shown["plan id"])
    )
    rest = reported(ingest(dry_run=True))
    land(project, 3, 3, [(4, "new", "+I"), (5, "new", "+I")])
    assert "is " in refused(ingest(plan_id=rest["plan id"]))
    assert orders(project).to_arrow().num_rows == 3


def test_a_plan_says_it_all(project: Project, instance: dg.DagsterInstance, table: CatalogTable) -> None:
    result = launch(project, instance, "compact_shop_orders", "compact", plan_id="0" * 16, full=True)
    assert "'full' is set together with 'plan_id'" in refused(result)


def test_a_plan_is_estimated_from_past_runs(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    job, op, config = STEPS["tag"]
    assert "estimated time" not in reported(launch(project, instance, job, op, dry_run=True, **config))
    definition = definitions_of(project).resolve_job_def(job)
    run = definition.execute_in_process(instance=instance, raise_on_error=False)
    assert "record" in {event.step_key for event in run.get_step_success_events()}
    assert reported(launch(project, instance, job, op, dry_run=True, **config))["estimated time"].endswith(" s")


@pytest.mark.slow
def test_many_tables_are_compacted_in_one_run(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    visits = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for seconds in range(2):
        visits.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([seconds], pa.int32())}))
    table.write_arrow(pa.table({"id": pa.array([3], pa.int64()), "status": ["new"]}))

    def compact(**config: Any) -> dg.ExecuteInProcessResult:
        definition = definitions_of(project).resolve_job_def("compact_database")
        given = {"ops": {"compact_tables": {"config": config}}}
        return definition.execute_in_process(run_config=given, instance=instance, raise_on_error=False)

    assert "no table matches hr.*" in refused(compact(tables=["hr.*"]))
    shown = reported(compact(full=True, dry_run=True))
    assert {row.data["group"].split(" ")[0] for row in shown["plan"].records} == {"shop.orders", "shop.visits"}
    only = reported(compact(full=True, dry_run=True, without=["*.visits"]))
    assert len(only["plan"].records) == 1
    assert (table.snapshots.latest_id(), visits.snapshots.latest_id()) == (2, 2)
    done = reported(apply(project, instance, shown["plan id"]))
    assert done["tables that were changed"] == 2
    assert (table.snapshots.latest_id(), visits.snapshots.latest_id()) == (3, 3)
    (observed,) = instance.fetch_observations(dg.AssetKey(["shop", "visits"]), limit=10).records
    assert observed.asset_observation is not None
    assert observed.asset_observation.metadata["files"].value == 1
    again = refused(compact(plan_id=shown["plan id"]))
    assert "shop.orders" in again
    assert "no longer in it" in again


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.2 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (245, "4 min 5 s"), (12_000, "3 h 20 min")],
)
def test_times_are_read_by_people(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text
