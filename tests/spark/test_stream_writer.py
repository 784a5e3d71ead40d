"""Writing streams with ``writeStream.format("paimon")``: each batch once, whatever is repeated."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from maintenance.catalog import CatalogTable
from maintenance.connector.data_source import PaimonDataSource, register
from maintenance.errors import CommitError, OptionError, UnsupportedError
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.small_tables import batch as keyed
from tests.small_tables import put, rows, small_table
from tests.tables import create_table, data_files, files_on_disk

QUERY = "0f6c6a0e-6a0c-4b6e-9a55-2f1d9a0b7c11"


def batch(
    table: CatalogTable,
    number: int,
    tasks: Sequence[pa.Table],
    options: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
    query: str = QUERY,
) -> None:
    """Do what Spark does with a batch: one writer for the tasks, another one for the commit."""
    source = PaimonDataSource({"path": table.location, "checkpointLocation": "/c", **(options or {})})
    writer = source.streamWriter(StructType(), overwrite)
    messages: list[Any] = [writer.written(iter(task.to_batches()), n, query) for n, task in enumerate(tasks)]
    committer = source.streamWriter(StructType(), overwrite)
    try:
        committer.commit(messages, number)
    except BaseException:
        committer.abort(messages, number)
        raise


def commits(table: CatalogTable) -> list[tuple[str, str, int]]:
    found = [table.snapshots.get(number) for number in table.snapshots.list_ids()]
    return [(each.commit_kind.value, each.commit_user, each.commit_identifier) for each in found]


def test_a_repeated_batch_is_left_out(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    batch(table, 0, [keyed({1: "a", 2: "a"}), keyed({3: "a"})])
    batch(table, 1, [keyed({1: "b"})])
    for number in (0, 1, 1):
        batch(table, number, [keyed({1: "c", 9: "c"}), keyed({8: "c"})])
    assert dict(rows(table)) == {1: "b", 2: "a", 3: "a"}
    assert commits(table) == [("APPEND", QUERY, 0), ("APPEND", QUERY, 1)]
    assert files_on_disk(table) == data_files(table)
    batch(table, 0, [keyed({1: "d"})], query="another")
    assert dict(rows(table))[1] == "d"


def test_a_query_is_known_when_its_snapshots_have_expired(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    batch(table, 0, [keyed({1: "a"})])
    for i in range(3):
        put(table, {i: "other"})
    expire_snapshots(table, retain_max=1, retain_min=1)
    batch(table, 0, [keyed({1: "again"})])
    batch(table, 1, [keyed({5: "b"})])
    assert dict(rows(table)) == {0: "other", 1: "other", 2: "other", 5: "b"}


def test_the_first_batch_is_a_snapshot_even_without_rows(tmp_path: Path) -> None:
    """Or nobody could tell later whether the table has ever seen the query."""
    table = small_table(tmp_path)
    for i in range(3):
        put(table, {i: "other"})
    expire_snapshots(table, retain_max=1, retain_min=1)
    batch(table, 0, [keyed({}), keyed({})])
    batch(table, 1, [keyed({})])
    batch(table, 2, [keyed({7: "a"})])
    assert [number for _, user, number in commits(table) if user == QUERY] == [0, 2]
    with pytest.raises(CommitError, match="batch 1 may be in the table already"):
        batch(table, 1, [keyed({8: "a"})], query="unknown")
    batch(table, 1, [keyed({8: "a"})], {"resume-after": "1"}, query="unknown")
    batch(table, 2, [keyed({9: "a"})], {"resume-after": "1"}, query="unknown")
    assert sorted(dict(rows(table))) == [0, 1, 2, 7, 9]
    assert files_on_disk(table) >= data_files(table)


def test_the_user_of_a_query_stays(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"commit.user-prefix": "etl"})
    batch(table, 0, [keyed({1: "a"})])
    batch(table, 0, [keyed({1: "b"})], {"commit.user-prefix": "other"})
    batch(table, 1, [keyed({2: "b"})], {"commit.user-prefix": "other"})
    assert commits(table) == [("APPEND", f"etl_{QUERY}", 0), ("APPEND", f"etl_{QUERY}", 1)]
    assert dict(rows(table)) == {1: "a", 2: "b"}


def test_complete_batches_replace_the_table(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "old", 2: "old"})
    batch(table, 0, [keyed({1: "a"}), keyed({3: "a"})], overwrite=True)
    batch(table, 1, [keyed({3: "b"})], overwrite=True)
    batch(table, 1, [keyed({4: "b"})], overwrite=True)
    assert dict(rows(table)) == {3: "b"}
    assert [kind for kind, _, _ in commits(table)] == ["APPEND", "OVERWRITE", "OVERWRITE"]


def test_row_kinds_and_a_partition(tmp_path: Path) -> None:
    fields = (("day", "STRING NOT NULL"), ("k", "INT NOT NULL"), ("v", "STRING"))
    table = create_table(tmp_path, fields, ("day", "k"), partition_keys=("day",))
    added = pa.table({"k": pa.array([1, 2], pa.int32()), "v": ["a", "a"], "kind": ["+I", "+I"]})
    options = {"row-kind-column": "kind", "partition.day": "mon"}
    batch(table, 0, [added], options)
    batch(table, 1, [added.slice(0, 1).set_column(2, "kind", pa.array(["-D"]))], options)
    assert table.to_arrow().to_pylist() == [{"day": "mon", "k": 2, "v": "a"}]


@pytest.mark.parametrize("name", ["commit-user", "commit-identifier", "partitionOverwriteMode", "bukcet"])
def test_options_are_refused_by_name(tmp_path: Path, name: str) -> None:
    table = small_table(tmp_path)
    with pytest.raises(OptionError, match=f"(?i){name}"):
        batch(table, 0, [keyed({1: "a"})], {name: "1"})
    assert commits(table) == []


def test_a_commit_that_fails_leaves_no_file(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "-1"})
    with pytest.raises(UnsupportedError, match="ingest_stream"):
        batch(table, 0, [keyed({1: "a"}), keyed({2: "a"})])
    assert files_on_disk(table) == set()


class Pipeline:
    """A query that copies a table, started again for each run, with one checkpoint."""

    def __init__(self, spark: SparkSession, source: CatalogTable, sink: CatalogTable, checkpoint: Path) -> None:
        self.spark, self.source, self.sink, self.checkpoint = spark, source, sink, checkpoint

    def run(self, mode: str = "append", **trigger: Any) -> None:
        frame = self.spark.readStream.format("paimon").option("consumer-id", "copier").load(self.source.location)
        writer = self.shaped(frame, mode).writeStream.format("paimon").outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.checkpoint)).queryName(f"copy-{len(mode)}")
        query = writer.trigger(**(trigger or {"availableNow": True})).start(self.sink.location)
        assert query.awaitTermination(600), "the stream has not ended"

    @staticmethod
    def shaped(frame: DataFrame, mode: str) -> DataFrame:
        if mode == "append":
            return frame
        return frame.groupBy("v").count().selectExpr("cast(count as bigint) as k", "v")

    def forget(self, number: int) -> None:
        """As if Spark had been killed before it noted that a batch is done."""
        for path in (self.checkpoint / "commits").iterdir():
            if path.name in (str(number), f".{number}.crc"):
                path.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("primary_key", [True, False])
def test_a_stream_is_written_once(spark: SparkSession, tmp_path: Path, primary_key: bool) -> None:
    register(spark)
    source = small_table(tmp_path / "source", primary_key=False)
    sink = small_table(tmp_path / "sink", primary_key=primary_key)
    pipeline = Pipeline(spark, source, sink, tmp_path / "checkpoint")
    put(source, {1: "a", 2: "a"})
    pipeline.run()
    put(source, {2: "b", 3: "b"})
    pipeline.run()
    pipeline.forget(1)
    pipeline.run()
    expected = [(1, "a"), (2, "b"), (3, "b")] if primary_key else [(1, "a"), (2, "a"), (2, "b"), (3, "b")]
    assert rows(sink) == expected
    found = [commit for commit in commits(sink) if commit[0] == "APPEND"]
    assert [number for _, _, number in found] == [0, 1]
    assert len({user for _, user, _ in found}) == 1
    assert files_on_disk(sink) >= data_files(sink)
    assert source.consumers.next_snapshots() == {"copier": 3}


@pytest.mark.slow
def test_complete_mode_overwrites_the_table_and_update_mode_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    source = small_table(tmp_path / "source", primary_key=False)
    sink = small_table(tmp_path / "sink", primary_key=False)
    pipeline = Pipeline(spark, source, sink, tmp_path / "checkpoint")
    for number in range(2):
        put(source, {1: "a", 2: "b"})
        pipeline.run("complete")
        assert rows(sink) == [(number + 1, "a"), (number + 1, "b")]
    assert [kind for kind, _, _ in commits(sink)] == ["OVERWRITE"] * 2
    with pytest.raises(Exception, match="Update mode"):
        Pipeline(spark, source, sink, tmp_path / "other").run("update")
