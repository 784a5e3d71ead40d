"""Sorted append tables: real Paimon reads and continues them, with every type of column to sort by."""

from pathlib import Path

import pytest

from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches
from tests.java.samples import COLUMNS, SAMPLES, table_of


@pytest.mark.parametrize("strategy", ["order", "zorder", "hilbert"])
def test_java_reads_what_was_sorted(java: JavaProcess, tmp_path: Path, strategy: str) -> None:
    sample = SAMPLES["append"]
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    first, second, third, *_ = batches(sample)
    replay.java_writes(first)
    replay.we_write(second)
    columns = [name for name, _ in COLUMNS if name != "p"]
    report = compact(None, table_of(replay.warehouse), order_strategy=strategy, order_by=columns)
    assert report.count("committed") == len(report.groups) > 0
    replay.check()
    replay.java_writes(third)
    java.compact(replay.warehouse, "db.t")
    replay.check()


def test_keys_sorted_into_new_buckets_are_found_by_java(java: JavaProcess, tmp_path: Path) -> None:
    """Keys that were sorted into new buckets are found there by Java's assigner, and our own."""
    columns = [("k", "INT NOT NULL"), ("x", "INT")]
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "50"}
    java.create_table(str(tmp_path), "db.t", columns, (["k"], []), options)
    java.write_dynamic(str(tmp_path), "db.t", [(k, k * 37 % 101) for k in range(200)], ["+I"] * 200)
    table = table_of(str(tmp_path))
    compact(None, table, order_strategy="order", order_by=["x"])
    java.write_dynamic(str(tmp_path), "db.t", [(k, -k) for k in range(100, 250)], ["+I"] * 150)
    expected = [(k, k * 37 % 101) for k in range(100)] + [(k, -k) for k in range(100, 250)]
    assert sorted(java.rows(str(tmp_path), "db.t")) == expected
    assert sorted(tuple(row.values()) for row in table.to_arrow().to_pylist()) == expected
