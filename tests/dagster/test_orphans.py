"""Orphan files and the bin in Dagster: the step behind the expiry, its plan, and the jobs that restore and empty."""

import os
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations import compact, create_branch, create_tag, reset_consumer
from maintenance.operations.bin.run import list_runs
from maintenance.project.config import Project
from maintenance.project.policies import BinPolicy, ChecksPolicy, OrphansPolicy
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of

OLD = 1_577_836_800
LISTED = ("bucket-0", "manifest")
STEP = "remove_orphan_files"


@pytest.fixture
def kept(project: Project) -> Project:
    """The table of visits with both policies."""
    orders, visits = project.tables
    visits = visits.model_copy(update={"orphans": OrphansPolicy(), "bin": BinPolicy(window="3 d")})
    return project.model_copy(update={"tables": (orders, visits)})


@pytest.fixture
def table(kept: Project) -> CatalogTable:
    created = PaimonCatalog(warehouse=kept.warehouse).get_or_create(kept.tables[1])
    created.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    return created


@pytest.fixture
def stray(table: CatalogTable) -> Path:
    path = Path(table.location) / "bucket-0" / "data-x-0.parquet"
    path.write_bytes(b"stray")
    os.utime(path, (OLD, OLD))
    return path


def run(project: Project, instance: dg.DagsterInstance, job: str, ops: dict[str, Any]) -> dg.ExecuteInProcessResult:
    definition = definitions_of(project).resolve_job_def(job)
    config = {"ops": {op: {"config": values} for op, values in ops.items()}}
    return definition.execute_in_process(run_config=config, instance=instance, raise_on_error=False)


def expire(project: Project, instance: dg.DagsterInstance, **config: Any) -> dg.ExecuteInProcessResult:
    return run(project, instance, "expire_shop_visits", {STEP: config})


def reported(result: dg.ExecuteInProcessResult, op: str) -> dict[str, Any]:
    assert result.success
    (event,) = [e for e in result.get_step_success_events() if str(e.step_key).endswith(op)]
    outputs = [e for e in result.all_node_events if e.is_successful_output and e.step_key == event.step_key]
    return {name: value.value for name, value in outputs[0].step_output_data.metadata.items()}


def test_the_step_stands_behind_the_expiry_of_tables_with_the_policy(project: Project, kept: Project) -> None:
    def steps(of: Project) -> list[str]:
        graph = definitions_of(of).resolve_job_def("expire_shop_visits").graph
        return [node.name for node in graph.nodes_in_topological_order]

    assert STEP not in steps(project)
    assert steps(kept) == ["tag", "expire_snapshots", "expire_tags", STEP, "record"]


@pytest.mark.slow
def test_a_dry_run_keeps_a_plan_and_what_it_says_goes_into_the_bin_and_comes_back(
    kept: Project, instance: dg.DagsterInstance, table: CatalogTable, stray: Path
) -> None:
    shown = reported(expire(kept, instance, dry_run=True), STEP)
    assert shown["planned files"] == 1
    assert shown["plan"].records[0].data["group"] == str(stray)
    assert stray.exists()
    done = run(kept, instance, "apply_plan", {"plan": {"plan_id": shown["plan id"]}})
    assert done.success
    assert not stray.exists()
    (name,) = list_runs(table.file_io, kept.warehouse)
    chosen = {"table": "shop.visits", "run": name}
    assert run(kept, instance, "restore_from_bin", {"from_bin": {**chosen, "dry_run": True}}).success
    assert not stray.exists()
    assert run(kept, instance, "restore_from_bin", {"from_bin": chosen}).success
    assert stray.read_bytes() == b"stray"


def test_a_minimum_age_that_is_set_for_a_run_counts_instead_of_the_policys(
    kept: Project, instance: dg.DagsterInstance, stray: Path
) -> None:
    skipped = reported(expire(kept, instance, minimum_age="36500 d"), STEP)
    assert stray.exists()
    assert skipped["deleted files"] == 0


def test_a_plan_of_a_step_is_carried_out_into_the_bin_where_that_is_asked_for(
    kept: Project, instance: dg.DagsterInstance, table: CatalogTable, stray: Path
) -> None:
    orders, visits = kept.tables
    without = kept.model_copy(update={"tables": (orders, visits.model_copy(update={"bin": None}))})
    planned = reported(expire(without, instance, dry_run=True), STEP)["plan id"]
    assert run(without, instance, "apply_plan", {"plan": {"plan_id": planned, "into_bin": True}}).success
    assert not stray.exists()
    assert len(list_runs(table.file_io, kept.warehouse)) == 1


def test_the_bin_is_emptied_by_the_policies_or_as_asked_for(
    kept: Project, instance: dg.DagsterInstance, table: CatalogTable, stray: Path
) -> None:
    assert reported(expire(kept, instance), STEP)["deleted files"] == 1
    assert not stray.exists()
    assert run(kept, instance, "empty_bin", {"bin": {}}).success
    assert len(list_runs(table.file_io, kept.warehouse)) == 1
    assert run(kept, instance, "empty_bin", {"bin": {"window": "0 s", "dry_run": True}}).success
    assert len(list_runs(table.file_io, kept.warehouse)) == 1
    assert run(kept, instance, "empty_bin", {"bin": {"window": "0 s"}}).success
    assert list_runs(table.file_io, kept.warehouse) == []


