"""A dropped partition is brought back from a tag: first as a dry run, which the table's page links to."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa
import pytest
import yaml

from maintenance.catalog import CatalogTable
from maintenance.operations.refs.create_tag import create_tag
from maintenance.project.config import Project, load_project
from maintenance.table.shape import table_shape
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.table_page import TableView, table_page, what_is_kept
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import TABLES, definitions_of

DAYS = """
  - identifier: shop.days
    columns: {day: STRING NOT NULL, id: INT NOT NULL}
    primary_keys: [day, id]
    partition_keys: [day]
    options: {bucket: 1, write-only: true}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES + DAYS.removeprefix("\n"))
    return load_project(path, tmp_path)


@pytest.fixture
def days(project: Project) -> CatalogTable:
    """shop.days, from which a tagged day was dropped."""
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[2])
    table.write_arrow(pa.table({"day": ["mon", "mon", "tue"], "id": pa.array([1, 2, 3], pa.int32())}))
    create_tag(table, "kept")
    table.drop_partitions([{"day": "mon"}])
    return table


def launch(project: Project, instance: dg.DagsterInstance, **config: Any) -> Any:
    job = definitions_of(project).resolve_job_def("restore_partitions")
    chosen = {"table": "shop.days", "tag": "kept", **config}
    run_config = {"ops": {"earlier_partitions": {"config": chosen}}}
    return job.execute_in_process(instance=instance, run_config=run_config, raise_on_error=False)


def output(result: Any) -> Any:
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    return {label: value.value for label, value in event.event_specific_data.metadata.items()}


def ids(table: CatalogTable) -> list[int]:
    return sorted(table.to_arrow()["id"].to_pylist())


def test_a_dropped_partition_comes_back(project: Project, instance: dg.DagsterInstance, days: CatalogTable) -> None:
    dry = launch(project, instance, partitions=[{"day": "mon"}], dry_run=True)
    assert dry.success
    assert (output(dry)["rows"], output(dry)["replaced rows"]) == (2, 0)
    assert ids(days) == [3]
    done = launch(project, instance, partitions=[{"day": "mon"}])
    assert done.success
    assert ids(days) == [1, 2, 3]
    event = instance.get_latest_materialization_event(keys.asset_key("shop.days"))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.description == "After restore_partitions."
    latest = days.latest_snapshot()
    assert latest is not None
    assert (latest.properties or {})["paimon-maintenance.run"] == done.run_id


def test_a_range_of_partitions_comes_back_in_one_run(
    project: Project, instance: dg.DagsterInstance, days: CatalogTable
) -> None:
    beyond = launch(project, instance, to={"day": "a"})
    assert "no partition of snapshot" in str(beyond.failure_data_for_node("earlier_partitions").user_failure_data)
    assert launch(project, instance, **{"from": {"day": "mon"}, "to": {"day": "sun"}}).success
    assert ids(days) == [1, 2, 3]


def test_a_partition_that_the_tag_lacks_is_refused(
    project: Project, instance: dg.DagsterInstance, days: CatalogTable
) -> None:
    result = launch(project, instance, partitions=[{"day": "sun"}])
    failure = result.failure_data_for_node("earlier_partitions")
    assert failure is not None
    assert "has no partition day=sun" in str(failure.user_failure_data.description)
    assert ids(days) == [3]


def test_the_links_of_the_page_are_valid_configs(project: Project, days: CatalogTable) -> None:
    config = next(table for table in project.tables if table.identifier == "shop.days")
    now = datetime.now(UTC)
    kept = what_is_kept(days, config, now, ZoneInfo("UTC"))
    page = table_page(TableView(config, now, table_shape(days), kept, (), location="lake"))
    definitions = build_definitions(project)
    links = re.findall(r"\[(\w+)\]\((\S+)\)", page["earlier states"].value)
    assert [job for job, _ in links] == ["create_tag", "rollback", "restore_partitions"]
    for job, link in links:
        address = urlsplit(link)
        assert address.path == f"/locations/lake/jobs/{job}/playground/setup"
        run_config = yaml.safe_load(parse_qs(address.query)["config"][0])
        assert dg.validate_run_config(definitions.resolve_job_def(job), run_config)
        (step,) = run_config["ops"].values()
        assert (step["config"]["table"], step["config"]["dry_run"]) == ("shop.days", True)
