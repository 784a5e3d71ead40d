"""The asset check of a changelog: it passes, and tells what is wrong when it does not."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of


def audit(project: Project, instance: dg.DagsterInstance, config: dict[str, Any] | None = None) -> Any:
    job = definitions_of(project).resolve_job_def("audit_shop_orders")
    run_config = {"ops": {"shop__orders_changelog_holds": {"config": config}}} if config else {}
    return job.execute_in_process(run_config=run_config, instance=instance, raise_on_error=False)


def evaluation(result: Any) -> Any:
    (actual,) = result.get_asset_check_evaluations()
    return actual


def test_the_changelog_is_checked(project: Project, instance: dg.DagsterInstance) -> None:
    catalog = PaimonCatalog(warehouse=project.warehouse)
    table = catalog.get_or_create(project.tables[0])

    def put(status: str) -> None:
        rows = pa.table({"id": pa.array([1, 2], pa.int64()), "status": [status, "same"]})
        table.write_arrow(rows)
        produce_changelog(None, table)

    for status in ("new", "paid"):
        put(status)
    result = audit(project, instance)
    assert result.success
    actual = evaluation(result)
    assert actual.passed
    assert actual.check_name == "changelog_holds"
    assert actual.metadata["kind"].value == "complete"
    # Without the changelog file of the last changes nobody can read them.
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.manifests.changelog_entries(snapshot)
    Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)).unlink()
    assert not audit(project, instance).success
    assert evaluation(audit(project, instance, {"start": 0, "end": 2})).passed


def examine(project: Project, instance: dg.DagsterInstance, *, deep: bool = False) -> Any:
    job = definitions_of(project).resolve_job_def("fsck_shop_visits")
    config = {"ops": {"shop__visits_fsck": {"config": {"deep": deep}}}}
    result = job.execute_in_process(run_config=config, instance=instance, raise_on_error=False)
    return result, [actual for actual in result.get_asset_check_evaluations() if actual.check_name == "fsck"]


def test_a_whole_table_passes_and_a_damaged_one_is_told(project: Project, instance: dg.DagsterInstance) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for page in ("a", "b"):
        table.write_arrow(pa.table({"page": [page], "seconds": pa.array([1], pa.int32())}))
    _, (actual,) = examine(project, instance)
    assert actual.passed
    assert actual.metadata["data files"].value == 2
    (Path(table.location) / "snapshot" / "EARLIEST").write_text("?")
    _, (actual,) = examine(project, instance)
    assert actual.passed
    assert "Harmless findings: 1" in actual.description
    (row,) = actual.metadata["harmless findings"].records
    assert row.data["kind"] == "hint"
    file = next(Path(table.location).glob("bucket-0/data-*"))
    file.unlink()
    _, (actual,) = examine(project, instance)
    assert not actual.passed
    assert actual.severity == dg.AssetCheckSeverity.ERROR
    assert file.name in actual.description
    (row, *_) = actual.metadata["table of faults"].records
    assert row.data["kind"] == "missing"
    for schema in (Path(table.location) / "schema").iterdir():
        schema.write_text("{")
    result, (actual,) = examine(project, instance)
    assert result.success, "a table that cannot be opened is examined all the same"
    assert not actual.passed


def test_a_deep_examination_reads_the_files(project: Project, instance: dg.DagsterInstance) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    _, (actual,) = examine(project, instance, deep=True)
    assert actual.metadata["data files read"].value == 1
