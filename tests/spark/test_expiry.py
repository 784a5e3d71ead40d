"""Expiry in Spark's tasks does what it does in one process."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, PaimonError
from maintenance.metadata import file_sizes, holders
from maintenance.metadata.shares import Amount
from maintenance.operations import (
    compact,
    create_tag,
    delete_tag,
    expire_partitions,
    expire_snapshots,
    expire_tags,
    remove_orphan_files,
)
from maintenance.operations.expiry import expire_partitions as partitions
from maintenance.operations.expiry import removal, survey
from tests.models.reachable import files_on_disk
from tests.small_tables import put, rows, rows_of_tag, small_table, table_in

LATER = datetime.now(UTC) + timedelta(days=400)


@pytest.fixture
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of anything are shared out, one to a task."""
    little = Amount("things", 2, 1)
    for module, name in (
        (survey, "STATES"),
        (holders, "STATES"),
        (holders, "MANIFEST_BYTES"),
        (partitions, "MANIFEST_BYTES"),
        (file_sizes, "FILES"),
        (removal, "FILES"),
    ):
        monkeypatch.setattr(module, name, little)


def history(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    """Nine snapshots, of which two have tags."""
    table = small_table(folder, options or {})
    for number in range(6):
        put(table, {number: f"{number}", 1: "again"})
        if number % 2:
            compact(None, table, full=True)
    create_tag(table, "third", snapshot_id=3, time_retained=timedelta(days=1))
    create_tag(table, "sixth", snapshot_id=6)
    return table


def _of_gone_snapshots(table: CatalogTable) -> CatalogTable:
    """A tag whose snapshot is still there holds nothing alone."""
    expire_snapshots(table, retain_min=1, retain_max=1)
    return table


@pytest.mark.usefixtures("little_is_enough")
@pytest.mark.parametrize(
    "expire",
    [
        lambda table, spark: expire_snapshots(table, retain_min=1, retain_max=1, spark=spark),
        lambda table, spark: expire_snapshots(table, retain_min=3, retain_max=3, dry_run=True, spark=spark),
        lambda table, spark: expire_tags(_of_gone_snapshots(table), now=LATER, spark=spark),
        lambda table, spark: delete_tag(_of_gone_snapshots(table), "third", "sixth", spark=spark),
    ],
)
@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}, {"changelog-producer": "input"}])
def test_in_tasks_the_same_goes_and_stays(
    spark: SparkSession, tmp_path: Path, expire: Callable[[CatalogTable, Any], Any], options: dict[str, str]
) -> None:
    here = history(tmp_path / "here", options)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    there = table_in(tmp_path / "there")
    alone, shared = expire(here, None), expire(there, spark)
    assert alone.spark_tasks == 0
    assert shared.spark_tasks > 2
    assert shared.expired == alone.expired
    moved = {path.replace(str(tmp_path / "here"), str(tmp_path / "there")) for path in alone.deleted_files}
    assert set(shared.deleted_files) == moved
    assert shared.deleted_bytes == alone.deleted_bytes
    assert {Path(path).relative_to(there.location) for path in files_on_disk(there)} == {
        Path(path).relative_to(here.location) for path in files_on_disk(here)
    }
    assert rows(there) == rows(here)
    for name in there.tags.names():
        assert rows_of_tag(there, name) == rows_of_tag(here, name)


@pytest.mark.usefixtures("little_is_enough")
def test_partitions_are_looked_for_in_tasks(spark: SparkSession, tmp_path: Path) -> None:
    options = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyyMMdd"}
    reports = {}
    for name, source in (("here", None), ("there", spark)):
        table = small_table(tmp_path / name, options, primary_key=False, partition_keys=["v"])
        for day in ("20260101", "20260102", "29990101", "no day"):
            put(table, {1: day, 2: day})
        reports[name] = expire_partitions(table, spark=source)
        assert {value for _, value in rows(table)} == {"29990101", "no day"}
    assert reports["here"].spark_tasks == 0
    assert reports["there"].spark_tasks == 4
    assert reports["there"].expired == reports["here"].expired
    assert reports["there"].files == reports["here"].files == 2


def test_spark_is_not_asked_for_where_there_is_little_to_do(tmp_path: Path) -> None:
    def never() -> SparkSession:
        raise AssertionError("there is nothing worth a session")

    table = history(tmp_path)
    create_tag(table, "now", spark=never)
    assert expire_tags(table, now=LATER, spark=never).expired == ("third",)
    report = expire_snapshots(table, retain_min=1, retain_max=1, spark=never)
    assert len(report.expired) == 8
    assert report.spark_tasks == 0
    assert remove_orphan_files(never, table, now=LATER).spark_tasks == 0


@pytest.mark.usefixtures("little_is_enough")
def test_damage_found_in_a_task_stops_everything(spark: SparkSession, tmp_path: Path) -> None:
    table = history(tmp_path)
    latest = table.latest_snapshot()
    assert latest is not None
    Path(table.paths.manifest(table.manifests.data_manifests(latest)[0].file_name)).write_bytes(b"Obj\x01cut")
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError):
        expire_snapshots(table, retain_min=1, retain_max=1, spark=spark)
    assert files_on_disk(table) == before


@pytest.mark.usefixtures("little_is_enough")
def test_what_tasks_could_not_delete_goes_the_next_time(spark: SparkSession, tmp_path: Path) -> None:
    table = history(tmp_path)
    planned = expire_snapshots(table, retain_min=1, retain_max=1, dry_run=True)
    stuck = next(path for path in planned.deleted_files if path.endswith(".parquet"))
    blocked = Path(stuck)
    content = blocked.read_bytes()

    def block(line: str) -> None:
        """A folder, which cannot be deleted as a file is, takes the file's place just before the deletion."""
        if ": deleting" in line:
            blocked.unlink()
            blocked.mkdir()

    with pytest.raises(PaimonError):
        expire_snapshots(table, retain_min=1, retain_max=1, spark=spark, progress=block)
    blocked.rmdir()
    blocked.write_bytes(content)
    report = expire_snapshots(table, retain_min=1, retain_max=1, spark=spark)
    assert any("interrupted" in note for note in report.notes)
    assert not blocked.exists()
    assert len(table.snapshots.list_ids()) == 1
