"""Keys that change their partition, written by Spark tasks: the same as one record after the other."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from tests.models.cross_partition import CrossPartitionModel, Row
from tests.tables import create_table, data_files, files_on_disk

FIELDS = (("k", "INT NOT NULL"), ("p", "STRING"), ("v", "STRING"))


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "first-row"])
def test_moved_keys_are_merged_as_one_record_after_the_other(spark: SparkSession, tmp_path: Path, engine: str) -> None:
    options = {"bucket": "-1", "merge-engine": engine, "dynamic-bucket.target-row-num": "20"}
    table = create_table(tmp_path, FIELDS, ("k",), options, partition_keys=("p",))
    model = CrossPartitionModel(engine)
    for turn in range(3):
        rows: list[Row] = [
            (k % 90, "xyz"[(k // 7 + turn) % 3], f"{turn}/{k}") for k in range(turn * 30, turn * 30 + 120)
        ]
        data = pa.table({name: [row[i] for row in rows] for i, name in enumerate("kpv")})
        # Keys as another type than the table's; in one piece, so that the order of the rows is known.
        frame = spark.createDataFrame(data).coalesce(1)
        ingest(spark, table, frame, commit_user="me", commit_identifier=turn)
        model.write_all(rows)
        read = table.to_arrow(options={"batch-scan-mode": "compact"}).to_pylist()
        assert sorted((row["k"], row["p"], row["v"]) for row in read) == sorted(model.rows.values())
    compact(spark, table, full=True)
    assert sorted((row["k"], row["p"], row["v"]) for row in table.to_arrow().to_pylist()) == sorted(model.rows.values())
    assert files_on_disk(table) == data_files(table)


def test_row_kinds_hold_for_keys_that_move(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("k",), {"bucket": "-1"}, partition_keys=("p",))
    for rows in (
        [(1, "x", "a", "+I"), (2, "x", "a", "+I"), (3, "x", "a", "+I")],
        [(1, "x", "a", "-U"), (1, "y", "b", "+U"), (2, "z", "a", "-D")],
    ):
        frame = spark.createDataFrame(rows, "k int, p string, v string, kind string").coalesce(1)
        ingest(spark, table, frame, commit_user="me", row_kind_column="kind")
    assert sorted(tuple(row.values()) for row in table.to_arrow().to_pylist()) == [(1, "y", "b"), (3, "x", "a")]
