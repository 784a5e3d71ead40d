"""A small project on a warehouse of its own, with one primary key table and one append table."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.config import Project, load_project

TABLES = """
warehouse: warehouse
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    spark.sql.codegen.wholeStage: false
    spark.sql.shuffle.partitions: 2
expiry: {cron: 30 2 * * *, time_zone: Europe/Berlin}
tables:
  - identifier: shop.orders
    description: Orders by number.
    owners: [team:sales]
    columns: {id: BIGINT NOT NULL, status: STRING, amount: "DECIMAL(9, 2)"}
    primary_keys: [id]
    options:
      bucket: 1
      write-only: true
      changelog-producer: full-compaction
      file-index.bloom-filter.columns: status
      num-sorted-run.compaction-trigger: 3
      snapshot.num-retained.min: 1
      snapshot.num-retained.max: 2
    landing: {path: landing/orders, commit_user: shop, row_kind_column: kind}
    tag: {name: "kept-{snapshot}", time_retained: 7 d}
  - identifier: shop.visits
    columns: {page: STRING, seconds: INT}
    options: {bucket: -1}
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES)
    return load_project(path, tmp_path)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as instance:
        yield instance


def land(project: Project, delivery: int, batch: int, rows: list[tuple[int, str, str]]) -> None:
    """Deliver a batch of orders: (id, status, row kind), each with the amount id + 0.5."""
    table = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int64()),
            "status": [row[1] for row in rows],
            "amount": pa.array([row[0] + 0.5 for row in rows]).cast(pa.decimal128(9, 2)),
            "kind": [row[2] for row in rows],
        }
    )
    landing = project.tables[0].landing
    assert landing is not None
    Path(landing.path).mkdir(parents=True, exist_ok=True)
    pq.write_table(table, Path(landing.path) / f"{delivery:05d}-batch-{batch:05d}.parquet")
