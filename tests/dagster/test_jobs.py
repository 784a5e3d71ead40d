"""The jobs on a real table: what they do to it, what they record, and how they fail."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.history import estimated_seconds, read_history
from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.table_of_run import failed_tables_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.steps.row_changes import RowChange
from tests.dagster.conftest import definitions_of, land

ORDERS = keys.asset_key("shop.orders")


def orders(project: Project) -> CatalogTable:
    return PaimonCatalog(warehouse=project.warehouse).get_table("shop.orders")


def rows(project: Project) -> list[dict[str, Any]]:
    return sorted(orders(project).to_arrow(columns=["id", "status"]).to_pylist(), key=lambda row: row["id"])


def launch(project: Project, instance: dg.DagsterInstance, job: str, config: dict[str, Any] | None = None) -> Any:
    definition = definitions_of(project).resolve_job_def(job)
    return definition.execute_in_process(run_config=config or {}, instance=instance, raise_on_error=False)


def in_asset(**steps: dict[str, Any]) -> dict[str, Any]:
    return {"ops": {"shop__orders": {"ops": {step: {"config": config} for step, config in steps.items()}}}}


def number(event: dg.EventLogEntry | None, label: str) -> Any:
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization.metadata[label].value


@pytest.fixture
def landed(project: Project) -> Project:
    land(project, 1, 1, [(1, "new", "+I"), (2, "new", "+I")])
    land(project, 2, 2, [(1, "paid", "+U"), (3, "new", "+I")])
    land(project, 3, 1, [(1, "new", "+I"), (2, "new", "+I")])
    land(project, 4, 3, [(2, "new", "-D"), (4, "new", "+I")])
    return project


def test_maintain_takes_a_table_from_landing_to_expiry(landed: Project, instance: dg.DagsterInstance) -> None:
    result = launch(landed, instance, "maintain_shop_orders")
    assert result.success
    assert rows(landed) == [{"id": 1, "status": "paid"}, {"id": 3, "status": "new"}, {"id": 4, "status": "new"}]
    table = orders(landed)
    snapshot = table.snapshots.latest_id()
    event = instance.get_latest_materialization_event(ORDERS)
    assert number(event, "dagster/row_count") == 3
    assert number(event, "snapshot") == snapshot
    assert number(event, "files before") == 3
    assert number(event, "files") == 1
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.tags is not None
    assert event.asset_materialization.tags["dagster/data_version"] == str(table.snapshots.latest_identity())
    done = result.output_for_node("shop__orders.describe").steps
    assert (done["ingest"].facts["committed_batches"], done["ingest"].facts["repeated_batches"]) == (3, 1)
    assert len(table.snapshots.list_ids()) <= 2
    assert list(table.tags.all()) == [f"kept-{done['tag'].facts['snapshot_id']}"]


@pytest.mark.slow
def test_a_second_run_takes_only_what_is_new(landed: Project, instance: dg.DagsterInstance) -> None:
    assert launch(landed, instance, "maintain_shop_orders").success
    before = orders(landed).snapshots.latest_id()
    again = launch(landed, instance, "maintain_shop_orders")
    assert again.output_for_node("shop__orders.ingest").steps["ingest"].facts["committed_batches"] == 0
    assert orders(landed).snapshots.latest_id() == before
    land(landed, 5, 4, [(5, "new", "+I")])
    third = launch(landed, instance, "maintain_shop_orders")
    assert third.output_for_node("shop__orders.ingest").steps["ingest"].facts["committed_batches"] == 1
    assert [row["id"] for row in rows(landed)] == [1, 3, 4, 5]


def test_ingestion_stops_at_its_limit(landed: Project, instance: dg.DagsterInstance) -> None:
    result = launch(landed, instance, "maintain_shop_orders", in_asset(ingest={"limit": 1}))
    assert result.success
    assert rows(landed) == [{"id": 1, "status": "new"}, {"id": 2, "status": "new"}]


@pytest.mark.slow
def test_compaction_reports_to_the_asset(landed: Project, instance: dg.DagsterInstance) -> None:
    assert launch(landed, instance, "maintain_shop_orders").success
    before = instance.get_latest_materialization_event(ORDERS)
    for identifier in (5, 6, 7):
        orders(landed).write_arrow(pa.table({"id": pa.array([identifier], pa.int64()), "status": ["new"]}))
    assert launch(landed, instance, "compact_shop_orders").success
    after = instance.get_latest_materialization_event(ORDERS)
    assert number(after, "snapshot") == orders(landed).snapshots.latest_id() > number(before, "snapshot") + 3
    assert (number(after, "files before"), number(after, "files")) == (4, 1)
    assert number(after, "dagster/row_count") == 6


def test_a_dry_run_lists_and_changes_nothing(landed: Project, instance: dg.DagsterInstance) -> None:
    steps = ("compact", "changelog", "file_index", "expire_snapshots", "expire_tags")
    result = launch(landed, instance, "maintain_shop_orders", in_asset(**{step: {"dry_run": True} for step in steps}))
    assert result.success
    assert orders(landed).snapshots.list_ids() == [1, 2, 3]
    handled = {
        event.step_key: event.event_specific_data.metadata
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT"
    }
    expiry = handled["shop__orders.expire_snapshots"]
    assert expiry["expired (count)"].value == 1
    assert expiry["expired"].value == [1]


def test_a_dry_step_makes_those_behind_it_dry(landed: Project, instance: dg.DagsterInstance) -> None:
    assert launch(landed, instance, "ingest_shop_orders").success
    shown = instance.get_latest_materialization_event(ORDERS)
    done = PaimonCatalog(warehouse=landed.warehouse).get_table("_maintenance.history").to_arrow().num_rows
    config = {"ops": {"compact": {"config": {"full": True, "dry_run": True}}}}
    result = launch(landed, instance, "compact_shop_orders", config)
    assert result.success
    plans = [
        event.step_key
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT" and "plan id" in event.event_specific_data.metadata
    ]
    assert plans == ["compact", "changelog", "file_index"]
    assert orders(landed).snapshots.list_ids() == [1, 2, 3]
    assert instance.get_latest_materialization_event(ORDERS) == shown
    assert PaimonCatalog(warehouse=landed.warehouse).get_table("_maintenance.history").to_arrow().num_rows == done


@pytest.mark.slow
def test_the_expiry_job_serves_every_table(landed: Project, instance: dg.DagsterInstance) -> None:
    assert launch(landed, instance, "maintain_shop_orders", in_asset(expire_snapshots={"dry_run": True})).success
    PaimonCatalog(warehouse=landed.warehouse).get_or_create(landed.tables[1])
    result = launch(landed, instance, "expire_all")
    assert result.success
    assert len(orders(landed).snapshots.list_ids()) == 2
    (observed,) = instance.fetch_observations(ORDERS, limit=10).records
    assert observed.asset_observation is not None
    assert "expire snapshots" in str(observed.asset_observation.metadata["last runs"])
    assert not instance.fetch_observations(keys.asset_key("shop.visits"), limit=10).records, "nothing was to do there"


def test_the_former_expiry_of_all_tables_has_the_steps_of_each(landed: Project, instance: dg.DagsterInstance) -> None:
    assert launch(landed, instance, "maintain_shop_orders").success
    dry = {"ops": {"expire_shop_orders": {"ops": {"tag": {"config": {"dry_run": True}}}}}}
    result = launch(landed, instance, "expire", dry)  # shop.visits was never created
    assert not result.success
    assert "expire_shop_orders.record" in {event.step_key for event in result.get_step_success_events()}
    assert "use expire_all" in str(definitions_of(landed).resolve_job_def("expire").description)


def with_days(project: Project) -> Project:
    """The second table in partitions, which live for a week."""
    days = project.tables[1].model_copy(
        update={
            "columns": {"page": "STRING", "day": "STRING"},
            "partition_keys": ("day",),
            "options": {"bucket": "-1", "partition.expiration-time": "7 d"},
        }
    )
    return project.model_copy(update={"tables": (project.tables[0], days)})


def test_partitions_expire_with_the_others(project: Project, instance: dg.DagsterInstance) -> None:
    project = with_days(project)
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    table.write_arrow(pa.table({"page": ["a", "b"], "day": ["2020-01-01", "2999-01-01"]}))
    dry = {"ops": {"shop__visits": {"ops": {"expire_partitions": {"config": {"dry_run": True}}}}}}
    assert launch(project, instance, "maintain_shop_visits", dry).success
    assert table.snapshots.list_ids() == [1]
    result = launch(project, instance, "maintain_shop_visits")
    assert result.success
    assert result.output_for_node("shop__visits.describe").steps["expire_partitions"].facts["rows"] == 1
    assert table.to_arrow().to_pylist() == [{"page": "b", "day": "2999-01-01"}]
    assert "expire_partitions" in {row["operation"] for row in history(project)}


def test_a_table_that_fails_holds_up_no_other(landed: Project, instance: dg.DagsterInstance) -> None:
    assert launch(landed, instance, "maintain_shop_orders", in_asset(expire_snapshots={"dry_run": True})).success
    result = launch(landed, instance, "expire_all")  # shop.visits was never created
    assert not result.success
    assert failed_tables_of(result.dagster_run) == ("shop.visits",)
    assert len(orders(landed).snapshots.list_ids()) == 2
    (observed,) = instance.fetch_observations(ORDERS, limit=10).records
    assert observed.run_id == result.run_id


def test_a_failure_says_what_where_and_one_next_step(project: Project, instance: dg.DagsterInstance) -> None:
    result = launch(project, instance, "compact_shop_visits")
    failure = result.failure_data_for_node("compact")
    assert failure is not None
    assert failure.user_failure_data is not None
    description = failure.user_failure_data.description
    assert "shop" in description
    assert description.count("Next step: ") == 1
    assert result.retry_attempts_for_node("compact") == 0


def test_a_time_without_an_offset_is_refused(landed: Project, instance: dg.DagsterInstance) -> None:
    config = in_asset(expire_snapshots={"older_than": "2026-01-31T00:00:00"})
    failure = launch(landed, instance, "maintain_shop_orders", config).failure_data_for_node(
        "shop__orders.expire_snapshots"
    )
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "is not a time with an offset" in failure.user_failure_data.description


def history(project: Project) -> list[dict[str, Any]]:
    table = PaimonCatalog(warehouse=project.warehouse).get_table("_maintenance.history")
    return table.to_arrow().sort_by("finished_at").to_pylist()


def test_a_run_can_be_found_from_its_snapshots_and_in_the_history(
    landed: Project, instance: dg.DagsterInstance
) -> None:
    result = launch(landed, instance, "maintain_shop_orders")
    assert result.success
    latest = orders(landed).latest_snapshot()
    assert latest is not None
    assert (latest.properties or {})["paimon-maintenance.run"] == result.run_id
    rows = {row["operation"]: row for row in history(landed)}
    assert rows.keys() == {"ingest", "compact", "changelog", "file_index", "tag", "expire_snapshots", "expire_tags"}
    assert {(row["table_name"], row["run_id"], row["outcome"]) for row in rows.values()} == {
        ("shop.orders", result.run_id, "succeeded")
    }
    merged = rows["compact"] if rows["compact"]["input_bytes"] else rows["changelog"]
    assert (merged["files_before"], merged["files_after"]) == (3, 1)
    assert merged["seconds"] > 0
    catalog = PaimonCatalog(warehouse=landed.warehouse).open()
    past = read_history(catalog, "_maintenance.history", "shop.orders", merged["operation"])
    assert estimated_seconds(past, 2 * merged["input_bytes"]) == pytest.approx(2 * merged["seconds"])


def test_a_failed_step_stands_in_the_history_too(landed: Project, instance: dg.DagsterInstance) -> None:
    config = in_asset(expire_snapshots={"older_than": "2026-01-31T00:00:00"})
    result = launch(landed, instance, "maintain_shop_orders", config)
    (row,) = history(landed)
    assert (row["operation"], row["outcome"], row["run_id"]) == ("expire_snapshots", "failed", result.run_id)
    assert "is not a time with an offset" in row["details"]


def test_a_history_that_cannot_be_written_fails_no_run(landed: Project, instance: dg.DagsterInstance) -> None:
    folder = Path(landed.warehouse) / "_maintenance.db" / "history" / "schema"
    folder.mkdir(parents=True)
    (folder / "schema-0").write_text("{")
    assert launch(landed, instance, "maintain_shop_orders").success


def outputs(result: Any) -> dict[str, Any]:
    return {
        event.step_key: event.event_specific_data.metadata
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT"
    }


def test_a_dry_runs_plan_is_carried_out_or_refused(landed: Project, instance: dg.DagsterInstance) -> None:
    table = PaimonCatalog(warehouse=landed.warehouse).get_or_create(landed.tables[1])

    def visit(pages: int) -> None:
        for page in range(pages):
            table.write_arrow(pa.table({"page": [str(page)], "seconds": pa.array([1], pa.int32())}))

    def compaction(**config: Any) -> Any:
        return launch(landed, instance, "compact_shop_visits", {"ops": {"compact": {"config": config}}})

    visit(5)
    dry = compaction(dry_run=True)
    reported = outputs(dry)["compact"]
    plan_id = reported["plan id"].value
    (row,) = reported["plan"].records
    assert (row.data["files"], row.data["expected files"]) == (5, 1)
    run = instance.get_run_by_id(dry.run_id)
    assert run is not None
    assert run.tags["paimon/plan_id"] == plan_id
    assert table.snapshots.latest_id() == 5
    assert compaction(plan_id=plan_id).success
    assert table.snapshots.latest_id() == 6
    again = compaction(plan_id=plan_id).failure_data_for_node("compact")
    assert again is not None
    assert again.user_failure_data is not None
    assert "5 files no longer in it" in again.user_failure_data.description


def change(**config: Any) -> dict[str, Any]:
    return {"ops": {"row_change": {"config": config}}}


@pytest.mark.slow
def test_rows_are_changed_and_the_asset_shows_what_is_left_of_them(
    project: Project, instance: dg.DagsterInstance
) -> None:
    visits = project.tables[1].model_copy(
        update={"options": {"bucket": "-1", "deletion-vectors.enabled": "true", "compaction.min.file-num": "2"}}
    )
    project = project.model_copy(update={"tables": (project.tables[0], visits)})
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(visits)
    pages = pa.table({"page": ["a", "b", "c", "d"], "seconds": pa.array([1, 2, 3, 4], pa.int32())})
    table.write_arrow(pages)
    key = keys.asset_key("shop.visits")
    update = change(
        table="shop.visits", where="length(page) = 1 AND seconds > 2", assignments={"seconds": "seconds * 2"}
    )
    dry = change(table="shop.visits", where="length(page) = 1 AND seconds > 2", delete=True, dry_run=True)
    counted = launch(project, instance, "change_rows", dry)
    assert counted.output_for_node("row_change") == RowChange(2)
    assert table.snapshots.list_ids() == [1], "it was only counted"
    assert launch(project, instance, "change_rows", update).success
    event = instance.get_latest_materialization_event(key)
    labels = ("files with deletion vectors", "rows deleted by vectors", "records", "files")
    assert [number(event, label) for label in labels] == [1, 2, 6, 2]
    assert number(event, "bytes of deletion vectors") > 0
    assert number(event, "files before") == 1
    assert launch(
        project, instance, "change_rows", change(table="shop.visits", where="page = 'a'", delete=True)
    ).success
    assert number(instance.get_latest_materialization_event(key), "rows deleted by vectors") == 3
    assert launch(project, instance, "compact_shop_visits").success
    event = instance.get_latest_materialization_event(key)
    assert [number(event, label) for label in labels] == [0, 0, 3, 2]
    assert number(event, "bytes of deletion vectors") == 0
    assert sorted(table.to_arrow()["seconds"].to_pylist()) == [2, 6, 8]


def test_a_change_of_rows_says_what_it_lacks(project: Project, instance: dg.DagsterInstance) -> None:
    PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for config, actual in (
        (change(table="shop.nothing", where="true", delete=True), "not one of the tables here"),
        (change(table="shop.visits", where="true"), "neither 'delete' nor 'assignments'"),
        (change(table="shop.visits", where="true", delete=True, assignments={"seconds": "1"}), "both set"),
    ):
        failure = launch(project, instance, "change_rows", config).failure_data_for_node("row_change")
        assert failure is not None
        assert failure.user_failure_data is not None
        assert actual in failure.user_failure_data.description


def test_a_run_fails_if_one_unit_of_a_bucket_did(project: Project, instance: dg.DagsterInstance) -> None:
    """Of an append table a bucket has several units of work; what the others did is committed, and the run is red."""
    catalog = PaimonCatalog(warehouse=project.warehouse)
    catalog.get_or_create(project.tables[1])
    small = [SetOption("target-file-size", "8 kb"), SetOption("compaction.min.file-num", "2")]
    catalog.open().alter_table("shop.visits", small)
    visits = catalog.get_table("shop.visits")
    for turn in range(6):
        pages = [f"page {turn} {number}" for number in range(100)]
        visits.write_arrow(pa.table({"page": pages, "seconds": pa.array([turn] * 100, pa.int32())}))
    snapshot = visits.latest_snapshot()
    assert snapshot is not None
    victim = min(visits.manifests.live_entries(snapshot), key=lambda entry: entry.file.file_size)
    path = Path(visits.paths.data_file(victim.partition, victim.bucket, victim.file))
    path.write_bytes(path.read_bytes()[:100])
    definition = definitions_of(project).resolve_job_def("compact_shop_visits")
    result = definition.execute_in_process(
        run_config={"execution": {"config": {"retries": {"disabled": {}}}}}, instance=instance, raise_on_error=False
    )
    latest = visits.latest_snapshot()
    assert latest is not None
    assert latest.commit_kind == CommitKind.COMPACT, "other units are committed"
    assert not result.success
    failure = result.failure_data_for_node("compact")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert victim.file.file_name in str(failure.user_failure_data.description)
