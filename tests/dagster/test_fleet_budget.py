"""The job that works on all tables within a budget: what it does, records and reports, and what a dry run shows."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.bin.bytes_in_bin import bytes_by_table
from maintenance.operations.history import history_table, read_history
from maintenance.project.config import Fleet, Project, SparkConfig
from maintenance.project.policies import BinPolicy, CompactionPolicy, RetentionPolicy
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of


@pytest.fixture
def due(project: Project) -> tuple[Project, CatalogTable]:
    """The table of visits with three small files, of which tables.yaml merges two."""
    orders, visits = project.tables
    visits = visits.model_copy(update={"compaction": CompactionPolicy(trigger=2)})
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(visits)
    for number in range(3):
        table.write_arrow(pa.table({"page": [f"{number}"], "seconds": pa.array([1], pa.int32())}))
    fleet = Fleet(budget={"seconds": 3600})
    return project.model_copy(
        update={"tables": (orders, visits), "fleet": fleet, "spark": SparkConfig(engine="embedded")}
    ), table


def work(project: Project, instance: dg.DagsterInstance, **config: Any) -> dict[str, Any]:
    job = definitions_of(project).resolve_job_def("plan_fleet")
    run_config = {"ops": {"work_within_budget": {"config": config}}}
    result = job.execute_in_process(run_config=run_config, instance=instance)
    (event,) = result.get_step_success_events()
    outputs = [each for each in result.all_node_events if each.event_type_value == "STEP_OUTPUT"]
    assert event.step_key == "work_within_budget"
    return {name: value.value for name, value in outputs[0].step_output_data.metadata.items()}


def test_a_run_works_within_the_budget_and_reports_each_table(
    due: tuple[Project, CatalogTable], instance: dg.DagsterInstance
) -> None:
    project, table = due
    shown = work(project, instance, dry_run=True)
    assert (shown["chosen"], shown["left out"]) == (1, 0)
    assert table.snapshots.latest_id() == 3
    assert "compact" in str(shown["plan"])
    work(project, instance)
    catalog = PaimonCatalog(warehouse=project.warehouse)
    after = catalog.get_table("shop.visits").latest_snapshot()
    assert after is not None
    assert after.commit_kind.value == "COMPACT"
    (entry,) = read_history(catalog.open(), history_table("_maintenance"), "shop.visits")
    assert (entry["operation"], entry["files_before"], entry["files_after"]) == ("compact", 3, 1)
    assert instance.fetch_observations(dg.AssetKey(["shop", "visits"]), limit=1).records
    assert work(project, instance)["chosen"] == 0


def test_what_an_expiry_deletes_goes_into_the_bin_of_the_table(
    due: tuple[Project, CatalogTable], instance: dg.DagsterInstance
) -> None:
    project, table = due
    orders, visits = project.tables
    policies = {"bin": BinPolicy(), "retention": RetentionPolicy(keep_at_least=1, keep_at_most=1)}
    project = project.model_copy(update={"tables": (orders, visits.model_copy(update=policies))})
    work(project, instance)
    work(project, instance)  # of the files that the compaction has replaced
    assert table.snapshots.list_ids() == [4]
    binned = bytes_by_table(table.file_io, project.warehouse)
    assert binned is not None
    assert binned["shop.visits"].bytes > 0
