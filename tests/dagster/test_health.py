"""Pages of health: what they say of a table and of all tables."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
import yaml

from maintenance.operations.retention.next_expiry import Expiries
from maintenance.project.config import Project, SparkConfig, load_project
from maintenance.project.policies import CompactionPolicy, RetentionPolicy
from paimon_maintenance.assets.checks import judging
from paimon_maintenance.assets.checks.due import Automation
from paimon_maintenance.assets.checks.judging import TableHealth, see
from paimon_maintenance.assets.keys import FLEET
from paimon_maintenance.assets.pages.table_page import TableView, table_page
from paimon_maintenance.assets.pages.upcoming import Upcoming, job_of_action
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import named_tables
from tests.dagster.conftest import definitions_of


def rows_of(table: Any) -> list[Any]:
    assert isinstance(table, dg.TableMetadataValue)
    return [record.data for record in table.records]


def fleet(project: Project, instance: dg.DagsterInstance) -> Any:
    job = definitions_of(project).resolve_job_def("fleet_summary")
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
    job = definitions_of(project).resolve_job_def("expire_shop_visits")
    result = job.execute_in_process(instance=instance, raise_on_error=False)
    assert result.success
    event = instance.get_latest_materialization_event(dg.AssetKey(["shop", "visits"]))
    assert event is not None
    assert event.asset_materialization is not None
    page = event.asset_materialization.metadata  # what people ask comes first
    first = ["health", "health score", "what is next", "costs", "at a glance", "kept snapshots", "last runs"]
    assert list(page)[:7] == first, "what people ask comes first"
    assert str(page["health"].value).startswith("**Healthy:** every check passes, and nothing is due. Read at 20")
    assert [row["operation"] for row in rows_of(page["last runs"])] == ["expire snapshots", "expire tags"]
    assert {row["why"] for row in rows_of(page["last runs"])} == {"launched by hand"}
    assert f"/runs/{result.run_id}" in str(page["open a run"].value)
    (snapshot,) = rows_of(page["kept snapshots"])
    assert (snapshot["id"], snapshot["kind"], snapshot["rows"], snapshot["kept by"]) == (
        "1", "APPEND", "1", "the current state",
    )  # fmt: skip
    assert "0" not in [row["now"] for row in rows_of(page["at a glance"])], "what is zero is left out"


def test_an_asset_says_what_is_next_and_why_what_does_it_and_what_it_has_cost(
    project: Project, instance: dg.DagsterInstance
) -> None:
    orders, visits = project.tables
    visits = visits.model_copy(update={"compaction": CompactionPolicy(trigger=2)})
    catalog = PaimonCatalog(warehouse=project.warehouse)
    table = catalog.get_or_create(visits)
    for number in range(3):
        table.write_arrow(pa.table({"page": [f"{number}"], "seconds": pa.array([1], pa.int32())}))
    now = datetime.now(UTC)
    upcoming = Upcoming.of(visits, TableHealth((), table), [], now)
    assert upcoming is not None
    page = table_page(TableView(visits, now, None, None, (), location="lake", upcoming=upcoming))
    (line,) = rows_of(page["what is next"])
    assert (line["what"], line["why"], line["files less"]) == ("compact", "3 small files", "2")
    links = page["plan or apply it"].value
    assert "[plan](/locations/lake/jobs/compact_shop_visits/playground/setup?config=ops%3A%20%7Bcompact" in links
    assert "[apply](/locations/lake/jobs/compact_shop_visits/playground)" in links
    (costs,) = rows_of(page["costs"])
    assert costs["runs in 7 days"] == "0"
    changed = project.model_copy(update={"tables": (orders, visits), "spark": SparkConfig(engine="embedded")})
    job = definitions_of(changed).resolve_job_def("compact_shop_visits")
    assert job.execute_in_process(instance=instance).success
    event = instance.get_latest_materialization_event(dg.AssetKey(["shop", "visits"]))
    assert event is not None
    assert event.asset_materialization is not None
    shown = event.asset_materialization.metadata
    assert shown["what is next"].value == "Nothing is worth doing."
    (costs,) = rows_of(shown["costs"])
    assert (costs["runs in 7 days"], costs["files less"]) == ("1", "2")


def test_a_page_names_an_expiry_whose_gain_takes_too_long_to_add_up(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = project.tables[1].model_copy(update={"retention": RetentionPolicy(keep_at_most=1, keep_at_least=1)})
    catalog = PaimonCatalog(warehouse=project.warehouse)
    table = catalog.get_or_create(visits)
    for number in range(3):
        table.write_arrow(pa.table({"page": [f"{number}"], "seconds": pa.array([1], pa.int32())}))
    now, automation = datetime.now(UTC), Automation()
    visits_health = see(catalog, visits, now, automation=automation)
    assert visits_health.expiry is not None, "of three snapshots it is added up"
    monkeypatch.setattr(judging, "_STATES_READ", 2)
    health = see(catalog, visits, now, automation=automation)
    assert health.expiry is None
    monkeypatch.setattr(Expiries, "at", lambda *_, **__: pytest.fail("what the expiry frees is added up"))
    upcoming = Upcoming.of(visits, health, [], now)
    assert upcoming is not None
    (row,) = (row for row in upcoming.rows() if row["what"] == "expire snapshots")
    assert (row["why"], row["frees"]) == ("2 snapshots can expire; its plan adds up what that frees", "")
    assert "expire snapshots: [plan](/expire" in upcoming.links(lambda name, _: f"/{name}", 10_000)


def test_what_is_next_in_a_partition_is_planned_and_applied_for_it_alone(tmp_path: Path) -> None:
    text = """
warehouse: warehouse
costs: { gb_month: 0.02, core_hour: 0.1, currency: EUR }
tables:
  - identifier: shop.sales
    columns: {day: STRING, id: INT}
    partition_keys: [day]
    options: {compaction.min.file-num: "3"}
"""
    (tmp_path / "tables.yaml").write_text(text)
    catalog = PaimonCatalog(warehouse=str(tmp_path / "warehouse"))
    project = named_tables(load_project(tmp_path / "tables.yaml", tmp_path), catalog)
    table = catalog.get_or_create(project.tables[0])
    for _ in range(3):
        table.write_arrow(pa.table({"day": [None, "x"], "id": pa.array([1, 2], pa.int32())}))
    table.write_arrow(pa.table({"day": ["y"], "id": pa.array([1], pa.int32())}))
    upcoming = Upcoming.of(project.tables[0], TableHealth((), table), [], datetime.now(UTC))
    assert upcoming is not None
    assert {"costs, EUR"} < upcoming.rows()[0].keys()
    job = definitions_of(project).resolve_job_def("compact_shop_sales")
    chosen = []
    for line in upcoming.lines:
        kind, config = job_of_action(line, dry_run=True)
        read = yaml.safe_load(config)
        assert kind == "compact"
        assert dg.validate_run_config(job, read)
        chosen += read["ops"]["compact"]["config"]["partitions"]
    assert sorted(chosen, key=str) == [{"day": "x"}, {"day": None}]
