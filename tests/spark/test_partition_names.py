"""Partitions through Spark: each is what it is, whatever its folder is called."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.connector.data_source import register
from maintenance.errors import DataError
from maintenance.operations import compact, rescale, restore_partitions, rewrite_file_index
from maintenance.sql import Session
from tests.tables import create_table, get_table, live

NULL_NAME = "__DEFAULT_PARTITION__"


def filled(folder: Path, **options: str) -> CatalogTable:
    table = create_table(folder, (("id", "INT"), ("p", "STRING")), (), options, partition_keys=("p",))
    texts = [None, "", " ", NULL_NAME, "O'Neil"]
    for _ in range(2):
        table.write_arrow(pa.table({"id": pa.array(range(5), pa.int32()), "p": pa.array(texts, pa.string())}))
    return table


def ids(folder: Path) -> set[int]:
    return set(get_table(folder).to_arrow()["id"].to_pylist())


@pytest.mark.slow
def test_statements_of_a_session_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    filled(tmp_path)
    session = Session({"warehouse": str(tmp_path)}, spark=spark)
    session.sql("DELETE FROM db.t WHERE p = ''")
    assert ids(tmp_path) == {0, 2, 3, 4}
    session.sql("DELETE FROM db.t WHERE length(p) = 1")
    assert ids(tmp_path) == {0, 3, 4}
    with pytest.raises(DataError, match="may mean several partitions: p IS NULL or p = '''__DEFAULT"):
        session.sql(f"INSERT OVERWRITE db.t PARTITION (p = '{NULL_NAME}') SELECT 9")
    session.sql("INSERT OVERWRITE db.t PARTITION (p = NULL) SELECT 9")
    assert ids(tmp_path) == {9, 3, 4}
    session.sql("ALTER TABLE db.t DROP PARTITION (p = NULL)")
    session.sql("CALL sys.compact(table => 'db.t', partitions => 'p=\"O\\'Neil\"')")
    assert ids(tmp_path) == {3, 4}
    assert len(live(get_table(tmp_path))) == 3
    session.sql(f"TRUNCATE TABLE db.t PARTITION (p = '{NULL_NAME}')")
    assert session.sql("SELECT id FROM db.t WHERE p = sys.max_pt('db.t')").to_arrow()["id"].to_pylist() == [4, 4]


def test_tasks_work_on_the_partition_that_is_named(spark: SparkSession, tmp_path: Path) -> None:
    table = filled(tmp_path)
    report = compact(spark, table, full=True, partitions=[{"p": None}])
    assert [group.partition for group in report.groups] == [f"p={NULL_NAME}"]
    table.truncate([{"p": ""}])
    restore_partitions(spark, table, [{"p": ""}], snapshot_id=2)
    assert ids(tmp_path) == {0, 1, 2, 3, 4}
    indexed = table.copy({"file-index.bloom-filter.columns": "id"})
    assert rewrite_file_index(spark, indexed, partitions=[{"p": " "}]).written_files == 2
    with pytest.raises(DataError, match="may mean several"):
        compact(spark, table, full=True, partitions=[{"p": NULL_NAME}])


def test_a_rescale_of_one_of_them(spark: SparkSession, tmp_path: Path) -> None:
    columns = (("id", "INT NOT NULL"), ("p", "STRING NOT NULL"))
    table = create_table(tmp_path, columns, ("id", "p"), {"bucket": "2"}, partition_keys=("p",))
    table.write_arrow(pa.table({"id": pa.array(range(3), pa.int32()), "p": ["", " ", NULL_NAME]}))
    report = rescale(spark, table, bucket_num=1, partitions=[{"p": " "}])
    assert list(map(str, report.partitions)) == ["p=' '"]
    assert ids(tmp_path) == {0, 1, 2}


@pytest.mark.slow
def test_frames_written_to_a_partition(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    table = filled(tmp_path)
    frame = spark.createDataFrame([(9,)], "id INT").repartition(1)
    writer = frame.write.format("paimon")
    writer.option("partition.p", "").mode("overwrite").save(table.location)
    assert ids(tmp_path) == {0, 2, 3, 4, 9}
    writer.option("partition.p", f"'{NULL_NAME}'").mode("overwrite").save(table.location)
    assert ids(tmp_path) == {0, 2, 4, 9}
    with pytest.raises(Exception, match="may mean several partitions"):
        writer.option("partition.p", NULL_NAME).mode("overwrite").save(table.location)
    writer.option("partition.p", NULL_NAME).mode("append").save(table.location)
    assert get_table(tmp_path).to_arrow(["id"], "p IS NULL")["id"].to_pylist() == [0, 0, 9]
