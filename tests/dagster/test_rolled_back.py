"""After a rollback, and in a new table of the name, the sensors find the snapshots new, whatever their numbers are."""

import json
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.definitions.data_version import StaleStatus

from maintenance.catalog import CatalogTable
from maintenance.operations import rollback_to
from maintenance.operations.compaction.compact import compact
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.sensors.cursor import Cursor
from tests.dagster.conftest import evaluate
from tests.dagster.test_partitions import TEXT, put, statuses
from tests.dagster.test_partitions import tick as mirror


@pytest.fixture
def sales(tmp_path: Path) -> Project:
    path = tmp_path / "sales.yaml"
    path.write_text(TEXT)
    return load_project(path, tmp_path)


def table_of(project: Project) -> CatalogTable:
    """The table, made if it is not there."""
    return PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])


def put_orders(project: Project, times: int) -> None:
    table = table_of(project)
    for _ in range(times):
        table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int64()), "status": ["a", "b"]}))


def drop(project: Project) -> None:
    PaimonCatalog(warehouse=project.warehouse).open().drop_table(project.tables[0].identifier)


# Commits after the rollback to snapshot 1 of 3: the newest snapshot has a lower number, the same, a higher one.
@pytest.mark.parametrize("later", [1, 2, 3])
def test_another_snapshot_is_judged_and_compacted(later: int, project: Project, instance: dg.DagsterInstance) -> None:
    put_orders(project, 3)
    first = evaluate(project, instance, "latest_snapshots")
    (request,) = first.run_requests
    rollback_to(table_of(project), snapshot_id=1)
    put_orders(project, later)
    again = evaluate(project, instance, "latest_snapshots", first.cursor)
    assert again.cursor != first.cursor
    if later >= 2:  # three sorted runs, which is its trigger
        (another,) = again.run_requests
        assert another.run_key != request.run_key, "Dagster starts no second run of a key"
    else:
        assert again.skip_message == "shop.orders: a bucket has 2 sorted runs, the trigger is 3"


def test_a_new_table_of_the_name_is_judged(project: Project, instance: dg.DagsterInstance) -> None:
    put_orders(project, 3)
    first = evaluate(project, instance, "latest_snapshots")
    drop(project)
    put_orders(project, 3)
    again = evaluate(project, instance, "latest_snapshots", first.cursor)
    (request,), (another,) = first.run_requests, again.run_requests
    assert another.run_key != request.run_key


def test_a_cursor_of_numbers_alone_is_of_no_snapshot(project: Project, instance: dg.DagsterInstance) -> None:
    put_orders(project, 3)
    earlier = Cursor(tables={"shop.orders": 3}).serialize()
    assert len(evaluate(project, instance, "latest_snapshots", earlier).run_requests) == 1


@pytest.mark.parametrize("later", [1, 2, 3])
def test_partitions_of_another_snapshot_are_told(later: int, sales: Project, instance: dg.DagsterInstance) -> None:
    table = table_of(sales)
    put(table, "a")
    put(table, "b")
    compact(None, table, full=True)
    cursor = mirror(sales, instance)
    assert statuses(sales, instance) == {"day=a": StaleStatus.FRESH, "day=b": StaleStatus.FRESH}
    rollback_to(table, snapshot_id=1)
    for _ in range(later):
        put(table, "a", "c")
    cursor = mirror(sales, instance, cursor)
    assert set(instance.get_dynamic_partitions(keys.partitions("shop.sales"))) == {"day=a", "day=c"}
    assert statuses(sales, instance)["day=a"] == StaleStatus.STALE


def test_a_partition_that_changed_under_the_same_number_is_stale(sales: Project, instance: dg.DagsterInstance) -> None:
    """The data versions of the partitions before and after the rollback are compared by Dagster."""
    table = table_of(sales)
    put(table, "a", "b")
    put(table, "b")
    cursor = mirror(sales, instance)
    compact(None, table, full=True)
    cursor = mirror(sales, instance, cursor)
    assert set(statuses(sales, instance).values()) == {StaleStatus.FRESH}
    rollback_to(table, snapshot_id=1)
    put(table, "a")
    mirror(sales, instance, cursor)
    said = [
        record.asset_observation
        for record in instance.fetch_observations(keys.partition_states("shop.sales"), 10).records
    ]
    versions = {(said.partition, said.tags["dagster/data_version"]) for said in said if said is not None and said.tags}
    assert len([version for partition, version in versions if partition == "day=a"]) == 2
    assert statuses(sales, instance)["day=a"] == StaleStatus.STALE


def test_the_mirror_reads_an_earlier_cursor(sales: Project, instance: dg.DagsterInstance) -> None:
    put(table_of(sales), "a")
    cursor = json.loads(mirror(sales, instance))
    assert cursor["tables"]["shop.sales"]["snapshot"].startswith("1@")
    digests = cursor["tables"]["shop.sales"]["digests"]
    cursor["tables"]["shop.sales"] = {"snapshot": 1, "digests": digests}
    after = json.loads(mirror(sales, instance, json.dumps(cursor)))
    assert after["tables"]["shop.sales"]["digests"] == digests
    assert len(instance.fetch_observations(keys.partition_states("shop.sales"), limit=10).records) == 1


def test_what_others_commit_under_the_same_number_is_reported(project: Project, instance: dg.DagsterInstance) -> None:
    visits = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for pages in (["a"], ["b"]):
        visits.write_arrow(pa.table({"page": pages, "seconds": pa.array([1], pa.int32())}))
    first = evaluate(project, instance, "check_radar")
    rollback_to(visits, snapshot_id=1)
    visits.write_arrow(pa.table({"page": ["c", "d"], "seconds": pa.array([1, 2], pa.int32())}))
    again = evaluate(project, instance, "check_radar", first.cursor)
    events = [event for event in again.asset_events if isinstance(event, dg.AssetMaterialization)]
    (event,) = [event for event in events if event.asset_key == keys.asset_key("shop.visits")]
    assert event.metadata["records"].value == 3
