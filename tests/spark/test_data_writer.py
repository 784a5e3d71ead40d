"""Writing through the data source: what its tasks and its commit do, without Spark and with it."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import APPLICATION_PROPERTY
from maintenance.connector.data_source import PaimonDataSource, register
from maintenance.connector.data_writer import PaimonWriter
from maintenance.errors import DataError, OptionError, UnsupportedError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER
from maintenance.write.sequence import Counter
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live_files, state

ROOT = Path(__file__).parents[2]
PARTITIONED = (("day", "DATE NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))


def writer_of(
    table: CatalogTable, options: Mapping[str, str] | None = None, *, overwrite: bool = False
) -> PaimonWriter:
    source = PaimonDataSource({"path": table.location, **(options or {})})
    return source.writer(StructType(), overwrite)


def save(table: CatalogTable, tasks: Sequence[pa.Table], options: Mapping[str, str] | None = None, **how: Any) -> None:
    """Do what Spark does with a writer."""
    writer = writer_of(table, options, **how)
    messages: list[Any] = [writer.written(iter(rows.to_batches()), n) for n, rows in enumerate(tasks)]
    try:
        writer.commit(messages)
    except BaseException:
        writer.abort(messages)
        raise


CONNECT = """
import sys
from maintenance.commit.identity import APPLICATION_PROPERTY
from maintenance.connector.data_source import register
from maintenance.spark.session import get_session
from tests.tables import get_table

