"""Plans of whatever deletes or rewrites: made from the Launchpad or by paimonctl, carried out there by their id."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations import create_tag, reset_consumer
from maintenance.project.config import Project
from maintenance.sql import Session
from maintenance.sql.plans import keep_plan
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.plain_tables import PlainCatalog, plain_table


@pytest.fixture
def visits(project: Project) -> CatalogTable:
    """shop.visits with three snapshots."""
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(3):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    return table


@pytest.fixture
def launch(project: Project, instance: dg.DagsterInstance) -> Any:
    definitions = build_definitions(project)

    def run(job: str, op: str, **config: Any) -> dict[str, Any]:
        """The metadata of the op's output; `failure`: why it failed."""
        definition = definitions.resolve_job_def(job)
        given = {"ops": {op: {"config": config}}}
        result = definition.execute_in_process(run_config=given, instance=instance, raise_on_error=False)
        failure = result.failure_data_for_node(op)
        if failure is not None:
            assert failure.user_failure_data is not None
            return {"failure": failure.user_failure_data.description}
        (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
        return {label: actual.value for label, actual in event.event_specific_data.metadata.items()}  # type: ignore[union-attr]

    return run


def seconds(table: CatalogTable) -> list[int]:
    return sorted(table.to_arrow().column("seconds").to_pylist())


@pytest.mark.slow
def test_each_job_by_hand_keeps_a_plan(project: Project, launch: Any, visits: CatalogTable) -> None:
    create_tag(visits, "late")
    reset_consumer(visits, "job", 1)
    shop = {"table": "shop.visits", "dry_run": True}
    dry_runs = {
        "reset_consumer": launch("reset_consumer", "consumer_to_move", **shop, consumer="job"),
        "delete": launch("change_rows", "row_change", **shop, where="seconds = 2", delete=True),
        "rollback_to_as_latest": launch("rollback_to_as_latest", "earlier_state_as_latest", **shop, snapshot_id=2),
        "rollback_to": launch("rollback", "earlier_state", **shop, snapshot_id=1),
    }
    assert (visits.snapshots.list_ids(), visits.consumers.names()) == ([1, 2, 3], ["job"])
    for name, shown in dry_runs.items():
        assert shown.get("planned files") is not None, (name, shown)
    assert [row.data["group"] for row in dry_runs["rollback_to"]["plan"].records] == [
        "snapshot 2", "snapshot 3", "tag late",
    ]  # fmt: skip
    assert launch("apply_plan", "plan", plan_id=dry_runs["reset_consumer"]["plan id"])["plan id"]
    assert visits.consumers.names() == []
    done = launch("apply_plan", "plan", plan_id=dry_runs["delete"]["plan id"])
    assert (done["deleted rows"], seconds(visits)) == (1, [0, 1])
    refused = launch("apply_plan", "plan", plan_id=dry_runs["rollback_to"]["plan id"])["failure"]
    assert "snapshot 4 would be deleted, too" in refused
    again = launch("rollback", "earlier_state", **shop, snapshot_id=1)
    assert launch("apply_plan", "plan", plan_id=again["plan id"])["current snapshot id"] == 1
    assert (visits.snapshots.list_ids(), visits.tags.names()) == ([1], [])


def test_the_plans_of_paimonctl_are_applied_here(
    project: Project, instance: dg.DagsterInstance, launch: Any, visits: CatalogTable
) -> None:
    create_tag(visits, "old", snapshot_id=1)
    session = Session({"warehouse": project.warehouse})
    session.sql("CREATE TABLE more (page STRING, seconds INT)")
    session.sql("INSERT INTO more VALUES ('a', 1), ('b', 9)")
    merge = """MERGE INTO shop.visits AS v USING default.more AS m ON v.page = m.page AND v.seconds = m.seconds
        WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"""
    merging = keep_plan(session, session.plan(merge))
    renaming = keep_plan(session, session.plan("CALL sys.rename_tag('shop.visits', 'old', 'older')"))
    done = launch("apply_plan", "plan", plan_id=merging)
    assert (done["deleted rows"], done["inserted rows"], seconds(visits)) == (1, 1, [0, 2, 9])
    snapshot = visits.latest_snapshot()
    event = instance.get_latest_materialization_event(keys.asset_key("shop.visits"))
    assert snapshot is not None
    assert event is not None
    assert event.run_id in str(snapshot.properties), "the commit names the run"
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["snapshot"].value == 4
    assert "failure" not in launch("apply_plan", "plan", plan_id=renaming)
    assert visits.tags.names() == ["older"]
    assert "tag 'old'" in launch("apply_plan", "plan", plan_id=renaming)["failure"]


@pytest.mark.slow
def test_a_statement_is_planned_and_carried_out(launch: Any, visits: CatalogTable) -> None:
    create_tag(visits, "old", snapshot_id=1)
    call = "CALL sys.delete_tag('shop.visits', 'old')"
    dry = launch("statement", "planned_statement", statement=call, dry_run=True)
    assert dry["planned files"] == 1, "the tag's own"
    assert visits.tags.names() == ["old"]
    done = launch("statement", "planned_statement", statement=call)
    assert done["what happened"].startswith("shop.visits: 1 tag deleted (old)")
    assert "result" not in done
    assert visits.tags.names() == []
    deleting = "DELETE FROM shop.visits WHERE seconds % 2 = 0"
    dry = launch("statement", "planned_statement", statement=deleting, dry_run=True)
    assert dry["planned files"] == 2
    assert launch("statement", "planned_statement", statement=deleting)["deleted rows"] == 2
    assert seconds(visits) == [1]
    for statement, actual in (
        ("SELECT 1", "such statements have no plans"),
        ("DELETE FROM shop.nothing", "shop.nothing"),
        ("DROP TABLE shop.visits", "the plan drops shop.visits"),
        ("CALL sys.fsck('shop.visits')", "has no plan"),
    ):
        assert actual in launch("statement", "planned_statement", statement=statement)["failure"]


def test_a_table_is_cloned(project: Project, instance: dg.DagsterInstance, launch: Any, visits: CatalogTable) -> None:
    there = str(Path(project.warehouse).parent / "there")
    Path(there).mkdir()
    chosen = {"database": "shop", "table": "visits", "target_catalog": {"warehouse": there}}
    dry = launch("clone", "copy_to", **chosen, dry_run=True)
    assert (dry["planned files"], open_catalog({"warehouse": there}).list_databases()) == (3, [])
    done = launch("apply_plan", "plan", plan_id=dry["plan id"])
    (row,) = done["what was done"].records
    assert (row.data["target"], row.data["copied files"]) == ("shop.visits", 3)
    copy = open_catalog({"warehouse": there}).get_table("shop.visits")
    assert isinstance(copy, CatalogTable)
    assert seconds(copy) == [0, 1, 2]
    records = instance.fetch_observations(keys.asset_key("shop.visits"), limit=1).records
    observation = records[0].asset_observation
    assert observation is not None
    assert (observation.metadata["copied files"].value, len(str(observation.metadata["digest"].value))) == (3, 64)
    visits.write_arrow(pa.table({"page": ["b"], "seconds": pa.array([7], pa.int32())}))
    whole = {"database": "shop", "target_catalog": {"warehouse": there}}
    assert launch("clone", "copy_to", **whole)["tables"] == 1
    assert seconds(copy) == [0, 1, 2, 7]
    secret = {"warehouse": there, "s3.secret-key": "abc"}
    assert "is a secret" in launch("clone", "copy_to", database="shop", target_catalog=secret)["failure"]


def test_plain_files_become_tables(
    project: Project, instance: dg.DagsterInstance, launch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(project.warehouse).mkdir(exist_ok=True)
    catalog = PlainCatalog.of(Path(project.warehouse))
    monkeypatch.setattr(PaimonCatalog, "open", lambda _: catalog)
    for name in ("a", "b"):
        rows = pa.table({"k": pa.array([1, 2], pa.int64()), "v": ["x", "x"]})
        plain_table(catalog, f"plain.{name}").write_arrow(rows)
    one = {"source_table": "plain.a", "target_table": "plain.new"}
    dry = launch("migrate_table", "plain_table", **one, dry_run=True)
    assert dry["planned files"] == 1
    assert catalog.list_tables("plain") == ["a", "b"]
    done = launch("apply_plan", "plan", plan_id=dry["plan id"])
    assert [row.data["target"] for row in done["what was done"].records] == ["plain.new"]
    event = instance.get_latest_materialization_event(keys.asset_key("plain.new"))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["rows"].value == 2
    both = {"source_database": "plain", "excluded_tables": ["new"], "delete_origin": True, "into_bin": True}
    dry = launch("migrate_database", "plain_tables", **both, dry_run=True)
    assert dry["planned files"] == 4, "two that become data files, and go then"
    assert launch("migrate_database", "plain_tables", **both)["tables"] == 2
    new = catalog.get_table("plain.b")
    assert isinstance(new, Table)
    assert new.to_arrow().num_rows == 2
    assert (Path(project.warehouse) / "_maintenance/bin").is_dir()
