"""Landed micro-batches enter a table once, also after the snapshots that tell of them have expired."""

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.ingest_landed import LandingReport, ingest_landed
from maintenance.operations.ingestion.landing import LandingFolder
from tests.small_tables import batch, put, rows, small_table, table_in


def test_deliveries_are_recognized_after_expiry(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    folder = tmp_path / "landing"
    folder.mkdir()
    landing = LandingFolder(str(folder), "feed")

    def land(delivery: int, number: int) -> None:
        pq.write_table(batch({number: "feed"}), folder / f"{delivery:05d}-batch-{number:05d}.parquet")

    def run() -> LandingReport:
        return ingest_landed(lambda: spark, table_in(tmp_path), landing, progress=lambda _: None)

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
