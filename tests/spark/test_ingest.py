"""Ingestion of DataFrames: buckets, order, row kinds, replays, and nothing left after an error."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own name for it

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, DataError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live, live_files, state

BATCH_SETTINGS = [f"spark.sql.execution.arrow.max{what}PerBatch" for what in ("Bytes", "Records")]


def frame(spark: SparkSession, rows: list[tuple[int, str | None]]) -> DataFrame:
    """Rows in one partition, so in order."""
    return spark.createDataFrame(rows, "id int, v string").coalesce(1)


def test_a_frame_is_written_as_arrow_is(spark: SparkSession, tmp_path: Path) -> None:
    fields = [("p", "STRING"), ("id", "INT NOT NULL"), ("v", "STRING")]
    tables = [
        create_table(tmp_path, fields, ("p", "id"), {"bucket": "3"}, partition_keys=["p"], name=f"db.{name}")
        for name in ("frame", "arrow")
    ]
    rows = keyed({i: str(i) for i in range(100)}).append_column("p", [[f"p{i % 2}" for i in range(100)]])
    report = ingest(spark, tables[0], spark.createDataFrame(rows), commit_user="me")
    ingest(None, tables[1], rows, commit_user="me")
    assert (report.row_count, report.file_count, report.snapshot_ids) == (100, 6, (1,))
    first, second = (table.to_arrow().sort_by("id") for table in tables)
    assert first.equals(second)
    assert {(e.partition, e.bucket, e.file.row_count) for e in live(tables[0])} == {
        (e.partition, e.bucket, e.file.row_count) for e in live(tables[1])
    }


@pytest.mark.not_on_sail("it names no application")
def test_the_snapshot_names_the_spark_application(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    ingest(spark, table, keyed({1: "a"}), commit_user="loader")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    application = spark.conf.get("spark.app.id")
    assert application
    assert (snapshot.properties or {})["paimon-maintenance.application"] == application


def test_the_later_of_two_records_wins(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "2"})
    rows = spark.range(0, 3000, 1, 4).selectExpr("cast(id % 10 as int) as id", "cast(id as string) as v")
    ingest(spark, table, rows, commit_user="me")
    assert state(table) == {i: str(2990 + i) for i in range(10)}


@pytest.mark.parametrize("options", [{"bucket": "2"}, {"bucket": "-1"}])
def test_rows_with_large_texts_are_written_with_a_limit_of_bytes(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    table = create_table(tmp_path, options=options)
    rows = spark.range(0, 3000, 1, 2).selectExpr(
        "cast(id as int) as id",
        "case when id < 2900 then 'a' when id = 2950 then null else repeat('b', 300000) end as v",
    )
    before = {key: spark.conf.get(key, None) for key in BATCH_SETTINGS}
    ingest(spark, table, rows, commit_user="me")
    assert {key: len(text or "") for key, text in state(table).items()} == {
        key: 1 if key < 2900 else 0 if key == 2950 else 300_000 for key in range(3000)
    }
    assert len(files_on_disk(table)) == len(live_files(table))
    assert {key: spark.conf.get(key, None) for key in BATCH_SETTINGS} == before


def test_the_larger_sequence_wins_whatever_its_place(spark: SparkSession, tmp_path: Path) -> None:
    fields = [("id", "INT NOT NULL"), ("v", "STRING"), ("u", "BIGINT")]
    table = create_table(tmp_path, fields, ("id",), {"bucket": "2", "sequence.field": "u"})
    rows = spark.range(0, 100, 1, 3).selectExpr(
        "cast(id % 5 as int) as id", "cast(id as string) as v", "1000 - id as u"
    )
    ingest(spark, table, rows, commit_user="me")
    assert state(table) == {i: str(i) for i in range(5)}


def test_row_kinds_come_from_a_column(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    ingest(spark, table, frame(spark, [(1, "a"), (2, "b"), (3, "c")]), commit_user="me")
    changes = [(1, None, "-D"), (2, "b", "-U"), (2, "B", "+U"), (4, "d", "+I")]
    rows = spark.createDataFrame(changes, "id int, v string, op string").coalesce(1)
    report = ingest(spark, table, rows, commit_user="me", row_kind_column="op")
    assert report.row_count == 3
    assert state(table) == {2: "B", 3: "c", 4: "d"}
    with pytest.raises(DataError, match="no row kind column 'kind'"):
        ingest(spark, table, rows, commit_user="me", row_kind_column="kind")


def test_a_replay_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    first = ingest(spark, table, frame(spark, [(1, "a")]), commit_user="me", commit_identifier=4, watermark=99)
    again = ingest(spark, table, frame(spark, [(1, "x")]), commit_user="me", commit_identifier=4)
    assert (first.already_committed, again.already_committed) == (False, True)
    assert again.snapshot_ids == ()
    assert state(table) == {1: "a"}
    assert len(live_files(table)) == 1
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_identifier, snapshot.watermark) == (4, 99)


@pytest.mark.parametrize("keys", [("id",), ()], ids=["keyed", "append"])
def test_an_error_in_one_task_leaves_nothing(spark: SparkSession, tmp_path: Path, keys: tuple[str, ...]) -> None:
    fields = [("id", "INT NOT NULL"), ("v", "STRING NOT NULL")]
    table = create_table(tmp_path, fields, keys, {"bucket": "4"} if keys else {})
    rows = spark.range(0, 400, 1, 4).select(
        F.col("id").cast("int").alias("id"), F.when(F.col("id") == 333, None).otherwise("x").alias("v")
    )
    with pytest.raises(DataError, match="null in column 'v'"):
        ingest(spark, table, rows, commit_user="me")
    assert table.latest_snapshot() is None
    assert files_on_disk(table) == set()


def test_an_empty_batch_makes_no_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    report = ingest(spark, table, frame(spark, []), commit_user="me", commit_identifier=1)
    assert (report.snapshot_ids, report.row_count, report.already_committed) == ((), 0, False)


def test_an_append_table_keeps_every_row(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, [("id", "BIGINT")], ())
    report = ingest(spark, table, spark.range(0, 1000, 1, 4), commit_user="me")
    assert report.file_count == 4
    assert sorted(table.to_arrow().column("id").to_pylist()) == list(range(1000))
    assert files_on_disk(table) == data_files(table)


def test_arrow_through_spark_tasks(spark: SparkSession, tmp_path: Path) -> None:
    table: CatalogTable = create_table(tmp_path, options={"bucket": "2"})
    ingest(spark, table, pa.concat_tables([keyed({1: "a"}), keyed({1: "b", 2: "c"})]), commit_user="me")
    assert state(table) == {1: "b", 2: "c"}


@pytest.mark.parametrize("most", ["-1", "3"])
def test_dynamic_buckets_are_filled_side_by_side(spark: SparkSession, tmp_path: Path, most: str) -> None:
    """Each turn starts over, with another number of assigners."""
    options = {
        "bucket": "-1",
        "dynamic-bucket.target-row-num": "20",
        "dynamic-bucket.max-buckets": most,
    }
    table = create_table(tmp_path, options=options)
    for turn, assigners in enumerate("231"):
        rows = spark.range(turn * 30, turn * 30 + 90, 1, 3).selectExpr("cast(id as int) id", f"'{turn}' v")
        opened = get_table(tmp_path).copy({"dynamic-bucket.assigner-parallelism": assigners})
        ingest(spark, opened, rows, commit_user="me", commit_identifier=turn)
    assert state(table) == {i: str(min(i // 30, 2)) for i in range(150)}
    sizes = {bucket: entry.row_count for (_, bucket), entry in (table.hash_files() or {}).items()}
    assert sum(sizes.values()) == 150, "every key is in one bucket"
    if most == "-1":
        assert max(sizes.values()) <= 20
    else:
        assert set(sizes) == {0, 1, 2}


@pytest.mark.parametrize("partition", [(), ("p",)])
def test_dynamic_buckets_keep_the_order_of_the_rows(
    spark: SparkSession, tmp_path: Path, partition: tuple[str, ...]
) -> None:
    """Of 40 records of each key, in tasks and parts of their own, the last one wins; a deletion among them counts."""
    fields = [("p", "STRING"), ("id", "INT NOT NULL"), ("v", "STRING")]
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": "7"}
    table = create_table(tmp_path, fields, (*partition, "id"), options, partition_keys=list(partition))
    kind = "case when id < 1950 then '+I' when id % 50 = 3 then '-D' else '+U' end"
    rows = spark.range(0, 2000, 1, 4).selectExpr(
        "concat('p', id % 2) p", "cast(id % 50 as int) as id", "cast(id as string) v", f"{kind} kind"
    )
    ingest(spark, table, rows, commit_user="me", row_kind_column="kind")
    assert state(table) == {i: str(1950 + i) for i in range(50) if i != 3}
    sizes = {group: entry.row_count for group, entry in (table.hash_files() or {}).items()}
    assert sum(sizes.values()) == 50
    assert max(sizes.values()) <= 7
    assert {group[0] for group in sizes} == {entry.partition for entry in live(table)}


def test_an_index_of_dynamic_buckets_that_is_missing_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "-1"})
    ingest(spark, table, keyed({1: "a"}), commit_user="me")
    (entry,) = (table.hash_files() or {}).values()
    Path(table.paths.index_file(entry)).unlink()
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError, match="a HASH index file is missing"):
        ingest(spark, table, keyed({1: "b", 2: "c"}), commit_user="me")
    assert files_on_disk(table) == before


def test_a_row_that_does_not_fit_dynamic_buckets_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "-1"})
    with pytest.raises(DataError, match="id"):
        ingest(spark, table, spark.createDataFrame([(None, "a")], "id int, v string"), commit_user="me")
    assert files_on_disk(table) == set()


@pytest.mark.parametrize("straight", ["true", "false"])
def test_postponed_rows_are_there_at_once_or_after_a_compaction(
    spark: SparkSession, tmp_path: Path, straight: str
) -> None:
    options = {
        "bucket": "-2",
        "postpone.batch-write-fixed-bucket": straight,
        "postpone.target-row-num-per-bucket": "40",
    }
    table = create_table(tmp_path, options=options)
    for turn in range(3):
        rows = spark.range(turn * 30, turn * 30 + 90, 1, 3).selectExpr("cast(id as int) id", f"'{turn}' v")
        ingest(spark, table, rows, commit_user="me", commit_identifier=turn)
    if straight == "false":
        assert state(table) == {}
        compact(spark, table)
    assert state(table) == {i: str(min(i // 30, 2)) for i in range(150)}
    assert {entry.total_buckets for entry in live(table)} == {3 if straight == "true" else 7}
