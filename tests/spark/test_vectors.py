"""VECTOR, blobs and global indexes through Spark: DataFrames, SQL, and tasks that write, build and compact."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import Schema, open_catalog
from maintenance.connector.data_source import register
from maintenance.format.blob_descriptor import BlobView
from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.sql import Session
from tests.tables import get_table

EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "compaction.min.file-num": "2"}


@pytest.mark.slow
def test_vectors_and_blobs_are_written_changed_and_read_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    columns = [("id", "INT"), ("v", "VECTOR<FLOAT, 2>"), ("b", "BLOB")]
    options = {**EVOLVING, "vector.file.format": "parquet"}
    catalog.create_table("db.t", Schema(columns, options=options))
    register(spark)
    frame = spark.range(4).selectExpr("CAST(id AS INT) AS id", "array(CAST(id AS FLOAT), 1F) AS v", "X'61' AS b")
    frame.write.format("paimon").mode("append").save(get_table(tmp_path).location)
    session = Session(catalog, spark)
    session.sql("INSERT INTO db.t SELECT id + 10, v, b FROM db.t WHERE id < 2")
    source = "MERGE INTO db.t USING (SELECT 1 AS k) s ON t.id = s.k "
    session.sql(f"{source} WHEN MATCHED THEN UPDATE SET v = array(9F, 9F), b = X'7A'")
    assert create_global_index(spark, get_table(tmp_path), "id").rows == 6
    compact(spark, get_table(tmp_path), full=True)
    actual = get_table(tmp_path).to_spark(spark, where="id IN (1, 10)")
    assert dict(actual.dtypes)["v"] == "array<float>"
    rows = [(row.id, list(row.v), bytes(row.b)) for row in actual.orderBy("id").collect()]
    assert rows == [(1, [9.0, 9.0], b"z"), (10, [0.0, 1.0], b"a")]
    read = spark.read.format("paimon").load(get_table(tmp_path).location)
    assert read.where("v[0] = 3").select("id").collect()[0].id == 3


def test_lists_of_blobs_and_references_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.u", Schema([("id", "INT"), ("b", "BLOB")], options=EVOLVING))
    origin = catalog.get_table("db.u")
    origin.write_arrow(pa.table({"id": pa.array([1, 2], pa.int32()), "b": pa.array([b"one", None], pa.large_binary())}))
    columns = [("id", "INT"), ("g", "ARRAY<BLOB>"), ("m", "MAP<STRING, BLOB>"), ("w", "BLOB")]
    catalog.create_table("db.t", Schema(columns, options={**EVOLVING, "blob-view-field": "w"}))
    session = Session(catalog, spark)
    views = [BlobView("db.u", origin.schema.field("b").id, row).serialize().hex() for row in (0, 1)]
    session.sql(
        f"INSERT INTO db.t VALUES (1, array(X'61', NULL), map('k', X'62'), X'{views[0]}'),"
        f" (2, NULL, map(), X'{views[1]}')"
    )
    rows = get_table(tmp_path).to_spark(spark).orderBy("id").collect()
    assert [(row.g, row.m, row.w) for row in rows] == [([b"a", None], {"k": b"b"}, b"one"), (None, {}, None)]
