"""DELETE, UPDATE and MERGE INTO on Spark: conditions and values that only Spark understands."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError, OutdatedPlanError, UnsupportedError
from maintenance.operations import create_branch, merge_into, update
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.planned_merge import apply_merge_into, plan_merge_into
from maintenance.spark.zone import SESSION_ZONE, zone_of
from maintenance.sql import Session
from tests.tables import create_table, keyed, live_files, state

VECTORS = {"deletion-vectors.enabled": "true"}
APPEND: Mapping[str, Mapping[str, str]] = {
    "copy_on_write": {"bucket": "-1"},
    "deletion_vectors": {"bucket": "-1", **VECTORS},
    "buckets": {"bucket": "2", "bucket-key": "id", **VECTORS},
}


def filled(folder: Path, options: Mapping[str, str], keys: tuple[str, ...] = ()) -> CatalogTable:
    table = create_table(folder, primary_keys=keys, options=options)
    table.write_arrow(keyed({number: f"v{number}" for number in range(10)}))
    table.write_arrow(keyed(dict.fromkeys(range(10, 20))))
    if keys and "deletion-vectors.enabled" in options:
        compact(None, table)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("how", APPEND)
def test_rows_of_an_append_table_are_deleted_and_updated(spark: SparkSession, tmp_path: Path, how: str) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, VECTORS], ids=["merge on read", "merge on write"])
def test_a_table_with_a_key(spark: SparkSession, tmp_path: Path, options: Mapping[str, str]) -> None:
    table = filled(tmp_path, {"bucket": "2", **options}, ("id",))
    assert table.delete("id % 2 = 1 AND v IS NOT NULL", spark=spark).deleted_rows == 5
    assert table.update({"v": "upper(concat('x', id))"}, "id >= 15", spark=spark).updated_rows == 5
    compact(spark, table)
    assert state(table) == {
        n: f"X{n}" if n >= 15 else f"v{n}" if n < 10 else None for n in range(20) if n >= 10 or n % 2 == 0
    }
    with pytest.raises(UnsupportedError, match="'id' belongs to the primary key"):
        table.update({"id": "1"}, spark=spark)


@pytest.mark.slow
@pytest.mark.parametrize("how", [*APPEND, "keyed"])
def test_a_merge_updates_inserts_and_deletes_by_its_clauses(spark: SparkSession, tmp_path: Path, how: str) -> None:
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


PARTIAL = {"merge-engine": "partial-update"}
KEYED: Mapping[str, tuple[Mapping[str, str], str]] = {
    "postpone": ({"bucket": "-2"}, "records"),
    "merge on write": ({"bucket": "2", **VECTORS}, "records"),
    "partial-update, vectors": ({"bucket": "2", **PARTIAL, **VECTORS}, "deletion_vectors"),
    "partial-update, dynamic": ({"bucket": "-1", "dynamic-bucket.target-row-num": "7", **PARTIAL}, "copy_on_write"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", KEYED)
def test_keyed_tables_of_any_engine_and_bucket_are_changed(spark: SparkSession, tmp_path: Path, how: str) -> None:
    options, method = KEYED[how]
    table = filled(tmp_path, options, ("id",))
    assert not compact(spark, table, full=True).failed
    report = table.delete("id % 7 = 0 AND length(coalesce(v, 'null')) < 5", spark=spark)
    assert (report.method, report.deleted_rows) == (method, 3)
    assert table.update({"v": "concat('x', id)"}, "id % 10 = 1", spark=spark).updated_rows == 2
    source = spark.sql("SELECT CAST(id * 6 AS INT) AS id, concat('s', id) AS v FROM range(1, 5)")
    merged = table.merge(
        source, "t.id = s.id", [Clause("matched", "update"), Clause("not_matched", "insert")], spark=spark
    )
    assert (merged.updated_rows, merged.inserted_rows) == (3, 1)
    assert not compact(spark, table, full=True).failed
    expected = {n: f"v{n}" if n < 10 else None for n in range(20) if n % 7}
    expected |= {1: "x1", 11: "x11", 6: "s1", 12: "s2", 18: "s3", 24: "s4"}
    assert state(table) == expected


@pytest.mark.slow
def test_rows_that_move_to_another_partition(spark: SparkSession, tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("p", "INT"), ("v", "STRING"))
    table = create_table(tmp_path, fields, ("id",), {"bucket": "-1"}, partition_keys=("p",))
    table.write_arrow(spark.sql("SELECT CAST(id AS INT) id, CAST(id % 2 AS INT) p, 'a' v FROM range(10)").toArrow())
    assert table.update({"p": "p + 10"}, "id % 3 = 0", spark=spark).updated_rows == 4
    assert table.delete("id = 3 OR id = 4", spark=spark).deleted_rows == 2
    source = spark.sql("SELECT 6 AS id, 7 AS p, 'b' AS v UNION ALL SELECT 50, 7, 'c'")
    table.merge(source, "t.id = s.id", [Clause("matched", "update"), Clause("not_matched", "insert")], spark=spark)
    rows = {row["id"]: (row["p"], row["v"]) for row in table.to_arrow().to_pylist()}
    expected = {n: (n % 2 + (10 if n % 3 == 0 else 0), "a") for n in range(10) if n not in (3, 4)}
    assert rows == {**expected, 6: (7, "b"), 50: (7, "c")}
    assert table.to_arrow().num_rows == len(rows)


def test_kinds_that_a_column_says(spark: SparkSession, tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("v", "STRING"), ("op", "STRING"))
    table = create_table(tmp_path, fields, options={"rowkind.field": "op"})
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}).append_column("op", [["+I", "+I", "+U"]]))
    assert table.delete("length(v) = 1 AND id = 1", spark=spark).deleted_rows == 1
    assert table.update({"v": "upper(v)"}, "id = 3", spark=spark).updated_rows == 1
    rows = sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": 2, "v": "b", "op": "+I"}, {"id": 3, "v": "C", "op": "+U"}]


TRACKED = {"bucket": "-1", "row-tracking.enabled": "true"}
EVOLVING = {**TRACKED, "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}


@pytest.mark.parametrize("options", [TRACKED, EVOLVING], ids=["tracked", "evolved"])
def test_rows_keep_their_ids(spark: SparkSession, tmp_path: Path, options: Mapping[str, str]) -> None:
    table = filled(tmp_path, options)
    assert table.update({"v": "concat(coalesce(v, 'none'), '!')"}, "id % 5 = 4", spark=spark).updated_rows == 4
    source = spark.sql("SELECT id + 18 AS id, concat('s', id) AS text FROM range(4)")
    clauses = [
        Clause("matched", "update", {"v": "upper(s.text)"}, "s.id = 18"),
        Clause("not_matched", "insert", {"id": "s.id", "v": "s.text"}),
    ]
    report = table.merge(source, "t.id = s.id", clauses, spark=spark)
    assert (report.updated_rows, report.inserted_rows) == (1, 2)
    assert table.delete("length(v) = 2 AND id < 3", spark=spark).deleted_rows == 3
    rows = table.to_arrow(columns=["_ROW_ID", "id", "v"]).to_pylist()
    actual = {row["id"]: (row["_ROW_ID"], row["v"]) for row in rows}
    kept = {n: (n, f"v{n}" if n < 10 else None) for n in range(3, 20)}
    changed = {4: (4, "v4!"), 9: (9, "v9!"), 14: (14, "none!"), 19: (19, "none!"), 18: (18, "S0")}
    new = {n: actual.pop(n) for n in (20, 21)}
    assert actual == kept | changed
    assert {n: text for n, (_, text) in new.items()} == {20: "s2", 21: "s3"}
    assert {number for number, _ in new.values()} == {20, 21}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["deletion_vectors", "key"])
def test_a_merge_on_spark_is_planned_and_done_as_planned(spark: SparkSession, tmp_path: Path, how: str) -> None:
    """What Spark and this process find has one digest, so either carries out a plan of the other."""
    table = filled(tmp_path, APPEND.get(how, {"bucket": "2"}), ("id",) if how == "key" else ())
    rows = pa.table({"id": pa.array([3, 4, 30], pa.int64()), "v": ["a", None, "c"]})
    source = spark.createDataFrame(rows)
    on, clauses = "t.id = s.id", [Clause("matched", "update", {"v": "s.v"}), Clause("not_matched", "insert")]
    plan = plan_merge_into(spark, table, source, on, clauses)
    assert plan.groups == plan_merge_into(None, table, rows, on, clauses).groups
    with pytest.raises(OutdatedPlanError, match="was 2 updated, 1 inserted"):
        apply_merge_into(spark, table, plan, source.where("id <> 4"))
    report = apply_merge_into(spark, table, plan, source)
    assert (report.updated_rows, report.inserted_rows) == (2, 1)
    assert {key: value for key, value in state(table).items() if key in (3, 4, 30)} == {3: "a", 4: None, 30: "c"}


@pytest.mark.parametrize("keys", [("p", "id"), ()], ids=["keyed", "append"])
def test_merging_beside_a_fallback_branch(spark: SparkSession, tmp_path: Path, keys: tuple[str, ...]) -> None:
    fields = (("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
    table = create_table(tmp_path, fields, keys, partition_keys=("p",))
    create_branch(table, "old")
    both = table.copy({"scan.fallback-branch": "old"})
    for into, partition in ((table, "x"), (table.on_branch("old"), "y")):
        into.write_arrow(pa.table([[partition], pa.array([1], pa.int32()), ["a"]], ["p", "id", "v"]))
    clauses = [Clause("matched", "update", {"v": "upper(s.v)"}), Clause("not_matched", "insert")]
    on = "t.p = s.p AND t.id + 0 = s.id"
    source = spark.sql("SELECT 'x' p, 1 id, 'b' v UNION ALL SELECT 'z', 2, 'c'")
    assert both.merge(source, on, clauses, spark=spark).updated_rows == 1
    expected = [("x", 1, "B"), ("y", 1, "a"), ("z", 2, "c")]
    assert sorted(tuple(row.values()) for row in both.to_arrow().to_pylist()) == expected
    with pytest.raises(UnsupportedError, match="changes rows of branch 'old'"):
        both.merge(spark.sql("SELECT 'y' p, 1 id, 'b' v"), on, clauses, spark=spark)
    with pytest.raises(DataError, match="fallback branch stands in for"):
        both.merge(spark.sql("SELECT 'y' p, 7 id, 'b' v"), on, clauses, spark=spark)
    assert sorted(tuple(row.values()) for row in both.to_arrow().to_pylist()) == expected


@pytest.mark.slow
def test_an_update_that_the_merge_engine_would_pass_over(spark: SparkSession, tmp_path: Path) -> None:
    grouped = {"fields.g.sequence-group": "b,c", "fields.c.aggregate-function": "sum"}
    fields = (("k", "INT NOT NULL"), ("a", "INT"), ("g", "INT"), ("b", "INT"), ("c", "INT"))
    table = create_table(tmp_path, fields, ("k",), {"bucket": "1", "merge-engine": "partial-update", **grouped})
    rows = [{"k": 1, "a": 10, "g": 5, "b": 20, "c": 3}, {"k": 2, "a": None, "g": None, "b": None, "c": None}]
    table.write_arrow(pa.Table.from_pylist(rows, schema=table.to_arrow().schema))
    source = spark.sql("SELECT * FROM VALUES (1, CAST(NULL AS INT)), (3, CAST(NULL AS INT)) AS s(k, a)")
    merging = [Clause("matched", "update", {"a": "s.a"}), Clause("not_matched", "insert", {"k": "s.k", "a": "s.a"})]
    refused: Sequence[tuple[Callable[[], object], str]] = (
        (
            lambda: update(spark, table, {"a": "nullif(a, 10)"}),
            "keeps the value of 'a' where the new is null, as in 1 row",
        ),
        (lambda: update(spark, table, {"b": "k + 1"}), "changes no column where 'g' is null, as in 1 row"),
        (lambda: update(spark, table, {"g": "g - 1"}, "k = 1"), "where 'g' is smaller than before"),
        (lambda: merge_into(spark, table, source, "t.k = s.k", merging), "keeps the value of 'a'"),
    )
    for run, why in refused:
        with pytest.raises(UnsupportedError, match=why):
            run()
    assert table.snapshots.latest_id() == 1
    update(spark, table, {"a": "a + 1"}, "k = 1")
    update(spark, table, {"b": "CAST(NULL AS INT)", "g": "g + 1"}, "k = 1")
    merging[0] = Clause("matched", "update", {"a": "coalesce(s.a, t.a + 1)"})
    merge_into(spark, table, source, "t.k = s.k", merging)
    assert table.to_arrow().sort_by("k").to_pylist() == [
        {"k": 1, "a": 12, "g": 6, "b": None, "c": 3},
        rows[1],
        {"k": 3, "a": None, "g": None, "b": None, "c": None},
    ]


ZONED = (
    ("spark", "SET spark.sql.session.timeZone = {}", "DELETE FROM t WHERE hour(at) = 1"),
    ("spark", "SET spark.sql.session.timeZone = {}", "UPDATE t SET s = CAST(at AS STRING) WHERE hour(at) = 1"),
    ("flink", "SET 'table.local-time-zone' = '{}'", "DELETE FROM t WHERE EXTRACT(HOUR FROM at) = 1"),
)


@pytest.mark.parametrize(("dialect", "setting", "statement"), ZONED, ids=["delete", "update", "flink"])
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"], ids=["append", "keyed"])
def test_a_kept_change_is_judged_in_the_zone_of_its_plan(
    spark: SparkSession, tmp_path: Path, key: str, dialect: Literal["flink", "spark"], setting: str, statement: str
) -> None:
    options = {"warehouse": str(tmp_path)}
    made = Session(options, dialect="flink")
    made.sql(f"CREATE TABLE t (id INT, at TIMESTAMP_LTZ(3), s STRING{key})")
    made.sql("SET 'table.local-time-zone' = 'UTC'")
    hours = (f"({h}, CAST(TIMESTAMP '2024-01-01 {h:02}:30:00' AS TIMESTAMP_LTZ(3)), 'as it was')" for h in range(24))
    made.sql(f"INSERT INTO t VALUES {', '.join(hours)}")
    before = zone_of(spark)
    try:
        planning = Session(options, spark, dialect)
        planning.sql(setting.format("Asia/Shanghai"))
        plan = planning.plan(statement)
        applying = Session(options, spark, dialect)
        applying.sql(setting.format("America/New_York"))
        applying.apply(plan)
        assert zone_of(spark) == "America/New_York"
    finally:
        spark.conf.set(SESSION_ZONE, str(before))
    rows = {row["id"]: row["s"] for row in made.sql("SELECT id, s FROM t").to_arrow().to_pylist()}
    assert [hour for hour in range(24) if rows.get(hour) != "as it was"] == [17], "1 o'clock in Shanghai"
    assert rows.get(17) == ("2024-01-02 01:30:00" if statement.startswith("UPDATE") else None)


FLINKS = {
    "d": "a / 2", "truth": "CAST(a = 7 AS STRING)", "cut": "CAST('abcdef' AS VARCHAR(2))",
    "padded": "CAST('ab' AS CHAR(4))", "time": "CAST(n AS STRING)", "part": "SPLIT_INDEX('p-q', '-', 1)",
    "json": "JSON_VALUE('{\"a\": 1}', '$.a')", "p": "p / 3",
}  # fmt: skip
FLINK_COLUMNS = (
    "id INT, a INT, d DOUBLE, truth STRING, cut STRING, padded STRING, `time` STRING, part STRING, json STRING, "
    "p DECIMAL(20, 10), n TIMESTAMP(3)"
)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"], ids=["append", "keyed"])
def test_changes_in_flinks_dialect_write_the_values_of_flink(spark: SparkSession, tmp_path: Path, key: str) -> None:
    values = {name: value.replace("(a ", "(t.a ").replace("(n ", "(t.n ") for name, value in FLINKS.items()}
    values |= {"d": "t.a / 2", "p": "t.p / 3"}
    statements = (
        f"UPDATE t SET {', '.join(f'`{name}` = {value}' for name, value in FLINKS.items())} WHERE a / 2 = 3",
        "MERGE INTO t USING (SELECT 2 AS k) AS s ON t.id = s.k AND t.a / 2 = 4 WHEN MATCHED THEN UPDATE SET "
        + ", ".join(f"`{name}` = {value}" for name, value in values.items()),
        "DELETE FROM t WHERE a / 2 = 5",
    )
    found = []
    for name, engine in (("alone", None), ("spark", spark)):
        session = Session({"warehouse": str(tmp_path / name)}, engine, "flink")
        session.sql(f"CREATE TABLE t ({FLINK_COLUMNS}{key})")
        rows = (
            f"({n}, {6 + n}, 0.0, '', '', '', '', '', '', 1.25, TIMESTAMP '2024-02-29 12:34:56.780')" for n in (1, 2)
        )
        session.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
        session.sql("INSERT INTO t (id, a) VALUES (5, 11)")
        for statement in statements:
            session.sql(statement)
        found.append(session.sql("SELECT * FROM t ORDER BY id").to_arrow().to_pylist())
    alone, with_spark = found
    assert with_spark == alone
    first = alone[0]
    assert [first[name] for name in ("d", "truth", "cut", "padded", "time", "part", "json")] == [
        3.0, "TRUE", "ab", "ab  ", "2024-02-29 12:34:56.780", "q", "1",
    ]  # fmt: skip
    assert [row["id"] for row in alone] == [1, 2]
