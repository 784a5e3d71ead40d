"""Sorting by ranges and distributing waiting rows in Spark's tasks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from maintenance.operations.compaction.compact import compact
from tests.tables import create_table, data_files, files_on_disk, keyed, live, live_files, state


def test_ranges_are_sorted_side_by_side(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT"), ("b", "DOUBLE")], (), {"target-file-size": "8 kb"})
    numbers = np.random.default_rng(1).permutation(3000).astype(np.int32)
    for part in np.split(numbers, 3):
        table.write_arrow(pa.table({"a": part, "b": part / 7}))
    lines: list[str] = []
    report = compact(spark, table, order_strategy="order", order_by=["a"], progress=lines.append)
    assert any("cut into" in line for line in lines)
    assert len(report.snapshot_ids) == 1
    assert sorted(table.to_arrow().column("a").to_pylist()) == list(range(3000))
    assert len(live_files(table)) == 2, "one for each range"
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize(("strategy", "by"), [("order", ["c", "b"]), ("zorder", ["b", "c"]), ("hilbert", ["b", "a"])])
def test_tasks_and_threads_sort_alike(spark: SparkSession, tmp_path: Path, strategy: str, by: list[str]) -> None:
    collected = []
    for session in (spark, None):
        fields = [("a", "INT"), ("b", "DOUBLE"), ("c", "STRING")]
        table = create_table(tmp_path / str(session is None), fields, (), {"target-file-size": "8 kb"})
        random = np.random.default_rng(5)
        for part in range(3):
            numbers = random.permutation(1000)
            values = np.where(numbers % 5, numbers / 7, np.nan)
            texts = [f"{number % 90}" for number in numbers.tolist()]
            made = {
                "a": pa.array(numbers, pa.int32(), mask=numbers % 11 == part),
                "b": pa.array(values, mask=numbers % 13 == 0),
                "c": pa.array(texts, mask=numbers % 7 == 0),
            }
            table.write_arrow(pa.table(made))
        assert compact(session, table, order_strategy=strategy, order_by=by).proof["rows written"] == 3000
        files = [pq.read_table(next(Path(table.location).rglob(file.file_name))) for file in live_files(table)]
        collected.append(sorted(repr(file.to_pylist()) for file in files))
    assert len(collected[0]) > 2
    assert collected[0] == collected[1]


def test_rows_that_are_alike_keep_their_order(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT"), ("b", "INT")], (), {"target-file-size": "4 kb"})
    for part in range(4):
        numbers = np.arange(part * 1000, part * 1000 + 1000, dtype=np.int32)
        table.write_arrow(pa.table({"a": numbers % 7, "b": numbers}))
    assert not compact(spark, table, order_strategy="order", order_by=["a"]).failed
    files = [pq.read_table(next(tmp_path.rglob(file.file_name))) for file in live_files(table)]
    assert len(files) > 2
    for file in files:
        pairs = list(zip(file.column("a").to_pylist(), file.column("b").to_pylist(), strict=True))
        assert pairs == sorted(pairs)
    assert sorted(table.to_arrow().column("b").to_pylist()) == list(range(4000))


def test_a_damaged_file_fails_its_partition_alone(spark: SparkSession, tmp_path: Path) -> None:
    fields = [("p", "STRING"), ("a", "INT"), ("b", "BIGINT")]
    table = create_table(tmp_path, fields, (), {"target-file-size": "4 kb"}, partition_keys=["p"])
    numbers = np.arange(2000)
    for part in "xyxy":
        table.write_arrow(pa.table({"p": [part] * 2000, "a": numbers.astype(np.int32), "b": numbers}))
    damaged = next(entry for entry in live(table) if "x" in table.paths.spec_of(entry.partition).values())
    path = Path(table.paths.data_file(damaged.partition, damaged.bucket, damaged.file))
    content = path.read_bytes()
    # The column of the order can be read, so that the sample does not notice.
    start = pq.ParquetFile(path).metadata.row_group(0).column(2).data_page_offset
    path.write_bytes(content[:start] + b"\xff" * 40 + content[start + 40 :])
    report = compact(spark, table, order_strategy="order", order_by=["a"])
    assert (len(report.failed), report.count("committed")) == (1, 1), report.groups
    path.write_bytes(content)
    assert table.to_arrow().num_rows == 8000
    assert files_on_disk(table) == data_files(table)


def test_waiting_rows_are_distributed(spark: SparkSession, tmp_path: Path) -> None:
    options = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "2"}
    table = create_table(tmp_path, options=options)
    for turn in range(2):
        table.write_arrow(keyed(dict.fromkeys(range(turn, 9), str(turn))))
    assert not compact(spark, table, full=True).failed
    assert state(table) == {i: str(min(i, 1)) for i in range(9)}
    assert {entry.bucket for entry in live(table)} == {0, 1}
