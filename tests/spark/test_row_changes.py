"""DELETE, UPDATE and MERGE INTO on Spark: conditions and values that only Spark understands."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.errors import DataError, UnsupportedError
from maintenance.operations.compact import compact
from maintenance.operations.merge_clauses import Clause
from maintenance.table.table import Table
from tests.tables import create_table, keyed, live_files, state

VECTORS = {"deletion-vectors.enabled": "true"}
APPEND: Mapping[str, Mapping[str, str]] = {
    "copy_on_write": {"bucket": "-1"},
    "deletion_vectors": {"bucket": "-1", **VECTORS},
    "buckets": {"bucket": "2", "bucket-key": "id", **VECTORS},
}


def filled(folder: Path, options: Mapping[str, str], keys: tuple[str, ...] = ()) -> Table:
    table = create_table(folder, primary_keys=keys, options=options)
    table.write_arrow(keyed({number: f"v{number}" for number in range(10)}))
    table.write_arrow(keyed(dict.fromkeys(range(10, 20))))
    if keys and "deletion-vectors.enabled" in options:
        compact(None, table)
    return table


@pytest.mark.parametrize("how", APPEND)
def test_an_append_table(spark: SparkSession, tmp_path: Path, how: str) -> None:
    table = filled(tmp_path, APPEND[how])
    spark.createDataFrame([(3,), (4,)], "i int").createOrReplaceTempView("gone")
    report = table.delete("id IN (SELECT i FROM gone) OR length(v) > 100", spark=spark)
    assert (report.deleted_rows, report.touched_files > 0) == (2, True)
    expected = {n: f"v{n}" if n < 10 else None for n in range(20) if n not in (3, 4)}
    assert state(table) == expected
    report = table.update({"v": "concat(coalesce(v, 'none'), '!')", "id": "id + 100"}, "id % 5 = 0", spark=spark)
    assert report.updated_rows == 4
    changed = {n + 100: f"{v or 'none'}!" for n, v in expected.items() if n % 5 == 0}
    assert state(table) == {n: v for n, v in expected.items() if n % 5} | changed
    assert table.delete("id > 10000 AND rand() < 2", spark=spark).snapshot_ids == ()
    assert table.delete("v LIKE '%!'", spark=spark).deleted_rows == 4
    assert state(table) == {n: v for n, v in expected.items() if n % 5}
    names = {file.file_name for file in live_files(table)}
    assert compact(spark, table, full=True).failed == ()
    assert state(table) == {n: v for n, v in expected.items() if n % 5}
    assert names.isdisjoint(file.file_name for file in live_files(table)) or how == "copy_on_write"


@pytest.mark.parametrize("options", [{}, VECTORS], ids=["merge on read", "merge on write"])
def test_a_table_with_a_key(spark: SparkSession, tmp_path: Path, options: Mapping[str, str]) -> None:
    table = filled(tmp_path, {"bucket": "2", **options}, ("id",))
    assert table.delete("id % 2 = 1 AND v IS NOT NULL", spark=spark).deleted_rows == 5
    assert table.update({"v": "upper(concat('x', id))"}, "id >= 15", spark=spark).updated_rows == 5
    compact(spark, table)
    assert state(table) == {
        n: f"X{n}" if n >= 15 else f"v{n}" if n < 10 else None for n in range(20) if n >= 10 or n % 2 == 0
    }
    with pytest.raises(UnsupportedError, match="'id' is of the primary key"):
        table.update({"id": "1"}, spark=spark)


@pytest.mark.parametrize("how", [*APPEND, "keyed"])
def test_merging(spark: SparkSession, tmp_path: Path, how: str) -> None:
    keys: tuple[str, ...] = () if how in APPEND else ("id",)
    table = filled(tmp_path, APPEND.get(how, {}), keys)
    source = spark.sql("SELECT id * 3 AS key, concat('s', id) AS text FROM range(10)")
    report = table.merge(
        source,
        "t.id = s.key AND s.key < 100",
        [
            Clause("matched", "delete", condition="t.v = 'v3'"),
            Clause("matched", "update", {"v": "concat(coalesce(t.v, '-'), s.text)"}, "s.key % 2 = 0"),
            Clause("not_matched", "insert", {"id": "s.key", "v": "upper(s.text)"}, "s.key <> 21"),
            Clause("not_matched_by_source", "update", {"v": "'alone'"}, "t.id > 17"),
            Clause("not_matched_by_source", "delete", condition="t.id > 15"),
        ],
        spark=spark,
    )
    expected = {n: f"v{n}" if n < 10 else None for n in range(20)}
    expected |= {n: f"{expected[n] or '-'}s{n // 3}" for n in range(0, 20, 6)} | {24: "S8", 27: "S9", 19: "alone"}
    expected = {n: v for n, v in expected.items() if n not in (3, 16, 17)}
    assert state(table) == expected
    assert (report.updated_rows, report.inserted_rows, report.deleted_rows) == (5, 2, 3)
    twice = spark.sql("SELECT 5 AS id, 'x' AS v UNION ALL SELECT 5, 'y'")
    with pytest.raises(DataError, match="several rows of the source"):
        table.merge(twice, "t.id = s.id", [Clause("matched", "update")], spark=spark)
    assert state(table) == expected
    assert table.merge(twice, "t.id = s.id", [Clause("matched", "delete")], spark=spark).deleted_rows == 1
    assert state(table) == {n: v for n, v in expected.items() if n != 5}
