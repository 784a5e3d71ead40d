"""Pages of health: what they say of a table and of all tables."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from paimon_maintenance.assets.keys import FLEET
from paimon_maintenance.assets.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions


def rows_of(table: Any) -> list[Any]:
    assert isinstance(table, dg.TableMetadataValue)
    return [record.data for record in table.records]


def fleet(project: Project, instance: dg.DagsterInstance) -> Any:
    job = build_definitions(project).resolve_job_def("fleet_summary")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def test_the_fleet_shows_every_table_the_worst_first(project: Project, instance: dg.DagsterInstance) -> None:
    catalog = PaimonCatalog(warehouse=project.warehouse)
    catalog.get_or_create(project.tables[0])
    result = fleet(project, instance)
    assert result.success
    check, configuration = result.get_asset_check_evaluations()
    assert configuration.passed
    assert check.passed, "a table that is created here may still be missing"
    visits = catalog.get_or_create(project.tables[1])
    visits.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    (Path(visits.location) / "snapshot" / "snapshot-1").write_text("{")
    result = fleet(project, instance)
    check, _ = result.get_asset_check_evaluations()
    assert not check.passed
    assert check.description == "1 of 2 tables is unhealthy: shop.visits"
    event = instance.get_latest_materialization_event(FLEET)
    assert event is not None
    assert event.asset_materialization is not None
    page = event.asset_materialization.metadata["fleet"]
    assert isinstance(page, dg.TableMetadataValue)
    assert [(row.data["table"], row.data["state"], row.data["files"]) for row in page.records] == [
        ("shop.visits", "cannot be read", ""),
        ("shop.orders", "healthy", "0"),
    ]
    urgent = str(event.asset_materialization.metadata["urgent"].value)
    assert "[shop.visits](/assets/shop/visits) cannot be read" in urgent


def test_a_run_closes_with_the_tables_health(project: Project, instance: dg.DagsterInstance) -> None:
    visits = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    visits.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    job = build_definitions(project).resolve_job_def("expire")
    selected = ["expire_shop_visits"]
    result = job.execute_in_process(instance=instance, op_selection=selected, raise_on_error=False)
    assert result.success
    event = instance.get_latest_materialization_event(dg.AssetKey(["shop", "visits"]))
    assert event is not None
    assert event.asset_materialization is not None
    page = event.asset_materialization.metadata  # what people ask comes first
    first = ["health", "health score", "at a glance", "kept snapshots", "last runs"]
    assert list(page)[:5] == first, "what people ask comes first"
    assert str(page["health"].value).startswith("**Healthy:** every check passes, and nothing is due. Read at 20")
    assert [row["operation"] for row in rows_of(page["last runs"])] == ["expire snapshots", "expire tags"]
    assert {row["why"] for row in rows_of(page["last runs"])} == {"launched by hand"}
    assert f"/runs/{result.run_id}" in str(page["open a run"].value)
    (snapshot,) = rows_of(page["kept snapshots"])
    assert (snapshot["id"], snapshot["kind"], snapshot["rows"], snapshot["kept by"]) == (
        "1", "APPEND", "1", "the current state",
    )  # fmt: skip
    assert "0" not in [row["now"] for row in rows_of(page["at a glance"])], "what is zero is left out"