spark = get_session(remote="local[2]")
register(spark)
table = get_table(sys.argv[1])
rows = spark.range(0, 20, 1, 3).selectExpr("cast(id as int) as id", "concat('v', id) as v")
rows.write.format("paimon").mode("append").save(table.location)
rows.where("id < 3").write.format("paimon").mode("overwrite").save(table.location)
print("application", spark.conf.get("spark.app.id"))
"""


def kinds(table: CatalogTable) -> str:
    return "".join(table.snapshots.get(i).commit_kind.value[0] for i in table.snapshots.list_ids())


def days(*rows: tuple[int, int, str]) -> pa.Table:
    """Rows of days of January 2024."""
    columns = list(zip(*rows, strict=True))
    day = (np.datetime64("2024-01-01") + np.array(columns[0]) - 1).astype("datetime64[D]")
    return pa.table({"day": pa.array(day), "id": pa.array(columns[1], pa.int32()), "v": pa.array(columns[2])})


def partitioned(tmp_path: Path, options: Mapping[str, str] | None = None) -> CatalogTable:
    table = create_table(tmp_path, PARTITIONED, ("day", "id"), options, partition_keys=("day",))
    save(table, [days((1, 1, "a"), (2, 1, "a")), days((2, 2, "a"), (3, 3, "a"))])
    return table


def rows_of(table: CatalogTable) -> list[tuple[int, int, str]]:
    return sorted((row["day"].day, row["id"], row["v"]) for row in table.to_arrow().to_pylist())


@pytest.mark.slow
def test_numbers_of_lanes_never_meet() -> None:
    million = 1 << 20
    lanes = [Counter(7, lane) for lane in (0, 1, 2, 65535)]
    parts = [counter.take(count) for counter in lanes for count in (5, million, 3)]
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together) == 4 * (million + 8)
    assert together.min() == 7
    assert all((np.diff(np.concatenate(parts[i : i + 3])) > 0).all() for i in range(0, 12, 3))
    assert [counter.lowest for counter in lanes] == [7, 7 + million, 7 + 2 * million, 7 + 65535 * million]
    assert Counter(3).take(2).tolist() == [3, 4]


def test_each_task_writes_all_buckets(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "2"})
    save(table, [keyed({i: f"a{i}" for i in range(10)}), keyed({i: f"a{i}" for i in range(10, 20)})])
    assert len(live_files(table)) == 4
    save(table, [keyed({0: "b"}), keyed({5: "b"}), keyed({15: "b"})])
    assert state(table) == {i: "b" if i in (0, 5, 15) else f"a{i}" for i in range(20)}
    save(table, [keyed({7: "first"}), keyed({7: "second"})])
    assert state(table)[7] == "second", "the same one for every reader"
    save(table, [keyed([(8, "early"), (8, "late")])])
    assert state(table)[8] == "late"
    assert kinds(table) == "AAAA"


def test_writers_compact_unless_told_otherwise(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"write-only": "false", "num-sorted-run.compaction-trigger": "2"})
    save(table, [keyed({1: "a"}), keyed({2: "a"})])
    assert kinds(table) == "AC"
    save(table, [keyed({1: "b"}), keyed({2: "b"})], {"write-only": "true"})
    assert kinds(table) == "ACA"
    assert state(table) == {1: "b", 2: "b"}


def test_a_row_of_kind_delete_removes_its_key(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    save(table, [keyed({1: "a", 2: "a"})])
    save(table, [keyed({1: None}).append_column("kind", pa.array(["-D"]))], {"row-kind-column": "kind"})
    assert state(table) == {2: "a"}


def test_a_numbered_write_is_done_once(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    numbered = {"commit-user": "me", "Commit-Identifier": "4"}
    save(table, [keyed({1: "a"})], numbered)
    save(table, [keyed({1: "b"})], numbered)
    assert state(table) == {1: "a"}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_user, snapshot.commit_identifier) == ("me", 4)
    with pytest.raises(OptionError, match="commit-identifier"):
        writer_of(table, {"commit-identifier": "x"})


def test_overwrite_replaces_the_whole_table(tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    save(table, [days((2, 9, "b"))], overwrite=True)
    assert rows_of(table) == [(2, 9, "b")]
    assert kinds(table) == "AO"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("partitionOverwriteMode", "dynamic"),
        ("partitionOverwriteMode", "DYNAMIC"),
        ("dynamic-partition-overwrite", "true"),
    ],
)
def test_overwrite_of_the_partitions_that_get_rows(tmp_path: Path, key: str, value: str) -> None:
    table = partitioned(tmp_path)
    save(table, [days((2, 9, "b")), days((1, 8, "b"))], {key: value}, overwrite=True)
    assert rows_of(table) == [(1, 8, "b"), (2, 9, "b"), (3, 3, "a")]


@pytest.mark.parametrize("legacy", ["true", "false"])
def test_a_named_partition_is_filled_in_and_overwritten_alone(tmp_path: Path, legacy: str) -> None:
    table = partitioned(tmp_path, {"partition.legacy-name": legacy})
    here = {"partition.day": "2024-01-02"}
    save(table, [keyed({9: "b"})], here, overwrite=True)
    assert rows_of(table) == [(1, 1, "a"), (2, 9, "b"), (3, 3, "a")], "the column is filled in"
    save(table, [keyed({5: "c"})], here)
    assert rows_of(table) == [(1, 1, "a"), (2, 5, "c"), (2, 9, "b"), (3, 3, "a")]
    save(table, [], here, overwrite=True)
    assert rows_of(table) == [(1, 1, "a"), (3, 3, "a")]
    with pytest.raises(DataError, match="not overwritten"):
        save(table, [days((1, 1, "x"))], here, overwrite=True)
    with pytest.raises(OptionError, match=r"partition\.day"):
        writer_of(table, {"partition.day": "soon"}, overwrite=True)
    assert rows_of(table) == [(1, 1, "a"), (3, 3, "a")]
    assert files_on_disk(table) == data_files(table)


def test_an_append_table_keeps_equal_rows(tmp_path: Path) -> None:
    for name, options in (("db.a", {"bucket": "-1"}), ("db.b", {"bucket": "2", "bucket-key": "id"})):
        table = create_table(tmp_path, primary_keys=(), options=options, name=name)
        save(table, [keyed({1: "a", 2: "b"}), keyed({3: "c"})])
        save(table, [keyed({1: "a"})])
        assert sorted(table.to_arrow().column("id").to_pylist()) == [1, 1, 2, 3]


def test_dynamic_buckets_take_one_task(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "-1"})
    with pytest.raises(UnsupportedError, match=r"operations\.ingest"):
        save(table, [keyed({1: "a"}), keyed({1: "b"})])
    assert files_on_disk(table) == set()
    save(table, [keyed({1: "a"}), keyed({})])
    save(table, [keyed({}), keyed({1: "b", 2: "b"})])
    assert state(table) == {1: "b", 2: "b"}


def test_what_must_be_routed_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "-1"}, partition_keys=("v",))
    with pytest.raises(UnsupportedError, match=r"operations\.ingest"):
        writer_of(table)


def test_postponed_buckets_need_a_default_number_at_first(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "-2", "postpone.target-row-num-per-bucket": "5"})
    with pytest.raises(UnsupportedError, match=r"postpone\.default-bucket-num"):
        save(table, [keyed({1: "a"})])
    assert files_on_disk(table) == set()
    save(table, [keyed({1: "a"}), keyed({2: "a"})], {"postpone.default-bucket-num": "2"})
    save(table, [keyed({1: "b"})])
    assert state(table) == {1: "b", 2: "a"}


def test_a_bad_row_leaves_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    save(table, [keyed({1: "a"})])
    writer = writer_of(table)
    good: Any = writer.written(iter(keyed({2: "b"}).to_batches()), 0)
    bad = pa.table({"id": pa.array([None], pa.int32()), "v": ["x"]})
    with pytest.raises(DataError):
        writer.written(iter([*keyed({3: "c"}).to_batches(), *bad.to_batches()]), 1)
    writer.abort([good, None])
    assert files_on_disk(table) == data_files(table)
    assert state(table) == {1: "a"}


def test_what_is_committed_is_not_taken_back(tmp_path: Path) -> None:
    """Spark aborts after any failure of the commit, also one that came behind the snapshot."""
    table = create_table(tmp_path)
    writer = writer_of(table)
    messages: list[Any] = [writer.written(iter(keyed({1: "a"}).to_batches()), 0)]
    writer.commit(messages)
    writer.abort(messages)
    assert state(table) == {1: "a"}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.commit_identifier == BATCH_IDENTIFIER


@pytest.mark.slow
@pytest.mark.not_on_sail("it names no application")
def test_the_snapshot_names_the_spark_application(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    register(spark)
    spark.createDataFrame(keyed({1: "a"})).write.format("paimon").mode("append").save(table.location)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.properties or {})[APPLICATION_PROPERTY] == spark.conf.get("spark.app.id")


def test_system_tables_are_not_written(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    with pytest.raises(UnsupportedError, match="writing to"):
        PaimonDataSource({"warehouse": str(tmp_path), "table": "db.t$files"}).writer(StructType(), False)
    assert table.latest_snapshot() is None


def test_partitions_are_dropped_by_name(tmp_path: Path) -> None:
    table = partitioned(tmp_path, {"partition.legacy-name": "false"})
    table.drop_partitions([{"day": "2024-01-01"}, {"day": "2024-01-03"}])
    assert {row[0] for row in rows_of(table)} == {2}
    with pytest.raises(DataError, match="no partition is named"):
        table.drop_partitions([])
    with pytest.raises(DataError, match="is not a partition"):
        table.drop_partitions([{"id": "1"}])
    table.truncate()
    assert rows_of(table) == []


@pytest.mark.slow
@pytest.mark.not_on_sail("every mode but overwrite appends there")
def test_spark_appends_inserts_and_overwrites_through_the_source(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    options = {"write-only": "false", "num-sorted-run.compaction-trigger": "2", "bucket": "2"}
    table = create_table(tmp_path, options=options)
    frame = spark.range(0, 20, 1, 3).selectExpr("concat('v', id) v", "cast(id as int) id")
    frame.write.format("paimon").mode("append").save(table.location)
    assert kinds(table) == "AC"
    assert state(table) == {i: f"v{i}" for i in range(20)}
    spark.sql(f"CREATE OR REPLACE TEMP VIEW written USING paimon OPTIONS (path '{table.location}')")
    spark.sql("INSERT INTO written VALUES (100, 'sql')")
    assert state(table)[100] == "sql"
    frame.where("id = 3").write.format("paimon").mode("overwrite").save(table.location)
    assert state(get_table(tmp_path)) == {3: "v3"}
    with pytest.raises(Exception, match="column 'w' is not in the table"):
        frame.selectExpr("id", "1 w").write.format("paimon").mode("append").save(table.location)
    for mode in ("error", "ignore"):
        with pytest.raises(Exception, match="UNSUPPORTED_DATA_SOURCE_SAVE_MODE"):
            frame.write.format("paimon").mode(mode).save(table.location)
    assert state(table) == {3: "v3"}
    assert files_on_disk(table) == data_files(table)


@pytest.mark.slow
def test_spark_connect_writes_and_compacts_through_the_source(tmp_path: Path) -> None:
    options = {"write-only": "false", "num-sorted-run.compaction-trigger": "2", "bucket": "2"}
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed({-1: "before"}))
    # SPARK_TESTING: on a port of its own, for other tests of this machine start such servers as well.
    python = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "SPARK_TESTING": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", CONNECT, str(tmp_path)],
        cwd=ROOT, env={**os.environ, **python}, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert kinds(table) == "AACO"
    written = [table.snapshots.get(i).properties or {} for i in (2, 4)]
    assert {properties.get(APPLICATION_PROPERTY) for properties in written} == {
        done.stdout.split("application ")[1].strip()
    }
    assert state(table) == {i: f"v{i}" for i in range(3)}
    assert files_on_disk(table) == data_files(table)
