"""`python -m tests.crash.stream <where> <folder>…`: one run of a pipeline, killed at a place of its second batch.

Places: ``files`` when the data files are written, ``commit`` right before the snapshot is published, ``hint`` right
after, ``checkpoint`` when the batch is committed and Spark has not noted it yet; ``never`` for runs to the end, of one
pipeline in each folder.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.connector.data_source import register
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.ingestion.stream_sink import MicroBatch, Sink, start_stream
from maintenance.spark.session import get_session
from maintenance.table.table import Table
from tests.small_tables import put, small_table, table_in

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def source_of(folder: Path) -> Path:
    return folder / "source"


def copy_of(folder: Path) -> Path:
    return folder / "copy"


def prepare(folder: Path) -> None:
    """Three commits to read, each a batch; rows are summed up, so that a batch written twice shows."""
    source = small_table(source_of(folder), {"bucket": "1"})
    for i in range(1, 4):
        put(source, {1: "x", i: "y"})
    small_table(copy_of(folder), {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"})


def run(spark: SparkSession, folder: Path, where: str) -> None:
    """One run. The kill waits for the second batch of the pipeline."""
    source = table_in(source_of(folder))
    reader = spark.readStream.format("paimon").option("scan.snapshot-id", "1")
    frame = reader.option("read.stream.maxFilesPerTrigger", "1").load(source.location)

    def open_table() -> CatalogTable:
        table = table_in(copy_of(folder))
        if table.snapshots.latest_id() == 1:
            _arm(copy_of(folder), where)
        return table

    def write(session: SparkSession, table: Table, batch: MicroBatch) -> None:
        report = ingest(session, table, batch.frame, commit_user=batch.commit_user, commit_identifier=batch.number)
        if where == "checkpoint" and report.snapshot_ids == (2,):
            os.kill(os.getpid(), signal.SIGKILL)

    start_stream(spark, frame, open_table, Sink(str(folder / "checkpoint")), write).awaitTermination()


def _arm(folder: Path, where: str) -> None:
    """Die at that place, as the operating system sees it."""
    state = {"published": False}

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        path = str(arguments[1] if event == "os.link" else arguments[0]) if arguments else ""
        if not path.startswith(str(folder)):
            return
        if where == "commit" and event == "os.link" and "/snapshot-" in path:
            os.kill(os.getpid(), signal.SIGKILL)
        if where == "files" and event == "open" and "/manifest/" in path and (arguments[2] or 0) & os.O_CREAT:
            os.kill(os.getpid(), signal.SIGKILL)
        if event == "os.link" and "/snapshot-" in path:
            state["published"] = True
        elif where == "hint" and state["published"] and "LATEST" in path:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(heard)


if __name__ == "__main__":
    session = get_session(master="local[1]", config=SETTINGS)
    register(session)
    for name in sys.argv[2:]:
        run(session, Path(name), sys.argv[1])
    session.stop()
