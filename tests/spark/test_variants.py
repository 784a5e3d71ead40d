"""VARIANT through Spark: DataFrames, SQL, and tasks that write and compact."""

from pathlib import Path

from pyspark.sql import SparkSession

from maintenance.catalog import Schema, open_catalog
from maintenance.connector.data_source import register
from maintenance.operations.compaction.compact import compact
from maintenance.sql import Session

MADE = (
    "42", "-9223372036854775808", "3.14", "1.20", "CAST(5 AS DECIMAL(3, 0))", "1.23e10", "CAST(0.1 AS FLOAT)",
    "'it''s'", "''", "true", "NULL", "DATE '2024-01-02'", "TIMESTAMP '2024-01-02 03:04:05'", "X'0102'",
    "TIMESTAMP_NTZ '2024-01-02 03:04:05.123456'",
)  # fmt: skip
# Spark looks no further than to the end of the first value.
BEHIND = "[[[]]]]", '{"a": 1} x', "1 2", '"a"b', "true x", "null}", "truex", "1x", "1,", " [1] ]", '{"a":1', "1.5 ,"
TEXTS = ['{"a":1,"b":["x"]}', None, "[true]", '{"a":7}']


def test_variants_are_made_as_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    alone, with_spark = Session({"warehouse": str(tmp_path)}), Session({"warehouse": str(tmp_path)}, spark)
    parts = [f"to_json(CAST({value} AS VARIANT)) AS m{number}" for number, value in enumerate(MADE)]
    parts += [f"to_json(try_parse_json('{text}')) AS p{number}" for number, text in enumerate(BEHIND)]
    query = f"SELECT {', '.join(parts)}"
    assert alone.sql(query).to_arrow().to_pylist() == with_spark.sql(query).to_arrow().to_pylist()


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