def counted(project: Project, instance: dg.DagsterInstance) -> Any:
    job = definitions_of(project).resolve_job_def("fsck_shop_visits")
    result = job.execute_in_process(instance=instance, raise_on_error=False)
    assert result.success
    (actual,) = [check for check in result.get_asset_check_evaluations() if check.check_name == "orphan_bytes"]
    return actual


def with_limits(project: Project, **limits: Any) -> Project:
    orders, visits = project.tables
    return project.model_copy(update={"tables": (orders, visits.model_copy(update={"checks": ChecksPolicy(**limits)}))})


def test_the_check_of_orphans_says_how_much_there_is_and_what_removes_it(
    kept: Project, instance: dg.DagsterInstance, table: CatalogTable, stray: Path
) -> None:
    stray.write_bytes(b"x" * 10_000)
    os.utime(stray, (OLD, OLD))
    actual = counted(kept, instance)
    assert (actual.passed, actual.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "9.8 KiB in 1 file that nothing names" in actual.description
    assert "expire_shop_visits, whose step remove_orphan_files" in actual.metadata["next step"].value
    assert (actual.metadata["files"].value, actual.metadata["bytes"].value) == (1, 10_000)
    in_all = sum(path.stat().st_size for path in Path(table.location).rglob("*") if path.parent.name in LISTED)
    assert actual.metadata["bytes looked at"].value == in_all
    assert actual.metadata["share"].value == round(10_000 / in_all, 4)
    (row,) = actual.metadata["largest"].records
    assert row.data["path"] == str(stray)
    assert counted(with_limits(kept, max_orphan_share=1), instance).passed
    few = counted(with_limits(kept, max_orphan_share=1, max_orphan_bytes=9_999), instance)
    assert "more than max_orphan_bytes, 9.8 KiB" in few.description
    assert run(kept, instance, "expire_shop_visits", {}).success
    assert "no orphan files" in counted(kept, instance).description


def test_the_check_of_orphans_counts_by_the_age_of_the_policy(
    kept: Project, instance: dg.DagsterInstance, stray: Path
) -> None:
    os.utime(stray)
    assert counted(kept, instance).metadata["files"].value == 0
    orders, visits = kept.tables
    young = visits.model_copy(update={"orphans": OrphansPolicy(minimum_age="0 s")})
    assert counted(kept.model_copy(update={"tables": (orders, young)}), instance).metadata["files"].value == 1


def test_without_a_policy_the_check_of_orphans_says_how_to_get_one(
    project: Project, instance: dg.DagsterInstance, stray: Path
) -> None:
    actual = counted(with_limits(project, max_orphan_share=0), instance)
    assert stray.exists()
    assert not actual.passed
    assert "policy 'orphans'" in actual.metadata["next step"].value


def test_the_check_of_orphans_of_a_damaged_table_says_that_nobody_can_tell(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    next(Path(table.location).glob("manifest/manifest-list-*-1")).unlink()
    actual = counted(project, instance)
    assert not actual.passed
    assert "the table is damaged" in actual.description
    assert "fsck" in actual.metadata["next step"].value


def test_a_table_without_commits_has_no_orphans(project: Project, instance: dg.DagsterInstance) -> None:
    PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    assert counted(project, instance).passed


def held_rows(metadata: dict[str, Any]) -> dict[str, Any]:
    return {row.data["holder"].partition(" (")[0]: row.data for row in metadata["who holds the bytes"].records}


def latest(table: CatalogTable) -> Snapshot:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def number(value: dg.MetadataValue) -> int:
    assert isinstance(value.value, int)
    return value.value


def test_the_page_and_the_expiry_say_who_holds_the_bytes(
    kept: Project, instance: dg.DagsterInstance, table: CatalogTable, stray: Path
) -> None:
    stray.write_bytes(b"x" * 10_000)
    os.utime(stray, (OLD, OLD))
    create_tag(table, "month")
    create_branch(table, "trial", snapshot_id=1)
    for name in ("b", "c"):
        table.write_arrow(pa.table({"page": [name], "seconds": pa.array([1], pa.int32())}))
    compact(None, table, full=True)
    reset_consumer(table, "reader", 1)
    counted(kept, instance)
    shown = reported(run(kept, instance, "expire_shop_visits", {"expire_snapshots": {}}), "expire_snapshots")
    assert list(held_rows(shown))[:2] == ["live data", "older snapshots"]
    event = instance.get_latest_materialization_event(dg.AssetKey(["shop", "visits"]))
    assert event is not None
    assert event.asset_materialization is not None
    page = event.asset_materialization.metadata
    rows = held_rows({name: value.value for name, value in page.items()})
    assert {"live data", "older snapshots", "tag month", "branch trial", "consumer reader", "bin", "nothing"} <= set(
        rows
    )
    assert rows["nothing"]["needs"] == "9.8 KiB"
    assert rows["bin"]["needs"] == "9.8 KiB", "the step behind the expiry has moved the orphan there"
    live = sum(entry.file.file_size for entry in table.manifests.live_entries(latest(table)))
    assert page["bytes of live data"].value == live
    data = sum(path.stat().st_size for path in Path(table.location).glob("bucket-0/data-*"))
    kinds = ("live data", "older snapshots", "tags", "branches", "changelog")
    assert sum(number(page[f"bytes of {kind}"]) for kind in kinds) == data
    assert (page["bytes of the bin"].value, page["bytes of orphans"].value) == (10_000, 10_000)
    assert number(page["bytes that tag month needs"]) < data
