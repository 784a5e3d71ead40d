"""VARIANT through Spark: DataFrames, SQL, and tasks that write and compact."""

from pathlib import Path

from pyspark.sql import SparkSession

from maintenance.catalog import Schema, open_catalog
from maintenance.connector.data_source import register
from maintenance.operations.compaction.compact import compact
from maintenance.sql import Session

TEXTS = ['{"a":1,"b":["x"]}', None, "[true]", '{"a":7}']


def test_variants_are_written_compacted_and_read_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    columns = [("id", "INT NOT NULL"), ("v", "VARIANT"), ("w", "ARRAY<VARIANT>")]
    catalog.create_table("db.t", Schema(columns, ["id"], options={"bucket": "1"}))
    rows = spark.createDataFrame(list(enumerate(TEXTS)), "id int, x string")
    frame = rows.selectExpr("id", "parse_json(x) AS v", "array(parse_json(x)) AS w")
    register(spark)
    frame.write.format("paimon").mode("append").save(catalog.get_table("db.t").location)
    assert catalog.get_table("db.t").to_arrow().sort_by("id").column("v").to_pylist() == TEXTS
    session = Session(catalog, spark)
    session.sql("INSERT INTO db.t SELECT id + 10, v, w FROM db.t WHERE id < 2")
    compact(spark, catalog.get_table("db.t"), full=True)
    actual = catalog.get_table("db.t").to_spark(spark)
    assert dict(actual.dtypes)["v"] == "variant"
    taken = actual.selectExpr("id", "to_json(v) AS v", "to_json(w[0]) AS w").orderBy("id").collect()
    assert [row.v for row in taken] == [*TEXTS, *TEXTS[:2]]
    assert [row.w for row in taken] == [*TEXTS, *TEXTS[:2]]
    query = "SELECT id FROM db.t WHERE variant_get(v, '$.a', 'int') = 7"
    assert session.sql(query).to_arrow().column("id").to_pylist() == [3]
    assert session.sql("SELECT v FROM db.t WHERE id = 0").to_arrow().column("v").to_pylist() == TEXTS[:1]
