"""The jobs that tag a state and go back to one: what they would do is said first, and what they did is on the page."""

from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.metadata.branches import Branches
from maintenance.operations import create_branch
from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import definitions_of


@pytest.fixture
def visits(project: Project) -> CatalogTable:
    """shop.visits with three snapshots."""
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(3):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    return table


def launch(project: Project, instance: dg.DagsterInstance, job: str, step: str, **config: Any) -> Any:
    definition = definitions_of(project).resolve_job_def(job)
    run_config = {"ops": {step: {"config": {"table": "shop.visits", **config}}}}
    return definition.execute_in_process(instance=instance, run_config=run_config, raise_on_error=False)


def snapshot_shown(instance: dg.DagsterInstance) -> Any:
    event = instance.get_latest_materialization_event(keys.asset_key("shop.visits"))
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization.metadata["snapshot"].value


def output(result: Any, label: str) -> Any:
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    return event.event_specific_data.metadata[label].value


def failure_of(result: Any) -> Any:
    assert not result.success
    failure = result.failure_data_for_node("new_tag")
    return failure.user_failure_data.description


def test_a_tag_is_created_by_hand(project: Project, instance: dg.DagsterInstance, visits: CatalogTable) -> None:
    chosen = {"name": "month-end", "snapshot_id": 2, "time_retained": "30 d"}
    assert launch(project, instance, "create_tag", "new_tag", dry_run=True, **chosen).success
    assert visits.tags.names() == []
    assert launch(project, instance, "create_tag", "new_tag", **chosen).success
    assert visits.tags.get("month-end").snapshot.id == 2
    assert snapshot_shown(instance) == 3
    again = launch(project, instance, "create_tag", "new_tag", name="month-end")
    failure = again.failure_data_for_node("new_tag")
    assert failure is not None
    assert "tag 'month-end' exists" in str(failure.user_failure_data.description)


def test_what_a_tag_is_to_hold_is_named_by_a_time_or_a_watermark(
    project: Project, instance: dg.DagsterInstance, visits: CatalogTable
) -> None:
    second = datetime.fromtimestamp(visits.snapshots.get(2).time_millis / 1000, UTC)
    assert launch(project, instance, "create_tag", "new_tag", name="at-{snapshot}", time=second.isoformat()).success
    assert {name: tag.snapshot.id for name, tag in visits.tags.all().items()} == {"at-2": 2}
    late = launch(project, instance, "create_tag", "new_tag", name="late", watermark=5)
    assert "watermark" in str(failure_of(late)), "no snapshot has one, and the newest is not meant"
    twice = launch(project, instance, "create_tag", "new_tag", name="two", snapshot_id=1, watermark=5)
    assert "a tag holds one snapshot" in str(failure_of(twice))
    again = {"name": "at-2", "snapshot_id": 3}
    assert launch(project, instance, "create_tag", "new_tag", **again, ignore_if_exists=True).success
    assert "exists" in str(failure_of(launch(project, instance, "create_tag", "new_tag", **again)))
    assert {name: tag.snapshot.id for name, tag in visits.tags.all().items()} == {"at-2": 2}


def test_a_table_is_rolled_back_after_it_was_said_what_goes(
    project: Project, instance: dg.DagsterInstance, visits: CatalogTable
) -> None:
    assert launch(project, instance, "create_tag", "new_tag", name="late").success
    dry = launch(project, instance, "rollback", "earlier_state", snapshot_id=1, dry_run=True)
    assert dry.success
    assert (output(dry, "snapshots"), output(dry, "tags")) == ([2, 3], ["late"])
    assert visits.snapshots.list_ids() == [1, 2, 3]
    assert visits.tags.names() == ["late"]
    assert launch(project, instance, "rollback", "earlier_state", snapshot_id=1).success
    assert visits.snapshots.list_ids() == [1]
    assert visits.tags.names() == []
    assert snapshot_shown(instance) == 1


def test_an_earlier_state_is_committed_again(
    project: Project, instance: dg.DagsterInstance, visits: CatalogTable
) -> None:
    job, step = "rollback_to_as_latest", "earlier_state_as_latest"
    before = visits.copy({"scan.snapshot-id": "1"}).to_arrow().num_rows
    assert launch(project, instance, job, step, snapshot_id=1, dry_run=True).success
    assert visits.snapshots.list_ids() == [1, 2, 3]
    assert launch(project, instance, job, step, snapshot_id=1).success
    assert visits.snapshots.list_ids() == [1, 2, 3, 4]
    assert visits.to_arrow().num_rows == before
    assert snapshot_shown(instance) == 4


def test_why_something_is_there_and_what_other_retention_frees(
    project: Project, instance: dg.DagsterInstance, visits: CatalogTable
) -> None:
    actual = launch(project, instance, "explain", "why_still_there", snapshot_id=2)
    assert actual.success
    (keeper,) = output(actual, "kept by")
    assert "2" in keeper["holder"]
    assert keeper["release"]
    assert not launch(project, instance, "explain", "why_still_there").success, "nothing is named"
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    tried = launch(project, instance, "what_if", "other_retention", options=options)
    assert tried.success
    assert output(tried, "losses")[0]["snapshots"] == [1, 2]
    assert visits.snapshots.list_ids() == [1, 2, 3]


def test_a_rollback_to_nothing_or_elsewhere_is_refused(
    project: Project, instance: dg.DagsterInstance, visits: CatalogTable
) -> None:
    for config, actual in (
        ({}, "a rollback needs exactly one target"),
        ({"tag": "nope"}, "nope"),
        ({"table": "shop.nope", "snapshot_id": 1}, "'shop.nope' is not one of the tables here"),
    ):
        result = launch(project, instance, "rollback", "earlier_state", **config)
        failure = result.failure_data_for_node("earlier_state")
        assert failure is not None
        assert actual in str(failure.user_failure_data.description)
    assert visits.snapshots.list_ids() == [1, 2, 3]


def test_a_branch_is_deleted_by_the_plan_of_a_dry_run(project: Project, instance: dg.DagsterInstance) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    create_branch(table, "trial", snapshot_id=1)
    definitions = build_definitions(project)

    def launch(job: str, op: str, **config: Any) -> dg.ExecuteInProcessResult:
        definition = definitions.resolve_job_def(job)
        return definition.execute_in_process(run_config={"ops": {op: {"config": config}}}, instance=instance)

    chosen = {"table": "shop.visits", "branch": "trial", "dry_run": True}
    dry = launch("delete_branch", "branch_to_delete", **chosen)
    assert Branches(table.file_io, table.paths).names() == ["main", "trial"]
    (plan_id,) = [
        event.step_output_data.metadata["plan id"].value
        for event in dry.all_node_events
        if event.is_successful_output and "plan id" in event.step_output_data.metadata
    ]
    assert launch("apply_plan", "plan", plan_id=plan_id).success
    assert Branches(table.file_io, table.paths).names() == ["main"]
