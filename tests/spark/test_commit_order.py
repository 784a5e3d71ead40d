"""What Spark writes is newer than what others committed while its tasks ran."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.connector.data_source import register
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.ingestion.ingest_stream import ingest_stream
from maintenance.operations.ingestion.stream_sink import Sink
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, state

RIVAL = {**dict.fromkeys(range(100, 140), "rival"), 1: "rival", 2: "rival"}


def first_of_all(path: str) -> bool:
    """Whether no other task has asked before."""
    try:
        Path(path).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def overtaken(warehouse: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: another writer commits, once, while the rows are on their way."""
    path, done = str(warehouse), str(warehouse / "rival")
    rival = {"id": list(RIVAL), "v": list(RIVAL.values())}

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows and first_of_all(done):
                table: Any = open_catalog({"warehouse": path}).get_table("db.t")
                given = pa.table({"id": pa.array(rival["id"], pa.int32()), "v": rival["v"]})
                table.write_arrow(given, commit_user="rival")
            yield batch

    return rows


def check(table: CatalogTable, mine: dict[int, str]) -> None:
    users = [snapshot.commit_user for snapshot in table.snapshots.newest_first()]
    assert len(users) == 3
    assert users[1] == "rival"
    expected = {0: "old", **RIVAL, **mine}
    assert state(table) == expected
    assert files_on_disk(table) == data_files(table)
    compact(None, table, full=True)
    assert state(table) == expected


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path, options={"bucket": "2"})
    table.write_arrow(keyed({0: "old", 1: "old", 2: "old", 3: "old"}))
    return table


def frame_of(spark: SparkSession, warehouse: Path) -> DataFrame:
    frame = spark.range(1, 5, 1, 2).selectExpr("cast(id as int) as id", "concat('m', id) as v")
    return frame.mapInArrow(overtaken(warehouse), frame.schema)


MINE = {1: "m1", 2: "m2", 3: "m3", 4: "m4"}


@pytest.mark.slow
def test_a_batch_of_many_tasks(spark: SparkSession, tmp_path: Path, table: CatalogTable) -> None:
    report = ingest(spark, table, frame_of(spark, tmp_path), commit_user="me", commit_identifier=1)
    assert report.row_count == 4
    check(table, MINE)


@pytest.mark.slow
def test_the_data_source_and_its_lanes(spark: SparkSession, tmp_path: Path, table: CatalogTable) -> None:
    register(spark)
    frame_of(spark, tmp_path).write.format("paimon").mode("append").save(table.location)
    check(table, MINE)


@pytest.mark.slow
def test_a_stream_is_newer_than_what_was_committed_meanwhile(
    spark: SparkSession, tmp_path: Path, table: CatalogTable
) -> None:
    register(spark)
    source = create_table(tmp_path / "source", primary_keys=())
    source.write_arrow(keyed(dict(MINE)))
    frame = spark.readStream.format("paimon").load(source.location)
    frame = frame.mapInArrow(overtaken(tmp_path), frame.schema)
    sink = Sink(str(tmp_path / "checkpoint"))
    assert ingest_stream(spark, frame, lambda: get_table(tmp_path), sink).awaitTermination(600), (
        "the stream has not ended"
    )
    check(table, MINE)
