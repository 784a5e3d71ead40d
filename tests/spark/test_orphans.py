"""Orphan files are found and removed in Spark's tasks as in one process."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.errors import CorruptFileError
from maintenance.operations import compact, create_tag, expire_snapshots, remove_orphan_files
from tests.models.reachable import files_on_disk
from tests.small_tables import put, rows, rows_of_tag, small_table

LATER = datetime.now(UTC) + timedelta(days=2)


def test_in_tasks_the_same_goes_and_stays(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path, {"changelog-producer": "full-compaction"})
    for i in range(3):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    create_tag(table, "kept", snapshot_id=2)
    expire_snapshots(table, retain_min=1, retain_max=1)
    before, expected = files_on_disk(table), (rows(table), rows_of_tag(table, "kept"))
    strays = [Path(table.location) / f"bucket-{i % 2}" / f"data-x-{i}.parquet" for i in range(20)]
    for path in strays:
        path.write_text("stray")
    dry = remove_orphan_files(None, table, now=LATER, dry_run=True)
    report = remove_orphan_files(spark, table, now=LATER, parallelism=2)
    assert (
        {orphan.path for orphan in report.orphans} == {orphan.path for orphan in dry.orphans} == set(map(str, strays))
    )
    assert files_on_disk(table) == before
    assert (rows(table), rows_of_tag(table, "kept")) == expected


def test_damage_found_in_a_task_stops_everything(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (meta,) = table.manifests.data_manifests(snapshot)
    Path(table.paths.manifest(meta.file_name)).unlink()
    stray = Path(table.location) / "manifest" / "manifest-x-0"
    stray.write_text("stray")
    with pytest.raises(CorruptFileError, match="nothing is deleted"):
        remove_orphan_files(spark, table, now=LATER, parallelism=2)
    assert stray.exists()
