"""Operations in Spark's tasks do what they do in this process."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable, SetOption
from maintenance.compaction import key_ranges
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.spark.tasks import slots
from tests.tables import create_table, get_table, keyed, live, open_warehouse, state


def filled(tmp_path: Path, name: str, **options: str) -> CatalogTable:
    table = create_table(tmp_path, options={"bucket": "2", **options}, name=name)
    for i in range(6):
        table.write_arrow(keyed({key: f"{i}/{key}" for key in range(i, 40)}))
    table.write_arrow(keyed(dict.fromkeys(range(30, 35))), ["-D"] * 5)
    return table


def layout(table: CatalogTable) -> list[tuple[int, int, int, int, int | None]]:
    return sorted(
        (e.bucket, e.file.level, e.file.row_count, e.file.file_size, e.file.delete_row_count) for e in live(table)
    )


def outcomes(report: CompactReport) -> list[tuple[object, ...]]:
    return [(g.bucket, g.outcome, g.input_files, g.output_files, g.input_rows, g.output_rows) for g in report.groups]


def test_a_compaction_by_tasks_leaves_the_same_files_and_rows(spark: SparkSession, tmp_path: Path) -> None:
    here, there = filled(tmp_path, "db.here"), filled(tmp_path, "db.there")
    assert outcomes(compact(None, here)) == outcomes(compact(spark, there))
    assert layout(here) == layout(there)
    assert state(here) == state(there) == {k: f"{min(k, 5)}/{k}" for k in range(40) if not 30 <= k < 35}


def test_a_large_bucket_is_shared_by_as_many_tasks_as_run_at_a_time(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_ranges, "_TASK_BYTES", 1)
    here, there = (filled(tmp_path, f"db.{name}", bucket="1") for name in ("here", "there"))
    lines: list[str] = []
    (whole,), (shared,) = (
        compact(session, t, progress=lines.append).groups for session, t in ((None, here), (spark, there))
    )
    assert (whole.tasks, shared.tasks) == (slots(None), slots(spark))
    assert state(here) == state(there) == {k: f"{min(k, 5)}/{k}" for k in range(40) if not 30 <= k < 35}
    assert "bucket 0 is cut by its keys into 2 tasks, which run side by side" in lines


def test_a_changelog_by_tasks_has_as_many_rows_of_each_kind(spark: SparkSession, tmp_path: Path) -> None:
    option = {"changelog-producer": "full-compaction"}
    reports = [
        produce_changelog(session, filled(tmp_path, name, **option))
        for session, name in ((None, "db.here"), (spark, "db.there"))
    ]
    assert reports[0].changelog_rows == reports[1].changelog_rows == {"+I": 35, "-U": 0, "+U": 0, "-D": 0}


def test_small_files_of_an_append_table_become_one_in_order(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, [("id", "INT"), ("v", "STRING")], ())
    for i in range(6):
        table.write_arrow(keyed({i: str(i)}))
    assert outcomes(compact(spark, table)) == [(0, "committed", 6, 1, 6, 6)]
    assert table.to_arrow().column("id").to_pylist() == list(range(6))


def test_file_indexes_are_written_by_tasks_and_only_once(spark: SparkSession, tmp_path: Path) -> None:
    table = filled(tmp_path, "db.t")
    expected = state(table)
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("file-index.bloom-filter.columns", "v")])
    table = get_table(tmp_path)
    report = rewrite_file_index(spark, table)
    assert report.written_files == len(live(table))
    assert rewrite_file_index(spark, table).snapshot_ids == ()
    assert state(table) == expected


def test_a_task_that_fails_is_a_group_that_failed(spark: SparkSession, tmp_path: Path) -> None:
    table = filled(tmp_path, "db.t")
    entry = next(e for e in live(table) if e.bucket == 0)
    Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)).write_bytes(b"damaged")
    report = compact(spark, table, full=True)
    assert [g.outcome for g in report.groups] == ["failed", "committed"]
    assert "found 7" in report.failed[0].message
    assert len(report.snapshot_ids) == 1
