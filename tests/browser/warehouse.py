"""The warehouse that the browser is shown: a table with a landing folder, and others that the Java core writes."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.java.process import JavaProcess

ORDERS, EVENTS, CLICKS = "shop.orders", "shop.events", "shop.clicks"
STOCK, RETURNS = "shop.stock", "shop.returns"
DAYS = tuple(f"2026-01-{day:02d}" for day in range(1, 7))
# The others were compacted by the Java core.
STALE_DAYS = DAYS[1::2]

TABLES = """
warehouse: warehouse
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    spark.sql.codegen.wholeStage: false
    spark.sql.shuffle.partitions: 2
alerts:
  url: http://dagster.example
  targets: [{kind: webhook, url: "${BROWSER_TEST_WEBHOOK}"}]
patterns:
  - pattern: shop.*
    owners: [team:shop]
tables:
  - identifier: shop.orders
    description: Orders by number, as the shop's till delivers them.
    owners: [team:sales, sales@example.com]
    columns: {id: BIGINT NOT NULL, status: STRING, amount: "DECIMAL(9, 2)"}
    primary_keys: [id]
    options: {bucket: 1, write-only: true}
    landing: {path: landing/orders, commit_user: till, row_kind_column: kind}
  - identifier: shop.events
    compaction: {automatic: false}
  - identifier: shop.stock
    compaction: {automatic: false}
  - identifier: shop.returns
    compaction: {automatic: false}
"""


def build(folder: Path, java: JavaProcess) -> Path:
    """Fill `folder`: tables.yaml, the landing folder, the tables of others. Returns the path of tables.yaml."""
    (folder / "tables.yaml").write_text(TABLES.replace(": warehouse", f": {folder}/warehouse").replace(
        "path: landing", f"path: {folder}/landing"))  # fmt: skip
    _land(folder / "landing" / "orders")
    warehouse = str(folder / "warehouse")
    options = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "3"}
    fields = [("day", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), ("page", "STRING")]
    java.create_table(warehouse, EVENTS, fields, (["day", "id"], ["day"]), options)
    for number in range(2):
        java.write(warehouse, EVENTS, [(day, number + row, f"page {row}") for day in DAYS for row in range(3)])
    java.compact(warehouse, EVENTS)
    java.write(warehouse, EVENTS, [(day, 9, "late") for day in STALE_DAYS])
    keyed = [("id", "BIGINT NOT NULL"), ("page", "STRING")]
    java.create_table(warehouse, CLICKS, keyed, (["id"], []), options)
    java.write(warehouse, CLICKS, [(1, "home")])
    for name in (STOCK, RETURNS):
        java.create_table(warehouse, name, keyed, (["id"], []), options)
        java.write(warehouse, name, [(1, "shelf")])
    return folder / "tables.yaml"


def _land(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in (1, 2):
        table = pa.table(
            {
                "id": pa.array([number, number + 1], pa.int64()),
                "status": ["new", "paid"],
                "amount": pa.array([1.5, 2.5]).cast(pa.decimal128(9, 2)),
                "kind": ["+I", "+I"],
            }
        )
        pq.write_table(table, folder / f"{number:05d}-batch-{number:05d}.parquet")
