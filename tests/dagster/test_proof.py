"""The `proof` of a table's policy holds in every step that merges files, and a run's own word goes before it."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.partitions import key_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import definitions_of

TEXT = """
warehouse: warehouse
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
tables:
  - identifier: shop.sales
    columns: {day: STRING NOT NULL, id: INT NOT NULL, amount: INT}
    primary_keys: [day, id]
    partition_keys: [day]
    options:
      bucket: 1
      write-only: true
      changelog-producer: full-compaction
      paimon-maintenance.compaction.proof: full
    compaction: {proof: sampled}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TEXT)
    return load_project(path, tmp_path)


@pytest.fixture
def table(project: Project) -> CatalogTable:
    return PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])


def put(table: CatalogTable) -> None:
    rows = {"day": ["1"] * 20, "id": pa.array(range(20), pa.int32()), "amount": pa.array(range(20), pa.int32())}
    table.write_arrow(pa.table(rows))


def step(project: Project, instance: dg.DagsterInstance, job: str, name: str, **config: Any) -> dict[str, Any]:
    """Metadata of one step that has succeeded."""
    result = (
        build_definitions(project)
        .resolve_job_def(job)
        .execute_in_process(
            run_config={"ops": {name: {"config": config}}}, instance=instance, op_selection=[name], raise_on_error=False
        )
    )
    assert result.success
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    return {label: actual.value for label, actual in event.step_output_data.metadata.items()}


@pytest.mark.parametrize("name", ["compact", "changelog"])
def test_a_step_and_its_plan_go_by_the_policy(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable, name: str
) -> None:
    job, full = "compact_shop_sales", {"full": True} if name == "compact" else {}
    put(table)
    assert step(project, instance, job, name, **full)["proof"]["mode"] == "sampled"
    put(table)
    plan = step(project, instance, job, name, dry_run=True, **full)
    assert step(project, instance, job, name, plan_id=plan["plan id"])["proof"]["mode"] == "sampled"
    put(table)
    plan = step(project, instance, job, name, dry_run=True, proof="off", **full)
    assert step(project, instance, job, name, plan_id=plan["plan id"])["proof"]["mode"] == "off"


def test_many_tables_go_by_the_policy_of_each(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    put(table)
    shown = step(project, instance, "compact_database", "compact_tables", full=True)
    assert [row.data["proof"] for row in shown["what was done"].records] == ["sampled"]
    put(table)
    shown = step(project, instance, "compact_database", "compact_tables", full=True, proof="full")
    assert [row.data["proof"] for row in shown["what was done"].records] == ["full"]


@pytest.mark.parametrize("asset", [keys.compaction, keys.changelog])
def test_the_assets_of_partitions_go_by_the_policy(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable, asset: Any
) -> None:
    put(table)
    key = key_of({"day": "1"})
    instance.add_dynamic_partitions(keys.partitions("shop.sales"), [key])
    tags = {"dagster/asset_partition_range_start": key, "dagster/asset_partition_range_end": key}
    job = definitions_of(project).resolve_implicit_global_asset_job_def()
    chosen = asset("shop.sales")
    result = job.execute_in_process(instance=instance, asset_selection=[chosen], tags=tags, raise_on_error=False)
    assert result.success
    event = instance.get_latest_materialization_event(chosen)
    assert event is not None
    assert event.asset_materialization is not None
    proof = event.asset_materialization.metadata["proof"].value
    assert isinstance(proof, dict)
    assert proof["mode"] == "sampled"
