"""Landed micro-batches enter a table once, also after the snapshots that tell of them have expired."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from assets.project.config import Landing, TableConfig
from assets.project.step_config import IngestConfig
from assets.steps.ingestion import LandingReport, ingest_landed
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.small_tables import batch, put, rows, small_table, table_in


def test_deliveries_are_recognized_after_expiry(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    folder = tmp_path / "landing"
    folder.mkdir()
    described = TableConfig(identifier="db.t", landing=Landing(path=str(folder), commit_user="feed"))

    def land(delivery: int, number: int) -> None:
        pq.write_table(batch({number: "feed"}), folder / f"{delivery:05d}-batch-{number:05d}.parquet")

    def run() -> LandingReport:
        return ingest_landed(
            lambda: spark, table_in(tmp_path), described, config=IngestConfig(), progress=lambda _: None
        )

    land(1, 1)
    land(2, 2)
    assert run().committed_batches == 2
    for number in range(3):
        put(table, {100 + number: "other"})
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert run().committed_batches == 0
    land(3, 3)
    land(4, 2)
    report = run()
    assert (report.committed_batches, report.repeated_batches) == (1, 1)
    assert [row for row in rows(table) if row[1] == "feed"] == [(1, "feed"), (2, "feed"), (3, "feed")]
