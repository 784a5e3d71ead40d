"""Sorting by ranges and distributing waiting rows in Spark's tasks."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from maintenance.operations.compact import compact
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


def test_waiting_rows_are_distributed(spark: SparkSession, tmp_path: Path) -> None:
    options = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "2"}
    table = create_table(tmp_path, options=options)
    for turn in range(2):
        table.write_arrow(keyed(dict.fromkeys(range(turn, 9), str(turn))))
    assert not compact(spark, table, full=True).failed
    assert state(table) == {i: str(min(i, 1)) for i in range(9)}
    assert {entry.bucket for entry in live(table)} == {0, 1}
