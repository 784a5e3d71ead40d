"""Tables that Paimon wrote, read and examined in Spark's tasks: deletion vectors travel with the splits."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations.checks.fsck import fsck
from tests.golden.case import extract
from tests.tables import live

TABLES = [("dv_pk", "t"), ("dv_append", "p"), ("data_evolution", "t"), ("postpone_bucket", "t")]


def sorted_rows(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


@pytest.mark.parametrize(("case", "name"), TABLES)
def test_spark_reads_the_same(spark: SparkSession, tmp_path: Path, case: str, name: str) -> None:
    table = open_catalog({"warehouse": str(extract(case, tmp_path))}).get_table(f"db.{name}")
    assert isinstance(table, CatalogTable)
    right = table.to_arrow()
    assert right.num_rows > 0
    assert sorted_rows(table.to_spark(spark).toArrow()) == sorted_rows(right)
    report = fsck(table.file_io, table.location, deep=True, spark=spark)
    assert report.healthy
    assert report.read_files == report.data_files > 0
    entry = live(table)[0]
    path = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    path.write_bytes(bytes(path.stat().st_size))
    (fault,) = fsck(table.file_io, table.location, deep=True, spark=spark).faults
    assert (fault.kind, fault.object) == ("damaged", str(path))
